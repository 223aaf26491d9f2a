from __future__ import annotations

import copy
import json
import pickle

import pytest
from langchain_core.documents import Document
from langchain_lamar import LamarReranker
from langchain_parts import over, over_table, scores, texts
from rerank_server import RerankServer
from tiny_models import TableScorer, tiny_cross_encoder

from lamar_rag import LanguagePreference, Reranker

TABLE = {"1": 1.0, "2": 2.0, "3": 3.0, "4": 4.0, "5": 5.0}
# As JSON has them; without letters, so that languages are only stated.
GIVEN = [Document(text, metadata={"language": "de" if text in "12" else "en"}) for text in TABLE]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_cross_encoder(tmp_path_factory.mktemp("cross-encoder"))


def a_reranker(scorer=None):
    """A reranker of the library with every option that counts set."""
    return Reranker(
        scorer or TableScorer(TABLE),
        preference=LanguagePreference(weight=10, preferred=["de"], floor=2),
        top_n=4,
        score_threshold=2,
        long_documents="windows",
        instruction="find",
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["2", "5", "4", "3"]),  # by hand: 1 is below the threshold, 2 + 10 is the most
        ({"top_n": 2}, ["2", "5"]),
        ({"top_n": None}, ["2", "5", "4", "3"]),  # as many as the reranker does
        ({"score_threshold": 4.0}, ["5", "4"]),
        ({"score_threshold": 0.5}, ["2", "5", "4", "3"]),
        ({"score_threshold": 0.5, "top_n": 9, "language_floor": None}, ["2", "1", "5", "4", "3"]),
        ({"score_threshold": 0.5, "top_n": 9, "language_weight": 1.5}, ["5", "4", "2", "3", "1"]),
        ({"preferred_languages": ["en"]}, ["5", "4", "3", "2"]),
        ({"preferred_languages": None, "query_language": "en"}, ["5", "4", "3", "2"]),
        ({"language_weight": 0.0}, ["5", "4", "3", "2"]),
        ({"model": "table"}, ["2", "5", "4", "3"]),  # its own name
    ],
)
def test_what_is_not_given_is_the_rerankers_and_what_is_given_wins(options, expected):
    given = a_reranker()
    assert texts(LamarReranker(reranker=given, **options).compress_documents(GIVEN, "q")) == expected
    assert (given.top_n, given.score_threshold, given.preference.weight) == (4, 2, 10)


@pytest.mark.parametrize(
    ("options", "seen"),
    [({}, ("windows", "find")), ({"long_documents": "truncate", "instruction": "x"}, ("truncate", "x"))],
)
def test_how_to_score_reaches_the_scorer(options, seen):
    class Listening(TableScorer):
        def score(self, query, documents, options):
            self.options = options
            return super().score(query, documents, options)

    scorer = Listening(TABLE)
    LamarReranker(reranker=a_reranker(scorer), **options).compress_documents(GIVEN, "q")
    assert (scorer.options.long_documents, scorer.options.instruction) == seen


def test_the_default_of_top_n_is_three_where_the_reranker_has_none():
    assert texts(over_table(TABLE).compress_documents(GIVEN, "q")) == ["5", "4", "3"]
    assert LamarReranker(model="some/model").top_n == 3


def test_options_can_be_changed_between_calls_but_the_model_cannot():
    reranker = over_table(TABLE, query_language="de")
    reranker.top_n, reranker.language_weight = 1, 9.0
    assert texts(reranker.compress_documents(GIVEN, "q")) == ["2"]
    for name, value in (("top_n", -1), ("model", "x"), ("device", "cpu"), ("reranker", None), ("topn", 2)):
        with pytest.raises(ValueError, match=name):
            setattr(reranker, name, value)
    assert texts(reranker.compress_documents(GIVEN, "q")) == ["2"]


def test_a_copy_has_other_options_and_the_same_loaded_model(folder):
    with LamarReranker(model=folder, device="cpu") as reranker:
        reranker.compress_documents(GIVEN, "q")
        scorer = reranker._reranker.scorer
        copied = reranker.model_copy(update={"top_n": 1})
        assert copied._reranker.scorer is scorer
        assert reranker.model_copy(update={"max_length": 16})._reranker.scorer is not scorer
        assert (len(copied.compress_documents(GIVEN, "q")), reranker.top_n) == (1, 3)


def test_options_go_through_json_and_back():
    for made in (
        LamarReranker(model="some/model", top_n=None, preferred_languages=["de-DE"], max_length=64),
        LamarReranker(reranker=Reranker("some/model", top_n=7, device="cpu"), language_weight=0.5),
    ):
        again = LamarReranker(**json.loads(made.model_dump_json()))
        assert again.model_dump() == made.model_dump()
        assert LamarReranker.model_validate_json(made.model_dump_json()).model_dump() == made.model_dump()
        assert again._reranker.to_dict() == made._reranker.to_dict()
    assert made._reranker.to_dict()["device"] == "cpu"


@pytest.mark.parametrize("copied", [lambda made: pickle.loads(pickle.dumps(made)), copy.deepcopy])
def test_a_pickle_carries_the_options_and_loads_nothing(folder, copied):
    unknown = LamarReranker(model="no/such-model", top_n=5, language_weight=0.5, preferred_languages=["de"])
    assert copied(unknown).model_dump() == unknown.model_dump()
    with LamarReranker(model=folder, device="cpu", top_n=None) as loaded:
        expected = loaded.compress_documents(GIVEN, "q")
        again = copied(loaded)
        assert again._reranker._scorer is None  # the weights stay behind
        assert again.compress_documents(GIVEN, "q") == expected
        again.close()


def test_a_pickle_of_a_given_reranker_keeps_it_one_object():
    made = LamarReranker(reranker=Reranker("some/model", top_n=7))
    again = pickle.loads(pickle.dumps(made))
    assert again._reranker is again.reranker
    assert again.model_dump() == made.model_dump()


def test_close_and_with_free_the_model_and_the_next_call_loads_it(folder):
    scorer = TableScorer(TABLE)
    with over(scorer) as reranker:
        assert scorer.closed == 0
    assert scorer.closed == 1
    reranker.close()
    assert scorer.closed == 2
    with pytest.raises(RuntimeError), over(scorer):
        raise RuntimeError
    assert scorer.closed == 3
    LamarReranker(model="no/such-model").close()  # never loaded: nothing to free
    with LamarReranker(model=folder, device="cpu") as real:
        before = real.compress_documents(GIVEN, "q")
        loaded = real._reranker.scorer
    assert loaded._loaded is None
    assert real.compress_documents(GIVEN, "q") == before
    real.close()


@pytest.mark.parametrize(
    ("shape", "pages"),
    [
        ("tei", {"/info": {"model_id": "bge", "model_type": {"reranker": {}}, "max_client_batch_size": 2}}),
        ("vllm", {"/v1/models": {"object": "list", "data": [{"id": "served", "object": "model"}]}}),
    ],
)
def test_a_server_that_answers_sorted_is_used_by_its_url(shape, pages, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    given = [Document(f"d{number}", id=str(number)) for number in (20, 70, 50, 10, 60)]
    with RerankServer(shape, pages=pages) as server, LamarReranker(model=server.url, top_n=4) as reranker:
        result = reranker.compress_documents(given, "q")
    # by hand: the server's score of d70 is 0.7
    assert [document.id for document in result] == ["70", "60", "50", "20"]
    assert scores(result) == pytest.approx([0.7, 0.6, 0.5, 0.2])
    assert sorted(text for post in server.posts for text in post.texts) == ["d10", "d20", "d50", "d60", "d70"]
