"""The options that the adapters share: checked like the library's own, kept through copies and pickles."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest
from langchain_lamar import LamarCrossEncoder
from langchain_lamar import LamarReranker as LangChainReranker
from llama_index.postprocessor.lamar import LamarReranker as LlamaIndexReranker
from pydantic import BaseModel, ValidationError
from tiny_models import TableScorer

from lamar_rag import LanguagePreference, Reranker

ADAPTERS = [LangChainReranker, LlamaIndexReranker, LamarCrossEncoder]
RANKING = [LangChainReranker, LlamaIndexReranker]
MODEL_OPTIONS = ("model", "device", "dtype", "max_length", "max_batch_tokens", "trust_remote_code", "recipe")
MISTAKES = [
    ({"language_weight": "0.5"}, "got language_weight='0.5'"),
    ({"language_weight": True}, "got language_weight=True"),
    ({"language_weight": float("nan")}, "language_weight: got weight=nan"),
    ({"language_floor": float("inf")}, "language_floor: got floor=inf"),
    ({"preferred_languages": "de"}, r"preferred_languages: .* expected a list"),
    ({"preferred_languages": []}, "preferred_languages: got an empty list"),
    ({"preferred_languages": ["de", "klingon"]}, "preferred_languages: unknown language code 'klingon'"),
    ({"query_language": "Deutsch"}, "query_language: unknown language code 'Deutsch'"),
    ({"long_documents": "split"}, "got long_documents='split' .* 'truncate' or 'windows'"),
    ({"device": 0}, "got device=0 "),
    ({"max_length": 0}, "got max_length=0, expected at least 1"),
    ({"max_batch_tokens": True}, "got max_batch_tokens=True"),
    ({"trust_remote_code": "False"}, "got trust_remote_code='False'"),
    ({"model": None}, "got model=None"),
    ({"reranker": "nlpai-lab/LAMAR-600m"}, "got reranker='nlpai-lab/LAMAR-600m' .* instance of Reranker"),
    ({"reranker": {"model": 3}}, "got model=3"),
    ({"weight": 0.5}, r"got unknown option weight .* expected one of .*language_weight"),
]


def one_line(error: ValueError) -> str:
    text = str(error)
    assert "\n" not in text
    assert not isinstance(error, ValidationError)
    return text


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize(("options", "message"), MISTAKES, ids=[str(options) for options, _ in MISTAKES])
def test_a_mistake_is_one_line(adapter, options, message):
    with pytest.raises(ValueError, match=message) as caught:
        adapter(**options)
    one_line(caught.value)


@pytest.mark.parametrize("adapter", RANKING)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top_n": 0}, "got top_n=0, expected at least 1"),
        ({"top_n": 2.5}, "got top_n=2.5"),
        ({"top_n": True}, "got top_n=True"),
        ({"score_threshold": float("nan")}, "got score_threshold=nan"),
        ({"language_key": 3}, "got language_key=3"),
        ({"top_n": 0, "device": 1}, "got device=1 .*; got top_n=0"),
    ],
)
def test_a_mistake_in_the_cut_is_one_line(adapter, options, message):
    with pytest.raises(ValueError, match=message) as caught:
        adapter(**options)
    one_line(caught.value)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_the_message_of_a_long_value_is_short(adapter):
    with pytest.raises(ValueError, match="got device=") as caught:
        adapter(device=["x" * 10_000])
    assert len(one_line(caught.value)) < 300


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_values_are_in_one_form(adapter):
    made = adapter(
        model=Path("/models/mine"),
        language_weight=1,
        preferred_languages=["ger", "pt_BR"],
        query_language="deu",
    )
    assert (made.model, made.language_weight, made.query_language) == ("/models/mine", 1.0, "de")
    assert made.preference == LanguagePreference(1.0, preferred=("de", "pt"))


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_options_of_a_call_can_be_assigned_and_the_model_s_cannot(adapter):
    scorer = TableScorer({"die katze": 1.0, "the cat": 1.0})
    made = adapter(reranker=Reranker(scorer), query_language="de")
    made.language_weight = 2
    assert made.preference.weight == 2.0
    made.long_documents = "windows"
    assert made.call_options()["long_documents"] == "windows"
    with pytest.raises(ValueError, match="language_weight: got weight=inf") as caught:
        made.language_weight = float("inf")
    one_line(caught.value)
    assert made.language_weight == 2.0
    for name, value in (("model", "other"), ("device", "cuda"), ("reranker", None)):
        with pytest.raises(ValueError, match=f"got {name}=.* decided when the object is made") as caught:
            setattr(made, name, value)
        one_line(caught.value)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_given_reranker_brings_its_own_options(adapter):
    preference = LanguagePreference(0.5, preferred=("de",), floor=-1.0)
    reranker = Reranker(
        TableScorer({}), preference=preference, long_documents="windows", instruction="Find it"
    )
    made = adapter(reranker=reranker)
    assert made.model == "table"
    assert made.call_options()["preference"] == preference
    assert (made.long_documents, made.instruction) == ("windows", "Find it")
    changed = adapter(reranker=reranker, language_weight=0.0, long_documents="truncate")
    assert changed.call_options()["preference"] == LanguagePreference(0.0, preferred=("de",), floor=-1.0)
    assert changed.long_documents == "truncate"


@pytest.mark.parametrize("adapter", RANKING)
def test_the_cut_of_a_given_reranker(adapter):
    whole = Reranker(TableScorer({}))
    cut = Reranker(TableScorer({}), top_n=7, score_threshold=-2.0)
    assert (adapter(reranker=whole).top_n, adapter(reranker=whole).score_threshold) == (3, None)
    assert (adapter(reranker=cut).top_n, adapter(reranker=cut).score_threshold) == (7, -2.0)
    assert (
        adapter(reranker=cut, top_n=1).top_n,
        adapter(reranker=cut, score_threshold=0.0).score_threshold,
    ) == (
        1,
        0.0,
    )


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "BAAI/bge-reranker-v2-m3"}, "got model='BAAI/bge-reranker-v2-m3' beside reranker"),
        ({"device": "cpu", "dtype": "int8"}, "got device, dtype beside reranker"),
        ({"trust_remote_code": True}, "got trust_remote_code beside reranker"),
    ],
)
def test_options_of_the_model_beside_a_reranker(adapter, options, message):
    with pytest.raises(ValueError, match=message) as caught:
        adapter(reranker=Reranker("no/such-model"), **options)
    one_line(caught.value)


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("again", [pickle.loads, copy.deepcopy], ids=["pickle", "deepcopy"])
def test_copies_keep_every_option_and_load_nothing(adapter, again):
    made = adapter(
        model="no/such-model",
        language_weight=0.5,
        preferred_languages=["de", "en"],
        language_floor=-3.0,
        query_language="fr",
        long_documents="windows",
        instruction="Find it",
        device="cpu",
        dtype="int8",
        max_length=128,
        max_batch_tokens=1000,
    )
    second = again(pickle.dumps(made) if again is pickle.loads else made)
    assert type(second) is adapter
    assert second.model_dump() == made.model_dump()
    assert second.call_options() == made.call_options()
    assert second._reranker.to_dict() == made._reranker.to_dict()
    assert second._reranker is not made._reranker


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_dumps_and_json_make_an_equal_object(adapter):
    preference = LanguagePreference(0.5, preferred=("de",))
    made = adapter(
        reranker=Reranker("no/such-model", preference=preference, dtype="int8"), language_weight=1.5
    )
    for second in (
        adapter.model_validate(made.model_dump()),
        adapter.model_validate_json(made.model_dump_json()),
    ):
        assert second.model_dump() == made.model_dump()
        assert second.reranker.to_dict() == made.reranker.to_dict()
        assert second.call_options() == made.call_options()


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_changed_copy_shares_the_model_only_where_it_is_the_same(adapter):
    made = adapter(model="no/such-model")
    assert made.model_copy(update={"language_weight": 1.0})._reranker is made._reranker
    other = made.model_copy(update={"model": "no/other-model"})
    assert other._reranker.model == "no/other-model"
    assert made._reranker.model == "no/such-model"


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_what_changes_in_a_copy_is_checked(adapter):
    made = adapter(model="no/such-model", language_weight=0.5)
    for update, message in [
        ({"languageweight": 1.0}, "unknown option languageweight"),
        ({"language_weight": "1"}, "got language_weight='1'"),
        ({"model": 3}, "got model=3"),
    ]:
        with pytest.raises(ValueError, match=message) as caught:
            made.model_copy(update=update)
        one_line(caught.value)
    assert made.model_copy(update={"query_language": "deu"}).query_language == "de"


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_copy_with_another_reranker_takes_its_options_like_a_new_object(adapter):
    given = Reranker("other", preference=LanguagePreference(0.25), instruction="find")
    made = adapter(model="no/such-model", language_weight=0.5)
    copied = made.model_copy(update={"reranker": given})
    assert copied.model_dump() == adapter(reranker=given).model_dump()
    assert made.model_copy(update={"reranker": given.to_dict()}).model_dump() == copied.model_dump()
    assert copied._reranker is given
    with pytest.raises(ValueError, match="got reranker=None and no model"):
        copied.model_copy(update={"reranker": None})
    assert copied.model_copy(update={"reranker": None, "model": "third"})._reranker.model == "third"


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_the_schema_names_every_option(adapter):
    assert set(adapter.model_json_schema()["properties"]) >= set(MODEL_OPTIONS) | {
        "reranker",
        "language_weight",
    }


@pytest.mark.parametrize("adapter", RANKING)
@pytest.mark.parametrize("code", ["und", "mul", "zxx"])
def test_a_language_that_is_none_is_detected(adapter, code):
    assert adapter().stated_language({"language": code}) is None
    assert adapter().stated_language({"language": "deu"}) == "de"


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_it_can_be_a_field_of_the_user_s_own_settings(adapter):
    class Settings(BaseModel):
        reranker: adapter

    assert Settings(reranker={"language_weight": 0.5}).reranker.language_weight == 0.5
    with pytest.raises(ValidationError, match="reranker"):
        Settings(reranker={"language_weight": "x"})


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_subclass_with_a_constructor_and_fields_of_its_own_is_copied(adapter):
    class Named(adapter):
        note: str = "none"

        def __init__(self, name):
            super().__init__(model=name)

    copied = Named("some/model").model_copy(update={"note": "mine", "language_weight": 1.0})
    assert (copied.model, copied.note, copied.language_weight) == ("some/model", "mine", 1.0)
