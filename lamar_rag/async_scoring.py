"""Scoring from an event loop without blocking it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import ParamSpec, TypeVar

from lamar_rag.scoring.linked_event import LinkedEvent
from lamar_rag.scoring.request_queue import RequestQueue
from lamar_rag.types import BatchScorer, Scored, Scorer, ScoringRequest

_P = ParamSpec("_P")
_T = TypeVar("_T")


class AsyncScoring:
    """Gives requests to a scorer: through a queue where it can score several at once, else in a thread each.

    It belongs to no event loop: any number of them may use it, at once or one after another.
    """

    def __init__(self) -> None:
        self._queue: tuple[Scorer, RequestQueue] | None = None
        self._lock = threading.Lock()

    async def in_thread(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Return what `work` returns, from a thread: telling the languages of many documents takes a while."""
        return await asyncio.to_thread(work, *args, **kwargs)

    async def score(
        self, scorer: Callable[[], Scorer], request: ScoringRequest, timeout: float | None
    ) -> Scored:
        """Return the scores of a request.

        Raises:
            TimeoutError: after `timeout` seconds.
        """
        chosen = await asyncio.to_thread(scorer)  # making it may read files
        if isinstance(chosen, BatchScorer):
            return await self._queue_of(chosen).submit(request, timeout=timeout)
        return await _in_thread(chosen, request, timeout)

    def close(self) -> None:
        """Give up what waits; later requests start anew."""
        with self._lock:
            queue, self._queue = self._queue, None
        if queue is not None:
            queue[1].close()

    def _queue_of(self, scorer: BatchScorer) -> RequestQueue:
        with self._lock:
            if self._queue is None or self._queue[0] is not scorer:
                self._queue = (scorer, RequestQueue(scorer))
            return self._queue[1]


async def _in_thread(scorer: Scorer, request: ScoringRequest, timeout: float | None) -> Scored:
    cancel = LinkedEvent(request.options.cancel)
    options = replace(request.options, cancel=cancel)
    try:
        async with asyncio.timeout(timeout):
            return await asyncio.to_thread(scorer.score, request.query, request.documents, options)
    except TimeoutError as error:
        cancel.set()
        raise TimeoutError(
            f"model {scorer.model} gave no scores within {timeout} s: give a longer timeout"
        ) from error
    except asyncio.CancelledError:
        cancel.set()
        raise
