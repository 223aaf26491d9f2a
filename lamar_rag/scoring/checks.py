"""What every way of scoring checks before it hands scores on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lamar_rag.checks import is_finite
from lamar_rag.types import Document, Scored

if TYPE_CHECKING:
    from lamar_rag.types import FloatArray


def check_spread(spread: object) -> None:
    """Raise ValueError unless a scorer's spread is None or a positive number: a negative one would turn the dial."""
    if spread is None:
        return
    if not is_finite(spread) or spread <= 0:  # type: ignore[operator]
        raise ValueError(
            f"got spread={spread!r}, expected a positive number in the units of the scores (or None)"
        )


def checked_result(result: Scored, model: str, documents: Sequence[Document]) -> Scored:
    """Return what a scorer returned, as arrays, after making sure that it fits the documents.

    Raises:
        ValueError: as `checked_scores`, or another number of truncated flags than of documents.
    """
    if not hasattr(result, "scores") or not hasattr(result, "truncated"):
        raise ValueError(
            f"model {model} returned a {type(result).__name__}, expected lamar_rag.Scored(scores, truncated)"
        )
    scores = checked_scores(np.asarray(result.scores, dtype=np.float32), model, documents)
    truncated = np.asarray(result.truncated, dtype=np.bool_)
    if truncated.shape != scores.shape:
        raise ValueError(
            f"model {model} returned truncated flags of shape {truncated.shape}, expected ({len(documents)},)"
        )
    return Scored(scores, truncated)


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
