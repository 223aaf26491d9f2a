"""Documents in SQLite: the texts of a corpus need not fit into memory."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lamar_rag.types import Document

_SCHEMA = """
CREATE TABLE documents (
    position INTEGER PRIMARY KEY,
    id TEXT UNIQUE,
    language TEXT NOT NULL,
    title TEXT,
    text TEXT NOT NULL,
    metadata TEXT NOT NULL
)
"""
_AT_POSITIONS = "SELECT position, text, id, language, title, metadata FROM documents WHERE position IN (?)"
_WITH_IDS = "SELECT position, text, id, language, title, metadata FROM documents WHERE id IN (?)"
_AFTER = (
    "SELECT position, text, id, language, title, metadata FROM documents "
    "WHERE position > ? ORDER BY position LIMIT ?"
)
_MOST_PARAMETERS = 500  # SQLite limits the ? of one statement; old versions to 999
_PAGE = 1000


class DocumentStore:
    """Documents by position (from 0, in the order they were added) and by id.

    One store may be read by any number of threads; `transaction` is for one writer.
    """

    def __init__(self, connection: sqlite3.Connection, *, read_only: bool) -> None:
        self._connection = connection
        self._lock = threading.RLock()
        self.read_only = read_only

    @classmethod
    def create(cls) -> DocumentStore:
        """Make an empty store in a private temporary file, which vanishes with the store or the process."""
        connection = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        connection.execute(_SCHEMA)
        return cls(connection, read_only=False)

    @classmethod
    def open(cls, path: Path) -> DocumentStore:
        """Open a saved store for reading.

        Raises:
            ValueError: if the file is not a store.
        """
        # Saved files are never changed, only replaced: `immutable` needs no lock files beside them.
        address = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
        connection = sqlite3.connect(address, uri=True, check_same_thread=False, isolation_level=None)
        try:
            connection.execute(_AFTER, (-1, 1)).fetchone()
        except sqlite3.DatabaseError as error:
            connection.close()
            raise ValueError(f"'{path}' is not a document store ({error}): build the index again") from error
        return cls(connection, read_only=True)

    def writable_copy(self) -> DocumentStore:
        """Return a private temporary copy that documents can be added to."""
        copy = DocumentStore.create()
        with self._lock:
            self._connection.backup(copy._connection)
        return copy

    def write(self, path: Path) -> None:
        """Write all documents to a new database file."""
        target = sqlite3.connect(path, isolation_level=None)
        try:
            target.execute("PRAGMA journal_mode = OFF")  # a half-written copy is thrown away, not repaired
            target.execute("PRAGMA synchronous = OFF")
            with self._lock:
                self._connection.backup(target)
        finally:
            target.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Keep all changes of the block, or none of them when it raises."""
        with self._lock:
            self._connection.execute("BEGIN")
            try:
                yield
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def append(self, documents: Sequence[Document], first_position: int) -> None:
        """Add documents at the positions from `first_position` on; an empty id waits for `name_unnamed`.

        Raises:
            ValueError: if an id is taken, or metadata cannot be written as JSON.
        """
        rows = [
            (
                first_position + i,
                _bind(d.id) or None,
                d.language,
                _bind(d.title),
                _bind(d.text),
                _dump(d, first_position + i),
            )
            for i, d in enumerate(documents)
        ]
        try:
            with self._lock:
                self._connection.executemany("INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?)", rows)
        except sqlite3.IntegrityError:
            self._raise_duplicate(documents, first_position)
            raise

    def name_unnamed(self) -> None:
        """Give documents without an id their position as id; with `-2`, `-3`, ... where that is taken."""
        with self._lock:
            unnamed = self._connection.execute("SELECT position FROM documents WHERE id IS NULL").fetchall()
            for (position,) in unnamed:
                name, attempt = str(position), 2
                while self._position_of(name) is not None:
                    name, attempt = f"{position}-{attempt}", attempt + 1
                self._connection.execute("UPDATE documents SET id = ? WHERE position = ?", (name, position))

    def by_position(self, positions: Sequence[int]) -> dict[int, Document]:
        """Return the documents at these positions."""
        rows = self._select_in(_AT_POSITIONS, positions)
        return {row[0]: _to_document(row[1:]) for row in rows}

    def by_id(self, ids: Sequence[str]) -> dict[str, tuple[int, Document]]:
        """Return position and document of each id that the store knows."""
        rows = self._select_in(_WITH_IDS, [_bind(i) for i in ids])
        found = [(row[0], _to_document(row[1:])) for row in rows]
        return {document.id: (position, document) for position, document in found}

    def languages(self) -> list[str]:
        """Return every document's language, by position."""
        with self._lock:
            return [
                row[0] for row in self._connection.execute("SELECT language FROM documents ORDER BY position")
            ]

    def __iter__(self) -> Iterator[Document]:
        """Yield all documents by position, a page at a time (other threads may read meanwhile)."""
        last = -1
        while page := self.page(last):
            yield from (document for _, document in page)
            last = page[-1][0]

    def page(self, after: int) -> list[tuple[int, Document]]:
        """Return the next documents after a position, each with its own; empty at the end."""
        with self._lock:
            rows = self._connection.execute(_AFTER, (after, _PAGE)).fetchall()
        return [(int(row[0]), _to_document(row[1:])) for row in rows]

    def close(self) -> None:
        """Close the database; a temporary one is gone."""
        with self._lock:
            self._connection.close()

    def _position_of(self, document_id: str) -> int | None:
        row = self._connection.execute(
            "SELECT position FROM documents WHERE id = ?", (_bind(document_id),)
        ).fetchone()
        return None if row is None else int(row[0])

    def _select_in(self, statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        with self._lock:
            for start in range(0, len(values), _MOST_PARAMETERS):
                part = values[start : start + _MOST_PARAMETERS]
                marks = ",".join("?" * len(part))
                rows += self._connection.execute(statement.replace("?", marks), tuple(part)).fetchall()
        return rows

    def _raise_duplicate(self, documents: Sequence[Document], first_position: int) -> None:
        """Find which id was taken, and say so. The rows before it were inserted."""
        seen: dict[str, int] = {}
        for position, document in enumerate(documents, start=first_position):
            if not document.id:
                continue
            stored = self._position_of(document.id)
            earlier = seen.get(
                document.id, stored if stored is not None and stored < first_position else None
            )
            if earlier is not None:
                raise ValueError(
                    f"document {position} has the id '{document.id}', which document {earlier} has already "
                    "(counted from 0): give every document its own id, or none"
                )
            seen[document.id] = position


def _bind(text: str | None) -> str | bytes | None:
    """Return what SQLite can hold: UTF-8 text, or bytes for the odd string with a lone surrogate."""
    if text is None or text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def _unbind(value: str | bytes) -> str:
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


def _dump(document: Document, position: int) -> str:
    try:
        return json.dumps(dict(document.metadata), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"document {position} ('{document.id}') has metadata that JSON cannot hold ({error}): "
            "use strings, numbers, booleans, lists and dicts"
        ) from error


def _to_document(row: tuple[Any, ...]) -> Document:
    text, document_id, language, title, metadata = row
    values: Mapping[str, Any] = json.loads(metadata)
    return Document(
        text=_unbind(text),
        id=_unbind(document_id),
        language=language,
        title=None if title is None else _unbind(title),
        metadata=values,
    )
