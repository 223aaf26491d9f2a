"""What scores of a development set are worth: the figures of both sides of the language preference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lamar_trainers.development_set import CANDIDATES, DevelopmentQuery

if TYPE_CHECKING:
    from lamar_rag.types import FloatArray


def development_figures(
    queries: Sequence[DevelopmentQuery], scores: Sequence[FloatArray], *, bonus: float = 0.0
) -> dict[str, float]:
    """Return nDCG@1, rescue@1, balanced@1 (their harmonic mean) and coherence@1, fractions.

    nDCG@1 is over all queries, rescue@1 over those whose passage exists in other languages, coherence@1 over those
    with the gold passage and a translation among the candidates: how often the gold one is the highest of them.
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
        figures = rows.setdefault(query.language, {"ndcg@1": [], "rescue@1": [], "coherence@1": []})
        figures["ndcg@1"].append(gold is not None and int(np.argmax(values[:CANDIDATES])) == gold)
        if query.dataset != "questions":
            rest = np.array([place for place in range(len(values)) if place != gold])
            figures["rescue@1"].append(bool(same[rest[np.argmax(values[rest])]]))
            if gold is not None and same.sum() > 1:
                members = np.flatnonzero(same)
                figures["coherence@1"].append(int(members[np.argmax(values[members])]) == gold)
    means = {
        name: _mean([_mean(figures[name]) for figures in rows.values() if figures[name]])
        for name in ("ndcg@1", "rescue@1", "coherence@1")
    }
    total = means["ndcg@1"] + means["rescue@1"]
    means["balanced@1"] = 2 * means["ndcg@1"] * means["rescue@1"] / total if total else 0.0
    return means


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0
