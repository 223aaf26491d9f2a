"""What a search is asked for: checked, with the languages in their usual form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lamar_rag.checks import check_count
from lamar_rag.languages import detect_languages, normalize_language
from lamar_rag.text import replace_surrogates

if TYPE_CHECKING:
    from lamar_rag.retrieval.vector_index import Hits


def check_limits(k: int | None, per_language: int | None) -> None:
    """Check the numbers of candidates.

    Raises:
        ValueError: if one is below 1.
    """
    for name, value in (("k", k), ("per_language", per_language)):
        check_count(name, value, optional=True)


def check_queries(queries: Sequence[str]) -> list[str]:
    """Return the queries as a list.

    Raises:
        ValueError: if they are one string, or one is not a string.
    """
    if isinstance(queries, str):
        raise ValueError("got one string as queries, expected a list of strings: use search() for one query")
    for number, query in enumerate(queries):
        if not isinstance(query, str):
            raise ValueError(f"query {number} is a {type(query).__name__}, expected a string: convert it")
    return list(queries)


def query_codes(queries: list[str], given: Sequence[str | None] | None) -> list[str]:
    """Return each query's language code, detected where none is given.

    Raises:
        ValueError: if a code is unknown, or their number is not that of the queries.
    """
    if isinstance(given, str) or (given is not None and len(given) != len(queries)):
        raise ValueError(f"got query_languages={given!r}, expected a list of {len(queries)}, one a query")
    codes: list[str | None] = list(given) if given is not None else [None] * len(queries)
    unknown = [i for i, code in enumerate(codes) if code is None]
    found = detect_languages([replace_surrogates(queries[i]) for i in unknown]) if unknown else []
    detected = dict(zip(unknown, found, strict=True))
    return [detected[i] if code is None else normalize_language(code) for i, code in enumerate(codes)]


def filter_codes(languages: Sequence[str] | None) -> list[str] | None:
    """Return the codes to search in, each once; None for all languages.

    Raises:
        ValueError: if a code is unknown, or `languages` is a string or empty.
    """
    if languages is None:
        return None
    if isinstance(languages, str):
        raise ValueError(f"got languages='{languages}', expected a list of codes: pass ['{languages}']")
    if not languages:
        raise ValueError("got an empty list of languages, expected at least one code: pass None for all")
    return list(dict.fromkeys(normalize_language(code) for code in languages))


def merge_hits(hits: Sequence[Hits], k: int | None) -> Hits:
    """Merge lists of hits by falling score, then by position, and cut to `k` if it is given."""
    if not hits:
        return np.empty(0, dtype=np.float32), np.empty(0, dtype=np.int64)
    scores = np.concatenate([found[0] for found in hits])
    positions = np.concatenate([found[1] for found in hits])
    order = np.lexsort((positions, -scores))[:k]
    return scores[order], positions[order]
