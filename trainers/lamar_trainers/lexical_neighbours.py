"""Documents that look like a query's and are not: BM25 over character trigrams, which every script has."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

import numpy as np

from lamar_rag.extras import require


class Neighbours(Protocol):
    """A way to tell which documents are near a query: the positions of `count` for every query, the nearest first."""

    def __call__(
        self,
        queries: Sequence[str],
        documents: Sequence[str],
        *,
        count: int,
        excluded: Sequence[Collection[int]],
    ) -> list[list[int]]:
        """Return positions in `documents`, none of them among a query's `excluded`."""
        ...


def lexical_neighbours(
    queries: Sequence[str],
    documents: Sequence[str],
    *,
    count: int,
    excluded: Sequence[Collection[int]],
) -> list[list[int]]:
    """Return for every query the positions of the `count` documents nearest to it, the nearest first.

    Args:
        queries: texts.
        documents: texts in the queries' language.
        count: documents a query; fewer where there are no more.
        excluded: for every query the positions of documents that are not taken: its own.

    Raises:
        ValueError: another number of `excluded` than of queries, or a count below 1.
    """
    if len(excluded) != len(queries) or count < 1:
        raise ValueError(
            f"got {len(queries)} queries, {len(excluded)} sets of excluded documents and count={count}, "
            "expected a set a query and a count of at least 1"
        )
    if not queries or not documents:
        return [[] for _ in queries]
    bm25s: Any = require("bm25s", extra="train", purpose="hard negatives by BM25")
    index = bm25s.BM25()
    index.index([trigrams(text) for text in documents], show_progress=False)
    found = []
    for query, own in zip(queries, excluded, strict=True):
        # only trigrams that the index knows can be scored
        tokens = [token for token in trigrams(query) if token in index.vocab_dict]
        scores = index.get_scores(tokens) if tokens else np.zeros(len(documents))
        order = np.argsort(-scores, kind="stable").tolist()
        found.append([position for position in order if position not in own][:count])
    return found


def trigrams(text: str) -> list[str]:
    """Return the text's character trigrams, without case and with runs of spaces as one."""
    spaced = f" {' '.join(text.casefold().split())} "
    return [spaced[start : start + 3] for start in range(max(1, len(spaced) - 2))]
