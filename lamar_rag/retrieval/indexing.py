"""The way of documents into an index: checked, given a language, stored and embedded, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from operator import length_hint
from typing import TYPE_CHECKING

import numpy as np

from lamar_rag.languages import UNDETERMINED, detect_languages, normalize_language
from lamar_rag.progress import progress_bar
from lamar_rag.text import replace_surrogates
from lamar_rag.types import Document

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from lamar_rag.retrieval.document_store import DocumentStore
    from lamar_rag.retrieval.vector_spool import VectorSpool
    from lamar_rag.types import Embedder, FloatArray

BATCH_SIZE = 1024
# A batch also ends here, so that a corpus of books needs no more memory than one of sentences.
_BATCH_CHARACTERS = 4_000_000


def store_and_embed(
    documents: Iterable[Document],
    embedder: Embedder,
    store: DocumentStore,
    spool: VectorSpool,
    *,
    first_position: int = 0,
    batch_size: int = BATCH_SIZE,
    progress: bool = False,
    detect: bool = True,
) -> list[str]:
    """Put all documents into `store` and their vectors into `spool`; return their languages.

    Raises:
        ValueError: if a document is not one, an id is taken, a language is unknown, or the embedder
            returns something else than finite vectors of its dimension.
    """
    if batch_size < 1:
        raise ValueError(f"got batch_size={batch_size}, expected at least 1 (the default is {BATCH_SIZE})")
    languages: list[str] = []
    bar: AbstractContextManager[Callable[[int], None]] = nullcontext(_ignore)
    if progress:
        bar = progress_bar("indexing documents", length_hint(documents) or None)
    with bar as advance:
        for batch in _batches(_checked(documents, first_position), batch_size):
            ready = _with_languages(batch, detect)
            store.append(ready, first_position + len(languages))
            spool.append(embed_checked(embedder, [document.text for document in ready], ready))
            languages += [document.language or UNDETERMINED for document in ready]
            advance(len(ready))
    store.name_unnamed()
    return languages


def embed_checked(embedder: Embedder, texts: list[str], documents: list[Document]) -> FloatArray:
    """Embed passages, shape (n, d).

    Raises:
        ValueError: if the shape is another or a value is not finite.
    """
    codes = [document.language or UNDETERMINED for document in documents]
    vectors = np.asarray(embedder.embed(texts, "passage", languages=codes), dtype=np.float32)
    expected = (len(texts), embedder.dimension)
    if vectors.shape != expected:
        raise ValueError(
            f"the embedder '{embedder.model}' returned the shape {vectors.shape}, expected {expected}: "
            "return one vector a text"
        )
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(bad):
        raise ValueError(
            f"the embedder '{embedder.model}' returned a value that is not finite for the document "
            f"'{documents[bad[0]].id}' ({documents[bad[0]].text[:40]!r}): check the model or leave it out"
        )
    return vectors


def _checked(documents: Iterable[Document], first_position: int) -> Iterator[Document]:
    for position, document in enumerate(documents, start=first_position):
        if not isinstance(document, Document):
            raise ValueError(
                f"item {position} is a {type(document).__name__}, expected a Document: make it Document(text)"
            )
        for name in ("text", "id"):
            value = getattr(document, name)
            if not isinstance(value, str):
                raise ValueError(
                    f"document {position} has a {name} of type {type(value).__name__}, expected a string: "
                    "convert it"
                )
        yield document


def _batches(documents: Iterable[Document], size: int) -> Iterator[list[Document]]:
    batch: list[Document] = []
    characters = 0
    for document in documents:
        batch.append(document)
        characters += len(document.text)
        if len(batch) >= size or characters >= _BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _with_languages(documents: list[Document], detect: bool) -> list[Document]:
    """Normalise the languages that are given and detect the others, or call them undetermined."""
    unknown = [i for i, document in enumerate(documents) if document.language is None]
    found = (
        detect_languages([replace_surrogates(documents[i].text) for i in unknown])
        if detect and unknown
        else []
    )
    detected = dict(zip(unknown, found, strict=True)) if found else dict.fromkeys(unknown, UNDETERMINED)
    ready = []
    for i, document in enumerate(documents):
        code = document.language
        code = detected[i] if code is None else normalize_language(code)
        ready.append(document if code == document.language else replace(document, language=code))
    return ready


def _ignore(count: int) -> None:
    """Take the place of a progress bar that is not shown."""
