"""What every way of scoring checks before it hands scores on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lamar_rag.types import Document

if TYPE_CHECKING:
    from lamar_rag.types import FloatArray


def checked_scores(scores: FloatArray, model: str, documents: Sequence[Document]) -> FloatArray:
    """Return the scores, shape (n,), after making sure that each is a number.

    Raises:
        ValueError: another number of scores than of documents, or one that is NaN or infinite: it is named,
            for a NaN would otherwise take any rank.
    """
    if scores.shape != (len(documents),):
        raise ValueError(
            f"model {model} returned scores of shape {scores.shape}, expected ({len(documents)},)"
        )
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        row = int(bad[0])
        label = documents[row].id or "without id"
        raise ValueError(
            f"model {model} returned {scores[row]} for document {row} ({label}): "
            "load it in float32, or check its weights"
        )
    return scores
