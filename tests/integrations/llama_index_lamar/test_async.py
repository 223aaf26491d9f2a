"""The asynchronous methods: the same answers, and an event loop that goes on."""

from __future__ import annotations

import asyncio
import threading

import pytest
from llama_index.core.schema import QueryBundle, TextNode
from llama_index.postprocessor.lamar import LamarReranker
from llama_index_parts import (
    GERMAN_QUERY,
    PASSAGES,
    HeldScorer,
    LengthScorer,
    NumbersScorer,
    outcome,
    scored_node,
    unchanged,
)
from tiny_models import tiny_cross_encoder

from lamar_rag import Reranker


def passages():
    return [scored_node(text, id_=code, metadata={"page": 1}) for code, text in PASSAGES.items()]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"language_weight": 5.0, "preferred_languages": ["es", "fr"]},
        {"top_n": None, "keep_retrieval_score": True, "score_threshold": 0.0},
    ],
)
def test_async_equals_sync_in_one_loop_after_another(tmp_path, options):
    with LamarReranker(model=str(tiny_cross_encoder(tmp_path)), **options) as reranker:
        nodes = passages()
        expected = [row.to_dict() for row in reranker.postprocess_nodes(nodes, query_str=GERMAN_QUERY)]
        for _ in range(2):
            with unchanged(nodes):
                found = asyncio.run(reranker.apostprocess_nodes(nodes, QueryBundle(GERMAN_QUERY)))
            assert [row.to_dict() for row in found] == expected
            assert all(type(row.score) is float for row in found)
        again = reranker.postprocess_nodes(nodes, query_str=GERMAN_QUERY)
        assert [row.to_dict() for row in again] == expected


def test_the_loop_goes_on_while_the_model_scores():
    scorer = HeldScorer({"cat": 1.0})
    reranker = LamarReranker(reranker=Reranker(scorer))

    async def main():
        task = asyncio.create_task(reranker.apostprocess_nodes([scored_node("cat")], query_str="q"))
        while not scorer.entered.is_set():
            await asyncio.sleep(0.001)
        scorer.release.set()  # only a loop that goes on gets here before the scorer gives up waiting
        return await task

    assert [row.score for row in asyncio.run(main())] == [1.0]
    assert scorer.in_time == [True]


class HeldNode(TextNode):
    """A node that takes its time to say what is in it."""

    def get_content(self, *args, **kwargs):
        READ["entered"].set()
        READ["in_time"] = READ["release"].wait(10)
        return super().get_content(*args, **kwargs)


READ = {"entered": threading.Event(), "release": threading.Event(), "in_time": False}


def test_the_loop_goes_on_while_the_texts_are_read():
    reranker = LamarReranker(reranker=Reranker(LengthScorer()), language_weight=1.0)
    node = scored_node("cat")
    node.node = HeldNode(text="cat")

    async def main():
        task = asyncio.create_task(reranker.apostprocess_nodes([node], query_str="q"))
        while not READ["entered"].is_set():
            await asyncio.sleep(0.001)
        READ["release"].set()
        return await task

    assert [row.score for row in asyncio.run(main())] == [3.0]
    assert READ["in_time"] is True


def test_the_odd_inputs_get_the_same_answers():
    reranker = LamarReranker(model="no/such-model")
    assert asyncio.run(reranker.apostprocess_nodes([], query_str="q")) == []
    with pytest.raises(ValueError, match="query bundle"):
        asyncio.run(reranker.apostprocess_nodes(passages()))
    odd = LamarReranker(reranker=Reranker(NumbersScorer([float("nan")])))
    with pytest.raises(ValueError, match="model numbers returned nan for document 0"):
        asyncio.run(odd.apostprocess_nodes([scored_node("a")], query_str="q"))


def test_a_cancelled_call_leaves_the_next_one_alone():
    scorer = HeldScorer({"cat": 1.0})
    reranker = LamarReranker(reranker=Reranker(scorer))
    nodes = [scored_node("cat", id_="a")]

    async def main():
        task = asyncio.create_task(reranker.apostprocess_nodes(nodes, query_str="q"))
        while not scorer.entered.is_set():
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        scorer.release.set()
        return await reranker.apostprocess_nodes(nodes, query_str="q")

    with unchanged(nodes):
        assert outcome(asyncio.run(main())) == [("a", 1.0)]
