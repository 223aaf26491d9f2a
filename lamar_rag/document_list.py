"""From what a user passes as documents to a list of them, and to one whose languages are known."""

from __future__ import annotations

from collections.abc import Sequence

from lamar_rag.languages import detect_languages, normalize_language
from lamar_rag.text import replace_surrogates
from lamar_rag.types import Document


def checked_documents(documents: Sequence[Document | str]) -> list[Document]:
    """Return what was passed as documents; languages that they state are in ISO 639-1.

    Raises:
        ValueError: no list, or something in it that is neither a document nor text.
    """
    if isinstance(documents, str) or not isinstance(documents, Sequence):
        kind = "one string" if isinstance(documents, str) else f"a {type(documents).__name__}"
        raise ValueError(f"got {kind} for documents, expected a list: pass [document]")
    return [_document(document, i) for i, document in enumerate(documents)]


def located_documents(documents: Sequence[Document]) -> list[Document]:
    """Return documents that all state a language, detected where they do not; none is changed."""
    silent = [i for i, document in enumerate(documents) if not document.language]
    texts = [replace_surrogates(documents[i].text) for i in silent]
    found = dict(zip(silent, detect_languages(texts), strict=True))
    return [
        _with_language(document, found[i]) if i in found else document for i, document in enumerate(documents)
    ]


def checked_text(value: object, what: str) -> str:
    """Return the value if it is a string; raise ValueError otherwise."""
    if not isinstance(value, str):
        raise ValueError(f"got a {what} of type {type(value).__name__}, expected a string")
    return value


def _document(value: object, position: int) -> Document:
    if isinstance(value, Document):
        checked_text(value.text, f"text in document {position}")
        return _with_language(value, normalize_language(value.language)) if value.language else value
    return Document(text=checked_text(value, f"document at position {position}"))


def _with_language(document: Document, language: str) -> Document:
    if document.language == language:
        return document
    return Document(document.text, document.id, language, document.title, document.metadata)
