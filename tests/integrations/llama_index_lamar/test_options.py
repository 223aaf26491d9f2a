"""Options that are wrong, unknown or assigned later."""

from __future__ import annotations

import pytest
from llama_index.postprocessor.lamar import LamarReranker
from llama_index_parts import LengthScorer, outcome, scored_node

from lamar_rag import Reranker

NAN = float("nan")
WRONG = [
    ("model", 7),
    ("model", None),
    ("language_weight", "1"),
    ("language_weight", True),
    ("language_weight", NAN),
    ("language_weight", None),
    ("preferred_languages", "de"),
    ("preferred_languages", []),
    ("preferred_languages", ["de", "xx-nonsense"]),
    ("preferred_languages", 7),
    ("language_floor", "0"),
    ("language_floor", float("inf")),
    ("query_language", "no language"),
    ("query_language", 7),
    ("long_documents", "shorten"),
    ("long_documents", None),
    ("instruction", 7),
    ("recipe", 7),
    ("device", 0),
    ("dtype", 16),
    ("max_length", 0),
    ("max_length", "96"),
    ("max_length", 9.5),
    ("max_batch_tokens", -1),
    ("trust_remote_code", "yes"),
    ("reranker", "some/model"),
    ("reranker", 7),
    ("top_n", 0),
    ("top_n", -1),
    ("top_n", "3"),
    ("top_n", 2.0),
    ("top_n", True),
    ("score_threshold", NAN),
    ("score_threshold", "0.5"),
    ("language_key", 7),
    ("keep_retrieval_score", 1),
]
LATER = [
    (name, value)
    for name, value in WRONG
    if name
    in (
        "language_weight",
        "preferred_languages",
        "language_floor",
        "query_language",
        "long_documents",
        "instruction",
        "top_n",
        "score_threshold",
        "language_key",
        "keep_retrieval_score",
    )
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_option_is_named_in_one_line(name, value):
    with pytest.raises(ValueError, match=name) as caught:
        LamarReranker(**{name: value})
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match=name):
        LamarReranker.from_dict({name: value})


@pytest.mark.parametrize(("name", "value"), LATER)
def test_a_wrong_value_assigned_later_is_refused_and_the_old_one_stays(name, value):
    reranker = LamarReranker()
    before = reranker.to_dict()
    with pytest.raises(ValueError, match=name) as caught:
        setattr(reranker, name, value)
    assert "\n" not in str(caught.value)
    assert reranker.to_dict() == before


@pytest.mark.parametrize("name", ["topn", "top_k", "model_name", "choice_batch_size", "languages"])
def test_an_unknown_option_is_named_beside_the_known_ones(name):
    for make in (lambda: LamarReranker(**{name: 1}), lambda: setattr(LamarReranker(), name, 1)):
        with pytest.raises(ValueError, match=f"unknown option {name} .*top_n") as caught:
            make()
        assert "\n" not in str(caught.value)


def test_all_wrong_options_are_named_at_once():
    with pytest.raises(ValueError, match=r"language_weight='1'.*; .*top_n=0"):
        LamarReranker(language_weight="1", top_n=0)


def test_an_unknown_option_of_a_written_reranker_is_a_value_error():
    written = LamarReranker(reranker=Reranker("no/such-model")).to_dict()
    with pytest.raises(ValueError, match="modl"):
        LamarReranker.from_dict({**written, "reranker": {**written["reranker"], "modl": "x"}})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model", "another/model"),
        ("recipe", "zerank-2"),
        ("device", "cpu"),
        ("dtype", "int8"),
        ("max_length", 8),
        ("max_batch_tokens", 8),
        ("trust_remote_code", True),
        ("reranker", Reranker("another/model")),
    ],
)
def test_what_the_model_is_made_of_cannot_be_assigned(name, value):
    reranker = LamarReranker()
    before = getattr(reranker, name)
    with pytest.raises(ValueError, match=name) as caught:
        setattr(reranker, name, value)
    assert "\n" not in str(caught.value)
    assert getattr(reranker, name) is before
    assert reranker._reranker.model == LamarReranker().model


def test_what_is_assigned_counts_from_the_next_call():
    scorer = LengthScorer()
    reranker = LamarReranker(reranker=Reranker(scorer))
    nodes = [scored_node("x" * n, id_=str(n), metadata={"lang": "de"}) for n in range(1, 6)]
    for node in nodes:
        node.node.excluded_embed_metadata_keys = ["lang"]

    def found():
        return outcome(reranker.postprocess_nodes(nodes, query_str="q"))

    assert found() == [("5", 5.0), ("4", 4.0), ("3", 3.0)]
    reranker.top_n = 1
    assert found() == [("5", 5.0)]
    reranker.top_n = None
    reranker.score_threshold = 4.0
    assert found() == [("5", 5.0), ("4", 4.0)]
    reranker.language_weight = 2.0
    reranker.preferred_languages = ["de"]
    assert found() == [("5", 5.0), ("4", 4.0)]  # "xxxxx" is in no language
    reranker.language_key = "lang"
    assert found() == [("5", 7.0), ("4", 6.0)]  # weight 2, spread 1
    reranker.language_floor = 4.5
    assert found() == [("5", 7.0), ("4", 4.0)]


def test_whole_numbers_are_taken_for_the_options_that_are_numbers():
    reranker = LamarReranker(language_weight=1, language_floor=0, score_threshold=2)
    values = (reranker.language_weight, reranker.language_floor, reranker.score_threshold)
    assert values == (1.0, 0.0, 2.0)
    assert [type(value) for value in values] == [float] * 3


def test_language_codes_are_brought_to_one_form_and_paths_to_text(tmp_path):
    reranker = LamarReranker(
        model=tmp_path, query_language="deu_Latn", preferred_languages=("de-DE", "fra", "de")
    )
    assert reranker.model == str(tmp_path)
    assert reranker.query_language == "de"
    assert list(reranker.preferred_languages) == ["de", "fr"]


def test_the_list_of_languages_that_was_passed_is_not_kept():
    languages = ["de", "fr"]
    reranker = LamarReranker(preferred_languages=languages)
    languages.append("en")
    assert list(reranker.preferred_languages) == ["de", "fr"]


def test_a_callback_manager_is_one_or_none():
    assert LamarReranker(callback_manager=None).callback_manager.handlers == []
    with pytest.raises(ValueError, match="got callback_manager=str, expected a CallbackManager"):
        LamarReranker(callback_manager="log")
