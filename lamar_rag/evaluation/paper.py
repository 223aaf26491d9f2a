"""The paper's numbers, as reference data (LAMAR, arXiv 2607.22042v2)."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

_PERCENT = 100.0
_NO_PERCENT = ("size",)


def paper_table(name: str) -> dict[str, dict[str, float]]:
    """Return a table of the paper: model -> column -> fraction.

    Args:
        name: "coherence" (table 3), "mteb" (5), "retrieval" (6), or DATASET_MEASURE for a table by language, such as
            "xquad_ndcg@1" (8 to 13) and "mldr_languages" (4, 14 to 17).

    Raises:
        ValueError: no such table.
    """
    rows = _table(name)["rows"]
    return {
        model: {column: value / _PERCENT for column, value in row.items() if column not in _NO_PERCENT}
        for model, row in rows.items()
    }


def paper_recall(first_stage: str) -> float:
    """Return R@20 of the paper's first stage "minilm" or "bge-m3" on XQuAD, a fraction (table 6)."""
    return float(_table("retrieval")["recall@20"][first_stage]) / _PERCENT


def impossible_rows() -> frozenset[str]:
    """Return the models for which the paper has MRR@10 above nDCG@10 in some language, with one relevant document.

    Their numbers are kept as they are printed; one of the two must be something else there.
    """
    found = set()
    for dataset in ("belebele", "xquad"):
        gains = _table(f"{dataset}_ndcg@10")["rows"]
        for model, row in _table(f"{dataset}_mrr@10")["rows"].items():
            if any(value > gains[model][language] for language, value in row.items()):
                found.add(model)
    return frozenset(found)


def _table(name: str) -> dict[str, Any]:
    tables = _data()["tables"]
    if name not in tables:
        raise ValueError(f"got table '{name}', expected one of {', '.join(tables)}")
    table: dict[str, Any] = tables[name]
    return table


@cache
def _data() -> dict[str, Any]:
    text = resources.files("lamar_rag.evaluation").joinpath("paper_tables.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data
