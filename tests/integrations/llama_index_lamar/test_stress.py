"""One reranker, many callers at once: each gets what it would get alone."""

from __future__ import annotations

import asyncio
import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from llama_index.core.callbacks import CallbackManager
from llama_index.postprocessor.lamar import LamarReranker
from llama_index_parts import CallbackLog, logged_events, outcome, scored_node
from tiny_models import WORDS, tiny_cross_encoder

QUERIES = ["the cat", "le chat est sur le tapis", "wo sitzt die katze", "a dog barked at the moon " * 20]


def calls(count):
    """Calls of many sizes: a query, and up to 24 nodes, some of them beyond what the model reads."""
    chance = random.Random(0)
    made = []
    for i in range(count):
        nodes = [
            scored_node(
                " ".join(chance.choices(WORDS, k=chance.choice([0, 1, 5, 30, 200]))),
                chance.random(),
                id_=f"{i}-{j}",
                metadata={"page": j},
            )
            for j in range(chance.choice([0, 1, 2, 7, 24]))
        ]
        made.append((QUERIES[i % len(QUERIES)], nodes))
    return made


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    log = CallbackLog()
    folder = str(tiny_cross_encoder(tmp_path_factory.mktemp("tiny")))
    options = {"language_weight": 0.5, "keep_retrieval_score": True, "top_n": 5}
    with LamarReranker(model=folder, callback_manager=CallbackManager([log]), **options) as reranker:
        yield reranker, log


def alone(reranker, requests):
    return [reranker.postprocess_nodes(nodes, query_str=query) for query, nodes in requests]


def dumps(results):
    return [[row.to_dict() for row in rows] for rows in results]


def check_same(found, expected):
    """Assert that results agree, up to what another batch's padding does to the last digits of a score."""
    for rows, others in zip(found, expected, strict=True):
        assert [row.node_id for row in rows] == [row.node_id for row in others]
        assert [row.score for row in rows] == pytest.approx([row.score for row in others], abs=1e-5)
        assert [row.metadata for row in rows] == [row.metadata for row in others]


async def at_once(reranker, requests):
    return await asyncio.gather(
        *(reranker.apostprocess_nodes(nodes, query_str=query) for query, nodes in requests)
    )


def test_threads_get_exactly_what_they_would_get_alone(shared):
    reranker, log = shared
    requests = calls(60)
    given = dumps(nodes for _, nodes in requests)
    expected = dumps(alone(reranker, requests))
    log.calls.clear()
    order = [i for i in range(len(requests)) for _ in range(3)]
    random.Random(1).shuffle(order)

    def call(i):
        query, nodes = requests[i]
        return reranker.postprocess_nodes(nodes, query_str=query)

    with logged_events() as events, ThreadPoolExecutor(8) as pool:
        found = dumps(pool.map(call, order))
    assert found == [expected[i] for i in order]
    assert dumps(nodes for _, nodes in requests) == given
    log.check_pairs(len(order))
    assert sorted(events.names) == ["ReRankEndEvent"] * len(order) + ["ReRankStartEvent"] * len(order)


def test_fifty_tasks_at_once_get_what_they_would_get_alone(shared):
    reranker, log = shared
    requests = calls(50)
    expected = alone(reranker, requests)
    log.calls.clear()

    with logged_events() as events:
        check_same(asyncio.run(at_once(reranker, requests)), expected)
        check_same(asyncio.run(at_once(reranker, requests)), expected)  # in another loop
    log.check_pairs(100)
    assert events.names.count("ReRankStartEvent") == events.names.count("ReRankEndEvent") == 100


def test_cancelled_tasks_harm_no_other_and_are_reported_to_their_end(shared):
    reranker, log = shared
    requests = calls(50)
    expected = alone(reranker, requests)
    log.calls.clear()

    async def main():
        tasks = [
            asyncio.create_task(reranker.apostprocess_nodes(nodes, query_str=query))
            for query, nodes in requests
        ]
        for i, task in enumerate(tasks):
            if i % 3 == 0:
                await asyncio.sleep(0)  # some have begun, some wait, some never start
                task.cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    with logged_events() as events:
        results = asyncio.run(main())
    cancelled = [i for i, rows in enumerate(results) if isinstance(rows, asyncio.CancelledError)]
    assert cancelled
    assert {i % 3 for i in cancelled} == {0}
    kept = [i for i in range(len(results)) if i not in cancelled]
    check_same([results[i] for i in kept], [expected[i] for i in kept])
    log.check_pairs(events.names.count("ReRankStartEvent"))
    assert events.names.count("ReRankStartEvent") == events.names.count("ReRankEndEvent") >= len(kept)
    # and the object goes on as before
    assert [outcome(rows) for rows in alone(reranker, requests)] == [outcome(rows) for rows in expected]


def test_threads_and_loops_at_once_share_one_reranker(shared):
    reranker, log = shared
    requests = calls(24)
    expected = alone(reranker, requests)
    log.calls.clear()

    with ThreadPoolExecutor(4) as pool:
        loops = [pool.submit(asyncio.run, at_once(reranker, requests)) for _ in range(2)]
        threads = [pool.submit(alone, reranker, requests) for _ in range(2)]
        for future in loops:
            check_same(future.result(), expected)
        for future in threads:
            assert dumps(future.result()) == dumps(expected)
    log.check_pairs(4 * len(requests))
