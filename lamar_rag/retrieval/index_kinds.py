"""The kinds of FAISS index: which one for how many vectors, and how each is made."""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

from lamar_rag.extras import require

IndexKind = Literal["flat", "hnsw", "ivfpq"]
RequestedKind = Literal["auto", "flat", "hnsw", "ivfpq"]

FLAT_LIMIT = 100_000
HNSW_LIMIT = 1_000_000
HNSW_NEIGHBOURS = 32
HNSW_BUILD_EFFORT = 100
# faiss trains 256 centroids a sub-vector and asks for 39 vectors a centroid.
MIN_TRAINING_VECTORS = 39 * 256
_SEED = 20260101


def load_faiss() -> Any:
    """Import faiss, or raise `MissingExtraError` naming the extra that brings it."""
    return require("faiss", extra="rag", purpose="a FAISS index")


def choose_kind(requested: str, count: int) -> IndexKind:
    """Return the kind of index for `count` vectors: "auto" is flat to 100,000, hnsw to 1,000,000, then ivfpq.

    Raises:
        ValueError: if the kind is unknown, or `count` is too small to train it.
    """
    if requested not in get_args(RequestedKind):
        raise ValueError(f"got kind='{requested}', expected one of {', '.join(get_args(RequestedKind))}")
    if requested == "ivfpq" and count < MIN_TRAINING_VECTORS:
        raise ValueError(
            f"kind='ivfpq' is trained on at least {MIN_TRAINING_VECTORS:,} vectors, got {count:,}: "
            "use kind='auto', 'flat' or 'hnsw'"
        )
    if requested == "flat" or (requested == "auto" and count <= FLAT_LIMIT):
        return "flat"
    if requested == "hnsw" or (requested == "auto" and count <= HNSW_LIMIT):
        return "hnsw"
    return "ivfpq"


def make_index(kind: IndexKind, dimension: int, count: int) -> Any:
    """Make an empty inner-product index meant for `count` vectors. `ivfpq` still has to be trained."""
    faiss = load_faiss()
    if kind == "flat":
        return faiss.IndexFlatIP(dimension)
    if kind == "hnsw":
        index = faiss.IndexHNSWFlat(dimension, HNSW_NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = HNSW_BUILD_EFFORT
        return index
    lists = max(1, round(math.sqrt(count)))
    quantizer = faiss.IndexFlatIP(dimension)
    index = faiss.IndexIVFPQ(
        quantizer, dimension, lists, sub_vectors(dimension), 8, faiss.METRIC_INNER_PRODUCT
    )
    index.cp.seed = _SEED
    index.pq.cp.seed = _SEED
    index.nprobe = max(8, lists // 16)
    return index


def sub_vectors(dimension: int) -> int:
    """Return the bytes a vector takes in `ivfpq`: the largest divisor of `dimension` up to d/4 and 96."""
    most = max(1, min(dimension // 4, 96))
    return next(m for m in range(most, 0, -1) if dimension % m == 0)


def training_sample_size(count: int) -> int:
    """Return how many of `count` vectors to train `ivfpq` on: 64 a list, all where there are fewer."""
    return min(count, max(MIN_TRAINING_VECTORS, 64 * round(math.sqrt(count))))
