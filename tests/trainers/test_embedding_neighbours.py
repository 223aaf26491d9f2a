"""Nearness by an embedder, and the embedder that remembers."""

from __future__ import annotations

import faiss
import numpy as np
import pytest
from hash_embedder import HashEmbedder
from lamar_trainers.embedding_neighbours import embedding_neighbours

from lamar_rag.retrieval.cached_embedder import CachedEmbedder

DOCUMENTS = [
    f"document {number} about {word}" for number, word in enumerate(["cats", "dogs", "mats", "birds", "fish"])
]
QUERIES = ["cats and mats", "fish", "birds and dogs"]


class CountingEmbedder(HashEmbedder):
    """Keeps what it was asked."""

    def __init__(self):
        super().__init__()
        self.asked = []

    def embed(self, texts, kind, **options):
        self.asked += [(kind, text) for text in texts]
        return super().embed(texts, kind, **options)


def test_neighbours_are_those_that_faiss_finds():
    embedder = HashEmbedder()
    index = faiss.IndexFlatIP(embedder.dimension)
    index.add(embedder.embed(DOCUMENTS, "passage"))
    _, expected = index.search(embedder.embed(QUERIES, "query"), 3)
    found = embedding_neighbours(QUERIES, DOCUMENTS, embedder=embedder, count=3, excluded=[set()] * 3)
    assert found == expected.tolist()


def test_excluded_documents_are_never_taken():
    found = embedding_neighbours(
        QUERIES, DOCUMENTS, embedder=HashEmbedder(), count=9, excluded=[{0, 2}, set(), {1}]
    )
    assert [sorted(places) for places in found] == [[1, 3, 4], [0, 1, 2, 3, 4], [0, 2, 3, 4]]
    with pytest.raises(ValueError, match="2 sets of excluded documents"):
        embedding_neighbours(QUERIES, DOCUMENTS, embedder=HashEmbedder(), count=1, excluded=[set()] * 2)


def test_a_text_is_embedded_once_also_over_runs(tmp_path):
    first = CountingEmbedder()
    cached = CachedEmbedder(first, tmp_path)
    texts = ["b", "aaa", "b", "cc"]
    vectors = cached.embed(texts, "passage")
    np.testing.assert_array_equal(vectors, HashEmbedder().embed(texts, "passage"))
    cached.embed(["cc", "b"], "passage")
    assert sorted(first.asked) == [("passage", "aaa"), ("passage", "b"), ("passage", "cc")]

    second = CountingEmbedder()
    later = CachedEmbedder(second, tmp_path)
    np.testing.assert_array_equal(later.embed(texts, "passage"), vectors)
    later.embed(["b"], "query")  # another kind is another text
    assert second.asked == [("query", "b")]
    assert later.embed([], "query").shape == (0, later.dimension)


def test_an_embedder_with_centring_is_refused(tmp_path):
    embedder = HashEmbedder()
    embedder.centring = "ntrex-51"
    with pytest.raises(ValueError, match="expected one without: centring=None"):
        CachedEmbedder(embedder, tmp_path)
