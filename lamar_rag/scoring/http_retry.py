"""Which failures of an HTTP request pass by themselves, and how long to wait before the next attempt."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar, cast

from lamar_rag.extras import require
from lamar_rag.types import ScoringCancelledError

T = TypeVar("T")

TOO_MANY_REQUESTS = 429
LONGEST_WAIT = 60.0  # seconds; also the most that a server's Retry-After gets
_POLL = 0.05  # seconds between two looks at the caller's event


class TransientHttpError(Exception):
    """A failure that another attempt may not meet. `retry_after` is what the server asked for, in seconds."""

    def __init__(self, cause: str, retry_after: float | None = None) -> None:
        super().__init__(cause, retry_after)
        self.cause, self.retry_after = cause, retry_after


class Stop:
    """The end of all the requests of one call: the caller's event, or the failure of one of them."""

    def __init__(self, cancel: threading.Event | None = None) -> None:
        self._cancel, self._failed = cancel, threading.Event()

    def fail(self) -> None:
        """Make the other requests of the call give up."""
        self._failed.set()

    def check(self) -> None:
        """Raise ScoringCancelledError where the call has ended."""
        if self._failed.is_set() or (self._cancel is not None and self._cancel.is_set()):
            raise ScoringCancelledError("scoring was cancelled")

    def wait(self, seconds: float) -> None:
        """Wait, or raise ScoringCancelledError as soon as the call has ended."""
        end = time.monotonic() + seconds
        self.check()
        while (left := end - time.monotonic()) > 0:
            self._failed.wait(left if self._cancel is None else min(left, _POLL))
            self.check()


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often to try again, and how long to wait in between.

    Args:
        retries: further attempts after the first.
        backoff: seconds before the second attempt; they double each time, and up to as much again is added
            at random so that many clients do not come back together.
        longest_wait: seconds that no wait exceeds (the random part aside), whatever the server asks for.
    """

    retries: int = 3
    backoff: float = 0.5
    longest_wait: float = LONGEST_WAIT

    def run(self, attempt: Callable[[], T], stop: Stop) -> T:
        """Return what `attempt` returns, calling it again while it raises TransientHttpError.

        Raises:
            TransientHttpError: the last attempt's.
            ScoringCancelledError: the call ended while it waited.
        """
        tenacity = require("tenacity", extra="remote", purpose="a rerank server")
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(TransientHttpError),
            stop=tenacity.stop_after_attempt(self.retries + 1),
            wait=self._wait(tenacity),
            sleep=stop.wait,
            reraise=True,
        )
        return cast("T", retrying(attempt))

    def _wait(self, tenacity: Any) -> Callable[[Any], float]:
        growing = tenacity.wait_exponential(multiplier=self.backoff, max=self.longest_wait)
        jitter = tenacity.wait_random(0, self.backoff)

        def seconds(state: Any) -> float:
            asked = state.outcome.exception().retry_after
            base = growing(state) if asked is None else min(asked, self.longest_wait)
            return float(base + jitter(state))

        return seconds


def is_transient(status: int) -> bool:
    """Return whether an HTTP status may be another one at the next attempt."""
    return status == TOO_MANY_REQUESTS or 500 <= status <= 599


def retry_after_seconds(value: str | None, now: float) -> float | None:
    """Return a Retry-After header as seconds from `now` (seconds since 1970), at least 0.

    The header holds seconds or an HTTP date; None where it is absent or neither.
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - now
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
