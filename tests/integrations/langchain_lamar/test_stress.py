"""One LamarReranker under many threads, tasks and event loops: every answer is the one a lone call gets."""

from __future__ import annotations

import asyncio
import copy
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_lamar import LamarReranker
from langchain_parts import scores, told
from tiny_models import ENGLISH, FRENCH, GERMAN, WORDS, tiny_cross_encoder

import lamar_rag
from lamar_rag import LanguagePreference, Reranker

pytestmark = pytest.mark.slow

THREADS, CALLS, TASKS = 8, 60, 50
# Copies of the one reranker with these options share its loaded model.
OPTIONS = (
    {},
    {"top_n": None},
    {"top_n": 1, "long_documents": "windows"},
    {"top_n": None, "long_documents": "windows", "language_weight": 0.8, "preferred_languages": ["fr", "de"]},
)


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
    variant: int
    query: str
    documents: list[Document]
    before: list[Document]
    expected: list[Document]


def new_document(random, number: int) -> Document:
    words = [ENGLISH, FRENCH, GERMAN, WORDS][random.integers(4)]
    size = random.integers(60, 140) if random.random() < 0.2 else random.integers(0, 12)
    language = [None, "en", "fr-FR", "deu"][random.integers(4)]
    metadata = {"page": number} | ({"language": language} if language else {})
    return Document(" ".join(random.choice(words, size=size)), id=str(number), metadata=metadata)


def ranked(alone: Reranker, variant: int, query: str, documents: list[Document]):
    """The oracle: all that the library's own reranker returns for a variant, in this thread alone."""
    options = OPTIONS[variant]
    return alone.rerank(
        query,
        [lamar_rag.Document(d.page_content, language=d.metadata.get("language")) for d in documents],
        preference=LanguagePreference(
            options.get("language_weight", 0.0), options.get("preferred_languages")
        ),
        long_documents=options.get("long_documents", "truncate"),
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_cross_encoder(tmp_path_factory.mktemp("cross-encoder"))


@pytest.fixture(scope="module")
def jobs(folder):
    """Different calls, with the answers that they get one after another."""
    random, made = np.random.default_rng(12), []
    with Reranker(folder, device="cpu") as alone:
        while len(made) < 40:
            variant, count = len(made) % len(OPTIONS), int(random.integers(0, 14))
            documents = [new_document(random, number) for number in range(count)]
            query = " ".join(random.choice(WORDS, size=random.integers(0, 9)))
            rows = ranked(alone, variant, query, documents)
            if min(np.diff(np.unique([row.score for row in rows])), default=1.0) < 1e-4:
                continue  # so close that rounding could swap them
            kept = rows[: OPTIONS[variant].get("top_n", 3)]
            made.append(Job(variant, query, documents, copy.deepcopy(documents), told(documents, kept)))
    assert any(document.metadata.get("truncated") for job in made for document in job.expected)
    return made


@pytest.fixture
def shared(folder):
    """The one reranker, in its variants."""
    with LamarReranker(model=folder, device="cpu") as reranker:
        yield [reranker.model_copy(update=options) for options in OPTIONS]


def check(result: list[Document], job: Job) -> None:
    assert scores(result) == pytest.approx(scores(job.expected), abs=1e-5)
    for ours, theirs in zip(result, job.expected, strict=True):
        assert (ours.id, ours.page_content) == (theirs.id, theirs.page_content)
        assert ours.metadata | {"relevance_score": 0} == theirs.metadata | {"relevance_score": 0}


def in_sequence(shared: list[LamarReranker], jobs: list[Job], seed: int) -> int:
    random = np.random.default_rng(seed)
    for _ in range(CALLS):
        job = jobs[random.integers(len(jobs))]
        check(shared[job.variant].compress_documents(job.documents, job.query), job)
    return CALLS


async def in_turn(shared: list[LamarReranker], jobs: list[Job], seed: int, calls: int) -> int:
    """What `in_sequence` does, from a task, with calls of which some are cancelled; return how many were."""
    random, cancelled = np.random.default_rng(seed), 0
    for _ in range(calls):
        job = jobs[random.integers(len(jobs))]
        call = asyncio.create_task(shared[job.variant].acompress_documents(job.documents, job.query))
        if random.random() < 0.25:
            await asyncio.sleep(random.choice([0.0, 0.02]) * random.random())  # at 0 none has finished
            if call.cancel():
                with pytest.raises(asyncio.CancelledError):
                    await call
                cancelled += 1
                continue
        check(await call, job)
    return cancelled


async def tasks(shared: list[LamarReranker], jobs: list[Job], first: int, count: int, calls: int) -> int:
    seeds = range(first, first + count)
    return sum(await asyncio.gather(*(in_turn(shared, jobs, seed, calls) for seed in seeds)))


@pytest.fixture(autouse=True)
def nothing_changed(jobs):
    yield
    assert all(job.documents == job.before for job in jobs)


def test_threads_share_one_reranker(shared, jobs):
    assert len({id(variant._reranker) for variant in shared}) == 1
    with ThreadPoolExecutor(THREADS) as pool:
        done = list(pool.map(lambda seed: in_sequence(shared, jobs, seed), range(THREADS)))
    assert sum(done) == THREADS * CALLS


def test_fifty_calls_at_once_get_what_each_would_get_alone(shared, jobs):
    async def main():
        chosen = [jobs[i % len(jobs)] for i in range(TASKS)]
        calls = [shared[job.variant].acompress_documents(job.documents, job.query) for job in chosen]
        return zip(await asyncio.gather(*calls), chosen, strict=True)

    for result, job in asyncio.run(main()):
        check(result, job)


def test_cancelled_tasks_harm_no_other(shared, jobs):
    assert asyncio.run(tasks(shared, jobs, 100, TASKS, 12)) > 0
    for job in jobs:  # and afterwards all is as it was
        check(asyncio.run(shared[job.variant].acompress_documents(job.documents, job.query)), job)


def test_threads_and_event_loops_share_one_reranker(shared, jobs):
    loops = threads = THREADS // 2
    with ThreadPoolExecutor(loops + threads) as pool:
        beside = [pool.submit(in_sequence, shared, jobs, 1000 + i) for i in range(threads)]
        cancelled = pool.map(lambda i: asyncio.run(tasks(shared, jobs, 200 + 10 * i, 6, 12)), range(loops))
        assert sum(cancelled) > 0
        assert all(future.result() == CALLS for future in beside)
    for job in jobs:
        check(shared[job.variant].compress_documents(job.documents, job.query), job)
