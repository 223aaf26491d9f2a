"""Batches by a budget of tokens, in order of length."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt


def token_batches(lengths: npt.NDArray[np.integer], budget: int) -> Iterator[npt.NDArray[np.intp]]:
    """Yield the rows of one batch after another, the longest texts first.

    A batch holds as many texts as fit when each is padded to the longest, at least one. Longest first
    means that a lack of memory shows at once; equal lengths keep their order.

    Args:
        lengths: shape (n,), tokens a text.
        budget: padded tokens a batch.
    """
    order = np.argsort(-np.asarray(lengths, dtype=np.int64), kind="stable")
    start = 0
    while start < len(order):
        count = max(1, budget // max(1, int(lengths[order[start]])))
        yield order[start : start + count]
        start += count
