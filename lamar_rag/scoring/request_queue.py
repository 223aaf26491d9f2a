"""Requests of many asyncio tasks, scored together by one thread."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace

from lamar_rag.checks import check_count
from lamar_rag.closing import Closing
from lamar_rag.scoring.linked_event import LinkedEvent
from lamar_rag.types import BatchScorer, Scored, ScoringCancelledError, ScoringRequest

logger = logging.getLogger(__name__)


class _Ticket:
    """One request on its way. Made in the running loop, which is the only one that touches `waiter`."""

    def __init__(self, request: ScoringRequest, timeout: float | None) -> None:
        self.cancel = LinkedEvent(request.options.cancel)
        self.request = replace(request, options=replace(request.options, cancel=self.cancel))
        self.size = len(request.documents)
        self.timeout = timeout
        self.deadline = math.inf if timeout is None else time.monotonic() + timeout
        self.taken = False
        self.loop = asyncio.get_running_loop()
        self.waiter: asyncio.Future[Scored | Exception] = self.loop.create_future()

    def settle(self, outcome: Scored | Exception) -> None:
        """Hand the outcome to the loop, from any thread."""
        # A closed loop has no task left that could be told.
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._deliver, outcome)

    def _deliver(self, outcome: Scored | Exception) -> None:
        if not self.waiter.done():
            self.waiter.set_result(outcome)  # errors too: `submit` raises them

    def refusal(self) -> Exception | None:
        """Return why the request need not be scored any more, None while it must be."""
        if time.monotonic() >= self.deadline:
            return self.too_late()
        if self.cancel.is_set() or self.loop.is_closed():
            return ScoringCancelledError("the request was cancelled before it was scored")
        return None

    def too_late(self) -> TimeoutError:
        where = "while the request was being scored" if self.taken else "while the request was waiting"
        return TimeoutError(
            f"no scores within {self.timeout:g} s (documents: {self.size}): the time ended {where}; "
            "allow more time or send fewer requests at once"
        )


class RequestQueue(Closing):
    """Scores the requests of concurrent asyncio tasks in common batches, first in, first out.

    One thread does the scoring, so no event loop ever waits for the model. The thread takes everything
    that is waiting; while it scores, the next batch gathers. It starts with the first request, ends by
    itself after `idle_seconds` without one, and starts again when needed. The object belongs to no event
    loop: any number of them, in any threads, may use it at once or one after another.

    Args:
        scorer: scores the requests of a batch together.
        capacity: requests that may wait in the queue; further ones wait outside for room, in order.
        max_batch_documents: documents of a batch; a request that has more goes alone.
        max_wait_ms: how long a request that found nobody waiting is held back for company, in milliseconds.
        idle_seconds: how long the thread stays without work.

    Raises:
        ValueError: an option out of range, or a scorer without `score_many`.
    """

    def __init__(
        self,
        scorer: BatchScorer,
        *,
        capacity: int = 256,
        max_batch_documents: int = 1024,
        max_wait_ms: float = 2.0,
        idle_seconds: float = 5.0,
    ) -> None:
        if not callable(getattr(scorer, "score_many", None)):
            raise ValueError(
                f"got scorer of type {type(scorer).__name__}, expected one with the method score_many: "
                "see lamar_rag.types.BatchScorer"
            )
        check_count("capacity", capacity)
        check_count("max_batch_documents", max_batch_documents)
        _check_duration("max_wait_ms", max_wait_ms)
        _check_duration("idle_seconds", idle_seconds)
        self._scorer = scorer
        self._capacity, self._max_batch_documents = capacity, max_batch_documents
        self._max_wait, self._idle_seconds = max_wait_ms / 1000, idle_seconds
        # Reentrant: a task that is garbage-collected inside a locked section gives up its request there.
        self._changed = threading.Condition(threading.RLock())
        self._queue: OrderedDict[_Ticket, None] = OrderedDict()
        self._outside: OrderedDict[_Ticket, None] = OrderedDict()  # empty unless the queue is full
        self._worker: threading.Thread | None = None
        self._closed = False

    @property
    def waiting(self) -> int:
        """Requests in the queue, at most `capacity`: without those being scored and those outside."""
        return len(self._queue)

    async def submit(self, request: ScoringRequest, *, timeout: float | None = None) -> Scored:
        """Return the request's scores, as soon as a batch with it was scored.

        A task that is cancelled takes its request along: it is not scored any more, or, when that has
        begun, the `cancel` event that the scorer sees is set. Other requests are not touched by it.

        Args:
            request: its options' own `cancel` event keeps its meaning.
            timeout: seconds for waiting and scoring together; nothing is scored when there are none left.

        Raises:
            TimeoutError: the time is over.
            ScoringCancelledError: the request's `cancel` event was set.
            RuntimeError: the queue was closed while the request waited.
            ValueError: not a request, or a timeout that is no finite number.
            Exception: whatever the scorer raised or returned for this request.
        """
        _check_request(request, timeout)
        ticket = _Ticket(request, timeout)
        if timeout is not None and timeout <= 0:
            raise ticket.too_late()
        self._enter(ticket)
        try:
            async with asyncio.timeout(timeout):
                outcome = await ticket.waiter
        except TimeoutError:
            raise ticket.too_late() from None
        finally:
            self._leave(ticket)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def close(self) -> None:
        """Turn every waiting request away with a RuntimeError and let the thread end.

        A batch that is being scored goes on and its tasks get their scores; this call does not wait for
        it. The next `submit` starts anew. May be called from any thread, and any number of times.
        """
        with self._changed:
            turned_away = [*self._queue, *self._outside]
            self._queue.clear()
            self._outside.clear()
            self._closed = True
            self._changed.notify_all()
        for ticket in turned_away:
            ticket.settle(RuntimeError("the request queue was closed before the request was scored"))

    def _enter(self, ticket: _Ticket) -> None:
        with self._changed:
            # After a fork the thread exists in the parent process alone, hence is_alive.
            if self._worker is None or not self._worker.is_alive():
                self._worker = threading.Thread(target=self._work, name="lamar-request-queue", daemon=True)
                self._worker.start()
            self._closed = False
            self._outside[ticket] = None
            self._let_in()

    def _leave(self, ticket: _Ticket) -> None:
        if ticket.waiter.done() and not ticket.waiter.cancelled():
            return
        ticket.cancel.set()
        with self._changed:
            self._outside.pop(ticket, None)
            self._queue.pop(ticket, None)
            self._let_in()

    def _let_in(self) -> None:
        while self._outside and len(self._queue) < self._capacity:
            ticket, _ = self._outside.popitem(last=False)
            self._queue[ticket] = None
            self._changed.notify_all()

    def _work(self) -> None:
        was_busy = False
        while self._wait_for_requests(was_busy):
            batch = self._take()
            was_busy = bool(batch)
            if was_busy:
                self._score(batch)
            del batch  # nothing of it is kept while there is no work

    def _wait_for_requests(self, was_busy: bool) -> bool:
        """Return True once there are requests; False when the thread has to end."""
        with self._changed:
            if self._queue and was_busy:
                return True  # they gathered while the last batch was being scored
            self._changed.wait_for(lambda: self._queue or self._closed, self._idle_seconds)
            if not self._queue:
                self._worker = None
                return False
            self._changed.wait_for(self._full, self._max_wait)
            return True

    def _full(self) -> bool:
        """Return whether waiting for company has no use: nobody is left, or no more would fit."""
        sizes = [ticket.size for ticket in tuple(self._queue)]
        return not sizes or len(sizes) >= self._capacity or sum(sizes) >= self._max_batch_documents

    def _take(self) -> list[_Ticket]:
        batch: list[_Ticket] = []
        documents = 0
        with self._changed:
            while self._queue:
                ticket = next(iter(self._queue))
                if batch and documents + ticket.size > self._max_batch_documents:
                    break
                self._queue.pop(ticket, None)
                if _wanted(ticket):
                    ticket.taken = True
                    batch.append(ticket)
                    documents += ticket.size
            self._let_in()
        return batch

    def _score(self, batch: Sequence[_Ticket]) -> None:
        outcomes = self._attempt(batch)
        if not isinstance(outcomes, Exception):
            for ticket, outcome in zip(batch, outcomes, strict=True):
                ticket.settle(outcome)
        elif len(batch) == 1:
            batch[0].settle(outcomes)
        else:
            name = type(outcomes).__name__
            logger.warning("%s while scoring %d requests together: trying each alone", name, len(batch))
            del outcomes  # its traceback holds what the scorer had in memory
            for ticket in filter(_wanted, batch):
                self._score([ticket])

    def _attempt(self, batch: Sequence[_Ticket]) -> list[Scored | Exception] | Exception:
        try:
            outcomes = list(self._scorer.score_many([ticket.request for ticket in batch]))
        except Exception as error:
            return error
        except BaseException as error:  # such as SystemExit: it would leave every task waiting for ever
            ended = RuntimeError(f"the scorer ended with {type(error).__name__}")
            ended.__cause__ = error
            return ended
        if len(outcomes) != len(batch):
            wrong = f"score_many returned {len(outcomes)} results for {len(batch)} requests"
            return [RuntimeError(wrong) for _ in batch]
        return outcomes


def _wanted(ticket: _Ticket) -> bool:
    """Return whether to score the request; where not, its task is told why."""
    refusal = ticket.refusal()
    if refusal is not None:
        ticket.settle(refusal)
    return refusal is None


def _check_request(request: object, timeout: object) -> None:
    if not isinstance(request, ScoringRequest):
        raise ValueError(f"got a request of type {type(request).__name__}, expected a ScoringRequest")
    if timeout is not None and not _is_number(timeout):
        raise ValueError(f"got timeout={timeout!r}, expected a finite number of seconds (or None)")


def _check_duration(name: str, value: object) -> None:
    if not _is_number(value) or not 0 <= value <= threading.TIMEOUT_MAX:  # type: ignore[operator]
        raise ValueError(f"got {name}={value!r}, expected a finite number of at least 0")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
