"""Ranking metrics, by ir-measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lamar_rag.extras import require

if TYPE_CHECKING:
    import numpy.typing as npt

    Column = npt.NDArray[np.float64]


def ranking_metrics(
    names: Mapping[str, str], rankings: Mapping[str, Sequence[str]], relevant: Mapping[str, frozenset[str]]
) -> dict[str, Column]:
    """Return metrics by name, shape (queries,), in the order of `rankings`; fractions.

    A document's place in the list is its rank, so that there are no ties.

    Args:
        names: our name -> that of ir-measures, such as "nDCG@10".
        rankings: query id -> document ids, the best first.
        relevant: query id -> ids of its relevant documents, also those that were not retrieved.

    Raises:
        ValueError: a query without relevant documents, or a document that is ranked twice.
    """
    ir: Any = require("ir_measures", extra="eval", purpose="ranking metrics")
    for query, documents in rankings.items():
        if not relevant.get(query):
            raise ValueError(f"got no relevant document for query {query}, expected at least one")
        if len(set(documents)) != len(documents):
            raise ValueError(f"got a document twice in the ranking of query {query}, expected each once")
    measures = {ir.parse_measure(measure): name for name, measure in names.items()}
    judgements = [ir.Qrel(query, document, 1) for query in rankings for document in sorted(relevant[query])]
    run = [
        ir.ScoredDoc(query, document, float(len(documents) - place))
        for query, documents in rankings.items()
        for place, document in enumerate(documents)
    ]
    places = {query: place for place, query in enumerate(rankings)}
    columns = {name: np.zeros(len(places)) for name in names}
    for metric in ir.iter_calc(list(measures), judgements, run):
        columns[measures[metric.measure]][places[metric.query_id]] = metric.value
    return columns
