from __future__ import annotations

import asyncio
import threading

import pytest
from langchain_core.documents import Document
from langchain_lamar import LamarReranker
from langchain_parts import FailingScorer, WaitingScorer, over, over_table, texts
from rerank_server import RerankServer
from tiny_models import WORDS, tiny_cross_encoder

TABLE = {"low": 1.0, "high": 3.0, "middle": 2.0, "also middle": 2.0, "worst": -7.5}
GIVEN = [Document(text, id=str(i), metadata={"page": i}) for i, text in enumerate(TABLE)]


@pytest.fixture(scope="module")
def reranker(tmp_path_factory):
    folder = tiny_cross_encoder(tmp_path_factory.mktemp("cross-encoder"))
    with LamarReranker(model=folder, device="cpu", top_n=5) as made:
        yield made


@pytest.mark.parametrize(
    "options",
    [{}, {"top_n": None}, {"score_threshold": 2.0}, {"language_weight": 3.0, "query_language": "en"}],
)
def test_the_async_method_gives_what_the_other_gives(options):
    reranker = over_table(TABLE, **options)
    expected = reranker.compress_documents(GIVEN, "q")
    assert asyncio.run(reranker.acompress_documents(GIVEN, "q")) == expected
    assert expected


def test_the_async_method_of_a_real_model_in_one_event_loop_after_another(reranker):
    given = [Document(" ".join(WORDS[i : i + 5]), id=str(i)) for i in range(15)]
    expected = reranker.compress_documents(given, "the cat")

    async def twice():
        return await asyncio.gather(*(reranker.acompress_documents(given, "the cat") for _ in range(2)))

    for _ in range(3):
        for result in asyncio.run(twice()):
            assert [document.id for document in result] == [document.id for document in expected]
            for one, other in zip(result, expected, strict=True):
                assert one.metadata["relevance_score"] == pytest.approx(
                    other.metadata["relevance_score"], abs=1e-5
                )


def test_a_server_serves_one_event_loop_after_another(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    info = {"/info": {"model_id": "bge", "model_type": {"reranker": {}}, "max_client_batch_size": 32}}
    given = [Document("d20"), Document("d70"), Document("d50")]
    with RerankServer("tei", pages=info) as server, LamarReranker(model=server.url) as reranker:
        for _ in range(2):
            result = asyncio.run(reranker.acompress_documents(given, "q"))
            assert texts(result) == ["d70", "d50", "d20"]


def test_nothing_gives_nothing_without_loading_a_model():
    assert asyncio.run(LamarReranker(model="no/such-model").acompress_documents([], "q")) == []


def test_the_event_loop_goes_on_while_a_scorer_works():
    scorer = WaitingScorer(TABLE)

    async def main():
        task = asyncio.create_task(over(scorer).acompress_documents(GIVEN, "q"))
        while not scorer.started.is_set():
            await asyncio.sleep(0.001)
        for _ in range(20):  # were the loop blocked, nobody would let the scorer go
            await asyncio.sleep(0.001)
        assert not task.done()
        scorer.let_go.set()
        return await task

    assert texts(asyncio.run(main())) == ["high", "middle", "also middle"]


def test_stated_languages_are_looked_up_outside_the_event_loop():
    seen = []

    class Watched(LamarReranker):
        def stated_language(self, metadata):
            seen.append(threading.current_thread())
            return super().stated_language(metadata)

    reranker = Watched(reranker=over_table(TABLE).reranker)
    assert texts(asyncio.run(reranker.acompress_documents(GIVEN, "q"))) == ["high", "middle", "also middle"]
    assert len(seen) == len(GIVEN)
    assert threading.current_thread() not in seen


def test_a_cancelled_task_ends_at_once_and_harms_no_other():
    scorer = WaitingScorer(TABLE)
    reranker = over(scorer)

    async def main():
        first, second = (
            asyncio.create_task(reranker.acompress_documents(GIVEN[:count], "q")) for count in (2, 3)
        )
        while not scorer.started.is_set():
            await asyncio.sleep(0.001)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        scorer.let_go.set()
        return await second

    assert texts(asyncio.run(main())) == ["high", "middle", "low"]


def test_an_error_of_the_scorer_reaches_the_caller():
    with pytest.raises(RuntimeError, match="the scorer broke"):
        asyncio.run(over(FailingScorer(TABLE)).acompress_documents(GIVEN, "q"))
    with pytest.raises(ValueError, match="query of type NoneType"):
        asyncio.run(over_table(TABLE).acompress_documents(GIVEN, None))
