"""What the first ranks say of languages: beside relevance, and given translations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lamar_rag.evaluation.parallel_corpus import document_id
from lamar_rag.extras import require

if TYPE_CHECKING:
    from lamar_rag.evaluation.judged_query import JudgedQuery
    from lamar_rag.types import Document

SPLIT = (
    "relevant, query's language",
    "relevant, other",
    "not relevant, query's language",
    "not relevant, other",
)


def first_language_matrix(
    languages: Sequence[str], first: Sequence[tuple[str, str]]
) -> dict[str, dict[str, float]]:
    """Return the share of each document language among the first-ranked, by query language; rows sum to 1.

    Args:
        languages: of the corpus: the rows and columns.
        first: (query language, language of its first document), one a query.
    """
    counts = {language: dict.fromkeys(languages, 0) for language in languages}
    for query_language, language in first:
        counts[query_language][language] += 1
    return {
        language: {other: count / max(1, sum(row.values())) for other, count in row.items()}
        for language, row in counts.items()
    }


def language_split(query_language: str, first: Document, relevant: frozenset[str]) -> str:
    """Return where a query's first document falls: relevant or not, in the query's language or not (MLAIRE)."""
    is_own = first.language == query_language
    return SPLIT[(0 if first.id in relevant else 2) + (0 if is_own else 1)]


def language_peer(languages: Sequence[str], ranks: Sequence[int]) -> float:
    """Return PEER of one relevance level: how likely ranks like these are where language decides nothing, 0 to 1.

    The languages' mean ranks in the whole list are compared by Kruskal and Wallis's statistic; a level with a single
    language counts 1 (Yang et al., "Language Fairness in Multilingual Information Retrieval", SIGIR 2024).

    Args:
        languages: of the level's documents.
        ranks: of the same documents in the whole list, from 1.
    """
    places, names = np.asarray(ranks, dtype=np.float64), np.asarray(languages)
    groups = [places[names == name] for name in np.unique(names)]
    if len(groups) < 2:
        return 1.0
    stats: Any = require("scipy.stats", extra="eval", purpose="PEER")
    between = sum(len(group) * (group.mean() - places.mean()) ** 2 for group in groups)
    statistic = (len(places) - 1) * between / ((places - places.mean()) ** 2).sum()
    return float(stats.chi2.sf(statistic, len(groups) - 1))


def language_rank_share(initial: Mapping[str, int], reranked: Mapping[str, int]) -> float:
    """Return MLRS of one query: what share of the ranks that the translations could rise they rose, in percent.

    100 * sum max(initial rank - new rank, 0) / sum (initial rank - 1); 0 where none could rise.

    Args:
        initial: document id -> rank (from 1) before reranking, of the documents that count.
        reranked: the same documents' ranks after it.
    """
    possible = sum(rank - 1 for rank in initial.values())
    risen = sum(max(rank - reranked[document], 0) for document, rank in initial.items())
    return 100.0 * risen / possible if possible else 0.0


def language_metrics(
    languages: Sequence[str], judged: Sequence[JudgedQuery], ranked: Sequence[Sequence[Document]]
) -> dict[str, Any]:
    """Return what the first ranks say of languages, in the first stage's order and reranked.

    A document counts as relevant here when it is the gold passage in any language. Means are over queries. PEER is of
    the other documents: of the relevant ones there is one a language, whose PEER is the same for every order.

    Args:
        languages: of the corpus.
        judged: queries with candidates.
        ranked: their candidates, reranked.
    """
    relevant = {
        query.id: frozenset(document_id(query.query.group, language) for language in languages)
        for query in judged
    }
    orders: dict[str, Sequence[Sequence[Document]]] = {
        "first_stage": [query.candidates for query in judged],
        "reranked": list(ranked),
    }
    found: dict[str, Any] = {
        name: _order_metrics(languages, judged, rows, relevant) for name, rows in orders.items()
    }
    found["mlrs"] = float(
        np.mean(
            [_rank_share(query, row, relevant[query.id]) for query, row in zip(judged, ranked, strict=True)]
        )
    )
    return found


def _order_metrics(
    languages: Sequence[str],
    judged: Sequence[JudgedQuery],
    ranked: Sequence[Sequence[Document]],
    relevant: Mapping[str, frozenset[str]],
) -> dict[str, Any]:
    split = dict.fromkeys(SPLIT, 0.0)
    first, fair = [], []
    for query, row in zip(judged, ranked, strict=True):
        split[language_split(query.query.language, row[0], relevant[query.id])] += 1.0 / len(judged)
        first.append((query.query.language, str(row[0].language)))
        others = [
            (str(d.language), rank) for rank, d in enumerate(row, start=1) if d.id not in relevant[query.id]
        ]
        fair.append(language_peer([name for name, _ in others], [rank for _, rank in others]))
    return {
        "foreign_first": float(np.mean([query != document for query, document in first])),
        "split": split,
        "first_language": first_language_matrix(languages, first),
        "peer": float(np.mean(fair)),
    }


def _rank_share(query: JudgedQuery, ranked: Sequence[Document], relevant: frozenset[str]) -> float:
    initial, reranked = (
        {str(document.id): rank for rank, document in enumerate(row, start=1) if document.id in relevant}
        for row in (query.candidates, ranked)
    )
    return language_rank_share(initial, reranked)
