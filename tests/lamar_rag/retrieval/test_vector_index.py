from __future__ import annotations

import numpy as np
import pytest

from lamar_rag.retrieval import vector_index
from lamar_rag.retrieval.index_kinds import choose_kind, sub_vectors
from lamar_rag.retrieval.vector_index import VectorIndex
from lamar_rag.retrieval.vector_spool import VectorSpool


def unit(count: int, dimension: int, seed: int, centres: int = 0) -> np.ndarray:
    """Random unit vectors; around a few centres, as real embeddings are, when asked."""
    generator = np.random.default_rng(seed)
    vectors = generator.normal(size=(count, dimension))
    if centres:
        middle = np.random.default_rng(99).normal(size=(centres, dimension)) * 3
        vectors += middle[generator.integers(centres, size=count)]
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def build(vectors: np.ndarray, kind: str) -> VectorIndex:
    with VectorSpool(vectors.shape[1]) as spool:
        spool.append(vectors[:100])
        spool.append(vectors[100:])
        return VectorIndex.build(spool, vectors.shape[1], kind)


def exact(vectors: np.ndarray, query: np.ndarray, k: int, allowed: np.ndarray | None = None) -> list[int]:
    scores = (vectors.astype(np.float64) @ query.astype(np.float64)).astype(np.float32)
    positions = np.arange(len(vectors)) if allowed is None else np.flatnonzero(allowed)
    return positions[np.argsort(-scores[positions], kind="stable")[:k]].tolist()


def recall(index: VectorIndex, vectors: np.ndarray, queries: np.ndarray, k: int, allowed=None) -> float:
    hits = index.search(queries, k, allowed)
    shares = []
    for query, (_, positions) in zip(queries, hits, strict=True):
        wanted = exact(vectors, query, k, allowed)
        assert len(set(positions.tolist())) == len(wanted)
        shares.append(len(set(positions.tolist()) & set(wanted)) / len(wanted))
    return float(np.mean(shares))


@pytest.mark.parametrize("queries", [1, 19, 50])
def test_flat_is_exact_at_any_batch_size(queries: int) -> None:
    # 50 queries take faiss's matrix product, fewer its row-by-row path: sums differ in the last bits.
    vectors = unit(3000, 24, 1)
    vectors[np.random.default_rng(2).integers(3000, size=200)] = vectors[0]
    index = build(vectors, "flat")
    asked = np.concatenate([unit(queries, 24, 3), vectors[:1]])
    for query, (scores, positions) in zip(asked, index.search(asked, 30), strict=True):
        assert positions.tolist() == exact(vectors, query, 30)
        assert np.all(np.diff(scores) <= 0)


def test_hnsw_recall_and_ties() -> None:
    vectors = unit(4000, 24, 4, centres=20)
    vectors[500:520] = vectors[0]
    index = build(vectors, "hnsw")
    assert recall(index, vectors, unit(50, 24, 5, centres=20), 10) > 0.95
    assert index.search(vectors[:1], 5)[0][1].tolist() == [0, 500, 501, 502, 503]


@pytest.mark.parametrize("kind", ["flat", "hnsw", "ivfpq"])
@pytest.mark.parametrize("share", [0.0005, 0.05, 0.5])
def test_filtered_searches_find_as_many_as_there_are(kind: str, share: float) -> None:
    vectors = unit(10_000, 16, 6, centres=10)
    index = build(vectors, kind)
    allowed = np.random.default_rng(7).random(len(vectors)) < share
    allowed[17] = True
    queries = unit(10, 16, 8, centres=10)
    for k in (1, 20, 20_000):
        for _, positions in index.search(queries, k, allowed):
            assert len(set(positions.tolist())) == min(k, int(allowed.sum()))
            assert allowed[positions].all()
    if kind != "ivfpq":
        assert recall(index, vectors, queries, 10, allowed) > 0.95
    assert index.search(queries[:1], 5, np.zeros_like(allowed))[0][1].tolist() == []


def test_ivfpq_finds_the_neighbourhood() -> None:
    vectors = unit(12_000, 32, 9, centres=200)
    index = build(vectors, "ivfpq")
    assert index.kind == "ivfpq"
    assert recall(index, vectors, unit(50, 32, 10, centres=200), 50) > 0.5
    assert index.vectors_at(np.array([3])) is None
    assert len(index.search(vectors[:1], 20_000)[0][1]) == 12_000


def test_too_few_vectors_to_train() -> None:
    with pytest.raises(ValueError, match="at least 9,984 vectors, got 300: use kind='auto'"):
        build(unit(300, 16, 11), "ivfpq")


@pytest.mark.parametrize(
    ("requested", "count", "expected"),
    [
        ("auto", 0, "flat"),
        ("auto", 100_000, "flat"),
        ("auto", 100_001, "hnsw"),
        ("auto", 1_000_000, "hnsw"),
        ("auto", 1_000_001, "ivfpq"),
        ("flat", 5_000_000, "flat"),
        ("hnsw", 1, "hnsw"),
        ("ivfpq", 9_984, "ivfpq"),
    ],
)
def test_choice_of_kind(requested: str, count: int, expected: str) -> None:
    assert choose_kind(requested, count) == expected


def test_unknown_kind() -> None:
    with pytest.raises(ValueError, match="got kind='lsh', expected one of auto, flat, hnsw, ivfpq"):
        choose_kind("lsh", 5)


@pytest.mark.parametrize(("dimension", "expected"), [(384, 96), (1024, 64), (16, 4), (7, 1), (2, 1)])
def test_sub_vectors_divide_the_dimension(dimension: int, expected: int) -> None:
    assert sub_vectors(dimension) == expected


def test_vectors_come_back(tmp_path) -> None:
    vectors = unit(150, 8, 12)
    for kind in ("flat", "hnsw"):
        index = build(vectors, kind)
        index.write(tmp_path / kind)
        again = VectorIndex.read(tmp_path / kind, kind)
        positions = np.array([149, 0, 7, 0])
        assert np.array_equal(again.vectors_at(positions), vectors[positions])
        assert again.vectors_at(np.array([], dtype=np.int64)).shape == (0, 8)


class FakeGpuFaiss:
    """faiss with one GPU, whose index is the CPU's; counts the searches there."""

    def __init__(self, fits: bool = True) -> None:
        import faiss

        self._faiss = faiss
        self._fits = fits
        self.searches = 0

    def __getattr__(self, name: str):
        return getattr(self._faiss, name)

    def get_num_gpus(self) -> int:
        return 1

    def index_cpu_to_all_gpus(self, index):
        if not self._fits:
            raise RuntimeError("out of memory")
        outer = self

        class OnGpu:
            def search(self, queries, k):
                outer.searches += 1
                return index.search(queries, k)

        return OnGpu()


def test_gpu_is_used_where_faiss_sees_one(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, queries = unit(300, 8, 13), unit(4, 8, 14)
    index = build(vectors, "flat")
    expected = [hits[1].tolist() for hits in index.search(queries, 5)]
    fake = FakeGpuFaiss()
    monkeypatch.setattr(vector_index, "load_faiss", lambda: fake)
    assert [hits[1].tolist() for hits in index.search(queries, 5)] == expected
    assert fake.searches == 1
    index.search(queries, 5, np.arange(300) < 100)  # filtered: on the CPU
    build(vectors, "hnsw").search(queries, 5)
    assert fake.searches == 1


def test_gpu_without_room(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    vectors = unit(300, 8, 13)
    index = build(vectors, "flat")
    monkeypatch.setattr(vector_index, "load_faiss", lambda: FakeGpuFaiss(fits=False))
    assert index.search(vectors[:1], 1)[0][1].tolist() == [0]
    assert "does not fit on the GPU" in caplog.text


def test_gpu_asked_for_without_one() -> None:
    with VectorSpool(8) as spool, pytest.raises(ValueError, match="faiss sees no GPU"):
        VectorIndex.build(spool, 8, "flat", gpu=True)
    with VectorSpool(8) as spool, pytest.raises(ValueError, match="for the CPU only"):
        VectorIndex.build(spool, 8, "hnsw", gpu=True)
