"""The documents, languages and vectors of an index, kept in step by position."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from lamar_rag.retrieval.document_store import DocumentStore
from lamar_rag.retrieval.language_column import LanguageColumn
from lamar_rag.retrieval.search_options import merge_hits
from lamar_rag.retrieval.vector_index import VectorIndex
from lamar_rag.retrieval.vector_spool import VectorSpool
from lamar_rag.types import Candidate, Document

if TYPE_CHECKING:
    from pathlib import Path

    from lamar_rag.retrieval.index_manifest import IndexManifest
    from lamar_rag.retrieval.vector_index import Hits
    from lamar_rag.types import BoolArray, FloatArray

    # Puts documents into a store and their vectors into a spool; returns their languages.
    Fill = Callable[[DocumentStore, VectorSpool], list[str]]


class IndexData:
    """What an index holds. Reads may run at the same time; `extend` and `close` must run alone."""

    def __init__(self, store: DocumentStore, vectors: VectorIndex, languages: LanguageColumn) -> None:
        self.store = store
        self.vectors = vectors
        self.languages = languages

    @classmethod
    def build(cls, fill: Fill, dimension: int, kind: str, *, gpu: bool | None) -> IndexData:
        """Make the index of what `fill` delivers; nothing is left behind when it raises."""
        store = DocumentStore.create()
        try:
            with VectorSpool(dimension) as spool, store.transaction():
                languages = LanguageColumn(fill(store, spool))
                vectors = VectorIndex.build(spool, dimension, kind, gpu=gpu)
            return cls(store, vectors, languages)
        except BaseException:
            store.close()
            raise

    @classmethod
    def open(
        cls, vectors_path: Path, documents_path: Path, manifest: IndexManifest, *, gpu: bool | None
    ) -> IndexData:
        """Open the saved files that the manifest describes.

        Raises:
            ValueError: if they do not hold what it says.
        """
        vectors = VectorIndex.read(vectors_path, manifest.kind, gpu=gpu)
        store = DocumentStore.open(documents_path)
        languages = LanguageColumn(store.languages())
        if dict(languages.counts()) != dict(manifest.languages):
            store.close()
            raise ValueError(
                f"'{documents_path}' does not hold what the manifest says: build the index again"
            )
        expected = (manifest.documents, manifest.documents, manifest.dimension)
        if (len(vectors), len(languages), vectors.dimension) != expected:
            store.close()
            raise ValueError(
                f"the files in '{vectors_path.parent}' do not belong together: build the index again"
            )
        return cls(store, vectors, languages)

    def extend(self, fill: Fill) -> None:
        """Add what `fill` delivers, all or nothing."""
        store = self.store.writable_copy() if self.store.read_only else self.store
        try:
            with VectorSpool(self.vectors.dimension) as spool, store.transaction():
                languages = fill(store, spool)
                self.vectors.extend(spool)
        except BaseException:
            if store is not self.store:
                store.close()
            raise
        self.languages.extend(languages)
        if store is not self.store:
            self.store.close()
            self.store = store

    def search(self, queries: FloatArray, k: int, languages: Sequence[str] | None) -> list[list[Candidate]]:
        """Return the best `k` of the languages (all when None) for each query, shape (q, d)."""
        allowed = None if languages is None else self.languages.mask(languages)
        return self._to_candidates(self.vectors.search(queries, k, allowed))

    def search_each_language(
        self, queries: FloatArray, per_language: int, k: int | None, languages: Sequence[str] | None
    ) -> list[list[Candidate]]:
        """Return the best `per_language` of each language, merged by score and cut to `k` if given."""
        chosen = list(self.languages.counts()) if languages is None else languages
        lists = [self.vectors.search(queries, per_language, self.languages.mask([code])) for code in chosen]
        merged = [merge_hits([found[i] for found in lists], k) for i in range(len(queries))]
        return self._to_candidates(merged)

    def known_vectors(
        self, documents: Sequence[Document], is_same: Callable[[Document, Document], bool]
    ) -> tuple[FloatArray, BoolArray]:
        """Return the vectors of documents whose id is stored for the same document, and which are.

        Returns:
            Vectors, shape (n, d), zero where unknown, and a mask, shape (n,).
        """
        found = np.zeros(len(documents), dtype=np.bool_)
        vectors = np.zeros((len(documents), self.vectors.dimension), dtype=np.float32)
        positions = np.zeros(len(documents), dtype=np.int64)
        stored = self.store.by_id(list({document.id for document in documents if document.id}))
        for i, document in enumerate(documents):
            if document.id in stored and is_same(document, stored[document.id][1]):
                positions[i], found[i] = stored[document.id][0], True
        exact = self.vectors.vectors_at(positions[found])
        if exact is None:
            return vectors, np.zeros_like(found)
        vectors[found] = exact
        return vectors, found

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def _to_candidates(self, hits: list[Hits]) -> list[list[Candidate]]:
        wanted = sorted({int(position) for _, positions in hits for position in positions})
        documents = self.store.by_position(wanted)
        return [
            [
                Candidate(documents[int(position)], float(score), rank)
                for rank, (score, position) in enumerate(zip(scores, positions, strict=True), start=1)
            ]
            for scores, positions in hits
        ]
