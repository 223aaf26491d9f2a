"""What tracing sees of a reranking: a start and its end, whatever comes in between."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.callbacks import CallbackManager, CBEventType, EventPayload, LlamaDebugHandler
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import QueryBundle, TextNode
from llama_index.postprocessor.lamar import LamarReranker
from llama_index_parts import (
    CallbackLog,
    FailingScorer,
    HeldScorer,
    LengthScorer,
    LetterEmbedding,
    NumbersScorer,
    logged_events,
    outcome,
    scored_node,
)

from lamar_rag import Reranker

PAIR = ["ReRankStartEvent", "ReRankEndEvent"]
HOW = pytest.mark.parametrize("how", ["sync", "async"])


def watched(scorer, **options):
    log = CallbackLog()
    reranker = LamarReranker(reranker=Reranker(scorer), callback_manager=CallbackManager([log]), **options)
    return reranker, log


def call(reranker, how, nodes, **query):
    if how == "sync":
        return reranker.postprocess_nodes(nodes, **query)
    return asyncio.run(reranker.apostprocess_nodes(nodes, **query))


def three_nodes():
    return [scored_node(text, id_=text) for text in ("a", "ccc", "bb")]


@HOW
def test_the_cut_of_a_given_reranker_is_what_is_reported(how):
    log = CallbackLog()
    reranker = LamarReranker(
        reranker=Reranker(LengthScorer(), top_n=1), top_n=None, callback_manager=CallbackManager([log])
    )
    with logged_events() as events:
        assert outcome(call(reranker, how, three_nodes(), query_str="q")) == [("ccc", 3.0)]
    assert events.events[0].top_n == 1


@HOW
@pytest.mark.parametrize(
    ("nodes", "query", "message"),
    [
        (
            [TextNode(text="a")],
            QueryBundle("q"),
            "got a TextNode at position 0 of nodes, expected a NodeWithScore",
        ),
        ("abc", QueryBundle("q"), "got a str for nodes"),
        (7, QueryBundle("q"), "got a int for nodes"),
        ([], "q", "got a str for query_bundle, expected a QueryBundle"),
    ],
)
def test_wrong_input_is_named_before_anything_is_reported(how, nodes, query, message):
    reranker, log = watched(LengthScorer())
    with logged_events() as events, pytest.raises(ValueError, match=message) as caught:
        call(reranker, how, nodes, query_bundle=query)
    assert "\n" not in str(caught.value)
    assert events.names == [] == log.calls


@HOW
@pytest.mark.parametrize(("top_n", "told"), [(2, 2), (3, 3), (8, 8), (None, 3)])
def test_a_success_is_reported_with_what_went_in_and_what_came_out(how, top_n, told):
    reranker, log = watched(LengthScorer(), top_n=top_n)
    nodes, bundle = three_nodes(), QueryBundle("which one")
    with logged_events() as events:
        found = call(reranker, how, nodes, query_bundle=bundle)
    assert events.names == PAIR
    start, end = events.events
    assert (start.query, start.top_n, start.model_name) == (bundle, told, "length")
    assert outcome(start.nodes) == outcome(nodes)
    assert outcome(end.nodes) == outcome(found) == [("ccc", 3.0), ("bb", 2.0), ("a", 1.0)][:told]
    log.check_pairs(1)
    (_, _, began), (_, _, ended) = log.calls
    assert began == {
        EventPayload.NODES: nodes,
        EventPayload.MODEL_NAME: "length",
        EventPayload.QUERY_STR: "which one",
        EventPayload.TOP_K: told,
    }
    assert list(ended) == [EventPayload.NODES]
    assert outcome(ended[EventPayload.NODES]) == outcome(found)


@HOW
def test_a_query_given_as_text_is_reported_too(how):
    reranker, log = watched(LengthScorer())
    with logged_events() as events:
        call(reranker, how, three_nodes(), query_str="which one")
    assert events.events[0].query.query_str == "which one"
    assert log.calls[0][2][EventPayload.QUERY_STR] == "which one"


@HOW
def test_an_empty_list_is_reported_as_a_pair(how):
    log = CallbackLog()
    reranker = LamarReranker(model="no/such-model", callback_manager=CallbackManager([log]))
    with logged_events() as events:
        assert call(reranker, how, [], query_str="q") == []
    assert events.names == PAIR
    assert [event.nodes for event in events.events] == [[], []]
    assert events.events[0].model_name == "no/such-model"
    log.check_pairs(1)
    assert log.calls[1][2] == {EventPayload.NODES: []}


@HOW
@pytest.mark.parametrize(
    ("scorer", "query", "error"),
    [
        (LengthScorer(), {}, ValueError),
        (FailingScorer(), {"query_str": "q"}, RuntimeError),
        (NumbersScorer([1.0, float("nan"), 2.0]), {"query_str": "q"}, ValueError),
        (NumbersScorer([1.0]), {"query_str": "q"}, ValueError),
    ],
    ids=["no query", "failing scorer", "nan", "wrong shape"],
)
def test_an_error_is_reported_as_a_pair_and_raised(how, scorer, query, error):
    reranker, log = watched(scorer)
    nodes = three_nodes()
    with logged_events() as events, pytest.raises(error) as caught:
        call(reranker, how, nodes, **query)
    assert events.names == PAIR
    assert events.events[1].nodes == []
    log.check_pairs(1)
    assert log.calls[0][2][EventPayload.NODES] == nodes
    assert log.calls[0][2][EventPayload.QUERY_STR] == query.get("query_str")
    assert log.calls[1][2] == {EventPayload.EXCEPTION: caught.value}


def test_a_cancelled_task_is_reported_as_a_pair():
    scorer = HeldScorer({"cat": 1.0})
    reranker, log = watched(scorer)

    async def main():
        task = asyncio.create_task(reranker.apostprocess_nodes([scored_node("cat")], query_str="q"))
        while not scorer.entered.is_set():
            await asyncio.sleep(0.001)
        assert events.names == PAIR[:1]  # not before it is over
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        assert task.cancelled()

    with logged_events() as events:
        asyncio.run(main())
        scorer.release.set()
    assert events.names == PAIR
    assert events.events[1].nodes == []
    log.check_pairs(1)


class FailingLog(CallbackLog):
    """A handler that breaks at the start."""

    def on_event_start(self, event_type, payload=None, event_id="", parent_id="", **_):
        raise RuntimeError("the handler fell over")


@HOW
def test_a_callback_handler_that_fails_leaves_no_start_event_alone(how):
    reranker = LamarReranker(
        reranker=Reranker(LengthScorer()), callback_manager=CallbackManager([FailingLog()])
    )
    with logged_events() as events, pytest.raises(RuntimeError, match="the handler fell over"):
        call(reranker, how, three_nodes(), query_str="q")
    assert events.names == PAIR


@HOW
def test_call_after_call_makes_pair_after_pair(how):
    reranker, log = watched(LengthScorer())
    with logged_events() as events:
        for nodes in (three_nodes(), [], three_nodes()[:1]):
            call(reranker, how, nodes, query_str="q")
        with pytest.raises(ValueError, match="query bundle"):
            call(reranker, how, three_nodes())
    assert events.names == PAIR * 4
    log.check_pairs(4)
    assert len({event.id_ for event in events.events}) == 8


def engine_over(words, manager, **options):
    index = VectorStoreIndex([TextNode(text=word, id_=word) for word in words], embed_model=LetterEmbedding())
    return RetrieverQueryEngine.from_args(
        index.as_retriever(similarity_top_k=len(words)),
        llm=MockLLM(),
        node_postprocessors=[LamarReranker(reranker=Reranker(LengthScorer()), **options)],
        callback_manager=manager,
    )


@HOW
def test_the_callback_manager_of_the_engine_gets_the_reranking_inside_its_query(how):
    debug, log = LlamaDebugHandler(print_trace_on_end=False), CallbackLog()
    engine = engine_over(["a", "bb", "ccc"], CallbackManager([debug, log]), top_n=2)
    with logged_events() as events:
        response = engine.query("q") if how == "sync" else asyncio.run(engine.aquery("q"))
    log.check_pairs(1)
    ((start, end),) = debug.get_event_pairs(CBEventType.RERANKING)
    assert start.id_ == end.id_ == log.calls[0][1]
    assert start.payload[EventPayload.QUERY_STR] == "q"
    assert outcome(end.payload[EventPayload.NODES]) == outcome(response.source_nodes)
    ((query, _),) = debug.get_event_pairs(CBEventType.QUERY)
    order = [event.id_ for event in debug.get_events()]
    assert order[0] == order[-1] == query.id_  # the reranking lies within the query
    assert events.names == PAIR
    assert len({event.span_id for event in events.events} - {None}) == 1  # both belong to one span


@HOW
def test_a_reranking_is_a_span_of_its_own(how):
    engine = engine_over(["a", "bb", "ccc"], CallbackManager([]))
    with logged_events() as events:
        _ = engine.query("q") if how == "sync" else asyncio.run(engine.aquery("q"))
    assert [str(event.span_id).split(".")[0] for event in events.events] == ["LamarReranker"] * 2


def test_an_error_inside_an_engine_is_paired_too():
    log = CallbackLog()
    engine = engine_over(["a", "bb"], CallbackManager([log]))
    engine._node_postprocessors[0].reranker._scorer = FailingScorer()
    with logged_events() as events, pytest.raises(RuntimeError, match="the model fell over"):
        engine.query("q")
    assert events.names == PAIR
    log.check_pairs(1)


def test_events_hold_the_nodes_as_they_were_and_as_they_came_out():
    reranker, log = watched(LengthScorer(cut=("ccc",)), keep_retrieval_score=True)
    with logged_events() as events:
        found = reranker.postprocess_nodes(three_nodes(), query_str="q")
    start, end = events.events
    assert [row.to_dict() for row in start.nodes] == [row.to_dict() for row in three_nodes_like(start.nodes)]
    assert [row.to_dict() for row in end.nodes] == [row.to_dict() for row in found]
    assert end.nodes[0].metadata == {"retrieval_score": 0.5, "truncated": True}
    found.clear()  # the caller's list is the caller's
    assert len(log.calls[1][2][EventPayload.NODES]) == 3


def three_nodes_like(nodes):
    return [scored_node(row.node.text, id_=row.node_id) for row in nodes]
