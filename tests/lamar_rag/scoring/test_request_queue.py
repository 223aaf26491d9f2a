from __future__ import annotations

import asyncio
import gc
import logging
import threading
import time
import weakref
from dataclasses import replace

import numpy as np
import pytest

from lamar_rag.scoring.request_queue import RequestQueue
from lamar_rag.types import Document, Scored, ScoringCancelledError, ScoringOptions, ScoringRequest

PATIENCE = 20  # seconds after which a test that hangs fails


class GatedScorer:
    """A `BatchScorer` whose score is the number that a text states; it works only while `gate` is open."""

    model, spread = "gated", None

    def __init__(self, *, is_open=True):
        self.batches: list[list[ScoringRequest]] = []
        self.started = threading.Semaphore(0)  # one for each batch that was begun
        self.gate = threading.Event()
        self.busy = threading.Lock()
        if is_open:
            self.gate.set()

    def score(self, query, documents, options=None):
        if "fails" in query:
            raise ValueError(f"cannot score {query}")
        scores = np.array([float(document.text) for document in documents], dtype=np.float32)
        return Scored(scores, scores > 100)

    def score_many(self, requests):
        assert self.busy.acquire(blocking=False), "two batches at once"
        try:
            self.batches.append(list(requests))
            self.started.release()
            assert self.gate.wait(PATIENCE)
            if any(request.query == "breaks the batch" for request in requests):
                raise OSError("broken by " + ", ".join(request.query for request in requests))
            return [self.outcome(request) for request in requests]
        finally:
            self.busy.release()

    def outcome(self, request):
        if request.options.cancel.is_set():
            return ScoringCancelledError(f"{request.query} was cancelled")
        try:
            return self.score(request.query, request.documents, request.options)
        except ValueError as error:
            return error

    def probability(self, scores):
        return None

    def close(self):
        raise AssertionError("the queue does not own the scorer")

    def queries(self):
        return [[request.query for request in batch] for batch in self.batches]


def request(query, *numbers, **options):
    return ScoringRequest(
        query, [Document(str(number)) for number in numbers or (1,)], ScoringOptions(**options)
    )


async def begun(scorer):
    """Wait, without blocking the loop, until one more batch is being scored."""
    assert await asyncio.to_thread(scorer.started.acquire, timeout=PATIENCE)


async def entered(queue, *requests, **options):
    """Return tasks that have all put their request into the queue."""
    tasks = [
        asyncio.create_task(queue.submit(request, **options), name=request.query) for request in requests
    ]
    await asyncio.sleep(0)
    return tasks


async def blocked(queue, scorer):
    """Return the task of a request that keeps the scorer busy."""
    (task,) = await entered(queue, request("blocker"))
    await begun(scorer)
    return task


def values(scored):
    return scored.scores.tolist(), scored.truncated.tolist()


def run(coroutine):
    async def limited():
        return await asyncio.wait_for(coroutine, PATIENCE)

    return asyncio.run(limited())


def ended(queue, worker):
    worker.join(PATIENCE)
    return not worker.is_alive() and queue._worker is None


def test_many_concurrent_requests_get_what_they_would_get_alone():
    scorer = GatedScorer()
    requests = [request(f"q{n}", *range(n, n + n % 7 + 1)) for n in range(200)]

    async def everything():
        queue = RequestQueue(scorer, capacity=16, max_batch_documents=30)
        return await asyncio.gather(*[queue.submit(one) for one in requests])

    together = run(everything())
    alone = [scorer.score(one.query, one.documents) for one in requests]
    assert [values(one) for one in together] == [values(one) for one in alone]
    assert [query for batch in scorer.queries() for query in batch] == [one.query for one in requests]
    assert all(sum(len(one.documents) for one in batch) <= 30 for batch in scorer.batches)


def test_what_arrives_while_the_model_is_busy_is_scored_together():
    scorer = GatedScorer(is_open=False)

    async def everything():
        queue = RequestQueue(scorer, max_wait_ms=0)
        first = await blocked(queue, scorer)
        others = await entered(queue, *[request(f"q{n}", n) for n in range(50)])
        scorer.gate.set()
        return await asyncio.gather(first, *others)

    results = run(everything())
    assert [values(one)[0] for one in results] == [[1.0], *[[float(n)] for n in range(50)]]
    assert scorer.queries() == [["blocker"], [f"q{n}" for n in range(50)]]


@pytest.mark.parametrize("limits", [{"max_batch_documents": 6}, {"capacity": 3}])
def test_the_first_request_waits_for_company_until_the_batch_is_full(limits):
    scorer = GatedScorer()

    async def everything():
        queue = RequestQueue(scorer, max_wait_ms=3_600_000, **limits)
        await asyncio.gather(*[queue.submit(request(f"q{n}", 1, 2)) for n in range(3)])

    run(everything())
    assert scorer.queries() == [["q0", "q1", "q2"]]


def test_what_gathered_while_the_model_was_busy_is_not_held_back():
    scorer = GatedScorer(is_open=False)

    async def everything():
        queue = RequestQueue(scorer, max_batch_documents=5, max_wait_ms=3_600_000)
        (first,) = await entered(queue, request("full", 1, 2, 3, 4, 5))
        await begun(scorer)
        others = await entered(queue, request("a"), request("b"))
        scorer.gate.set()
        await asyncio.gather(first, *others)

    run(everything())
    assert scorer.queries() == [["full"], ["a", "b"]]


def test_a_lone_request_waits_no_longer_than_told():
    scorer = GatedScorer()
    began = time.monotonic()
    run(RequestQueue(scorer, max_wait_ms=80).submit(request("alone")))
    assert time.monotonic() - began >= 0.08
    assert scorer.queries() == [["alone"]]


def test_batches_keep_the_order_and_a_bigger_request_goes_alone():
    scorer = GatedScorer(is_open=False)
    sizes = {"a": 2, "b": 2, "c": 1, "big": 9, "empty": 0, "d": 1, "e": 3, "f": 2}

    async def everything():
        queue = RequestQueue(scorer, max_batch_documents=4, max_wait_ms=0)
        first = await blocked(queue, scorer)
        tasks = await entered(
            queue, *[ScoringRequest(name, [Document("1")] * size) for name, size in sizes.items()]
        )
        scorer.gate.set()
        return await asyncio.gather(first, *tasks)

    results = run(everything())
    assert [len(one.scores) for one in results[1:]] == list(sizes.values())
    assert scorer.queries()[1:] == [["a", "b"], ["c"], ["big"], ["empty", "d", "e"], ["f"]]  # none overtakes


def test_the_loop_keeps_ticking_while_a_batch_blocks():
    scorer = GatedScorer(is_open=False)

    async def everything():
        task = await blocked(RequestQueue(scorer), scorer)
        for _ in range(1000):
            await asyncio.sleep(0)
        assert not task.done()
        scorer.gate.set()
        await task

    run(everything())


def test_no_more_requests_wait_in_the_queue_than_its_capacity():
    scorer = GatedScorer(is_open=False)

    async def everything():
        queue = RequestQueue(scorer, capacity=4, max_wait_ms=0)
        first = await blocked(queue, scorer)
        tasks = await entered(queue, *[request(f"q{n}") for n in range(10)])
        assert queue.waiting == 4
        tasks[1].cancel()  # in the queue: the next one outside gets its place
        tasks[6].cancel()  # outside
        await asyncio.gather(tasks[1], tasks[6], return_exceptions=True)
        assert queue.waiting == 4
        scorer.gate.set()
        await asyncio.gather(first, *[task for task in tasks if not task.cancelled()])
        assert queue.waiting == 0

    run(everything())
    assert scorer.queries() == [["blocker"], ["q0", "q2", "q3", "q4"], ["q5", "q7", "q8", "q9"]]


def test_timeout_while_waiting_is_never_scored():
    scorer = GatedScorer(is_open=False)

    async def everything():
        queue = RequestQueue(scorer, max_wait_ms=0)
        first = await blocked(queue, scorer)
        with pytest.raises(TimeoutError, match=r"within 0\.01 s \(documents: 2\).* was waiting; allow more"):
            await queue.submit(request("late", 1, 2), timeout=0.01)
        assert queue.waiting == 0
        scorer.gate.set()
        return await asyncio.gather(first, queue.submit(request("in time", 5), timeout=PATIENCE))

    assert [values(one)[0] for one in run(everything())] == [[1.0], [5.0]]
    assert scorer.queries() == [["blocker"], ["in time"]]


def test_no_time_at_all_starts_nothing():
    queue = RequestQueue(GatedScorer())
    for timeout in (0, -1.5):
        with pytest.raises(TimeoutError, match=f"within {timeout} s"):
            run(queue.submit(request("q"), timeout=timeout))
    assert queue._worker is None


def test_a_deadline_counts_even_if_the_loop_is_too_busy_to_notice():
    scorer = GatedScorer(is_open=False)

    async def everything():
        queue = RequestQueue(scorer, max_wait_ms=0)
        first = await blocked(queue, scorer)
        late, patient = (
            await entered(queue, request("late"), timeout=0.02),
            await entered(queue, request("p")),
        )
        time.sleep(0.03)  # the loop's own timer cannot fire
        scorer.gate.set()
        assert scorer.started.acquire(timeout=PATIENCE)  # the next batch was taken meanwhile
        with pytest.raises(TimeoutError, match="was waiting"):
            await late[0]
        await asyncio.gather(first, *patient)

    run(everything())
    assert scorer.queries() == [["blocker"], ["p"]]


def test_timeout_while_scoring_sets_the_event_of_that_request_alone():
    scorer = GatedScorer(is_open=False)

    async def everything():
        queue = RequestQueue(scorer, max_wait_ms=3_600_000, capacity=2)
        (late,) = await entered(queue, request("late"), timeout=0.5)
        (patient,) = await entered(queue, request("patient", 3))
        await begun(scorer)
        with pytest.raises(TimeoutError, match="was being scored"):
            await late
        assert [one.options.cancel.is_set() for one in scorer.batches[0]] == [True, False]
        scorer.gate.set()
        return await patient

    assert values(run(everything())) == ([3.0], [False])
    assert scorer.queries() == [["late", "patient"]]


def test_cancelled_while_queued_is_never_scored():
    scorer = GatedScorer(is_open=False)

    async def everything():
        queue = RequestQueue(scorer, max_wait_ms=0)
        first = await blocked(queue, scorer)
        tasks = await entered(queue, *[request(f"q{n}", n) for n in range(4)])
        tasks[2].cancel()
        with pytest.raises(asyncio.CancelledError):
            await tasks[2]
        scorer.gate.set()
        return await asyncio.gather(first, tasks[0], tasks[1], tasks[3])

    assert [values(one)[0] for one in run(everything())] == [[1.0], [0.0], [1.0], [3.0]]
    assert scorer.queries() == [["blocker"], ["q0", "q1", "q3"]]


def test_cancelled_while_running_sets_its_event_and_harms_no_other():
    scorer = GatedScorer(is_open=False)

    async def everything():
        complaints = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        queue = RequestQueue(scorer, max_wait_ms=3_600_000, capacity=3)
        tasks = await entered(queue, *[request(f"q{n}", n) for n in range(3)])
        await begun(scorer)
        tasks[1].cancel()
        with pytest.raises(asyncio.CancelledError):
            await tasks[1]
        assert [one.options.cancel.is_set() for one in scorer.batches[0]] == [False, True, False]
        scorer.gate.set()
        results = await asyncio.gather(tasks[0], tasks[2])
        assert [one.options.cancel.is_set() for one in scorer.batches[0]] == [False, True, False]
        assert complaints == []
        return results

    assert [values(one)[0] for one in run(everything())] == [[0.0], [2.0]]


def test_the_callers_own_event_counts_too_and_is_left_alone():
    scorer = GatedScorer(is_open=False)
    mine, queued, unset = threading.Event(), threading.Event(), threading.Event()
    given = request("mine", cancel=mine, instruction="as told", max_length=7)

    async def everything():
        queue = RequestQueue(scorer, max_wait_ms=0)
        (running,) = await entered(queue, given)
        await begun(scorer)
        (waiting,) = await entered(queue, request("queued", cancel=queued))
        seen = scorer.batches[0][0].options
        assert not seen.cancel.is_set()
        assert not seen.cancel.wait(0.001)
        mine.set()
        queued.set()
        assert seen.cancel.is_set()
        assert seen.cancel.wait(PATIENCE)
        assert replace(seen, cancel=mine) == given.options
        scorer.gate.set()
        with pytest.raises(ScoringCancelledError, match="mine was cancelled"):
            await running
        with pytest.raises(ScoringCancelledError, match="before it was scored"):
            await waiting
        (given_up,) = await entered(queue, request("given up", cancel=unset))
        given_up.cancel()
        await asyncio.gather(given_up, return_exceptions=True)

    run(everything())
    assert given.options.cancel is mine
    assert not unset.is_set()
    assert scorer.queries()[0] == ["mine"]
    assert ["queued"] not in scorer.queries()


def test_a_failing_request_harms_no_other():
    scorer = GatedScorer(is_open=False)

    async def everything():
        queue = RequestQueue(scorer, max_wait_ms=0)
        first = await blocked(queue, scorer)
        names = ["a", "b fails", "c", "d fails"]
        tasks = await entered(queue, *[request(name, n) for n, name in enumerate(names)])
        scorer.gate.set()
        return await asyncio.gather(first, *tasks, return_exceptions=True)

    _, a, b, c, d = run(everything())
    assert (values(a), values(c)) == (([0.0], [False]), ([2.0], [False]))
    assert (type(b), str(b), str(d)) == (ValueError, "cannot score b fails", "cannot score d fails")
    assert len(scorer.batches) == 2


def test_a_broken_batch_is_tried_one_by_one(caplog):
    scorer = GatedScorer(is_open=False)

    async def everything():
        queue = RequestQueue(scorer, max_wait_ms=0)
        first = await blocked(queue, scorer)
        names = ["a", "breaks the batch", "b fails", "c"]
        tasks = await entered(queue, *[request(name, n) for n, name in enumerate(names)])
        with caplog.at_level(logging.WARNING):
            scorer.gate.set()
            return await asyncio.gather(first, *tasks, return_exceptions=True)

    _, a, broken, failing, c = run(everything())
    assert (values(a), values(c)) == (([0.0], [False]), ([3.0], [False]))
    assert (type(broken), str(broken)) == (OSError, "broken by breaks the batch")
    assert broken.__context__ is None  # its own error alone
    assert (type(failing), str(failing)) == (ValueError, "cannot score b fails")
    assert scorer.queries()[2:] == [["a"], ["breaks the batch"], ["b fails"], ["c"]]
    assert [record.getMessage() for record in caplog.records] == [
        "OSError while scoring 4 requests together: trying each alone"
    ]


def test_who_left_a_broken_batch_is_not_tried_alone():
    scorer = GatedScorer(is_open=False)

    async def everything():
        queue = RequestQueue(scorer, capacity=3, max_wait_ms=3_600_000)
        tasks = await entered(queue, *[request(name) for name in ("breaks the batch", "gone", "stays")])
        await begun(scorer)
        tasks[1].cancel()
        await asyncio.gather(tasks[1], return_exceptions=True)
        scorer.gate.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    broken, gone, stays = run(everything())
    assert (type(broken), type(gone), values(stays)) == (OSError, asyncio.CancelledError, ([1.0], [False]))
    assert scorer.queries()[1:] == [["breaks the batch"], ["stays"]]


def test_what_a_broken_batch_held_is_freed_before_the_requests_are_tried_alone():
    held, freed = [], []

    def score_many(requests):
        if len(requests) > 1:
            tensor = np.zeros(1)
            held.append(weakref.ref(tensor))
            raise MemoryError(f"no room for {len(requests)} requests")
        freed.append(held[0]() is None)
        return [Scored(np.ones(1), np.zeros(1))]

    async def everything():
        scorer = GatedScorer()
        scorer.score_many = score_many
        queue = RequestQueue(scorer, capacity=2, max_wait_ms=3_600_000)
        await asyncio.gather(queue.submit(request("a")), queue.submit(request("b")))

    run(everything())
    assert freed == [True, True]


@pytest.mark.parametrize(
    ("score_many", "error", "message"),
    [
        (lambda requests: [], RuntimeError, "score_many returned 0 results for 1 requests"),
        (lambda requests: None, TypeError, "NoneType"),
        (lambda requests: exit(3), RuntimeError, "the scorer ended with SystemExit"),
        (lambda requests: [StopIteration("odd")], RuntimeError, "StopIteration"),
        (lambda requests: [TimeoutError("the scorer's own")], TimeoutError, "^the scorer's own$"),
    ],
)
def test_a_scorer_that_misbehaves_leaves_nobody_waiting(score_many, error, message):
    scorer = GatedScorer()

    async def everything():
        queue = RequestQueue(scorer, max_wait_ms=0)
        scorer.score_many = score_many
        with pytest.raises(error, match=message):
            await queue.submit(request("q"))
        del scorer.score_many
        return await queue.submit(request("q", 4))

    assert values(run(everything())) == ([4.0], [False])


def test_event_loops_in_several_threads_share_one_queue():
    scorer = GatedScorer(is_open=False)
    queue = RequestQueue(scorer, capacity=8, max_batch_documents=20)
    results = {}

    async def many(name):
        requests = [request(f"{name}{n}", n, n + 1) for n in range(100)]
        results[name] = await asyncio.gather(*[queue.submit(one) for one in requests])

    threads = [threading.Thread(target=run, args=(many(name),)) for name in "abc"]
    for thread in threads:
        thread.start()
    scorer.gate.set()
    for thread in threads:
        thread.join(PATIENCE)
    expected = [([n, n + 1.0], [False, False]) for n in range(100)]
    for name in "abc":
        assert [values(one) for one in results[name]] == expected
    for name in "abc":  # first in, first out
        own = [query for batch in scorer.queries() for query in batch if query[0] == name]
        assert own == [f"{name}{n}" for n in range(100)]


def test_one_loop_after_another():
    scorer = GatedScorer()
    queue = RequestQueue(scorer, max_wait_ms=0)
    found = [values(run(queue.submit(request(f"q{n}", n))))[0] for n in range(3)]
    assert found == [[0.0], [1.0], [2.0]]


def test_a_loop_that_was_closed_meanwhile_stops_nothing():
    scorer = GatedScorer(is_open=False)
    queue = RequestQueue(scorer, max_wait_ms=0)
    loop = asyncio.new_event_loop()
    running, waiting = (loop.create_task(queue.submit(request(name))) for name in ("running", "waiting"))
    loop.run_until_complete(asyncio.sleep(0))
    assert scorer.started.acquire(timeout=PATIENCE)
    loop.close()  # neither task is cancelled: they are forgotten

    async def later():
        task = asyncio.create_task(queue.submit(request("later", 8)))
        await asyncio.sleep(0)
        scorer.gate.set()
        return await task

    assert values(run(later())) == ([8.0], [False])
    # the thread may have taken one request or both before the loop was closed
    assert scorer.queries() in ([["running"], ["later"]], [["running", "waiting"], ["later"]])
    for task in (running, waiting):
        task._log_destroy_pending = False  # it is pending for ever on purpose


def test_a_forgotten_task_gives_up_its_request():
    scorer = GatedScorer(is_open=False)

    async def everything():
        queue = RequestQueue(scorer, max_wait_ms=0)
        first = await blocked(queue, scorer)
        coroutine = queue.submit(request("forgotten"))
        coroutine.send(None)  # runs up to its wait
        assert queue.waiting == 1
        coroutine.close()
        assert queue.waiting == 0
        scorer.gate.set()
        await first
        await queue.submit(request("next"))

    run(everything())
    assert scorer.queries() == [["blocker"], ["next"]]


def test_close_turns_the_waiting_away_and_lets_the_running_finish():
    scorer = GatedScorer(is_open=False)

    async def everything():
        queue = RequestQueue(scorer, capacity=2, max_wait_ms=0, idle_seconds=3600)
        first = await blocked(queue, scorer)
        tasks = await entered(queue, *[request(f"q{n}") for n in range(4)])  # two in the queue, two outside
        worker = queue._worker
        queue.close()
        queue.close()
        for task in tasks:
            with pytest.raises(RuntimeError, match="closed before the request was scored"):
                await task
        (again,) = await entered(queue, request("again", 6))
        assert queue._worker is worker  # still busy, and never two at once
        scorer.gate.set()
        assert values(await first) == ([1.0], [False])
        assert values(await again) == ([6.0], [False])
        queue.close()
        assert await asyncio.to_thread(ended, queue, worker)
        assert values(await queue.submit(request("anew", 7))) == ([7.0], [False])
        worker, before = queue._worker, worker
        assert worker is not before
        await queue.submit(request("stays"))
        assert queue._worker is worker
        queue.close()

    run(everything())
    assert scorer.queries() == [["blocker"], ["again"], ["anew"], ["stays"]]


def test_close_ends_the_wait_for_company():
    async def everything():
        with RequestQueue(GatedScorer(), max_wait_ms=3_600_000) as queue:
            (task,) = await entered(queue, request("alone"))
            worker = queue._worker
            await asyncio.sleep(0.05)  # by now the thread waits for company, most likely
        with pytest.raises(RuntimeError, match="closed"):
            await task
        assert await asyncio.to_thread(ended, queue, worker)

    run(everything())


def test_close_from_inside_the_scorer_and_from_other_threads():
    scorer = GatedScorer()
    queue = RequestQueue(scorer, max_wait_ms=0)
    score = scorer.score

    def closing(*arguments):
        queue.close()
        return score(*arguments)

    scorer.score = closing

    async def everything():
        first = await queue.submit(request("q", 2))
        await asyncio.gather(*[asyncio.to_thread(queue.close) for _ in range(20)])
        return values(first), values(await queue.submit(request("q", 3)))

    assert run(everything()) == (([2.0], [False]), ([3.0], [False]))
    RequestQueue(scorer).close()  # never used: nothing to end


def test_the_thread_ends_when_idle_and_restarts():
    scorer = GatedScorer()
    queue = RequestQueue(scorer, idle_seconds=0.05, max_wait_ms=0)
    assert queue._worker is None  # started by the first request

    async def worker_of_one_request():
        scorer.gate.clear()
        task = await blocked(queue, scorer)
        worker = queue._worker
        scorer.gate.set()
        await task
        return worker

    workers = []
    for _ in range(3):
        workers.append(run(worker_of_one_request()))
        assert ended(queue, workers[-1])
    assert len(set(workers)) == 3
    assert all(worker.daemon for worker in workers)


def test_a_forgotten_queue_is_freed():
    queue = RequestQueue(GatedScorer(), idle_seconds=0.01, max_wait_ms=0)
    run(queue.submit(request("q")))
    gone = weakref.ref(queue)
    del queue
    end = time.monotonic() + PATIENCE
    while gone() is not None and time.monotonic() < end:
        gc.collect()
        time.sleep(0.01)
    assert gone() is None


def test_an_idle_thread_keeps_no_request():
    queue = RequestQueue(GatedScorer(), idle_seconds=3600, max_wait_ms=0)
    queue._scorer.score_many = lambda requests: [Scored(np.ones(1), np.zeros(1)) for _ in requests]
    document = Document("1")

    class Documents(list):
        pass  # plain lists take no weak references

    documents = Documents([document])
    gone = weakref.ref(documents)
    run(queue.submit(ScoringRequest("q", documents)))
    del documents
    end = time.monotonic() + PATIENCE
    while gone() is not None and time.monotonic() < end:
        gc.collect()
        time.sleep(0.01)
    assert gone() is None
    queue.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"capacity": 0}, "capacity=0"),
        ({"max_batch_documents": 1.5}, "max_batch_documents=1.5"),
        ({"max_wait_ms": -1}, "max_wait_ms=-1, expected a finite number of at least 0"),
        ({"max_wait_ms": "2"}, "max_wait_ms='2'"),
        ({"idle_seconds": float("inf")}, "idle_seconds=inf"),
        ({"idle_seconds": True}, "idle_seconds=True"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        RequestQueue(GatedScorer(), **options)


def test_wrong_inputs_are_named():
    with pytest.raises(ValueError, match="got scorer of type int, expected one with the method score_many"):
        RequestQueue(7)
    queue = RequestQueue(GatedScorer())
    with pytest.raises(ValueError, match="got a request of type str, expected a ScoringRequest"):
        run(queue.submit("q"))
    for timeout in (float("nan"), "1", True):
        with pytest.raises(ValueError, match=f"got timeout={timeout!r}, expected a finite number"):
            run(queue.submit(request("q"), timeout=timeout))
    assert queue._worker is None
