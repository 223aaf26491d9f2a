"""Runs and judgements in TREC's format, so that other tools can score them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from lamar_rag.whole_file import write_whole


def write_run(path: str | Path, rankings: Mapping[str, Sequence[str]], tag: str) -> None:
    """Write a run; a score is the number of documents from there on, so that no tool sees a tie.

    Args:
        path: the file; its folder is made.
        rankings: query id -> document ids, the best first.
        tag: the system's name; spaces become "-".
    """
    name = "-".join(tag.split()) or "run"
    _write(
        path,
        [
            f"{query} Q0 {document} {rank} {len(documents) + 1 - rank} {name}"
            for query, documents in rankings.items()
            for rank, document in enumerate(documents, start=1)
        ],
    )


def write_qrels(path: str | Path, relevant: Mapping[str, frozenset[str]]) -> None:
    """Write judgements: every relevant document of every query with 1.

    Args:
        path: the file; its folder is made.
        relevant: query id -> document ids.
    """
    _write(
        path,
        [
            f"{query} 0 {document} 1"
            for query, documents in relevant.items()
            for document in sorted(documents)
        ],
    )


def _write(path: str | Path, lines: Sequence[str]) -> None:
    write_whole(path, "".join(f"{line}\n" for line in lines))
