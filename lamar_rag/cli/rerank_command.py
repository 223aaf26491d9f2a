"""`lamar rerank`: documents from a file or stdin, without an index."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lamar_rag.cli.language_options import Floor, Language, Prefer, Weight, dial, query_language
from lamar_rag.cli.options import Device, Dtype, Json, MaxLength, ProfileName, RemoteCode, SkipBad


def rerank(
    query: Annotated[str, typer.Argument(help="What the documents are ranked for.")],
    documents: Annotated[str, typer.Argument(help="JSONL of documents; - for stdin.")] = "-",
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="Reranker: name, hub id, folder or URL; the profile's otherwise."),
    ] = None,
    top_n: Annotated[int | None, typer.Option(help="Documents to return; all otherwise.")] = None,
    threshold: Annotated[float | None, typer.Option(help="Leave out documents of lower relevance.")] = None,
    language: Language = None,
    weight: Weight = None,
    prefer: Prefer = None,
    floor: Floor = None,
    long_documents: Annotated[str, typer.Option(help="truncate or windows.")] = "truncate",
    recipe: Annotated[
        str | None,
        typer.Option(help="Score by this model's recipe (see lamar models), for a folder of your own."),
    ] = None,
    instruction: Annotated[
        str | None, typer.Option(help="What counts as relevant, for models that take it.")
    ] = None,
    device: Device = None,
    dtype: Dtype = None,
    max_length: MaxLength = None,
    trust_remote_code: RemoteCode = False,
    progress: Annotated[bool, typer.Option("--progress", help="Show a progress bar on stderr.")] = False,
    skip_bad: SkipBad = False,
    profile: ProfileName = "embedded",
    as_json: Json = False,
) -> None:
    """Rerank documents from a JSONL file or stdin."""
    from lamar_rag.cli.output import print_results, ranked_row
    from lamar_rag.cli.reading_report import report_reading
    from lamar_rag.profiles import get_profile
    from lamar_rag.reranker import Reranker
    from lamar_rag.retrieval.corpus_reader import read_corpus

    chosen = get_profile(profile)
    name = model if model is not None else chosen.reranker or chosen.embedder
    preference = dial(chosen if model is None else None, weight, prefer, floor)
    code = query_language(query, language)
    reader = read_corpus(documents, skip_bad=skip_bad)
    read = list(reader)
    report_reading(reader)
    options: dict[str, Any] = {
        "long_documents": long_documents,
        "recipe": recipe,
        "instruction": instruction,
        "device": device,
        "dtype": dtype,
        "max_length": max_length,
        "trust_remote_code": trust_remote_code,
    }
    with Reranker(name, preference=preference, top_n=top_n, score_threshold=threshold, **options) as reranker:
        ranked = reranker.rerank(query, read, query_language=code, progress=progress)
    print_results(query, code, [ranked_row(document) for document in ranked], as_json=as_json)
