from __future__ import annotations

import asyncio

import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from langchain_lamar import LamarReranker
from langchain_parts import AsyncHandler, FailingScorer, Handler, WaitingScorer, over, over_table, texts

TABLE = {"low": 1.0, "high": 3.0, "middle": 2.0}
GIVEN = [Document(text, id=text) for text in TABLE]
NAME = "LamarReranker"


def in_sequence(reranker, documents, handler):
    return reranker.compress_documents(documents, "q", callbacks=[handler])


def in_a_loop(reranker, documents, handler):
    return asyncio.run(reranker.acompress_documents(documents, "q", callbacks=[handler]))


CALLS = [(in_sequence, Handler), (in_a_loop, Handler), (in_a_loop, AsyncHandler)]


@pytest.mark.parametrize(("call", "handler"), CALLS)
@pytest.mark.parametrize("documents", [GIVEN, GIVEN[:1], []])
def test_a_call_is_one_start_and_one_end_with_the_documents(call, handler, documents):
    written = handler()
    result = call(over_table(TABLE), documents, written)
    start, end = written.events
    assert (start.kind, start.name, start.parent, end.kind) == ("start", NAME, None, "end")
    assert start.run == end.run
    assert start.payload == {"query": "q", "documents": documents}
    assert end.payload == result
    assert len(result) == len(documents)


@pytest.mark.parametrize(("call", "handler"), CALLS)
@pytest.mark.parametrize(
    ("reranker", "error"),
    [
        (over(FailingScorer(TABLE)), RuntimeError),
        (over_table({}), KeyError),  # no score for a document
    ],
)
def test_a_failing_call_is_one_start_and_one_error(call, handler, reranker, error):
    written = handler()
    with pytest.raises(error) as caught:
        call(reranker, GIVEN, written)
    start, end = written.events
    assert (start.kind, start.name, end.kind, end.run) == ("start", NAME, "error", start.run)
    assert end.payload is caught.value


def test_a_cancelled_call_has_its_end_too():
    written, scorer = AsyncHandler(), WaitingScorer(TABLE)

    async def main():
        task = asyncio.create_task(over(scorer).acompress_documents(GIVEN, "q", callbacks=[written]))
        while not scorer.started.is_set():
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        scorer.let_go.set()

    asyncio.run(main())
    assert [(event.kind, event.run) for event in written.events] == [
        ("start", written.events[0].run),
        ("error", written.events[0].run),
    ]


def retrieved(compressor):
    return ContextualCompressionRetriever(
        base_compressor=compressor, base_retriever=RunnableLambda(lambda query: GIVEN, name="found")
    )


def piped(reranker):
    return retrieved(DocumentCompressorPipeline(transformers=[reranker]))


@pytest.mark.parametrize("build", [retrieved, piped])
@pytest.mark.parametrize("handler", [Handler, AsyncHandler])
@pytest.mark.parametrize("failing", [False, True])
def test_in_a_retriever_the_reranking_is_a_child_of_the_retrievers_run(build, handler, failing):
    written = handler()
    chain = build(over(FailingScorer(TABLE)) if failing else over_table(TABLE))
    config = {"callbacks": [written]}
    if failing:
        with pytest.raises(RuntimeError):
            run(chain, config, handler)
    else:
        assert texts(run(chain, config, handler)) == ["high", "middle", "low"]
    (retriever,) = [event for event in written.events if event.kind == "retriever start"]
    start, end = written.of(NAME)
    assert (start.kind, end.kind) == ("start", "error" if failing else "end")
    assert start.parent == retriever.run
    assert written.of("found")[0].parent == retriever.run


def run(chain, config, handler):
    if handler is AsyncHandler:
        return asyncio.run(chain.ainvoke("q", config))
    return chain.invoke("q", config)


@pytest.mark.parametrize("handler", [Handler, AsyncHandler])
def test_in_a_chain_the_reranking_is_a_child_of_the_chains_run(handler):
    written = handler()
    chain = over_table(TABLE).after(RunnableLambda(lambda query: GIVEN)).with_config(run_name="outer")
    result = run(chain, {"callbacks": [written]}, handler)
    start, end = written.of(NAME)
    assert start.parent == written.of("outer")[0].run
    assert start.payload == {"query": "q", "documents": GIVEN}
    assert end.payload == result


def test_a_step_that_calls_the_reranker_without_callbacks_is_its_parent():
    written, reranker = Handler(), over_table(TABLE)
    step = RunnableLambda(
        lambda query: reranker.compress_documents(GIVEN, query),
        afunc=lambda query: reranker.acompress_documents(GIVEN, query),
        name="outer",
    )
    step.invoke("q", {"callbacks": [written]})
    asyncio.run(step.ainvoke("q", {"callbacks": [written]}))
    outer = [event.run for event in written.of("outer") if event.kind == "start"]
    starts = [event for event in written.of(NAME) if event.kind == "start"]
    assert [event.parent for event in starts] == outer
    assert len(set(outer)) == 2


def test_each_call_of_a_batch_is_a_run_of_its_own():
    written = Handler()
    over_table(TABLE).after(RunnableLambda(lambda query: GIVEN)).batch(
        [f"q{i}" for i in range(8)], {"callbacks": [written]}
    )
    events = written.of(NAME)
    starts, ends = ([event for event in events if event.kind == kind] for kind in ("start", "end"))
    assert {event.payload["query"] for event in starts} == {f"q{i}" for i in range(8)}
    assert len(events) == 16
    assert sorted(event.run for event in starts) == sorted(event.run for event in ends)


def test_a_subclass_is_traced_by_its_own_name():
    class Mine(LamarReranker):
        pass

    written = Handler()
    Mine(model="no/such-model").compress_documents([], "q", callbacks=[written])
    assert [event.kind for event in written.of("Mine")] == ["start", "end"]
