"""A parallel corpus: the same passages, and the same questions about them, in several languages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

import numpy as np

from lamar_rag.checks import check_count
from lamar_rag.types import Document


@dataclass(frozen=True, slots=True)
class ParallelQuery:
    """A question in one language; its translations have the same `id` and `group`.

    `group` is the passage that answers it, `answers` are spans of that passage, where there are any.
    """

    id: str
    group: str
    language: str
    text: str
    answers: tuple[str, ...] = ()


@dataclass(frozen=True)
class ParallelCorpus:
    """Passages and queries by language; each passage and each query exists in every language.

    Args:
        name: such as "xquad".
        passages: language -> group -> text.
        queries: language -> queries, the same ones in the same order.
        subset: what was chosen of the whole, as a report says it; empty for the whole.

    Raises:
        ValueError: a language that lacks a passage or query of the others; the message says which and where.
    """

    name: str
    passages: Mapping[str, Mapping[str, str]]
    queries: Mapping[str, Sequence[ParallelQuery]]
    subset: str = field(default="")

    def __post_init__(self) -> None:
        if not self.queries or not all(self.queries.values()):
            raise ValueError(f"got no queries for {self.name}, expected some in every language")
        first, *others = self.queries
        for language in others:
            _check_keys(
                self.name, "passage", [*self.passages[first]], [*self.passages[language]], first, language
            )
            rows = [[(query.id, query.group) for query in self.queries[k]] for k in (first, language)]
            _check_keys(self.name, "query", rows[0], rows[1], first, language)
        for queries in self.queries.values():
            twice = [key for key, count in Counter(query.id for query in queries).items() if count > 1]
            if twice:
                raise ValueError(f"{self.name}: got query {twice[0]} twice, expected each id once a language")
            for query in queries:
                if query.group not in self.passages[query.language]:
                    raise ValueError(
                        f"{self.name}: query {query.id} ({query.language}) names the passage {query.group}, which is "
                        "not there: give every query the group of its passage"
                    )

    @property
    def languages(self) -> list[str]:
        """The codes, in the corpus's order."""
        return list(self.queries)

    def documents(self) -> list[Document]:
        """Return all passages, language by language; ids are `group.language`, the group stands in the metadata."""
        return [
            Document(text, id=document_id(group, language), language=language, metadata={"group": group})
            for language, passages in self.passages.items()
            for group, text in passages.items()
        ]

    def limited(self, limit: int | None, *, seed: int = 0) -> ParallelCorpus:
        """Return the corpus with `limit` questions, the same ones in every language; all passages stay.

        Strata are the passages: a second question of a passage is taken only when every passage has given one.
        """
        check_count("limit", limit, optional=True)
        first = next(iter(self.queries.values()))
        if limit is None or limit >= len(first):
            return self
        random = np.random.default_rng(seed)
        order = random.permutation(len(first)).tolist()
        seen: dict[str, int] = {}
        turns: list[tuple[int, int, int]] = []
        for place in order:
            group = first[place].group
            turns.append((seen.get(group, 0), len(turns), place))
            seen[group] = seen.get(group, 0) + 1
        chosen = sorted(place for *_, place in sorted(turns)[:limit])
        queries = {language: [rows[place] for place in chosen] for language, rows in self.queries.items()}
        return replace(
            self, queries=queries, subset=f"{limit} of {len(first)} questions a language, seed {seed}"
        )


def document_id(group: str, language: str) -> str:
    """Return the id of a passage in one language."""
    return f"{group}.{language}"


def _check_keys(
    name: str, what: str, expected: Sequence[object], got: Sequence[object], first: str, language: str
) -> None:
    for row, (wanted, found) in enumerate(zip_longest(expected, got), start=1):
        if wanted != found:
            raise ValueError(
                f"{name} is not parallel: {what} {row} of {language} is {found or 'missing'}, expected "
                f"{wanted or 'none'} as in {first}: give every language the same {what} ids in the same order"
            )
