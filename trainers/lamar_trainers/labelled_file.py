"""Queries with their documents in JSONL: the local form of corpora that are not parallel."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from lamar_rag.languages import normalize_language
from lamar_trainers.parallel_corpus import ENGLISH
from lamar_trainers.synthesis import LabelledQuery

_EXPECTED = 'expected {"query": "...", "positives": ["..."], "negatives": ["..."], "language": "en"}'


def read_labelled(path: str | Path) -> Iterator[LabelledQuery]:
    """Yield the rows {query, positives, negatives, language} of a JSONL file; `language` is English where it is absent.

    Raises:
        ValueError: a line that is something else.
    """
    with Path(path).open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield _query(line, f"{path}, line {number}")


def write_labelled(path: str | Path, queries: Iterable[LabelledQuery]) -> int:
    """Write rows that `read_labelled` reads, and return how many there were."""
    written = 0
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for written, query in enumerate(queries, start=1):  # noqa: B007
            row = {
                "query": query.query,
                "positives": query.positives,
                "negatives": query.negatives,
                "language": query.language,
            }
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return written


def _query(line: str, place: str) -> LabelledQuery:
    try:
        row: Any = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"got no JSON in {place} ({error}), {_EXPECTED}") from error
    texts = row.get("query") if isinstance(row, dict) else None
    lists = [row.get("positives", []), row.get("negatives", [])] if isinstance(row, dict) else []
    wrong = not isinstance(texts, str) or not all(
        isinstance(documents, list) and all(isinstance(document, str) for document in documents)
        for documents in lists
    )
    if wrong or not any(lists):
        raise ValueError(f"got {line.strip()[:80]} in {place}, {_EXPECTED}")
    language = normalize_language(row.get("language", ENGLISH))
    return LabelledQuery(row["query"], tuple(lists[0]), tuple(lists[1]), language)
