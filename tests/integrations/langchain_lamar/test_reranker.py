from __future__ import annotations

import asyncio
import copy
import json
from enum import Enum

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_lamar import LamarReranker
from langchain_parts import over, over_table, scores, texts, told
from langchain_text_splitters import Language
from tiny_models import WORDS, TableScorer, tiny_cross_encoder

import lamar_rag
from lamar_rag import LanguagePreference, Reranker, Scored

TABLE = {"low": 1.0, "high": 3.0, "middle": 2.0, "also middle": 2.0, "worst": -7.5, "bad": -0.25}
QUERY = "the cat sat on a mat"
GERMAN = "Die Katze schläft seit heute Morgen auf dem warmen Sofa im Wohnzimmer."


class Page(Document):
    """A document class of a user's own."""

    number: int = 0


class Topic(Enum):
    """What no language is."""

    CATS = "cats"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_cross_encoder(tmp_path_factory.mktemp("cross-encoder"))


@pytest.fixture(scope="module")
def reranker(folder):
    with LamarReranker(model=folder, device="cpu", top_n=None) as made:
        yield made


@pytest.fixture(scope="module")
def pool():
    """Documents of a few words, one of more than the model reads; most state a language, not all of them."""
    random = np.random.default_rng(4)
    sizes = [*random.integers(0, 30, 14), 150]
    languages = ["en", "de-DE", "fra_Latn", None]
    return [
        Document(
            " ".join(random.choice(WORDS, size=size)),
            id=f"id{i}",
            metadata={"page": i} | ({"language": languages[i % 4]} if languages[i % 4] else {}),
        )
        for i, size in enumerate(sizes)
    ]


def as_library_documents(documents):
    return [lamar_rag.Document(d.page_content, language=d.metadata.get("language")) for d in documents]


def test_id_metadata_and_class_survive_in_new_documents():
    metadata = {"source": "a.pdf", "nested": {"pages": [1, {"x": None}]}, "none": None, "language": "en"}
    given = [Document("low"), Page(page_content="high", id="p7", metadata=metadata, number=7)]
    first, second = over_table(TABLE).compress_documents(given, "q")
    assert first == Page(
        page_content="high", id="p7", number=7, metadata={**metadata, "relevance_score": 3.0}
    )
    assert type(first) is Page
    assert (second.id, second.page_content, type(second)) == (None, "low", Document)
    assert first is not given[1]
    assert first.metadata is not given[1].metadata


@pytest.mark.parametrize("weight", [0.0, 0.7])
def test_scores_are_python_floats_that_json_takes(reranker, pool, weight):
    moved = reranker.model_copy(update={"language_weight": weight})
    for document in moved.compress_documents(pool, QUERY):
        assert type(document.metadata["relevance_score"]) is float
        assert type(document.metadata.get("truncated", True)) is bool
        assert json.loads(json.dumps(document.metadata)) == document.metadata


@pytest.mark.parametrize("stated", ["de", "de-DE", "deu_Latn", "GER"])
def test_a_stated_language_stays_as_it_is_and_counts_as_its_code(stated):
    dial = over_table({"123": 1.0, "456": 2.0}, language_weight=1.5, query_language="de")
    best, other = dial.compress_documents(
        [Document("456"), Document("123", metadata={"language": stated})], "q"
    )
    # by hand: 1 + 1.5 spreads of 1; text without letters is in no language that could be detected
    assert best.metadata == {"language": stated, "relevance_score": 2.5}
    assert other.metadata == {"language": "und", "relevance_score": 2.0}


@pytest.mark.parametrize(
    "stated",
    ["No language found.", "python", "German", Language.PYTHON, Topic.CATS, 7, ["en"], {"code": "en"}],
)
def test_what_is_no_language_stays_too_and_the_language_is_detected(stated):
    dial = over_table({GERMAN: 1.0}, language_weight=1.5, query_language="de")
    (document,) = dial.compress_documents([Document(GERMAN, metadata={"language": stated})], "q")
    assert document.metadata == {"language": stated, "relevance_score": 2.5}


@pytest.mark.parametrize("stated", [Language.TS, Language.LUA])
def test_a_programming_language_whose_name_is_a_code_is_no_language(stated):
    dial = over_table({GERMAN: 1.0}, language_weight=1.5, query_language="de")
    (document,) = dial.compress_documents([Document(GERMAN, metadata={"language": stated})], "q")
    assert document.metadata["relevance_score"] == 2.5


@pytest.mark.parametrize("metadata", [{}, {"language": None}, {"language": ""}])
def test_a_missing_language_is_detected_and_told(metadata):
    (document,) = over_table({GERMAN: 1.0}).compress_documents([Document(GERMAN, metadata=metadata)], "q")
    assert document.metadata == {"language": "de", "relevance_score": 1.0}


@pytest.mark.parametrize(
    ("key", "metadata", "score"),
    [
        ("lang", {"lang": "fr"}, 2.5),
        ("lang", {"language": "fr"}, 1.0),  # the text is German
        (None, {"language": "fr"}, 1.0),
        ("language", {"language": "fr"}, 2.5),
    ],
)
def test_the_key_of_the_language_can_be_another_or_none(key, metadata, score):
    dial = over_table({GERMAN: 1.0}, language_key=key, language_weight=1.5, query_language="fr")
    (document,) = dial.compress_documents([Document(GERMAN, metadata=metadata)], "q")
    assert metadata.items() <= document.metadata.items()
    assert document.metadata["relevance_score"] == score


def test_the_callers_documents_stay_and_a_second_call_gives_the_same(reranker, pool):
    before = copy.deepcopy(pool)
    first = reranker.compress_documents(pool, QUERY)
    kept = copy.deepcopy(first)
    assert pool == before
    second = reranker.compress_documents(pool, QUERY)
    assert second == kept
    for document in second:
        document.metadata["relevance_score"] = "changed by the caller"
    assert (first, pool) == (kept, before)


def test_results_can_be_reranked_again_and_only_the_text_is_scored(pool):
    scorer = TableScorer({text: float(i % 7) for i, text in enumerate(texts(pool))})
    reranker = over(scorer, top_n=None)
    once = reranker.compress_documents(pool, QUERY)
    assert reranker.compress_documents(once, QUERY) == once
    assert [[document.text for document in seen] for _, seen, _, _ in scorer.seen] == [
        texts(pool),
        texts(once),
    ]


def test_a_document_that_is_read_as_a_whole_the_second_time_is_not_marked_as_cut(reranker):
    given = [Document("dog " * 150)]
    (cut,) = reranker.compress_documents(given, QUERY)
    assert cut.metadata["truncated"] is True
    in_windows = reranker.model_copy(update={"long_documents": "windows"})
    assert "truncated" not in in_windows.compress_documents([cut], QUERY)[0].metadata


@pytest.mark.parametrize(
    "options",
    [
        {"top_n": 4},
        {"language_weight": 0.8},
        {"language_weight": 0.8, "query_language": "fr"},
        {"language_weight": 1.3, "preferred_languages": ["fr", "de"]},
        {"language_weight": 1.3, "preferred_languages": ["fr", "de"], "language_floor": 0.0},
        {"language_weight": -1.0},
        {"score_threshold": 0.0},
        {"score_threshold": 0.0, "language_weight": 0.8, "top_n": 3},
        {"long_documents": "windows"},
        {"max_length": 24},
    ],
)
def test_order_scores_and_marks_equal_the_librarys_own(folder, reranker, pool, options):
    given = {name: value for name, value in options.items() if not name.startswith(("language", "preferred"))}
    dial = LanguagePreference(
        options.get("language_weight", 0.0), options.get("preferred_languages"), options.get("language_floor")
    )
    at_making = {name: given.pop(name) for name in ("max_length",) if name in given}
    with Reranker(folder, device="cpu", preference=dial, **at_making) as alone:
        rows = alone.rerank(QUERY, as_library_documents(pool), **given)
    with LamarReranker(model=folder, device="cpu", **{"top_n": None, **options}) as adapted:
        result = adapted.compress_documents(pool, QUERY)
    expected = told(pool, rows)
    assert [document.id for document in result] == [document.id for document in expected]
    assert scores(result) == pytest.approx(scores(expected), abs=1e-6)
    for one, other in zip(result, expected, strict=True):
        assert one.metadata | {"relevance_score": 0} == other.metadata | {"relevance_score": 0}
    assert result != reranker.compress_documents(pool, QUERY)  # each option changes something


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["high", "middle", "also middle"]),
        ({"top_n": 1}, ["high"]),
        ({"top_n": 100}, ["high", "middle", "also middle", "low", "bad", "worst"]),
        ({"top_n": None}, ["high", "middle", "also middle", "low", "bad", "worst"]),
        ({"top_n": None, "score_threshold": -0.25}, ["high", "middle", "also middle", "low", "bad"]),
        ({"top_n": 2, "score_threshold": 2.5}, ["high"]),
        ({"score_threshold": 9.0}, []),
    ],
)
def test_the_best_come_first_and_as_many_as_asked_for(options, expected):
    given = [Document(text) for text in TABLE]
    result = over_table(TABLE, **options).compress_documents(given, "q")
    assert texts(result) == expected
    assert scores(result) == [TABLE[text] for text in expected]


def test_nothing_gives_nothing_without_loading_a_model():
    reranker = LamarReranker(model="no/such-model")
    assert reranker.compress_documents([], "q") == []
    with pytest.raises(Exception, match="no/such-model"):  # which it would have tried to load
        reranker.compress_documents([Document("d")], "q")


def test_one_document_gives_a_list_of_one():
    (document,) = over_table(TABLE).compress_documents((Document("low", id="a"),), "q")
    assert (document.id, document.metadata["relevance_score"]) == ("a", 1.0)


def test_duplicates_are_all_kept_in_their_order():
    given = [Document(text, id=str(i)) for i, text in enumerate(["low", "high", "low", "high", "low"])]
    result = over_table(TABLE, top_n=None).compress_documents(given, "q")
    assert [document.id for document in result] == ["1", "3", "0", "2", "4"]


@pytest.mark.parametrize("query", [QUERY, "", "\udfff\0"])
def test_odd_texts_are_scored_and_come_back_as_they_were(folder, reranker, query):
    odd = ["", " ", "\ud800", "a\udc00\ud800b", "\0\x07\x1b", "\u202eabc", "🙂", "e\u0301", "cat", ""]
    result = reranker.compress_documents([Document(text, id=str(i)) for i, text in enumerate(odd)], query)
    with Reranker(folder, device="cpu") as alone:
        expected = alone.score(query, odd)
    assert [int(document.id) for document in result] == np.argsort(-expected, kind="stable").tolist()
    for document in result:
        assert document.page_content == odd[int(document.id)]
        assert document.metadata["relevance_score"] == pytest.approx(expected[int(document.id)], abs=1e-5)


def test_a_million_characters_are_cut_and_only_that_document_says_so(reranker):
    given = [Document("dog"), Document("cat sat " * 125_000), Document("")]
    result = reranker.compress_documents(given, QUERY)
    assert {len(d.page_content): d.metadata.get("truncated", "no") for d in result} == {
        3: "no",
        1_000_000: True,
        0: "no",
    }


class OddScorer(TableScorer):
    """A scorer that returns what it should not."""

    def __init__(self, values):
        super().__init__({}, model="odd-model")
        self._values = values

    def score(self, query, documents, options=None):
        return Scored(np.array(self._values, np.float32), np.zeros(len(self._values), bool))


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_a_score_that_is_no_number_is_an_error_with_the_model_and_the_document(value):
    reranker = over(OddScorer([1.0, float(value), 2.0]))
    with pytest.raises(ValueError, match=f"model odd-model returned {value} for document 1"):
        reranker.compress_documents([Document(text) for text in "abc"], "q")


def test_a_score_that_is_no_number_names_the_documents_id():
    given = [Document("a", id="first"), Document("b", id="second")]
    with pytest.raises(ValueError, match=r"document 1 \(second\)"):
        over(OddScorer([1.0, float("nan")])).compress_documents(given, "q")


def test_a_query_that_is_no_text_is_named():
    with pytest.raises(ValueError, match="query of type NoneType"):
        over_table(TABLE).compress_documents([Document("low")], None)


@pytest.mark.parametrize(
    ("value", "found"), [(None, "de"), ("", "de"), (float("nan"), "de"), ("python", "python"), (0, 0)]
)
def test_a_language_is_added_where_none_is_named(value, found):
    reranker = LamarReranker(reranker=Reranker(TableScorer({GERMAN: 1.0})))
    (document,) = reranker.compress_documents([Document(GERMAN, metadata={"language": value})], QUERY)
    assert document.metadata["language"] == found


def test_a_language_of_another_kind_stays():
    languages = np.array(["de", "fr"])
    reranker = LamarReranker(reranker=Reranker(TableScorer({"a": 1.0})))
    (document,) = reranker.compress_documents([Document("a", metadata={"language": languages})], QUERY)
    assert document.metadata["language"] is languages


def test_a_scorer_that_stops_early_is_an_error_and_no_endless_wait():
    class Stopping(TableScorer):
        def score(self, *_):
            return next(iter([]))

    reranker = LamarReranker(reranker=Reranker(Stopping({})))
    with pytest.raises(RuntimeError, match="StopIteration"):
        asyncio.run(asyncio.wait_for(reranker.acompress_documents([Document("a")], QUERY), 30))
