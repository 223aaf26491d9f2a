"""Instances in Parquet files as the columns that a stage's loss reads."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lamar_rag.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterator

    from datasets import Dataset

Loss = Literal["distillation", "contrastive", "alignment"]
LENGTH = "characters"  # of the longest document of a row, by which batches are put together
_GROUP = ["query", "positive_source", "positive_target", "negative_source", "negative_target"]


def stage_dataset(loss: Loss, path: str | Path, *, cache: str | Path) -> Dataset:
    """Return the training set of a stage, mapped from disk.

    | loss | file | columns |
    | --- | --- | --- |
    | distillation | pairs with the teacher's scores | query, document, label |
    | contrastive | the same | query, document_0 (the positive), document_1, ..., label (a list) |
    | alignment | groups | query, positive_source, positive_target, negative_source, negative_target |

    Raises:
        ValueError: no such file, no rows, or groups of other sizes.
    """
    datasets: Any = require("datasets", extra="train", purpose="training")
    path = Path(path)
    if not path.is_file():
        raise ValueError(
            f"got no {path}, expected the file of an earlier step: synthesize, teacher, distill, align"
        )
    if loss == "contrastive":
        rows: Dataset = datasets.Dataset.from_generator(
            contrastive_rows,
            gen_kwargs={"path": str(path), "modified": path.stat().st_mtime_ns},
            cache_dir=str(cache),
        )
    else:
        columns = ["query", "document", "label"] if loss == "distillation" else _GROUP
        rows = datasets.Dataset.from_parquet(str(path), columns=columns, cache_dir=str(cache))
    if not len(rows):
        raise ValueError(f"got {path} without rows, expected some: is every source empty?")
    return rows


def contrastive_rows(path: str, modified: int = 0) -> Iterator[dict[str, Any]]:
    """Yield a row a group; groups that are smaller than the largest of the file are left out.

    Args:
        path: pairs with the teacher's scores.
        modified: the file's time, so that a cache of an older file is not taken.
    """
    size = max(len(group) for group in _groups(path))
    for group in _groups(path):
        if len(group) == size:
            texts = {f"document_{place}": pair["document"] for place, pair in enumerate(group)}
            yield {"query": group[0]["query"], **texts, "label": [pair["label"] for pair in group]}


def _groups(path: str) -> Iterator[list[dict[str, Any]]]:
    parquet: Any = require("pyarrow.parquet", extra="train", purpose="training")
    columns = ["dataset", "group", "query", "document", "label"]
    rows = (
        row
        for batch in parquet.ParquetFile(path).iter_batches(4096, columns=columns)
        for row in batch.to_pylist()
    )
    for _, pairs in groupby(rows, key=lambda row: (row["dataset"], row["group"])):
        yield list(pairs)
