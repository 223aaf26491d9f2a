"""Read JSON Lines: one document a line."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator
from typing import Any

from lamar_rag.languages import normalize_language
from lamar_rag.retrieval.row_errors import BadRowError, RowErrors
from lamar_rag.types import Document

_FIELDS = ("id", "language", "title", "metadata")


def read_jsonl(
    lines: Iterable[bytes], file: str, errors: RowErrors, *, text_key: str = "text"
) -> Iterator[tuple[Document, int]]:
    """Yield each row's document with its line number (from 1). Blank lines and a leading BOM are passed over.

    Args:
        lines: the file's lines as bytes.
        file: its name for messages.
        errors: takes the bad rows.
        text_key: the key that holds a row's text.
    """
    for number, line in enumerate(lines, start=1):
        content = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
        if not content.strip():
            continue
        try:
            row = _parse_object(content, file, number)
            yield _to_document(row, file, number, text_key), number
        except BadRowError as error:
            errors.add(error)


def _parse_object(line: bytes, file: str, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line.decode("utf-8"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        reason = f"invalid UTF-8 at byte {error.start} of the line"
        raise BadRowError(file, number, reason, "save the file as UTF-8") from error
    except (ValueError, RecursionError) as error:
        reason = f"invalid JSON: {error}"
        raise BadRowError(file, number, reason, "write one JSON object a line") from error
    if not isinstance(row, dict):
        reason = f"got a JSON {_type_name(row)}, expected an object with 'text'"
        raise BadRowError(file, number, reason, "write one JSON object a line")
    return row


def _refuse_constant(name: str) -> None:
    """NaN and the infinities are no JSON, and nothing could print them again."""
    raise ValueError(f"{name} is no JSON number")


def _to_document(row: dict[str, Any], file: str, number: int, text_key: str) -> Document:
    """Make a document; keys that `Document` does not know go into its metadata."""
    if text_key not in row:
        reason = f"no '{text_key}' (got {', '.join(map(repr, list(row)[:8])) or 'no keys'})"
        raise BadRowError(file, number, reason, f"give the row a '{text_key}' or name its key with text_key")
    text = row[text_key]
    if not isinstance(text, str):
        raise BadRowError(
            file, number, f"'{text_key}' is a {_type_name(text)}, expected a string", "write a string"
        )
    if not text.strip():
        raise BadRowError(file, number, f"'{text_key}' is empty", "give the row a text or remove it")
    metadata = {key: value for key, value in row.items() if key not in _FIELDS and key != text_key}
    metadata.update(_typed(row, "metadata", dict, file, number) or {})
    return Document(
        text=text,
        id=_read_id(row, file, number),
        language=_read_language(row, file, number),
        title=_typed(row, "title", str, file, number),
        metadata=metadata,
    )


def _read_id(row: dict[str, Any], file: str, number: int) -> str:
    value = row.get("id")
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int):
        reason = f"'id' is a {_type_name(value)}, expected a string or an integer"
        raise BadRowError(file, number, reason, "write the id as a string")
    return str(value)


def _read_language(row: dict[str, Any], file: str, number: int) -> str | None:
    code = _typed(row, "language", str, file, number)
    if code is None:
        return None
    try:
        return normalize_language(code)
    except ValueError as error:
        raise BadRowError(file, number, f"'language': {error}", "write an ISO 639-1 code or none") from error


def _typed(row: dict[str, Any], key: str, expected: type, file: str, number: int) -> Any:
    """Return `row[key]`, None where it is absent or null (which a text may not be)."""
    value = row.get(key)
    if isinstance(value, expected) or (value is None and key in _FIELDS):
        return value
    wanted = "a string" if expected is str else "an object"
    raise BadRowError(file, number, f"'{key}' is a {_type_name(value)}, expected {wanted}", f"write {wanted}")


def _type_name(value: Any) -> str:
    names = {"NoneType": "null", "bool": "boolean", "int": "number", "float": "number", "list": "list"}
    return names.get(type(value).__name__, "string" if isinstance(value, str) else "object")
