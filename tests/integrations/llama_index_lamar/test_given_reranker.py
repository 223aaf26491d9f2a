"""A `reranker=` that exists: whose options count."""

from __future__ import annotations

import pytest
from llama_index.postprocessor.lamar import LamarReranker
from llama_index_parts import GERMAN_QUERY, PASSAGES, LengthScorer, outcome, scored_node
from tiny_models import TableScorer

from lamar_rag import LanguagePreference, Reranker

RELEVANCE = dict(zip(PASSAGES, (1.0, 2.0, 3.0, 4.0), strict=True))  # de, fr, en, es


def nodes():
    return [scored_node(text, id_=code) for code, text in PASSAGES.items()]


def given(**options):
    table = {text: RELEVANCE[code] for code, text in PASSAGES.items()}
    return Reranker(TableScorer(table, spread=1.0), **options)


DIAL = LanguagePreference(weight=9.0, preferred=("fr", "de"), floor=1.5)


@pytest.mark.parametrize(
    ("own", "options", "expected"),
    [
        ({}, {}, [("es", 4.0), ("en", 3.0), ("fr", 2.0)]),  # three by default
        ({"top_n": 1}, {}, [("es", 4.0)]),
        ({"top_n": 1}, {"top_n": 2}, [("es", 4.0), ("en", 3.0)]),
        ({"score_threshold": 3.5}, {}, [("es", 4.0)]),
        ({"score_threshold": 3.5}, {"score_threshold": 3.0}, [("es", 4.0), ("en", 3.0)]),
        ({"preference": DIAL}, {"top_n": 2}, [("fr", 11.0), ("es", 4.0)]),
        ({"preference": DIAL, "top_n": 1}, {"language_weight": 0.0}, [("es", 4.0)]),
        # the German node's share is a half
        ({"preference": DIAL}, {"language_floor": 1.0, "top_n": 2}, [("fr", 11.0), ("de", 5.5)]),
        ({"preference": DIAL}, {"preferred_languages": ["es"], "top_n": 1}, [("es", 13.0)]),
        # back to the query's own language
        (
            {"preference": DIAL},
            {"preferred_languages": None, "language_floor": None, "top_n": 1},
            [("de", 10.0)],
        ),
    ],
)
def test_options_are_those_of_the_reranker_where_they_are_not_given(own, options, expected):
    reranker = LamarReranker(reranker=given(**own), **options)
    assert outcome(reranker.postprocess_nodes(nodes(), query_str=GERMAN_QUERY)) == expected


def test_the_fields_show_what_the_reranker_says():
    reranker = LamarReranker(
        reranker=given(preference=DIAL, top_n=7, long_documents="windows", instruction="i")
    )
    assert (reranker.language_weight, reranker.preferred_languages, reranker.language_floor) == (
        9.0,
        ("fr", "de"),
        1.5,
    )
    assert (reranker.model, reranker.top_n, reranker.score_threshold) == ("table", 7, None)
    assert (reranker.long_documents, reranker.instruction) == ("windows", "i")
    assert reranker.preference == DIAL


def test_the_reranker_that_was_given_stays_as_it_is():
    own = given(preference=DIAL, top_n=1)
    reranker = LamarReranker(reranker=own, top_n=4, language_weight=0.0)
    reranker.postprocess_nodes(nodes(), query_str=GERMAN_QUERY)
    assert (own.preference, own.top_n) == (DIAL, 1)
    assert reranker.reranker is own


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"model": "another/model"}, "another/model"),
        ({"device": "cpu"}, "device"),
        ({"dtype": "int8", "max_length": 8}, "dtype, max_length"),
        ({"recipe": "zerank-2"}, "recipe"),
        ({"max_batch_tokens": 9}, "max_batch_tokens"),
        ({"trust_remote_code": True}, "trust_remote_code"),
    ],
)
def test_options_of_the_model_beside_a_reranker_contradict_it(options, named):
    with pytest.raises(ValueError, match=named) as caught:
        LamarReranker(reranker=given(), **options)
    assert "reranker" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_models_own_name_beside_the_reranker_is_no_contradiction():
    assert LamarReranker(reranker=given(), model="table").model == "table"


def test_closing_frees_the_scorer_after_an_error_too():
    scorer = LengthScorer()
    with LamarReranker(reranker=Reranker(scorer)) as reranker:
        reranker.postprocess_nodes(nodes(), query_str="q")
    assert scorer.closed == 1
    with pytest.raises(RuntimeError, match="inside"), reranker:
        raise RuntimeError("inside")
    assert scorer.closed == 2
    LamarReranker(model="no/such-model").close()  # never loaded: nothing to free


def test_it_can_be_used_after_it_was_closed():
    reranker = LamarReranker(reranker=given())
    before = outcome(reranker.postprocess_nodes(nodes(), query_str=GERMAN_QUERY))
    reranker.close()
    assert outcome(reranker.postprocess_nodes(nodes(), query_str=GERMAN_QUERY)) == before
