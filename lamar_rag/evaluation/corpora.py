"""The parallel corpora by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from lamar_rag.evaluation.belebele import read_belebele
from lamar_rag.evaluation.parallel_corpus import ParallelCorpus
from lamar_rag.evaluation.parallel_jsonl import read_parallel_folder
from lamar_rag.evaluation.xquad import read_xquad

_READERS: dict[str, Callable[[Path | None, Sequence[str] | None], ParallelCorpus]] = {
    "xquad": read_xquad,
    "belebele": read_belebele,
}


def open_corpus(
    dataset: str | Path, data: str | Path | None = None, *, languages: Sequence[str] | None = None
) -> ParallelCorpus:
    """Return "xquad", "belebele", or the folder of a corpus of your own.

    Args:
        dataset: a name, or a folder with one LANGUAGE.jsonl a language.
        data: the folder with the files of a named one, or the folder above it; None takes the hub's.
        languages: codes (BELEBELE's variants for belebele); by default the paper's.

    Raises:
        ValueError: an unknown name, or files that are not what they should be.
    """
    reader = _READERS.get(str(dataset))
    if reader is None:
        if data is not None:
            raise ValueError(f"got data beside the folder {dataset}, expected either: leave data out")
        folder = Path(dataset).expanduser()
        if not folder.is_dir():
            raise ValueError(
                f"got data set '{dataset}', expected {', '.join(_READERS)}, or a folder with one LANGUAGE.jsonl a "
                "language"
            )
        return read_parallel_folder(folder, languages)
    folder_above = None if data is None else Path(data).expanduser()
    if folder_above is not None and (folder_above / str(dataset)).is_dir():
        folder_above = folder_above / str(dataset)
    return reader(folder_above, languages)
