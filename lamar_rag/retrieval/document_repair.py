"""Take lone surrogates out of a document: halves of a character that JSON allows and UTF-8 does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lamar_rag.text import replace_surrogates
from lamar_rag.types import Document


def repair_document(document: Document) -> Document:
    """Return the document with each lone surrogate replaced by U+FFFD; the same object where it has none."""
    changes = {
        "text": replace_surrogates(document.text),
        "id": replace_surrogates(document.id),
        "title": None if document.title is None else replace_surrogates(document.title),
        "metadata": _repair_json(dict(document.metadata)),
    }
    if all(value == getattr(document, name) for name, value in changes.items()):
        return document
    return replace(document, **changes)


def _repair_json(value: Any) -> Any:
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, list):
        return [_repair_json(item) for item in value]
    if isinstance(value, dict):
        return {_repair_json(key): _repair_json(item) for key, item in value.items()}
    return value
