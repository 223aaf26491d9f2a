"""The languages of documents that do not state theirs."""

from __future__ import annotations

from collections.abc import Sequence

from lamar_rag.languages import detect_languages
from lamar_rag.text import replace_surrogates
from lamar_rag.types import Document


def located_documents(documents: Sequence[Document]) -> list[Document]:
    """Return documents that all state a language, detected where they do not; none is changed."""
    silent = [i for i, document in enumerate(documents) if not document.language]
    texts = [replace_surrogates(documents[i].text) for i in silent]
    found = dict(zip(silent, detect_languages(texts), strict=True))
    return [
        with_language(document, found[i]) if i in found else document for i, document in enumerate(documents)
    ]


def with_language(document: Document, language: str) -> Document:
    """Return the document in that language; the same object where it states it already."""
    if document.language == language:
        return document
    return Document(document.text, document.id, language, document.title, document.metadata)
