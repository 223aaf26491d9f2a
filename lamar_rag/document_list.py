"""From what a user passes as documents to a list of them that all state a language."""

from __future__ import annotations

from collections.abc import Sequence

from lamar_rag.languages import detect_languages, normalize_language
from lamar_rag.text import replace_surrogates
from lamar_rag.types import Document


def located_documents(documents: Sequence[Document | str]) -> list[Document]:
    """Return documents that all state a language; the caller's own objects stay as they are.

    Raises:
        ValueError: no list, or something in it that is neither a document nor text.
    """
    if isinstance(documents, str) or not isinstance(documents, Sequence):
        kind = "one string" if isinstance(documents, str) else f"a {type(documents).__name__}"
        raise ValueError(f"got {kind} for documents, expected a list: pass [document]")
    plain = [_document(document, i) for i, document in enumerate(documents)]
    silent = [i for i, document in enumerate(plain) if not document.language]
    texts = [replace_surrogates(plain[i].text) for i in silent]
    found = dict(zip(silent, detect_languages(texts), strict=True))
    return [
        _with_language(document, found[i] if i in found else normalize_language(document.language or ""))
        for i, document in enumerate(plain)
    ]


def checked_text(value: object, what: str) -> str:
    """Return the value if it is a string; raise ValueError otherwise."""
    if not isinstance(value, str):
        raise ValueError(f"got a {what} of type {type(value).__name__}, expected a string")
    return value


def _document(value: object, position: int) -> Document:
    if isinstance(value, Document):
        checked_text(value.text, f"text in document {position}")
        return value
    return Document(text=checked_text(value, f"document at position {position}"))


def _with_language(document: Document, language: str) -> Document:
    if document.language == language:
        return document
    return Document(document.text, document.id, language, document.title, document.metadata)
