"""A lock that many readers may hold together and a writer only alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class SharedLock:
    """Readers share it, a writer excludes everyone. A waiting writer goes before new readers.

    Not reentrant. A thread that asks for it while it writes gets a ValueError instead of waiting for itself.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._readers = 0
        self._writing = False
        self._writer: int | None = None  # the writing thread
        self._waiting_writers = 0

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Hold the lock with other readers."""
        self._check_entry()
        with self._condition:
            self._condition.wait_for(lambda: not self._writing and not self._waiting_writers)
            self._readers += 1
        try:
            yield
        finally:
            with self._condition:
                self._readers -= 1
                self._condition.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock alone."""
        self._check_entry()
        with self._condition:
            self._waiting_writers += 1
            try:
                self._condition.wait_for(lambda: not self._writing and not self._readers)
            finally:
                self._waiting_writers -= 1
                self._condition.notify_all()  # an interrupted writer must not hold readers back
            self._writing = True
            self._writer = threading.get_ident()
        try:
            yield
        finally:
            with self._condition:
                self._writing = False
                self._writer = None
                self._condition.notify_all()

    def _check_entry(self) -> None:
        if self._writer == threading.get_ident():
            raise ValueError(
                "the index is being changed by this very thread: finish add() before searching, "
                "do not search in the documents that it is given"
            )
