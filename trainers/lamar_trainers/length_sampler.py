"""Batches of texts of similar length, so that little is padded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from torch.utils.data import BatchSampler

from lamar_rag.extras import require

if TYPE_CHECKING:
    import torch
    from datasets import Dataset
    from numpy.typing import NDArray

_POOL = 50  # batches that are drawn at random and sorted together


class LengthBatchSampler(BatchSampler):
    """Random pools of `_POOL` batches, each sorted by length and cut into batches, which come in random order.

    For sentence-transformers' `batch_sampler`, which calls it with the data set. The order depends on the seed and the
    epoch alone, so that a resumed run goes on with the same batches.
    """

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int,
        drop_last: bool,
        valid_label_columns: list[str] | None = None,
        generator: torch.Generator | None = None,
        seed: int = 0,
    ) -> None:
        self._rows = len(dataset)
        super().__init__(range(self._rows), batch_size, drop_last)
        self.seed, self.epoch = seed, 0
        texts = [name for name in dataset.column_names if name not in (valid_label_columns or [])]
        self._lengths = _lengths(dataset, texts)

    def __iter__(self) -> Iterator[list[int]]:
        """Yield the rows of each batch."""
        random = np.random.default_rng([self.seed, self.epoch])
        order = random.permutation(self._rows)
        batches: list[list[int]] = []
        for start in range(0, self._rows, _POOL * self.batch_size):
            pool = order[start : start + _POOL * self.batch_size]
            ranked = pool[np.argsort(self._lengths[pool], kind="stable")].tolist()
            batches += [ranked[i : i + self.batch_size] for i in range(0, len(ranked), self.batch_size)]
        for place in random.permutation(len(batches)).tolist():
            if len(batches[place]) == self.batch_size or not self.drop_last:
                yield batches[place]

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose order comes next."""
        self.epoch = epoch

    def __len__(self) -> int:
        """The number of batches of an epoch."""
        # every pool but the last is of whole batches
        whole, rest = divmod(self._rows, self.batch_size)
        return whole + (rest > 0 and not self.drop_last)


def _lengths(dataset: Dataset, columns: list[str]) -> NDArray[np.int64]:
    """Return the longest text of each row in bytes of UTF-8, shape (rows,), read a few thousand rows at a time.

    Bytes are nearer to the number of tokens than characters are, in every script.
    """
    compute: Any = require("pyarrow.compute", extra="train", purpose="training")
    found = [np.zeros(0, dtype=np.int64)]
    for rows in dataset.with_format("arrow").iter(4096):
        widths = [compute.binary_length(rows[name]).to_numpy(zero_copy_only=False) for name in columns]
        found.append(np.max(widths, axis=0).astype(np.int64))
    return np.concatenate(found)
