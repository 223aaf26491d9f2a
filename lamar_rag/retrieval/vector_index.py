"""Vectors by position, searched with FAISS."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lamar_rag.retrieval.index_kinds import (
    IndexKind,
    choose_kind,
    load_faiss,
    make_index,
    training_sample_size,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from lamar_rag.retrieval.vector_spool import VectorSpool
    from lamar_rag.types import BoolArray, FloatArray

    IntArray = npt.NDArray[np.int64]
    Hits = tuple[FloatArray, IntArray]  # scores and positions, best first, both (k,)

_log = logging.getLogger(__name__)
_ADD_ROWS = 16_384
_TRAINING_SEED = 20260102
_GPU_MOST_RESULTS = 2048
# float32 sums of a few thousand products differ by less than this between code paths of faiss.
_ROUNDING = 1e-5
_SLACK = 16
# Below this share of matching vectors a filtered graph search loses more than a scan of them costs.
_SCAN_SHARE = 0.1


class VectorIndex:
    """A FAISS inner-product index whose order does not depend on batch size, threads or device.

    `flat` and `hnsw` keep the vectors, so hits are scored again in float64 and equal scores come in
    the order of insertion; `flat` results are exact. `ivfpq` keeps codes only: its scores are
    approximate. Searches may run at the same time; `extend` must run alone.
    """

    def __init__(self, kind: IndexKind, index: Any, *, gpu: bool | None = None) -> None:
        self.kind = kind
        self._index = index
        self._gpu = gpu
        self._gpu_index: Any = None
        self._gpu_lock = threading.Lock()
        if gpu and kind == "hnsw":
            raise ValueError(
                "got gpu=True with kind='hnsw', which FAISS has for the CPU only: use flat or ivfpq"
            )
        if gpu and not _gpu_count():
            raise ValueError("got gpu=True, but faiss sees no GPU: install faiss-gpu-cu12 or pass gpu=False")

    @classmethod
    def build(
        cls, spool: VectorSpool, dimension: int, requested: str, *, gpu: bool | None = None
    ) -> VectorIndex:
        """Build the index of the spooled vectors.

        Raises:
            ValueError: if the kind is unknown or there are too few vectors to train it.
        """
        kind = choose_kind(requested, len(spool))
        built = cls(kind, make_index(kind, dimension, len(spool)), gpu=gpu)
        if kind == "ivfpq":
            built._index.train(spool.sample(training_sample_size(len(spool)), _TRAINING_SEED))
        built.extend(spool)
        return built

    @classmethod
    def read(cls, path: Path, kind: IndexKind, *, gpu: bool | None = None) -> VectorIndex:
        """Read a file written by `write`."""
        faiss = load_faiss()
        try:
            index = faiss.read_index(str(path))
        except RuntimeError as error:
            raise ValueError(f"'{path}' is not a FAISS file: build the index again") from error
        expected = {"flat": "IndexFlat", "hnsw": "IndexHNSW", "ivfpq": "IndexIVFPQ"}[kind]
        found = type(faiss.downcast_index(index)).__name__
        if not found.startswith(expected) or index.metric_type != faiss.METRIC_INNER_PRODUCT:
            raise ValueError(f"'{path}' holds a {found}, the manifest says '{kind}': build the index again")
        return cls(kind, index, gpu=gpu)

    def write(self, path: Path) -> None:
        """Write the vectors to a file."""
        load_faiss().write_index(self._index, str(path))

    def __len__(self) -> int:
        return int(self._index.ntotal)

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self._index.d)

    def extend(self, spool: VectorSpool) -> None:
        """Add the spooled vectors behind those that are there."""
        self._gpu_index = None
        for batch in spool.batches(_ADD_ROWS):
            self._index.add(batch)

    def vectors_at(self, positions: IntArray) -> FloatArray | None:
        """Return the vectors at these positions, shape (n, d); None where only codes are kept."""
        if self.kind == "ivfpq":
            return None
        vectors = np.empty((len(positions), self.dimension), dtype=np.float32)
        if len(positions):
            self._index.reconstruct_batch(np.ascontiguousarray(positions, dtype=np.int64), vectors)
        return vectors

    def search(self, queries: FloatArray, k: int, allowed: BoolArray | None = None) -> list[Hits]:
        """Return the best k hits of each query, fewer only where fewer vectors are allowed.

        Args:
            queries: unit vectors, shape (q, d).
            k: at least 1.
            allowed: shape (n,), which positions may be returned; all when None.
        """
        available = len(self) if allowed is None else int(np.count_nonzero(allowed))
        k = min(k, available)
        if k == 0 or not len(queries):
            return [_no_hits() for _ in queries]
        fetch = min(available, k + _SLACK)
        scan = self.kind == "hnsw" and available < _SCAN_SHARE * len(self)
        scores, positions = self._faiss_search(queries, fetch, allowed, exhaustive=scan)
        return [
            self._settle(queries[i], scores[i], positions[i], k, available, allowed)
            for i in range(len(queries))
        ]

    def _settle(
        self,
        query: FloatArray,
        scores: FloatArray,
        positions: IntArray,
        k: int,
        available: int,
        allowed: BoolArray | None,
    ) -> Hits:
        """Order one query's hits, and search again where they are too few or a tie crosses their end."""
        fetched = len(positions)
        searched_all = False
        while True:
            hits = self._rescored(query, scores, positions)
            complete = len(hits[1]) >= k
            tie_cut = (
                complete
                and self.kind != "ivfpq"
                and fetched < available
                and hits[0][k - 1] - hits[0][-1] <= _ROUNDING
            )
            if complete and not tie_cut:
                return hits[0][:k], hits[1][:k]
            if searched_all:
                raise ValueError(
                    "the index or the query holds values that are not finite: build the index again"
                )
            fetched = min(available, 4 * fetched) if tie_cut else available
            searched_all = fetched >= available
            found = self._faiss_search(query[None, :], fetched, allowed, exhaustive=True)
            scores, positions = found[0][0], found[1][0]

    def _rescored(self, query: FloatArray, scores: FloatArray, positions: IntArray) -> Hits:
        """Drop empty slots and sort by falling score, then by position."""
        found = positions >= 0
        positions, scores = positions[found], scores[found]
        vectors = self.vectors_at(positions)
        if vectors is not None:
            # einsum sums every row in the same order, which a matrix product need not do.
            exact = np.einsum("kd,d->k", vectors.astype(np.float64), query.astype(np.float64))
            scores = exact.astype(np.float32)
        order = np.lexsort((positions, -scores))
        return scores[order], positions[order]

    def _faiss_search(
        self, queries: FloatArray, k: int, allowed: BoolArray | None, *, exhaustive: bool
    ) -> tuple[FloatArray, IntArray]:
        """Search once; `exhaustive` looks at every allowed vector whatever the kind."""
        faiss = load_faiss()
        queries = np.ascontiguousarray(queries, dtype=np.float32)
        if allowed is None and k <= _GPU_MOST_RESULTS and not exhaustive:
            on_gpu = self._on_gpu()
            if on_gpu is not None:
                with self._gpu_lock:  # a GPU's scratch memory serves one search at a time
                    found: tuple[FloatArray, IntArray] = on_gpu.search(queries, k)
                return found
        options: dict[str, Any] = {}
        if allowed is not None:
            bits = np.packbits(allowed, bitorder="little")
            options["sel"] = faiss.IDSelectorBitmap(bits)
        if self.kind == "hnsw" and not exhaustive:
            share = 1.0 if allowed is None else np.count_nonzero(allowed) / len(self)
            effort = max(64, 2 * k)
            parameters = faiss.SearchParametersHNSW(efSearch=int(effort / share), **options)
        elif self.kind == "ivfpq":
            probes = self._index.nlist if exhaustive else self._index.nprobe
            parameters = faiss.SearchParametersIVF(nprobe=probes, **options)
        else:
            parameters = faiss.SearchParameters(**options)
        index = self._index.storage if self.kind == "hnsw" and exhaustive else self._index
        hits: tuple[FloatArray, IntArray] = index.search(queries, k, params=parameters)
        return hits

    def _on_gpu(self) -> Any:
        """Return a copy of the index on the GPU, None without one. The CPU's copy stays the real one."""
        if self._gpu is False or self.kind == "hnsw" or not _gpu_count():
            return None
        with self._gpu_lock:
            if self._gpu_index is None:
                try:
                    self._gpu_index = load_faiss().index_cpu_to_all_gpus(self._index)
                except RuntimeError as error:
                    if self._gpu:
                        raise
                    _log.warning("searching on the CPU: the index does not fit on the GPU (%s)", error)
                    self._gpu = False
            return self._gpu_index


def _gpu_count() -> int:
    faiss = load_faiss()
    return int(faiss.get_num_gpus()) if hasattr(faiss, "get_num_gpus") else 0


def _no_hits() -> Hits:
    return np.empty(0, dtype=np.float32), np.empty(0, dtype=np.int64)
