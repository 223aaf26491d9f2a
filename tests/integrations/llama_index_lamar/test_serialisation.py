"""Options go through dictionaries, JSON, pickles and copies; models do not."""

from __future__ import annotations

import contextlib
import copy
import json
import pickle
import threading
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from llama_index.core.callbacks import CallbackManager
from llama_index.postprocessor.lamar import LamarReranker
from llama_index_parts import CallbackLog, LengthScorer, outcome, scored_node
from tiny_models import TableScorer, tiny_cross_encoder

from lamar_rag import LanguagePreference, Reranker

# None of these exists: what loads, fails.
EVERY_OPTION = {
    "model": "no/such-model",
    "language_weight": 0.75,
    "preferred_languages": ["de", "fr"],
    "language_floor": -1.5,
    "query_language": "en",
    "long_documents": "windows",
    "instruction": "find the cat",
    "recipe": "zerank-2",
    "device": "cuda:7",
    "dtype": "bfloat16",
    "max_length": 128,
    "max_batch_tokens": 4096,
    "trust_remote_code": True,
    "top_n": 5,
    "score_threshold": 0.25,
    "language_key": "lang",
    "keep_retrieval_score": True,
}
WAYS = {
    "dict": lambda made: LamarReranker.from_dict(made.to_dict()),
    "keywords": lambda made: LamarReranker(**made.to_dict()),
    "dict through JSON": lambda made: LamarReranker.from_dict(json.loads(json.dumps(made.to_dict()))),
    "JSON": lambda made: LamarReranker.from_json(made.to_json()),
    "pickle": lambda made: pickle.loads(pickle.dumps(made)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    "model_copy": lambda made: made.model_copy(),
}
ROUND_TRIP = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


class PlainScorer:
    """A scorer that can be pickled."""

    model, spread = "plain", 1.0

    def score(self, query, documents, options=None):
        return LengthScorer().score(query, documents, options)

    def probability(self, scores):
        return None

    def close(self):
        pass


def built(reranker):
    """What the object would make its model of."""
    return reranker._reranker.model, reranker._reranker._options


def test_the_dictionary_names_the_class_and_every_option():
    assert LamarReranker.class_name() == "LamarReranker"
    made = LamarReranker(**EVERY_OPTION).to_dict()
    assert json.loads(json.dumps(made)) == {**EVERY_OPTION, "reranker": None, "class_name": "LamarReranker"}
    assert set(EVERY_OPTION) == set(LamarReranker.model_fields) - {"callback_manager", "reranker"}


@ROUND_TRIP
@pytest.mark.parametrize("options", [{}, EVERY_OPTION, {**EVERY_OPTION, "top_n": None}])
def test_every_option_survives_without_loading(way, options):
    made = LamarReranker(**options)
    again = way(made)
    assert again.to_dict() == made.to_dict()
    assert again.preference == made.preference
    assert again.call_options() == made.call_options()
    assert built(again) == built(made)


@ROUND_TRIP
def test_a_named_reranker_survives_with_its_own_options(way):
    own = Reranker(
        "no/such-model",
        preference=LanguagePreference(0.5, ["de", "en"], floor=-1.0),
        top_n=4,
        score_threshold=0.25,
        long_documents="windows",
        instruction="find",
        device="cuda:7",
        max_length=64,
    )
    again = way(LamarReranker(reranker=own, top_n=2, language_weight=0.25))
    assert again.reranker.to_dict() == own.to_dict()
    assert again._reranker is again.reranker
    assert (again.top_n, again.language_weight, again.preferred_languages) == (2, 0.25, ("de", "en"))
    assert (again.score_threshold, again.long_documents, again.instruction) == (0.25, "windows", "find")


def test_what_another_class_wrote_is_refused():
    with pytest.raises(ValueError, match="class_name"):
        LamarReranker(**{**LamarReranker().to_dict(), "class_name": "LLMRerank"})


def test_a_scorer_object_cannot_be_written_and_the_error_says_so():
    made = LamarReranker(reranker=Reranker(LengthScorer()))
    for write in (made.to_dict, made.to_json):
        with pytest.raises(ValueError, match="only names can be written"):
            write()


def test_a_scorer_object_that_can_be_pickled_comes_back():
    made = LamarReranker(reranker=Reranker(PlainScorer()), top_n=1)
    for again in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        assert type(again._reranker.scorer) is PlainScorer
        nodes = [scored_node("a", id_="a"), scored_node("bb", id_="bb")]
        assert outcome(again.postprocess_nodes(nodes, query_str="q")) == [("bb", 2.0)]


@pytest.mark.parametrize("way", ["pickle", "deepcopy"])
def test_a_scorer_object_that_cannot_be_pickled_is_refused(way):
    made = LamarReranker(reranker=Reranker(TableScorer({"a": 1.0})))  # it holds a threading.Lock
    with pytest.raises(TypeError, match=r"cannot (be pickled|pickle)"):
        WAYS[way](made)


class LockedLog(CallbackLog):
    """A handler that cannot be pickled."""

    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()


@pytest.mark.parametrize(
    "options",
    [
        {"reranker": Reranker(TableScorer({"a": 1.0}))},
        {"model": "no/such-model", "callback_manager": CallbackManager([CallbackLog()])},
        {"model": "no/such-model", "callback_manager": CallbackManager([LockedLog()])},
    ],
    ids=["scorer with a lock", "callbacks", "callbacks that cannot be pickled"],
)
def test_pickling_leaves_the_object_as_it_is(options):
    made = LamarReranker(**options)
    before = {name: getattr(made, name) for name in LamarReranker.model_fields}
    with contextlib.suppress(Exception):  # it may refuse
        pickle.dumps(made)
    assert {name: getattr(made, name, "lost") for name in LamarReranker.model_fields} == before


def test_a_pickle_carries_no_model(tmp_path):
    folder = str(tiny_cross_encoder(tmp_path))
    weights = (tmp_path / "model.safetensors").stat().st_size
    nodes = [scored_node("the cat", id_="a"), scored_node("a dog barked", id_="b")]
    with LamarReranker(model=folder) as made:
        expected = outcome(made.postprocess_nodes(nodes, query_str="a cat"))
        loaded = pickle.dumps(made)
    assert len(loaded) < weights / 10
    for again in (pickle.loads(loaded), copy.deepcopy(made), LamarReranker.from_json(made.to_json())):
        assert again._reranker is not made._reranker
        with again:
            assert outcome(again.postprocess_nodes(nodes, query_str="a cat")) == expected


def test_a_changed_copy_shares_the_model_unless_it_names_another():
    made = LamarReranker(model="no/such-model", top_n=4)
    copied = made.model_copy(update={"top_n": 1})
    assert (copied.top_n, made.top_n) == (1, 4)
    assert copied._reranker is made._reranker
    another = made.model_copy(update={"model": "no/other-model"})
    assert another._reranker is not made._reranker
    assert built(another) == ("no/other-model", built(made)[1])
    assert built(made)[0] == "no/such-model"
    moved = made.model_copy(update={"device": "cuda:7"})
    assert (moved._reranker._options["device"], made._reranker._options["device"]) == ("cuda:7", None)


def test_a_changed_copy_counts_in_its_results():
    made = LamarReranker(reranker=Reranker(LengthScorer()))
    nodes = [scored_node("x" * n, id_=str(n)) for n in range(1, 6)]
    copied = made.model_copy(update={"top_n": 1})
    assert outcome(copied.postprocess_nodes(nodes, query_str="q")) == [("5", 5.0)]
    assert len(made.postprocess_nodes(nodes, query_str="q")) == 3


@pytest.mark.parametrize("update", [{"model": "no/other-model"}, {"device": "cuda:7"}])
def test_a_copy_cannot_name_a_model_beside_the_given_reranker(update):
    made = LamarReranker(reranker=Reranker(LengthScorer()))
    with pytest.raises(ValueError, match=f"{next(iter(update))}.* beside reranker"):
        made.model_copy(update=update)
    assert built(made)[0] == made.model == "length"


def test_a_copy_with_another_reranker_is_named_after_it():
    made = LamarReranker(model="no/such-model")
    copied = made.model_copy(update={"reranker": Reranker(LengthScorer())})
    assert copied._reranker.model == "length"
    assert copied.model == "length"


def test_the_hubs_section_names_a_class_that_can_be_imported():
    pyproject = Path(__file__).parents[3] / "pyproject.toml"
    section = tomllib.loads(pyproject.read_text(encoding="utf-8"))["tool"]["llamahub"]
    module = import_module(section["import_path"])
    assert list(section["class_authors"]) == ["LamarReranker"]
    assert getattr(module, "LamarReranker") is LamarReranker  # noqa: B009
