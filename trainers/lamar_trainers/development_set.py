"""Queries of held-out documents with their candidates, as the embedded profile's first stage finds them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lamar_rag.retrieval.centring import LanguageCentring
    from lamar_rag.types import Embedder

CANDIDATES = 20


@dataclass(frozen=True)
class DevelopmentText:
    """A query or a passage; texts of one `group` say the same thing in several languages."""

    dataset: str
    group: str
    language: str
    text: str


@dataclass(frozen=True)
class DevelopmentQuery:
    """A query with the candidates of both tasks, in the first stage's order.

    Retrieval reads the first 20; where the gold passage (the query's group in the query's language) is among them,
    there is a 21st, and rescue reads all but the gold one.
    """

    dataset: str
    group: str
    language: str
    query: str
    documents: tuple[str, ...]
    groups: tuple[str, ...]
    languages: tuple[str, ...]
    similarities: tuple[float, ...]

    @property
    def gold(self) -> int | None:
        """The position of the gold passage, None where the first stage missed it."""
        wanted = (self.group, self.language)
        found = [
            place for place, key in enumerate(zip(self.groups, self.languages, strict=True)) if key == wanted
        ]
        return found[0] if found else None


def development_queries(
    queries: Sequence[DevelopmentText],
    passages: Sequence[DevelopmentText],
    *,
    embedder: Embedder,
    centring: LanguageCentring,
) -> Iterator[DevelopmentQuery]:
    """Yield every query with its candidates among all passages, by centred cosine.

    Args:
        queries: of held-out documents.
        passages: of held-out documents, in all languages: one corpus.
        embedder: without centring.
        centring: applied to its vectors.
    """
    matrix = centring.apply(
        embedder.embed([passage.text for passage in passages], "passage"),
        "passage",
        [passage.language for passage in passages],
    )
    vectors = centring.apply(
        embedder.embed([query.text for query in queries], "query"),
        "query",
        [query.language for query in queries],
    )
    for query, vector in zip(queries, vectors, strict=True):
        similarities = matrix @ vector
        order = np.argsort(-similarities, kind="stable")[: CANDIDATES + 1].tolist()
        first = [passages[place] for place in order[:CANDIDATES]]
        if all((p.group, p.language) != (query.group, query.language) for p in first):
            order = order[:CANDIDATES]
        yield DevelopmentQuery(
            dataset=query.dataset,
            group=query.group,
            language=query.language,
            query=query.text,
            documents=tuple(passages[place].text for place in order),
            groups=tuple(passages[place].group for place in order),
            languages=tuple(passages[place].language for place in order),
            similarities=tuple(float(similarities[place]) for place in order),
        )
