from __future__ import annotations

import asyncio
import json
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import TableScorer

from lamar_rag import (
    Document,
    LanguagePreference,
    PromptFrame,
    Recipe,
    Reranker,
    Scored,
    ScoringCancelledError,
)
from lamar_rag.languages import detect_language

TABLE = {"low": 1.0, "high": 3.0, "middle": 2.0, "also middle": 2.0}
DOCUMENTS = [
    Document("low", id="a", language="de"),
    Document("middle", id="b", language="en"),
    Document("also middle", id="c", language="fr"),
    Document("high", id="d", language="en", metadata={"page": 7}),
]


def ids(ranked):
    return [row.document.id for row in ranked]


def test_order_ranks_and_positions():
    ranked = Reranker(TableScorer(TABLE)).rerank("frage", DOCUMENTS, query_language="de")
    assert ids(ranked) == ["d", "b", "c", "a"]  # equal scores: the order of the input
    assert [row.rank for row in ranked] == [1, 2, 3, 4]
    assert [row.index for row in ranked] == [3, 1, 2, 0]
    assert ranked[0].document is DOCUMENTS[3]
    assert all(type(row.score) is float and type(row.relevance) is float for row in ranked)
    assert all(type(row.truncated) is bool for row in ranked)


def test_preference_moves_and_relevance_stays():
    reranker = Reranker(TableScorer(TABLE, spread=2.0), preference=LanguagePreference(weight=1.5))
    ranked = reranker.rerank("frage", DOCUMENTS, query_language="de")
    assert ids(ranked) == ["a", "d", "b", "c"]  # 1 + 1.5 * 2 = 4 > 3
    assert (ranked[0].score, ranked[0].relevance) == (4.0, 1.0)
    again = reranker.rerank("frage", DOCUMENTS, query_language="de", preference=LanguagePreference())
    assert ids(again) == ["d", "b", "c", "a"]


def test_threshold_is_on_relevance_and_top_n_comes_after():
    reranker = Reranker(TableScorer(TABLE), preference=LanguagePreference(weight=9.0))
    assert ids(reranker.rerank("q", DOCUMENTS, query_language="de", score_threshold=2.0)) == ["d", "b", "c"]
    assert ids(reranker.rerank("q", DOCUMENTS, query_language="fr", score_threshold=2.0, top_n=1)) == ["c"]


@settings(max_examples=50)
@given(st.permutations(range(4)), st.integers(1, 6))
def test_top_n_is_a_prefix_and_permutation_keeps_scores(order, top_n):
    reranker = Reranker(TableScorer(TABLE))
    shuffled = [DOCUMENTS[i] for i in order]
    everything = reranker.rerank("q", shuffled, query_language="en")
    assert reranker.rerank("q", shuffled, query_language="en", top_n=top_n) == everything[:top_n]
    assert {row.document.id: row.score for row in everything} == {"a": 1.0, "b": 2.0, "c": 2.0, "d": 3.0}


def test_nothing_in_nothing_out_without_a_model():
    scorer = TableScorer(TABLE)
    assert Reranker(scorer).rerank("q", []) == []
    assert Reranker("no/such-model").rerank("q", []) == []
    assert Reranker(scorer).score("q", []).shape == (0,)
    assert scorer.calls == 0


def test_one_document_and_plain_strings():
    (row,) = Reranker(TableScorer(TABLE)).rerank("q", ["high"])
    assert (row.document.text, row.rank, row.score) == ("high", 1, 3.0)


def test_scores_are_float32_in_the_order_of_the_input():
    scores = Reranker(TableScorer(TABLE), preference=LanguagePreference(weight=5.0)).score("q", DOCUMENTS)
    assert scores.dtype == np.float32
    assert scores.tolist() == [1.0, 2.0, 2.0, 3.0]


def test_languages_are_detected_where_they_are_not_stated_and_the_input_stays():
    text = "Die Katze schläft seit heute Morgen auf dem warmen Sofa im Wohnzimmer."
    scorer = TableScorer({text: 1.0, "12345": 0.5})
    given = [Document(text, id="x"), Document("12345", id="y")]
    for weight in (0.0, 0.5):
        dial = LanguagePreference(weight=weight)
        ranked = Reranker(scorer, preference=dial).rerank("Wo schläft die Katze heute Morgen?", given)
        assert [row.language for row in ranked] == ["de", "und"]
        assert [row.document.language for row in ranked] == ["de", "und"]
    assert [document.language for document in given] == [None, None]
    assert scorer.seen[0][2] == "de"
    (_, seen, _, _) = scorer.seen[1]  # the dial needs the languages of all, so that the scorer has them too
    assert [document.language for document in seen] == ["de", "und"]


def test_stated_languages_are_brought_to_one_form():
    scorer = TableScorer(TABLE)
    ranked = Reranker(scorer, preference=LanguagePreference(weight=9.0)).rerank(
        "q",
        [Document("high", language="eng_Latn"), Document("low", language="zho_Hans")],
        query_language="zh-CN",
    )
    assert [row.language for row in ranked] == ["zh", "en"]


def test_long_documents_reaches_the_scorer():
    scorer = TableScorer(TABLE)
    Reranker(scorer, long_documents="windows").rerank("q", DOCUMENTS)
    Reranker(scorer, long_documents="windows").rerank("q", DOCUMENTS, long_documents="truncate")
    assert [seen[3] for seen in scorer.seen] == ["windows", "truncate"]


def test_moving_the_dial_needs_no_new_scores():
    scorer = TableScorer(TABLE)
    reranker = Reranker(scorer)
    scored = scorer.score("q", DOCUMENTS)
    for weight in (0.0, 0.5, 5.0):
        preference = LanguagePreference(weight=weight)
        assert reranker.order(DOCUMENTS, scored, "de", preference=preference) == reranker.rerank(
            "q", DOCUMENTS, query_language="de", preference=preference
        )


def test_order_takes_any_form_of_a_code():
    scorer = TableScorer(TABLE)
    reranker = Reranker(scorer, preference=LanguagePreference(weight=9.0))
    assert ids(reranker.order(DOCUMENTS, scorer.score("q", DOCUMENTS), "deu_Latn"))[0] == "a"


def test_threads_with_different_options_get_what_they_would_get_alone():
    reranker = Reranker(TableScorer(TABLE))
    options = [
        {"top_n": n, "preference": LanguagePreference(weight=w), "query_language": language}
        for n in (1, 2, 4)
        for w in (0.0, 3.0)
        for language in ("de", "fr")
    ]
    alone = [reranker.rerank("q", DOCUMENTS, **option) for option in options]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda option: reranker.rerank("q", DOCUMENTS, **option), options * 20))
    assert together == alone * 20


def test_close_and_context_manager():
    scorer = TableScorer(TABLE)
    with Reranker(scorer) as reranker:
        reranker.rerank("q", DOCUMENTS)
    assert scorer.closed == 1
    Reranker("no/such-model").close()  # never loaded: nothing to free


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top_n": 0}, "top_n=0"),
        ({"top_n": 1.5}, "top_n=1.5"),
        ({"top_n": True}, "top_n=True"),
        ({"score_threshold": "0"}, "score_threshold='0'"),
        ({"preference": 0.5}, "preference=0.5"),
        ({"score_threshold": float("nan")}, "score_threshold=nan"),
        ({"long_documents": "shorten"}, "long_documents='shorten'"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        Reranker(TableScorer(TABLE), **options)
    with pytest.raises(ValueError, match=message):
        Reranker(TableScorer(TABLE)).rerank("q", DOCUMENTS, **options)


def test_pickle_carries_the_options_and_not_the_model():
    reranker = Reranker("some/model", top_n=3, preference=LanguagePreference(weight=2.0, preferred=("de",)))
    reranker._scorer = TableScorer(TABLE)
    copy = pickle.loads(pickle.dumps(reranker))
    assert (copy.model, copy.top_n, copy.preference, copy._scorer) == (
        "some/model",
        3,
        reranker.preference,
        None,
    )
    copy._scorer = TableScorer(TABLE)
    assert copy.rerank("q", DOCUMENTS) == reranker.rerank("q", DOCUMENTS)


def test_broken_characters_do_not_confuse_the_language():
    scorer = TableScorer({"\ud800\udc00x\udfff": 1.0})
    (row,) = Reranker(scorer).rerank("q", ["\ud800\udc00x\udfff"])
    assert row.language == detect_language("\ufffd\ufffdx\ufffd")


def test_wrong_inputs_are_named():
    reranker = Reranker(TableScorer(TABLE))
    with pytest.raises(ValueError, match=r"one string for documents.*\[document\]"):
        reranker.rerank("q", "high")
    with pytest.raises(ValueError, match="document at position 1 of type int"):
        reranker.rerank("q", ["high", 3])
    with pytest.raises(ValueError, match="query of type NoneType"):
        reranker.rerank(None, ["high"])
    with pytest.raises(ValueError, match="got a NoneType for documents"):
        reranker.rerank("q", None)
    with pytest.raises(ValueError, match="got model=7, expected a name"):
        Reranker(7)
    with pytest.raises(ValueError, match="beside a Scorer object"):
        Reranker(TableScorer(TABLE), device="cpu")


class WrongScorer(TableScorer):
    """A scorer of a user's own that returns what it should not."""

    def __init__(self, scores, truncated=None):
        super().__init__({})
        self._answer = (scores, [False] * 3 if truncated is None else truncated)

    def score(self, query, documents, options=None):
        return Scored(*self._answer)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (([1.0, float("nan"), 2.0],), r"model table returned nan for document 1 \(without id\)"),
        (([1.0, 2.0],), r"returned scores of shape \(2,\), expected \(3,\)"),
        (([1.0, 2.0, 3.0, 4.0],), r"returned scores of shape \(4,\), expected \(3,\)"),
        (([1.0, 2.0, 3.0], [False]), r"truncated flags of shape \(1,\), expected \(3,\)"),
    ],
)
def test_a_scorer_of_ones_own_is_checked(answer, message):
    reranker = Reranker(WrongScorer(*answer))
    with pytest.raises(ValueError, match=message):
        reranker.rerank("q", ["a", "b", "c"])
    with pytest.raises(ValueError, match=message):
        asyncio.run(reranker.arerank("q", ["a", "b", "c"]))


def test_a_scorer_may_return_lists():
    ranked = Reranker(WrongScorer([1.0, 3.0, 2.0])).rerank("q", ["a", "b", "c"])
    assert [row.index for row in ranked] == [1, 2, 0]


def test_options_go_through_a_dict_and_back():
    frame = PromptFrame(head=("Q: {query}", "D:"), lead=" ", foot=("!",))
    made = Reranker(
        "some/model",
        preference=LanguagePreference(0.5, ["de", "en"], floor=-1.0),
        top_n=3,
        score_threshold=0.25,
        long_documents="windows",
        instruction="find",
        recipe=Recipe("some/model", "causal_lm", frame=frame, positive="yes"),
        device="cpu",
        dtype="int8",
        max_length=64,
    )
    written = json.loads(json.dumps(made.to_dict()))
    again = Reranker.from_dict(written)
    assert again.to_dict() == made.to_dict()
    assert (again.preference, again.top_n, again.score_threshold) == (made.preference, 3, 0.25)
    assert again._options["recipe"] == made._options["recipe"]
    with pytest.raises(ValueError, match="only names can be written"):
        Reranker(TableScorer(TABLE)).to_dict()


class SlowScorer(TableScorer):
    """A scorer that waits until it is told to give up."""

    def score(self, query, documents, options=None):
        assert options.cancel.wait(30), "nobody told it"
        raise ScoringCancelledError("given up")


def test_a_timeout_stops_a_scorer_that_cannot_batch_and_leaves_the_callers_event_alone():
    event = threading.Event()
    with pytest.raises(TimeoutError, match=r"model table gave no scores within 0.05 s"):
        asyncio.run(Reranker(SlowScorer({})).arerank("q", ["a"], timeout=0.05, cancel=event))
    assert not event.is_set()
    for wrong in ("x", float("nan"), True):
        with pytest.raises(ValueError, match="got timeout="):
            asyncio.run(Reranker(TableScorer({"a": 1.0})).arerank("q", ["a"], timeout=wrong))


def test_the_async_methods_equal_the_others_over_any_scorer():
    reranker = Reranker(TableScorer(TABLE), preference=LanguagePreference(weight=1.0))

    async def both():
        return await asyncio.gather(reranker.arerank("q", list(TABLE)), reranker.ascore("q", list(TABLE)))

    ranked, scores = asyncio.run(both())
    assert ranked == reranker.rerank("q", list(TABLE))
    assert scores.tolist() == reranker.score("q", list(TABLE)).tolist()


def test_options_that_do_not_exist_are_named():
    reranker = Reranker(TableScorer(TABLE))
    with pytest.raises(TypeError, match=r"unknown option top_k, expected .*top_n"):
        reranker.rerank("q", ["high"], top_k=3)
    with pytest.raises(TypeError, match="unknown option top_n"):
        reranker.score("q", ["high"], top_n=3)
    with pytest.raises(ValueError, match="top_n=-1"):
        reranker.order([Document("high")], Scored(np.ones(1), np.zeros(1, bool)), "en", top_n=-1)
    with pytest.raises(ValueError, match=r"pass list\(documents\)"):
        reranker.rerank("q", np.array(["high"]))
