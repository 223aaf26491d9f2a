"""Batches by a budget of tokens, in order of length; less of it when memory runs out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from lamar_rag.torch_options import free_memory, is_out_of_memory

logger = logging.getLogger(__name__)

Rows = npt.NDArray[np.intp]


def token_batches(lengths: npt.NDArray[np.integer], budget: int, *, packed: bool = False) -> Iterator[Rows]:
    """Yield the rows of one batch after another, the longest texts first.

    A batch holds as many texts as fit in the budget, at least one: padded to the longest, or end to end
    where `packed`. Longest first means that a lack of memory shows at once; equal lengths keep their order.

    Args:
        lengths: shape (n,), tokens a text.
        budget: tokens a batch, padding included.
    """
    order = np.argsort(-np.asarray(lengths, dtype=np.int64), kind="stable")
    start = 0
    while start < len(order):
        longest = max(1, int(lengths[order[start]]))
        if packed:
            ends = np.cumsum(lengths[order[start : start + budget]])
            count = max(1, int(np.searchsorted(ends, budget, side="right")))
        else:
            count = max(1, budget // longest)
        yield order[start : start + count]
        start += count


def run_batches(
    lengths: npt.NDArray[np.integer], budget: int, run: Callable[[Rows], None], *, packed: bool = False
) -> int:
    """Call `run` with the rows of each batch; return the budget that was enough.

    Where a batch runs out of memory the budget is halved and the rest goes on; every other error, and a
    lack of memory for one text alone, is raised as it is.
    """
    left = np.arange(len(lengths))
    while len(left):
        done = 0
        batches = [left[rows] for rows in token_batches(lengths[left], budget, packed=packed)]
        for rows in batches:
            if not _fits(run, rows):
                break
            done += 1
        else:
            return budget
        left = np.sort(np.concatenate(batches[done:]))
        failed = lengths[batches[done]]
        used = int(failed.sum() if packed else failed.max() * len(failed))
        budget = max(1, min(budget, used) // 2)
        # outside the except block, where the failed batch's tensors are no longer held by the traceback
        free_memory()
        logger.warning("out of memory: going on with batches of %d tokens", budget)
    return budget


def _fits(run: Callable[[Rows], None], rows: Rows) -> bool:
    try:
        run(rows)
    except (RuntimeError, MemoryError) as error:
        if len(rows) == 1 or not is_out_of_memory(error):
            raise
        return False
    return True
