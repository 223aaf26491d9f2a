"""From what a user passes as documents to a list of them."""

from __future__ import annotations

from collections.abc import Sequence

from lamar_rag.document_languages import with_language
from lamar_rag.languages import normalize_language
from lamar_rag.types import Document


def checked_documents(documents: Sequence[Document | str]) -> list[Document]:
    """Return what was passed as documents; languages that they state are in ISO 639-1.

    Raises:
        ValueError: no list, or something in it that is neither a document nor text.
    """
    if isinstance(documents, str) or not isinstance(documents, Sequence):
        if isinstance(documents, str):
            raise ValueError("got one string for documents, expected a list: pass [document]")
        raise ValueError(
            f"got a {type(documents).__name__} for documents, expected a list: pass list(documents)"
        )
    return [_document(document, i) for i, document in enumerate(documents)]


def checked_text(value: object, what: str) -> str:
    """Return the value if it is a string; raise ValueError otherwise."""
    if not isinstance(value, str):
        raise ValueError(f"got a {what} of type {type(value).__name__}, expected a string")
    return value


def _document(value: object, position: int) -> Document:
    if isinstance(value, Document):
        checked_text(value.text, f"text in document {position}")
        return with_language(value, normalize_language(value.language)) if value.language else value
    return Document(text=checked_text(value, f"document at position {position}"))
