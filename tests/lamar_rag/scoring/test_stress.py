"""One Reranker under many threads, tasks and event loops: every answer is the one a lone call gets."""

from __future__ import annotations

import asyncio
import functools
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from tiny_models import ENGLISH, FRENCH, GERMAN, WORDS, TableScorer, tiny_cross_encoder
from tiny_rerankers import tiny_jina_v3

from lamar_rag import Document, LanguagePreference, RankedDocument, Reranker
from lamar_rag.scoring.forward import BatchForward
from lamar_rag.types import Scored, ScoringCancelledError, ScoringOptions

pytestmark = pytest.mark.slow

WORKERS, CALLS, JOBS = 16, 200, 48


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Tiny matrices gain nothing by torch's own threads, which wait long for each other on a busy machine."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@dataclass
class Job:
    query: str
    documents: list[Document | str]
    options: dict[str, Any] = field(default_factory=dict)
    expected: list[RankedDocument] = field(default_factory=list)


def sentence(random, most: int) -> str:
    words = [ENGLISH, FRENCH, GERMAN, WORDS][random.integers(4)]
    return " ".join(random.choice(words, size=random.integers(0, most)))


def new_job(random) -> Job:
    texts = [sentence(random, 80 if random.random() < 0.2 else 12) for _ in range(random.integers(0, 8))]
    texts += texts[:1]  # a duplicate
    languages = [None, "en", "fr", "de"]
    documents: list[Document | str] = [
        text
        if random.random() < 0.3
        else Document(text, str(i), languages[random.integers(4)], None, {"n": i})
        for i, text in enumerate(texts)
    ]
    choices: dict[str, Sequence[Any]] = {
        "max_length": (None, 16, 24, 48, 96),
        "long_documents": (None, "truncate", "windows"),
        "top_n": (None, 1, 3, 100),
        "score_threshold": (None, None, -0.31, 0.17),
        "query_language": (None, "en", "fr", "ja"),
        "preference": (
            None,
            LanguagePreference(0.5),
            LanguagePreference(1.5, preferred=["fr", "de"]),
            LanguagePreference(-1.0, preferred=["en"], floor=0.05),
        ),
    }
    options = {name: values[random.integers(len(values))] for name, values in choices.items()}
    return Job(sentence(random, 9), documents, {k: v for k, v in options.items() if v is not None})


def is_clear(job: Job, all_rows: list[RankedDocument]) -> bool:
    """Say whether no two results, and no result and a threshold, are so close that rounding could swap them."""
    preference = job.options.get("preference")
    edges = [job.options.get("score_threshold"), preference.floor if preference else None]
    finals = np.unique([row.score for row in all_rows])
    edge_gaps = [abs(row.relevance - edge) for row in all_rows for edge in edges if edge is not None]
    return min([*np.diff(finals), *edge_gaps], default=1.0) > 1e-4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_cross_encoder(tmp_path_factory.mktemp("cross-encoder"))


@pytest.fixture(scope="module")
def jobs(folder):
    """Different calls, with the answers that they get one after another."""
    random, made = np.random.default_rng(11), []
    with Reranker(folder, device="cpu") as alone:
        while len(made) < JOBS:
            job = new_job(random)
            uncut = {k: v for k, v in job.options.items() if k not in ("top_n", "score_threshold")}
            job.expected = alone.rerank(job.query, job.documents, **job.options)
            if is_clear(job, alone.rerank(job.query, job.documents, **uncut)):
                made.append(job)
    assert sum(bool(job.expected) for job in made) > JOBS / 2
    assert any(row.truncated for job in made for row in job.expected)
    return made


@pytest.fixture
def shared(folder):
    with Reranker(folder, device="cpu") as reranker:
        yield reranker


@pytest.fixture
def passes(monkeypatch):
    """The forward passes so far, as a list that grows."""
    seen, forward = [], BatchForward.__call__

    def counting(self, batch):
        seen.append(len(batch))
        return forward(self, batch)

    monkeypatch.setattr(BatchForward, "__call__", counting)
    return seen


def check(rows: list[RankedDocument], job: Job) -> None:
    def rest(row: RankedDocument) -> tuple[object, ...]:
        return row.document, row.rank, row.index, row.language, row.truncated

    assert [rest(row) for row in rows] == [rest(row) for row in job.expected]
    for name in ("score", "relevance", "probability"):
        ours, theirs = ([getattr(row, name) for row in some] for some in (rows, job.expected))
        assert np.abs(np.subtract(ours, theirs)).max(initial=0) < 1e-5


# (query, documents, options) of calls that must fail, and what their errors say
BAD: tuple[tuple[Any, list[Any], dict[str, Any], str], ...] = (
    ("the cat", ["dog"], {"max_length": 3}, "max_length=3"),
    ("the cat", ["dog"], {"max_length": 97}, "reads 96 tokens"),
    ("the cat", ["dog", 7], {}, "document at position 1 of type int"),
    (None, ["dog"], {}, "query of type NoneType"),
    ("the cat", ["dog"], {"top_n": 0}, "top_n=0"),
    ("the cat", ["dog"], {"long_documents": "window"}, "long_documents='window'"),
)


def queue_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "lamar-request-queue"]


def wait_until(done: Callable[[], bool], seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while not done() and time.monotonic() < end:
        time.sleep(0.01)
    return done()


def set_event() -> threading.Event:
    event = threading.Event()
    event.set()
    return event


def in_sequence(reranker: Reranker, jobs: Sequence[Job], seed: int, calls: int) -> int:
    """Call again and again, now and then wrongly; return how many answers were compared."""
    random, compared = np.random.default_rng(seed), 0
    for _ in range(calls):
        kind, job = random.random(), jobs[random.integers(len(jobs))]
        if kind < 0.05:
            query, documents, options, message = BAD[random.integers(len(BAD))]
            with pytest.raises(ValueError, match=message):
                reranker.rerank(query, documents, **options)
        elif kind < 0.1:
            with pytest.raises(ScoringCancelledError):
                reranker.rerank("the cat", ["dog"], cancel=set_event())
        else:
            check(reranker.rerank(job.query, job.documents, **job.options), job)
            compared += 1
    return compared


async def in_turn(reranker: Reranker, jobs: Sequence[Job], seed: int, calls: int) -> Counter[str]:
    """What `in_sequence` does, from a task, with requests that are cancelled or have no time."""
    random, told = np.random.default_rng(seed), Counter()
    for _ in range(calls):
        kind, job = random.random(), jobs[random.integers(len(jobs))]
        call = functools.partial(reranker.arerank, job.query, job.documents, **job.options)
        if kind < 0.05:
            query, documents, options, message = BAD[random.integers(len(BAD))]
            with pytest.raises(ValueError, match=message):
                await reranker.arerank(query, documents, **options)
            told["failed"] += 1
        elif kind < 0.1:
            with pytest.raises(ScoringCancelledError):
                await reranker.arerank("the cat", ["dog"], cancel=set_event())
            told["stopped"] += 1
        elif kind < 0.2:
            task = asyncio.create_task(call())
            await asyncio.sleep(random.random() * 0.03)
            if task.cancel():
                with pytest.raises(asyncio.CancelledError):
                    await task
                told["cancelled"] += 1
            else:
                check(task.result(), job)
        elif kind < 0.3:
            try:
                check(await call(timeout=random.random() * 0.02), job)
            except TimeoutError:
                told["late"] += 1
        else:
            check(await call(), job)
            told["compared"] += 1
    return told


def test_threads_share_one_reranker(shared, jobs, passes):
    with ThreadPoolExecutor(WORKERS) as threads:
        compared = list(threads.map(lambda seed: in_sequence(shared, jobs, seed, CALLS), range(WORKERS)))
    assert sum(compared) > 0.8 * WORKERS * CALLS
    check_that_nothing_runs_on(passes)
    for job in jobs:  # and afterwards all is as it was
        check(shared.rerank(job.query, job.documents, **job.options), job)


@pytest.mark.parametrize(("loops", "threads"), [(1, 0), (4, 4)])
def test_tasks_share_one_reranker(shared, jobs, passes, loops, threads):
    async def tasks(first: int) -> Counter[str]:
        share = WORKERS // loops
        told = await asyncio.gather(
            *(in_turn(shared, jobs, 100 + first * share + i, CALLS) for i in range(share))
        )
        return sum(told, Counter())

    with ThreadPoolExecutor(loops + threads) as pool:
        beside = [pool.submit(in_sequence, shared, jobs, 1000 + i, CALLS) for i in range(threads)]
        told = sum(pool.map(lambda first: asyncio.run(tasks(first)), range(loops)), Counter())
        assert all(future.result() for future in beside)
    assert told["compared"] > 0.6 * WORKERS * CALLS
    assert min(told[kind] for kind in ("failed", "stopped", "cancelled", "late")) > 20
    check_that_nothing_runs_on(passes)
    for job in jobs:
        check(asyncio.run(shared.arerank(job.query, job.documents, **job.options)), job)
    shared.close()
    assert wait_until(lambda: not queue_threads())


def check_that_nothing_runs_on(passes: list[int]) -> None:
    assert wait_until(
        lambda: all(not thread.name.startswith("ThreadPool") for thread in threading.enumerate())
    )
    before = len(passes)
    assert before > 0
    time.sleep(0.5)
    assert len(passes) == before


@pytest.fixture(scope="module")
def pool():
    """Documents that take several seconds to score, all different."""
    random = np.random.default_rng(5)
    return [" ".join(random.choice(WORDS, size=80)) for _ in range(10_000)]


def test_the_event_loop_goes_on_while_a_long_request_is_scored(shared, pool):
    gaps: list[float] = []

    async def ticking() -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(0.005)
            now = time.monotonic()
            gaps.append(now - last)
            last = now

    async def main() -> tuple[list[RankedDocument], float]:
        await shared.arerank("cat", ["dog"])
        ticker = asyncio.create_task(ticking())
        start = time.monotonic()
        rows = await shared.arerank("cat", pool, top_n=5)
        taken = time.monotonic() - start
        ticker.cancel()
        return rows, taken

    rows, taken = asyncio.run(main())
    assert taken > 2  # otherwise the pool is too small to show anything
    assert len(rows) == 5
    assert max(gaps) < max(0.5, taken / 30)  # the latter where others use the machine
    assert len(gaps) > 20 * taken  # and it ticks all the while


@pytest.mark.parametrize("way", ["task", "timeout", "event"])
def test_a_long_request_that_is_given_up_stops_and_harms_no_other(shared, pool, passes, way):
    async def main() -> tuple[list[RankedDocument], float]:
        await shared.arerank("cat", ["dog"])
        event = threading.Event()
        given = {"timeout": 2.5} if way == "timeout" else {"cancel": event} if way == "event" else {}
        long = asyncio.create_task(shared.arerank("cat", pool, **given))
        while len(passes) < 4 and not long.done():
            await asyncio.sleep(0.01)
        other = asyncio.create_task(shared.arerank("the cat", ["dog", "moon", "le chat"]))
        await asyncio.sleep(0.1)
        if way == "task":
            long.cancel()
        event.set()
        expected = {"task": asyncio.CancelledError, "timeout": TimeoutError, "event": ScoringCancelledError}
        with pytest.raises(expected[way]):
            await long
        start = time.monotonic()
        rows = await other
        return rows, time.monotonic() - start

    rows, waited = asyncio.run(main())
    assert sum(passes) < len(pool) * 0.9  # not all of it was scored
    assert waited < 3  # a batch at most, or the rest of the tokenizing
    with Reranker(shared.model, device="cpu") as alone:
        expected = alone.rerank("the cat", ["dog", "moon", "le chat"])
    check(rows, Job("", [], {}, expected))
    before = len(passes)
    time.sleep(0.5)
    assert len(passes) == before


def test_tasks_share_a_listwise_reranker(tmp_path):
    folder = tiny_jina_v3(tmp_path)
    random = np.random.default_rng(6)
    calls = [(sentence(random, 8), [sentence(random, 12) for _ in range(5)]) for _ in range(10)]
    with Reranker(folder, recipe="jina-reranker-v3", device="cpu") as reranker:
        expected = [reranker.score(*call) for call in calls]

        async def task() -> None:
            for row, call in enumerate(calls * 2):
                scores = await reranker.ascore(*call)
                assert np.abs(scores - expected[row % len(calls)]).max() < 1e-5

        async def main() -> None:
            await asyncio.gather(*(task() for _ in range(8)))

        asyncio.run(main())


class SlowScorer(TableScorer):
    """Takes a while, and looks at `cancel` meanwhile."""

    def score(
        self, query: str, documents: Sequence[Document], options: ScoringOptions = ScoringOptions()
    ) -> Scored:
        for _ in range(20):
            if options.cancel is not None and options.cancel.is_set():
                raise ScoringCancelledError("cancelled")
            time.sleep(0.01)
        return super().score(query, documents, options)


@pytest.mark.parametrize("way", ["task", "timeout"])
def test_what_is_given_up_leaves_a_cancel_event_that_others_share_as_it_was(way):
    shared_event = threading.Event()

    async def main() -> list[RankedDocument]:
        reranker = Reranker(SlowScorer({"dog": 1.0}))
        other = asyncio.create_task(reranker.arerank("cat", ["dog"], cancel=shared_event))
        timeout = 0.05 if way == "timeout" else None
        given_up = asyncio.create_task(reranker.arerank("cat", ["dog"], cancel=shared_event, timeout=timeout))
        await asyncio.sleep(0.05)
        if way == "task":
            given_up.cancel()
        with pytest.raises((TimeoutError, asyncio.CancelledError)):
            await given_up
        return await other

    assert [row.relevance for row in asyncio.run(main())] == [1.0]
    assert not shared_event.is_set()
