"""Scoring from an event loop without blocking it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import ParamSpec, TypeVar

from lamar_rag.checks import is_finite
from lamar_rag.scoring.linked_event import LinkedEvent
from lamar_rag.scoring.request_queue import RequestQueue
from lamar_rag.types import BatchScorer, Scored, Scorer, ScoringRequest

_P = ParamSpec("_P")
_T = TypeVar("_T")
_THREADS = 32  # calls of a scorer that cannot take several requests at once


class AsyncScoring:
    """Gives requests to a scorer: through a queue where it can score several at once, else in a thread each.

    It belongs to no event loop: any number of them may use it, at once or one after another.
    """

    def __init__(self) -> None:
        self._queue: tuple[Scorer, RequestQueue] | None = None
        self._threads: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    async def score(self, scorer: Callable[[], Scorer], request: ScoringRequest) -> Scored:
        """Return the scores of a request; where the task is cancelled, the request is given up."""
        chosen = await in_thread(scorer)  # making it may read files
        if isinstance(chosen, BatchScorer):
            return await self._queue_of(chosen).submit(request)
        cancel = LinkedEvent(request.options.cancel)
        options = replace(request.options, cancel=cancel)
        loop = asyncio.get_running_loop()
        try:
            # a pool of its own: a slow server must not hold the threads that the application counts on
            score = partial(chosen.score, request.query, request.documents, options)
            return await loop.run_in_executor(self._pool(), _finished, score)
        except asyncio.CancelledError:
            cancel.set()
            raise

    def renew(self) -> None:
        """Forget lock, queue and threads, in a forked child, where nobody lets go of what a thread held."""
        self._lock, self._queue, self._threads = threading.Lock(), None, None

    def __del__(self) -> None:
        self.close()  # a thread that waits for work would keep the scorer, and its model, for a while

    def close(self) -> None:
        """Give up what waits; later requests start anew."""
        with self._lock:
            queue, self._queue = self._queue, None
            threads, self._threads = self._threads, None
        if queue is not None:
            queue[1].close()
        if threads is not None:
            threads.shutdown(wait=False, cancel_futures=True)

    def _queue_of(self, scorer: BatchScorer) -> RequestQueue:
        with self._lock:
            if self._queue is None or self._queue[0] is not scorer:
                self._queue = (scorer, RequestQueue(scorer))
            return self._queue[1]

    def _pool(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="lamar-scoring")
            return self._threads


async def in_thread(work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Return what `work` returns, from a thread: telling the languages of many documents takes a while."""
    return await asyncio.to_thread(_finished, partial(work, *args, **kwargs))


def _finished(work: Callable[[], _T]) -> _T:
    """Return what `work` returns; a StopIteration, which a future cannot hold, comes out as a RuntimeError."""
    try:
        return work()
    except StopIteration as error:
        raise RuntimeError("StopIteration was raised while documents were read or scored") from error


@asynccontextmanager
async def deadline(timeout: float | None, model: str) -> AsyncIterator[None]:
    """Cancel what the block awaits after `timeout` seconds, and raise TimeoutError in one line.

    Raises:
        ValueError: a timeout that is no finite number.
    """
    if timeout is not None and not is_finite(timeout):
        raise ValueError(f"got timeout={timeout!r}, expected a finite number of seconds (or None)")
    scope = asyncio.timeout(timeout)
    try:
        async with scope:
            yield
    except TimeoutError as error:
        if not scope.expired():  # the scorer's own
            raise
        raise TimeoutError(
            f"model {model} gave no scores within {timeout:g} s: allow more time or send fewer documents"
        ) from error
