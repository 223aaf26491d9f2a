"""What scores of a development set are worth: the figures of both sides of the language preference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lamar_trainers.development_set import CANDIDATES, DevelopmentQuery

if TYPE_CHECKING:
    from lamar_rag.types import FloatArray

_NAMES = ("ndcg@1", "rescue@1", "coherence@1")
_PAIRED = "ndcg@1 of queries with translations"


def development_figures(
    queries: Sequence[DevelopmentQuery], scores: Sequence[FloatArray], *, bonus: float = 0.0
) -> dict[str, float]:
    """Return nDCG@1, rescue@1, balanced@1 and coherence@1, fractions.

    nDCG@1 is over all queries, rescue@1 over those whose passage exists in other languages, coherence@1 over those
    with the gold passage and a translation among the candidates: how often the gold one is the highest of them.
    balanced@1 is the harmonic mean of rescue@1 and of nDCG@1 over the same queries: with queries that have nothing
    to lose, a dial against the query's language would look good.
    Means are over languages with equal weight; ties go to the first stage's order.

    Args:
        queries: with their candidates.
        scores: one array a query, in the order of its documents.
        bonus: added to the scores of documents in the query's language.

    Raises:
        ValueError: other shapes.
    """
    rows: dict[str, dict[str, list[bool]]] = {}
    for query, plain in zip(queries, scores, strict=True):
        if len(plain) != len(query.documents):
            raise ValueError(
                f"got {len(plain)} scores for {len(query.documents)} documents, expected one each"
            )
        values = np.asarray(plain) + bonus * (np.array(query.languages) == query.language)
        same = np.array([group == query.group for group in query.groups])
        gold = query.gold
        figures = rows.setdefault(query.language, {name: [] for name in (*_NAMES, _PAIRED)})
        found = gold is not None and int(np.argmax(values[:CANDIDATES])) == gold
        figures["ndcg@1"].append(found)
        if query.dataset != "questions":
            figures[_PAIRED].append(found)
            rest = np.array([place for place in range(len(values)) if place != gold])
            figures["rescue@1"].append(bool(same[rest[np.argmax(values[rest])]]))
            if gold is not None and same.sum() > 1:
                members = np.flatnonzero(same)
                figures["coherence@1"].append(int(members[np.argmax(values[members])]) == gold)
    means = {
        name: _mean([_mean(figures[name]) for figures in rows.values() if figures[name]])
        for name in (*_NAMES, _PAIRED)
    }
    paired, rescue = means.pop(_PAIRED), means["rescue@1"]
    means["balanced@1"] = 2 * paired * rescue / (paired + rescue) if paired + rescue else 0.0
    return means


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0
