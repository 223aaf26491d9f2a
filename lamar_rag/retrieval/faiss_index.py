"""The first stage of retrieval: documents of all languages, found by their vectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lamar_rag.closing import Closing
from lamar_rag.retrieval.index_data import IndexData
from lamar_rag.retrieval.index_folder import load_folder, save_folder
from lamar_rag.retrieval.index_kinds import IndexKind, RequestedKind
from lamar_rag.retrieval.index_manifest import IndexManifest, SavedFile, installed_version, read_manifest
from lamar_rag.retrieval.indexing import BATCH_SIZE, store_and_embed
from lamar_rag.retrieval.search_options import check_limits, check_queries, filter_codes, query_codes
from lamar_rag.retrieval.shared_lock import SharedLock
from lamar_rag.types import Candidate, Document

if TYPE_CHECKING:
    from lamar_rag.types import BoolArray, Embedder, FloatArray

DEFAULT_K = 20


class FaissIndex(Closing):
    """A `Retriever` over FAISS vectors and an SQLite file of documents. Made by `build` or `load`.

    Any number of threads may search one index; `add` waits for them and they for it. Equal scores come in order of
    insertion. Passages are embedded as their text, without the title. An index that was never saved is temporary.
    """

    def __init__(self, embedder: Embedder, data: IndexData) -> None:
        self._embedder = embedder
        self._data: IndexData | None = data
        self._lock = SharedLock()
        self._origin: tuple[Path, IndexManifest] | None = None  # where it was loaded from or saved to last

    @classmethod
    def build(
        cls,
        documents: Iterable[Document],
        embedder: Embedder,
        *,
        kind: RequestedKind = "auto",
        batch_size: int = BATCH_SIZE,
        progress: bool = False,
        detect: bool = True,
        gpu: bool | None = None,
    ) -> FaissIndex:
        """Index documents as they stream by; texts are never all in memory.

        Args:
            documents: an empty id becomes the document's position (from 0).
            embedder: makes the vectors, here and for queries.
            kind: "flat" (exact), "hnsw" (a graph: fast, slow to build), "ivfpq" (codes of at most
                96 bytes a vector, approximate; trained on at least 9,984 vectors), or "auto": flat up to
                100,000 documents, hnsw up to 1,000,000, ivfpq above.
            batch_size: documents embedded at a time.
            progress: show a bar on stderr.
            detect: detect the language of documents that have none; "und" without.
            gpu: search on GPUs; None does where faiss sees one. hnsw and filtered searches stay on the CPU.

        Raises:
            ValueError: if two documents have one id, a language is unknown, or there are too few for `kind`.
            MissingExtraError: if faiss is not installed.
        """
        fill = partial(
            store_and_embed, documents, embedder, batch_size=batch_size, progress=progress, detect=detect
        )
        return cls(embedder, IndexData.build(fill, embedder.dimension, kind, gpu=gpu))

    @classmethod
    def load(cls, folder: str | Path, embedder: Embedder, *, gpu: bool | None = None) -> FaissIndex:
        """Open a saved index.

        Raises:
            ValueError: if there is none, a file is damaged, a newer lamar-rag wrote it, or the embedder
                is not the one (model, dimension, centring) that it was built with.
        """
        place = Path(folder)

        def open_files(manifest: IndexManifest, vectors_path: Path, documents_path: Path) -> FaissIndex:
            manifest.check_embedder(embedder, place)
            index = cls(embedder, IndexData.open(vectors_path, documents_path, manifest, gpu=gpu))
            index._origin = (place.resolve(), manifest)
            return index

        return load_folder(place, open_files)

    @staticmethod
    def info(folder: str | Path) -> IndexManifest:
        """Read what a saved index holds, without its vectors or an embedder.

        Raises:
            ValueError: if there is none, or its manifest is damaged or too new.
        """
        return read_manifest(Path(folder))

    def save(self, folder: str | Path) -> None:
        """Save into a new or empty folder, or over a saved index: whole or not at all, even when killed.

        Raises:
            ValueError: if the folder holds something else, or an index that changed since it was loaded.
        """
        place = Path(folder).resolve()
        expected = self._origin[1] if self._origin and self._origin[0] == place else None
        with self._reading() as data:
            written = save_folder(place, data.vectors.write, data.store.write, self._describe, expected)
        self._origin = (place, written)

    def add(
        self,
        documents: Iterable[Document],
        *,
        batch_size: int = BATCH_SIZE,
        progress: bool = False,
        detect: bool = True,
    ) -> None:
        """Add documents, all or none. The kind of the index stays; a saved index changes with `save` only.

        Raises:
            ValueError: if an id is taken or a language unknown.
        """
        with self._lock.writing():
            data = self._live
            fill = partial(
                store_and_embed,
                documents,
                self._embedder,
                first_position=len(data.vectors),
                batch_size=batch_size,
                progress=progress,
                detect=detect,
            )
            data.extend(fill)

    def search(
        self,
        query: str,
        k: int | None = None,
        *,
        query_language: str | None = None,
        languages: Sequence[str] | None = None,
        per_language: int | None = None,
    ) -> list[Candidate]:
        """Return the documents nearest to `query`, best first.

        Args:
            query: any text, also an empty one.
            k: most candidates; None means 20, or no limit with `per_language`.
            query_language: its code; detected when None.
            languages: search documents in these languages only; all when None.
            per_language: take the best so many of each language, merged by score.

        Raises:
            ValueError: if a number is below 1, a code is unknown, or `languages` is empty.
        """
        return self.search_many(
            [query],
            k,
            query_languages=None if query_language is None else [query_language],
            languages=languages,
            per_language=per_language,
        )[0]

    def search_many(
        self,
        queries: Sequence[str],
        k: int | None = None,
        *,
        query_languages: Sequence[str | None] | None = None,
        languages: Sequence[str] | None = None,
        per_language: int | None = None,
    ) -> list[list[Candidate]]:
        """Search for several queries at once: the same results as one by one, sooner. See `search`."""
        texts = check_queries(queries)
        codes = query_codes(texts, query_languages)
        check_limits(k, per_language)
        filter_codes(languages)  # a mistake shows before the model is asked
        if not texts:
            return []
        vectors = self._embedder.embed(texts, "query", languages=codes)
        return self.search_vectors(vectors, k, languages=languages, per_language=per_language)

    def search_vectors(
        self,
        vectors: FloatArray,
        k: int | None = None,
        *,
        languages: Sequence[str] | None = None,
        per_language: int | None = None,
    ) -> list[list[Candidate]]:
        """Search with query vectors of the index's embedder, shape (q, d). See `search`."""
        check_limits(k, per_language)
        codes = filter_codes(languages)
        queries = np.asarray(vectors, dtype=np.float32)
        with self._reading() as data:
            expected = data.vectors.dimension
            if queries.ndim != 2 or queries.shape[1] != expected:
                raise ValueError(
                    f"got query vectors of shape {queries.shape}, expected (queries, {expected})"
                )
            if not np.isfinite(queries).all():
                raise ValueError("got a query vector with a value that is not finite: check the embedder")
            if per_language is None:
                return data.search(queries, k or DEFAULT_K, codes)
            return data.search_each_language(queries, per_language, k, codes)

    def known_vectors(self, documents: Sequence[Document]) -> tuple[FloatArray, BoolArray]:
        """Return the vectors of documents that came from this index, and which were found.

        A document is known by its id, with the same text (and language, where the embedder centres).

        Returns:
            Vectors, shape (n, d), zero where unknown, and a mask, shape (n,). An `ivfpq` index keeps no
            exact vectors and knows none.
        """
        with self._reading() as data:
            return data.known_vectors(documents, self._is_same)

    def documents(self, ids: Sequence[str]) -> list[Document]:
        """Return the documents with these ids, in this order.

        Raises:
            ValueError: if there is no document with an id.
        """
        with self._reading() as data:
            stored = data.store.by_id(ids)
        missing = [document_id for document_id in ids if document_id not in stored]
        if missing:
            raise ValueError(f"no document has the id '{missing[0]}': pass ids that search returned")
        return [stored[document_id][1] for document_id in ids]

    def iter_documents(self) -> Iterator[Document]:
        """Yield all documents in the order in which they were added, those of a later `add` included."""
        last = -1
        while True:
            with self._reading() as data:
                page = data.store.page(last)
            if not page:
                return
            yield from (document for _, document in page)
            last = page[-1][0]

    def __len__(self) -> int:
        return len(self._live.languages)

    @property
    def languages(self) -> dict[str, int]:
        """Number of documents by language code, the most frequent first."""
        return self._live.languages.counts()

    @property
    def kind(self) -> IndexKind:
        """How vectors are searched: "flat", "hnsw" or "ivfpq"."""
        return self._live.vectors.kind

    @property
    def embedder(self) -> Embedder:
        """What makes the vectors."""
        return self._embedder

    def close(self) -> None:
        """Free memory and files; every later call but `close` is a ValueError. The embedder stays open."""
        with self._lock.writing():
            if self._data is not None:
                self._data.close()
                self._data = None

    @property
    def _live(self) -> IndexData:
        if self._data is None:
            raise ValueError("the index is closed: build or load it again")
        return self._data

    @contextmanager
    def _reading(self) -> Iterator[IndexData]:
        with self._lock.reading():
            yield self._live

    def _is_same(self, document: Document, stored: Document) -> bool:
        same_language = document.language in (None, stored.language)
        return document.text == stored.text and (same_language or self._embedder.centring is None)

    def _describe(self, vectors_file: SavedFile, documents_file: SavedFile) -> IndexManifest:
        return IndexManifest(
            kind=self._live.vectors.kind,
            documents=len(self),
            languages=self.languages,
            model=self._embedder.model,
            dimension=self._live.vectors.dimension,
            centring=self._embedder.centring,
            vectors_file=vectors_file,
            documents_file=documents_file,
            lamar_rag_version=installed_version(),
        )
