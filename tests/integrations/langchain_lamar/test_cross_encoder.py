from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from langchain_classic.retrievers.document_compressors import CrossEncoderReranker
from langchain_classic.retrievers.document_compressors.cross_encoder import BaseCrossEncoder
from langchain_core.documents import Document
from langchain_lamar import LamarCrossEncoder, LamarReranker
from langchain_parts import texts
from rerank_server import RerankServer
from tiny_models import WORDS, TableScorer, tiny_cross_encoder

from lamar_rag import LanguagePreference, Reranker
from lamar_rag.extras import MissingExtraError

QUERIES = ["the cat sat on a mat", "le chien", "die katze sitzt"]
GERMAN = "Die Katze schläft seit heute Morgen auf dem warmen Sofa im Wohnzimmer."
ENGLISH = "The cat has been sleeping on the warm sofa in the living room since this morning."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_cross_encoder(tmp_path_factory.mktemp("cross-encoder"))


@pytest.fixture(scope="module")
def encoder(folder):
    with LamarCrossEncoder(model=folder, device="cpu") as made:
        yield made


@pytest.fixture(scope="module")
def passages():
    random = np.random.default_rng(8)
    return [" ".join(random.choice(WORDS, size=size)) for size in random.integers(1, 60, 20)]


@pytest.fixture(scope="module")
def pairs(passages):
    """Pairs of several queries, mixed, some of them twice."""
    random = np.random.default_rng(9)
    return [(QUERIES[random.integers(3)], passages[random.integers(20)]) for _ in range(40)]


def over_table(table, **options):
    scorer = TableScorer(table)
    return scorer, LamarCrossEncoder(reranker=Reranker(scorer), **options)


def test_it_is_the_cross_encoder_that_langchain_knows(encoder):
    assert isinstance(encoder, BaseCrossEncoder)


def test_no_pairs_give_no_scores_without_loading_a_model():
    assert LamarCrossEncoder(model="no/such-model").score([]) == []


def test_scores_equal_sentence_transformers_logits_pair_by_pair(folder, encoder, pairs):
    from sentence_transformers import CrossEncoder
    from torch import nn

    theirs = CrossEncoder(str(folder), device="cpu", activation_fn=nn.Identity(), max_length=96).predict(
        pairs
    )
    ours = encoder.score(pairs)
    assert [type(score) for score in ours] == [float] * len(pairs)
    assert json.loads(json.dumps(ours)) == ours
    assert np.ptp(theirs) > 0.5  # the random model tells the pairs apart
    assert ours == pytest.approx(theirs.tolist(), abs=1e-5)


def test_scores_equal_the_librarys_own(folder, encoder, passages):
    with Reranker(folder, device="cpu") as alone:
        expected = [score for query in QUERIES for score in alone.score(query, passages).tolist()]
    ours = encoder.score([(query, passage) for query in QUERIES for passage in passages])
    assert ours == pytest.approx(expected, abs=1e-5)


def test_each_query_is_scored_once_with_all_its_documents_and_duplicates_too():
    scorer, encoder = over_table({"low": 1.0, "high": 3.0})
    pairs = [("a", "low"), ("b", "high"), ("a", "high"), ("b", "high"), ("a", "low")]
    assert encoder.score(pairs) == [1.0, 3.0, 3.0, 3.0, 1.0]
    assert [(query, [document.text for document in seen]) for query, seen, _, _ in scorer.seen] == [
        ("a", ["low", "high", "low"]),
        ("b", ["high", "high"]),
    ]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [1.0, 2.0]),
        ({"language_weight": 1.5}, [1.0, 3.5]),  # by hand: the query is in English, the spread is 1
        ({"language_weight": 1.5, "query_language": "de"}, [2.5, 2.0]),
        ({"language_weight": 1.5, "preferred_languages": ["de", "en"]}, [2.5, 2.75]),
        ({"language_weight": 1.5, "query_language": "de", "language_floor": 1.5}, [1.0, 2.0]),
    ],
)
def test_the_language_dial_counts_in_the_scores(options, expected):
    _, encoder = over_table({GERMAN: 1.0, ENGLISH: 2.0}, **options)
    query = "Where has the cat been sleeping since this morning?"
    assert encoder.score([(query, GERMAN), (query, ENGLISH)]) == expected


def test_a_given_rerankers_preference_counts_and_its_top_n_leaves_nothing_out():
    given = Reranker(TableScorer({GERMAN: 1.0, ENGLISH: 2.0}), preference=LanguagePreference(2.0), top_n=1)
    encoder = LamarCrossEncoder(reranker=given, query_language="de")
    assert encoder.score([("q", ENGLISH), ("q", GERMAN)]) == [2.0, 3.0]
    assert encoder.model_copy(update={"language_weight": 0.0}).score([("q", GERMAN)]) == [1.0]


@pytest.mark.parametrize("top_n", [1, 5])
def test_langchains_own_reranker_keeps_the_documents_that_ours_keeps(folder, encoder, passages, top_n):
    given = [Document(passage, id=str(i)) for i, passage in enumerate(passages)]
    theirs = CrossEncoderReranker(model=encoder, top_n=top_n)
    with LamarReranker(model=folder, device="cpu", top_n=top_n) as ours:
        for query in QUERIES:
            kept = texts(ours.compress_documents(given, query))
            assert texts(theirs.compress_documents(given, query)) == kept
            assert kept != passages[:top_n]


def test_a_reranker_that_leaves_documents_out_is_refused():
    with pytest.raises(ValueError, match=r"got a reranker with score_threshold=0\.5, expected one without"):
        LamarCrossEncoder(reranker=Reranker(TableScorer({}), score_threshold=0.5))


def test_a_copy_over_a_reranker_that_leaves_documents_out_makes_up_no_scores():
    scorer, encoder = over_table({"low": -2.0, "high": 3.0})
    with pytest.raises(ValueError, match="score_threshold"):
        encoder.model_copy(update={"reranker": Reranker(scorer, score_threshold=0.5)}).score([("q", "low")])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top_n": 3}, "unknown option top_n for LamarCrossEncoder"),
        ({"score_threshold": 0.5}, "unknown option score_threshold for LamarCrossEncoder"),
        ({"language_key": "lang"}, "unknown option language_key for LamarCrossEncoder"),
        ({"device": "cpu", "reranker": Reranker("some/model")}, "got device beside reranker"),
    ],
)
def test_options_that_make_no_sense_here_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        LamarCrossEncoder(**options)


def test_texts_that_are_no_strings_and_scores_that_are_no_numbers_are_named():
    _, encoder = over_table({"low": float("nan")})
    with pytest.raises(ValueError, match="model table returned nan for document 0"):
        encoder.score([("q", "low")])
    for pair, got in [
        ((None, "low"), r"\(NoneType, str\)"),
        (("q", 3), r"\(str, int\)"),
        (("q", "low", "high"), r"\(str, str, str\)"),
        ("ab", "a str"),
    ]:
        with pytest.raises(
            ValueError, match=f"got {got} at position 1 of text_pairs, expected .query, document."
        ):
            encoder.score([("q", "low"), pair])


def test_a_server_scores_pairs_too(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    info = {"/info": {"model_id": "bge", "model_type": {"reranker": {}}, "max_client_batch_size": 32}}
    with RerankServer("tei", pages=info) as server, LamarCrossEncoder(model=server.url) as encoder:
        scores = encoder.score([("a", "d20"), ("b", "d70"), ("a", "d50")])  # answered 50, 20 and 70
    assert scores == pytest.approx([0.2, 0.7, 0.5])


def test_without_its_base_class_the_error_says_what_to_install_and_the_reranker_works(monkeypatch):
    for name in (
        "langchain_core.cross_encoders",
        "langchain_classic.retrievers.document_compressors.cross_encoder",
    ):
        monkeypatch.setitem(sys.modules, name, None)  # as if it were not installed
    monkeypatch.delitem(sys.modules, "langchain_lamar.cross_encoder")
    with pytest.raises(MissingExtraError, match=r"pip install 'langchain-core>=1\.3'"):
        from langchain_lamar import LamarCrossEncoder  # noqa: F401
    from langchain_lamar import LamarReranker

    assert LamarReranker(model="no/such-model").compress_documents([], "q") == []


def test_other_names_are_unknown():
    import langchain_lamar

    with pytest.raises(AttributeError, match="has no attribute 'LamarRanker'"):
        _ = langchain_lamar.LamarRanker
