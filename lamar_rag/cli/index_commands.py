"""`lamar index build|add|info`."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from lamar_rag.cli.options import Json, ProfileName, SkipBad
from lamar_rag.cli.reading_report import report_reading

if TYPE_CHECKING:
    from lamar_rag.retrieval.corpus_reader import CorpusReader
    from lamar_rag.retrieval.faiss_index import FaissIndex

app = typer.Typer(help="Build an index, add to it, look at it.", no_args_is_help=True)

IndexChoice = Literal["auto", "flat", "hnsw", "ivfpq"]
CorpusPath = Annotated[
    str, typer.Argument(help="JSONL file, - for stdin, SQuAD JSON, a .txt/.md/.pdf file or a folder of them.")
]


@app.command()
def build(
    corpus: CorpusPath,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the new index.")],
    profile: ProfileName = "embedded",
    embedder: Annotated[str | None, typer.Option(help="Embedding model: name, hub id or folder.")] = None,
    centring: Annotated[
        bool | None, typer.Option("--centring/--no-centring", help="Language centring.")
    ] = None,
    kind: Annotated[IndexChoice, typer.Option(help="How the vectors are kept.")] = "auto",
    skip_bad: SkipBad = False,
    as_json: Json = False,
) -> None:
    """Read a corpus, embed it and save the index; an index that is there already is replaced whole."""
    from lamar_rag.pipeline_parts import build_embedder
    from lamar_rag.profiles import get_profile
    from lamar_rag.retrieval.corpus_reader import read_corpus
    from lamar_rag.retrieval.faiss_index import FaissIndex
    from lamar_rag.retrieval.index_folder import check_target

    changes: dict[str, Any] = {"embedder": embedder, "centring": centring}
    chosen = get_profile(profile, **{name: value for name, value in changes.items() if value is not None})
    model = build_embedder(chosen)
    if centring and model.centring is None:
        raise ValueError(
            f"got --centring, but there are no language means for '{chosen.embedder}': leave it out"
        )
    check_target(out)
    start = time.perf_counter()
    reader = read_corpus(corpus, skip_bad=skip_bad)
    with FaissIndex.build(reader, model, kind=kind, progress=not as_json) as index:
        index.save(out)
        _report(index, reader, out, time.perf_counter() - start, len(index), as_json)


@app.command()
def add(
    index_folder: Annotated[Path, typer.Argument(metavar="INDEX", help="Folder of the index.")],
    corpus: CorpusPath,
    profile: ProfileName = "embedded",
    skip_bad: SkipBad = False,
    as_json: Json = False,
) -> None:
    """Add a corpus to a saved index; the old index stays whole until the new one is."""
    from lamar_rag.cli.index_opening import open_index
    from lamar_rag.retrieval.corpus_reader import read_corpus

    start = time.perf_counter()
    reader = read_corpus(corpus, skip_bad=skip_bad)
    with open_index(index_folder, profile) as index:
        before = len(index)
        index.add(reader, progress=not as_json)
        index.save(index_folder)
        _report(index, reader, index_folder, time.perf_counter() - start, len(index) - before, as_json)


@app.command()
def info(
    index_folder: Annotated[Path, typer.Argument(metavar="INDEX", help="Folder of the index.")],
    as_json: Json = False,
) -> None:
    """Say what an index holds, without loading a model."""
    from lamar_rag.cli.output import print_json
    from lamar_rag.retrieval.faiss_index import FaissIndex

    content = asdict(FaissIndex.info(index_folder))
    if as_json:
        print_json(content)
        return
    for name, value in content.items():
        typer.echo(f"{name}: {value}")


def _report(
    index: FaissIndex, reader: CorpusReader, folder: Path, seconds: float, documents: int, as_json: bool
) -> None:
    report_reading(reader)
    if as_json:
        from lamar_rag.cli.output import print_json

        print_json(
            {
                "index": str(folder),
                "documents": documents,
                "total": len(index),
                "languages": index.languages,
                "skipped": reader.skipped,
                "repaired": reader.repaired,
                "ignored": reader.ignored,
                "seconds": round(seconds, 3),
            }
        )
        return
    skipped = f", {reader.skipped} left out" if reader.skipped else ""
    typer.echo(
        f"{documents} documents added{skipped}: {folder} now holds {len(index)} in {len(index.languages)} languages "
        f"({seconds:.1f} s, loading the model included)"
    )
