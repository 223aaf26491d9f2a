"""Vectors on their way into an index, kept in a temporary file while documents still stream in."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lamar_rag.types import FloatArray


class VectorSpool:
    """Rows of float32, appended in batches and read back in batches or by row."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._file = tempfile.TemporaryFile(prefix="lamar-vectors-")  # noqa: SIM115  # closed in close()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, vectors: FloatArray) -> None:
        """Add rows, shape (n, d)."""
        self._file.write(np.ascontiguousarray(vectors, dtype=np.float32).tobytes())
        self._count += len(vectors)

    def batches(self, size: int) -> Iterator[FloatArray]:
        """Yield the rows in order, `size` at a time."""
        for start in range(0, self._count, size):
            yield self._read(start, min(size, self._count - start))

    def sample(self, size: int, seed: int) -> FloatArray:
        """Return `size` rows chosen at random, shape (size, d)."""
        rows = np.random.default_rng(seed).choice(self._count, size=size, replace=False)
        rows.sort()
        return np.concatenate([self._read(int(row), 1) for row in rows])

    def close(self) -> None:
        """Delete the file."""
        self._file.close()

    def __enter__(self) -> VectorSpool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self, start: int, count: int) -> FloatArray:
        width = 4 * self._dimension
        self._file.seek(start * width)
        return np.frombuffer(self._file.read(count * width), dtype=np.float32).reshape(count, self._dimension)
