"""A cross-encoder's scores for groups of texts, as the objectives of sentence-transformers' trainer see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder


def group_scores(
    model: CrossEncoder,
    columns: Sequence[Sequence[str]],
    *,
    prompt: str | None = None,
    task: str | None = None,
) -> Tensor:
    """Return raw scores in float32, shape (B, N), of B queries with N documents each.

    Args:
        model: with one label.
        columns: the queries, then the first documents, then the second ones, and so on: 1 + N columns of B texts.
        prompt: passed on to the model.
        task: passed on to the model.
    """
    queries, *documents = columns
    pairs = [(query, text) for column in documents for query, text in zip(queries, column, strict=True)]
    features = model.preprocess(pairs, prompt=prompt, task=task)
    on_device = {
        name: value.to(model.device) if torch.is_tensor(value) else value for name, value in features.items()
    }
    scores: Tensor = model(on_device)["scores"]
    return scores.view(len(documents), len(queries)).T.float()


def check_single_label(model: CrossEncoder) -> None:
    """Raise ValueError for a model with another number of labels than one."""
    if model.num_labels != 1:
        raise ValueError(f"got a model with {model.num_labels} labels, expected 1: num_labels=1")
