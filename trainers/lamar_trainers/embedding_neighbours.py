"""Documents that look like a query's to an embedder: what a first stage hands to the reranker."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lamar_rag.types import Embedder


def embedding_neighbours(
    queries: Sequence[str],
    documents: Sequence[str],
    *,
    embedder: Embedder,
    count: int,
    excluded: Sequence[Collection[int]],
) -> list[list[int]]:
    """Return for every query the positions of the `count` documents of the highest cosine, the highest first.

    Args:
        queries: texts.
        documents: texts.
        embedder: of both.
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
    matrix = embedder.embed(documents, "passage")
    found = []
    for vector, own in zip(embedder.embed(queries, "query"), excluded, strict=True):
        order = np.argsort(-(matrix @ vector), kind="stable")[: count + len(own)].tolist()
        found.append([position for position in order if position not in own][:count])
    return found
