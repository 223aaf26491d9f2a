"""Paired bootstrap over questions, by scipy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lamar_rag.extras import require

if TYPE_CHECKING:
    import numpy.typing as npt

    Column = npt.NDArray[np.float64]

RESAMPLES = 10_000
SEED = 0
_BATCH = 500  # resamples at once: bounds the memory


def bootstrap_interval(
    columns: Sequence[Sequence[float]],
    statistic: Callable[..., Any],
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> tuple[float, float]:
    """Return the 95 % percentile interval of a statistic; a resample takes the same questions of every column.

    Args:
        columns: one value a question each, all of the same questions in the same order.
        statistic: `statistic(*columns, axis)` of arrays.
        resamples: how many.
        seed: of the resampling.

    Raises:
        ValueError: columns of different lengths, or none.
    """
    lengths = {len(column) for column in columns}
    if len(lengths) != 1 or lengths == {0}:
        raise ValueError(f"got columns of {sorted(lengths)} questions, expected the same questions in each")
    arrays = tuple(np.asarray(column, dtype=np.float64) for column in columns)
    if lengths == {1}:
        value = float(statistic(*arrays, axis=-1))
        return value, value
    stats: Any = require("scipy.stats", extra="eval", purpose="bootstrap intervals")
    interval = stats.bootstrap(
        arrays,
        statistic,
        paired=True,
        vectorized=True,
        n_resamples=resamples,
        batch=_BATCH,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return float(interval.low), float(interval.high)


def mean(values: Column, axis: int = -1) -> Any:
    """Return the mean along an axis."""
    return values.mean(axis=axis)


def mean_difference(first: Column, second: Column, axis: int = -1) -> Any:
    """Return the mean of the first minus that of the second along an axis."""
    return first.mean(axis=axis) - second.mean(axis=axis)


def balanced(retrieval: Column, rescue: Column, axis: int = -1) -> Any:
    """Return the harmonic mean of two means along an axis: balanced@1; 0 where both are."""
    first, second = retrieval.mean(axis=axis), rescue.mean(axis=axis)
    total = first + second
    return np.divide(2 * first * second, total, out=np.zeros_like(total), where=total > 0)


def balanced_difference(
    retrieval: Column, rescue: Column, other_retrieval: Column, other_rescue: Column, axis: int = -1
) -> Any:
    """Return balanced@1 of the first two columns minus that of the last two."""
    return balanced(retrieval, rescue, axis) - balanced(other_retrieval, other_rescue, axis)
