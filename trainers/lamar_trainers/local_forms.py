"""The corpora of a configuration's sources, brought into a local form where they are published in another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from lamar_rag.languages import normalize_language
from lamar_trainers.hub_sources import miracl_corpus, mmarco_corpus, rlhn_queries
from lamar_trainers.labelled_file import read_labelled
from lamar_trainers.line_triplets import line_triplets, runs, write_line_triplets
from lamar_trainers.native_queries import AnsweredPassage, read_passages
from lamar_trainers.raw_corpora import read_ntrex, read_tico19
from lamar_trainers.section_triplets import read_sections, write_section_triplets
from lamar_trainers.synthesis import LabelledQuery
from lamar_trainers.table_corpus import TableCorpus, folder_corpus

if TYPE_CHECKING:
    from lamar_trainers.training_config import SourceConfig

PARALLEL = ("ntrex", "tico19", "sections", "parallel", "mmarco", "miracl")
LABELLED = ("labelled", "rlhn")


def parallel_corpus(name: str, source: SourceConfig, data: Path, work: Path, *, seed: int) -> TableCorpus:
    """Return a parallel source as a corpus; what is not yet in the local form is written to `work`/corpora/`name`.

    Raises:
        ValueError: files that are missing or something else.
    """
    if source.kind == "mmarco":
        return mmarco_corpus(source.path, cache=work / "cache")
    if source.kind == "miracl":
        return miracl_corpus(source.path, cache=work / "cache")
    folder = work / "corpora" / name
    path = data / source.path
    if source.kind == "parallel":
        folder = path
    elif source.kind == "sections":
        sections = read_sections(path)
        wanted = source.languages or sorted(sections)
        write_section_triplets(folder, {language: sections[language] for language in wanted})
    else:
        ids, lines = (read_ntrex if source.kind == "ntrex" else read_tico19)(path, source.languages)
        headlines = source.kind == "ntrex"
        triplets = line_triplets(runs(ids), lines["en"], window=source.window, headlines=headlines, seed=seed)
        write_line_triplets(folder, source.kind, triplets, lines)
    return folder_corpus(folder, cache=work / "cache")


def labelled_queries(source: SourceConfig, data: Path) -> Iterator[LabelledQuery]:
    """Yield the queries of a source that has its documents beside it."""
    return rlhn_queries(source.path) if source.kind == "rlhn" else read_labelled(data / source.path)


def question_files(source: SourceConfig, data: Path) -> dict[str, tuple[str, list[AnsweredPassage]]]:
    """Return the language and the passages of each file `.../NAME/LANGUAGE.jsonl` of a source of questions.

    Raises:
        ValueError: no such files.
    """
    found = {}
    for path in sorted(data.glob(source.path)):
        language = normalize_language(path.stem)
        if source.languages is None or language in source.languages:
            found[f"{path.parent.name}-{path.stem}"] = (language, read_passages(path))
    if not found:
        raise ValueError(f"got {data / source.path}, expected files NAME/LANGUAGE.jsonl")
    return found
