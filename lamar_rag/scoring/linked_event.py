"""A cancel event of our own beside the caller's, which only the caller may set."""

from __future__ import annotations

import math
import threading
import time


class LinkedEvent(threading.Event):
    """An event that also counts as set while the caller's own event is."""

    def __init__(self, callers: threading.Event | None) -> None:
        super().__init__()
        self._callers = callers

    def is_set(self) -> bool:
        """Return whether this event or the caller's is set."""
        return super().is_set() or (self._callers is not None and self._callers.is_set())

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for either event; return whether one was set in time."""
        if self._callers is None:
            return super().wait(timeout)
        end = math.inf if timeout is None else time.monotonic() + timeout
        while not self.is_set():
            left = end - time.monotonic()
            if left <= 0:
                return False
            super().wait(min(0.01, left))  # nobody tells this event when the caller's is set
        return True
