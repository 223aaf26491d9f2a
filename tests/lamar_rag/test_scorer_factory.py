from __future__ import annotations

import logging
import pickle
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from straight_lines import pair_logits, qwen3_margins, zerank_yes
from tiny_models import tiny_cross_encoder
from tiny_rerankers import tiny_gte, tiny_nemotron, tiny_qwen3

from lamar_rag import Document, Reranker, hub
from lamar_rag.scorer_factory import build_scorer
from lamar_rag.scoring import registry
from lamar_rag.scoring.causal_lm import CausalLMScorer
from lamar_rag.scoring.cross_encoder import CrossEncoderScorer
from lamar_rag.scoring.listwise import ListwiseScorer
from lamar_rag.scoring.recipe import PromptFrame, Recipe
from lamar_rag.scoring.registry import RECIPES, find_recipe, register_recipe

QUERY = "What does the cat eat?"
TEXTS = [
    "the cat eats fish",
    "le chat est assis sur le tapis",
    "",
    "die Katze sitzt auf der Matte 123",
    "moon",
]
DOCUMENTS = [Document(text) for text in TEXTS]
URL = "http://127.0.0.1:9/rerank"


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory):
    return tiny_cross_encoder(tmp_path_factory.mktemp("cross-encoder"))


@pytest.fixture(scope="module")
def qwen3(tmp_path_factory):
    return tiny_qwen3(tmp_path_factory.mktemp("Qwen3"))


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    """What a test registers is unknown to the next."""
    monkeypatch.setattr(registry, "_registered", {})


def close(scores: Sequence[float], expected: Sequence[float]) -> bool:
    assert np.ptp(expected) > 0.05  # the random model tells the documents apart
    return bool(np.abs(np.array(scores) - np.array(expected)).max() < 1e-5)


def last_logits(folder: Path, prompts: Sequence[Sequence[str]]):
    """Return a tokenizer and the last logits of prompts whose pieces are tokenized one by one."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    logits = []
    for pieces in prompts:
        ids = [i for piece in pieces for i in tokenizer(piece, add_special_tokens=False).input_ids]
        with torch.inference_mode():
            logits.append(model(input_ids=torch.tensor([ids])).logits[0, -1])
    return tokenizer, logits


def generic_margins(folder: Path, query: str, texts: Sequence[str]) -> list[float]:
    """A causal model that nobody registered: Qwen3-Reranker's question in plain text, "yes" less "no"."""
    head = (
        "Judge whether the Document meets the requirements based on the Query and the Instruct provided. "
        'Note that the answer can only be "yes" or "no".\n\n'
        "<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n"
        f"<Query>: {query}\n<Document>:"
    )
    prompts = [(head, f" {text}", "\n\nAnswer with yes or no:\n") for text in texts]
    tokenizer, logits = last_logits(folder, prompts)
    yes, no = (tokenizer.convert_tokens_to_ids(word) for word in ("yes", "no"))
    return [(row[yes] - row[no]).item() for row in logits]


def said(caplog) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name.startswith("lamar_rag")]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["cross_encoder", "causal_lm"])
def test_an_unknown_folder_is_scored_generically_and_one_line_says_so(way, cross_encoder, qwen3, caplog):
    folder, straight_line = {
        "cross_encoder": (cross_encoder, pair_logits),
        "causal_lm": (qwen3, generic_margins),
    }[way]
    with caplog.at_level(logging.INFO, logger="lamar_rag"), Reranker(folder, device="cpu") as reranker:
        scores = reranker.score(QUERY, TEXTS)
        reranker.rerank(QUERY, TEXTS)
    assert close(scores, straight_line(folder, QUERY, TEXTS))
    assert said(caplog) == [f"model {folder} is not registered: scored as {way} with the generic recipe"]


@pytest.mark.slow
def test_a_registered_folder_is_scored_by_its_recipe(qwen3, caplog):
    frame = PromptFrame(head=("Query: {query}\n",), lead="Document: ", foot=("<|im_end|>", "Query"))
    register_recipe(Recipe(str(qwen3), "causal_lm", "my-own", frame=frame, positive="Yes", negative="no"))
    scores = Reranker(qwen3, device="cpu").score(QUERY, TEXTS)

    prompts = [(f"Query: {QUERY}\n", f"Document: {text}", "<|im_end|>", "Query") for text in TEXTS]
    tokenizer, logits = last_logits(qwen3, prompts)
    yes, no = (tokenizer.convert_tokens_to_ids(word) for word in ("Yes", "no"))
    assert close(scores, [(row[yes] - row[no]).item() for row in logits])
    assert np.array_equal(Reranker("MY-own", device="cpu").score(QUERY, TEXTS), scores)
    assert said(caplog) == []


@pytest.mark.slow
def test_a_recipe_given_with_the_model_goes_before_all(qwen3):
    register_recipe(Recipe(str(qwen3), "causal_lm", frame=PromptFrame(head=("{query}",)), positive="no"))
    for recipe in ("zerank-2", "zeroentropy/zerank-2-RERANKER", find_recipe("zerank-2")):
        scores = Reranker(qwen3, recipe=recipe, device="cpu").score(QUERY, TEXTS)
        assert close(scores, zerank_yes(qwen3, QUERY, TEXTS))
    scores = Reranker(qwen3, recipe="Qwen/Qwen3-Reranker-0.6B", device="cpu").score(QUERY, TEXTS)
    assert close(scores, qwen3_margins(qwen3, QUERY, TEXTS))


def test_a_registered_recipe_goes_before_a_built_in_one():
    own = Recipe("BAAI/bge-reranker-v2-m3", "cross_encoder", "bge-reranker-v2-m3", max_length=64)
    built_in = find_recipe("bge-reranker-v2-m3")
    assert built_in.max_length == 512
    assert register_recipe(own) is own
    for name in ("BAAI/bge-reranker-v2-m3", "baai/BGE-reranker-v2-M3", "Bge-Reranker-v2-m3"):
        assert find_recipe(name) is own
    assert built_in in RECIPES
    register_recipe(built_in)  # the last one counts
    assert find_recipe("bge-reranker-v2-m3") is built_in


def test_short_names_and_hub_ids_find_their_recipe_and_their_scorer():
    classes = {
        "cross_encoder": CrossEncoderScorer,
        "single_string": CrossEncoderScorer,
        "causal_lm": CausalLMScorer,
        "listwise": ListwiseScorer,
    }
    for recipe in RECIPES:
        for name in (recipe.model, recipe.model.upper(), recipe.short_name, recipe.short_name.upper()):
            assert find_recipe(name) is recipe
            scorer = build_scorer(name, trust_remote_code=True)
            assert type(scorer) is classes[recipe.scoring]
            assert scorer.model == recipe.model
            assert scorer._recipe is recipe
    assert find_recipe("lamar") is None
    assert find_recipe("") is None


@pytest.mark.slow
def test_a_folder_whose_name_differs_in_case_is_another_model(qwen3, tmp_path):
    for name, positive in (("Model", "yes"), ("model", "no")):
        folder = tmp_path / name
        folder.mkdir()
        for file in qwen3.iterdir():
            (folder / file.name).symlink_to(file)
        register_recipe(
            Recipe(str(folder), "causal_lm", frame=PromptFrame(head=("{query}",)), positive=positive)
        )
    if len(list(tmp_path.iterdir())) < 2:
        pytest.skip("the file system takes upper and lower case as one")
    upper, lower = (build_scorer(tmp_path / name, device="cpu") for name in ("Model", "model"))
    assert (upper.model, lower.model) == (str(tmp_path / "Model"), str(tmp_path / "model"))
    assert (upper._recipe.positive, lower._recipe.positive) == ("yes", "no")


def test_unknown_recipes_are_named(qwen3):
    with pytest.raises(
        ValueError, match=r"got recipe='zerank-9', expected a Recipe or a name that `lamar models`"
    ):
        build_scorer(qwen3, recipe="zerank-9")
    with pytest.raises(ValueError, match="got recipe=7, expected a Recipe"):
        build_scorer(qwen3, recipe=7)
    with pytest.raises(ValueError, match="got recipe='zerank-9'"):
        Reranker(qwen3, recipe="zerank-9").score(QUERY, TEXTS)
    with pytest.raises(ValueError, match="got scoring='bm25', expected one of cross_encoder, "):
        Recipe("x", "bm25")


@pytest.mark.slow
def test_a_causal_recipe_without_a_prompt_or_an_answer_is_named(qwen3):
    frame = PromptFrame(head=("{query}",))
    with pytest.raises(
        ValueError, match="got scoring='causal_lm' without a frame, expected frame=PromptFrame"
    ):
        Recipe("x", "causal_lm", positive="yes")
    with pytest.raises(ValueError, match="without an answer, expected positive='yes' or a vocabulary_id"):
        Recipe("x", "causal_lm", frame=frame)
    with pytest.raises(ValueError, match=r"got a frame with the fields \['document', 'query'\], expected"):
        PromptFrame(head=("{query} {document}",))
    recipe = Recipe("x", "causal_lm", frame=frame, positive="yes no")
    with pytest.raises(ValueError, match="the answer 'yes no' is 2 tokens"):
        build_scorer(qwen3, recipe=recipe, device="cpu").score(QUERY, DOCUMENTS)


def test_remote_code_that_is_not_trusted_is_refused_before_any_download(monkeypatch):
    def unexpected(*args: object) -> None:
        raise AssertionError("nothing may be looked for")

    monkeypatch.setattr(hub, "_from_hub", unexpected)
    needing = [recipe for recipe in RECIPES if recipe.remote_code]
    assert len(needing) == 3
    for recipe in needing:
        for name in (recipe.model, recipe.short_name):
            for use in (
                lambda name=name: build_scorer(name),
                lambda name=name: Reranker(name).score(QUERY, TEXTS),
            ):
                with pytest.raises(
                    ValueError, match=rf"model {recipe.model} needs .*pass trust_remote_code=True"
                ):
                    use()


@pytest.mark.slow
def test_a_local_folder_of_such_a_recipe_needs_no_trust_unless_it_brings_code(tmp_path):
    gte = tiny_gte(tmp_path / "gte")
    scores = Reranker(gte, recipe="gte-multilingual-reranker", device="cpu").score(QUERY, TEXTS)
    assert close(scores, pair_logits(gte, QUERY, TEXTS))
    nemotron = tiny_nemotron(tmp_path / "nemotron")
    refused = Reranker(nemotron, recipe="nemotron-rerank-1b-v2", device="cpu")
    with pytest.raises(ValueError, match="trust_remote_code"):
        refused.score(QUERY, TEXTS)


def test_a_server_takes_no_local_options():
    for options, names in (
        ({"device": "cpu"}, "device"),
        ({"dtype": "int8", "max_batch_tokens": 5}, "dtype, max_batch_tokens"),
        ({"trust_remote_code": True}, "trust_remote_code"),
    ):
        message = rf"got {names} with the URL of a server, which decides them itself: leave them out"
        with pytest.raises(ValueError, match=message):
            build_scorer(URL, **options)
        with pytest.raises(ValueError, match=message):
            _ = Reranker(URL, **options).scorer
    with pytest.raises(ValueError, match="got recipe with the URL of a server"):
        build_scorer(URL, recipe="zerank-2")
    assert type(build_scorer(URL)).__name__ == "RemoteScorer"


@pytest.mark.slow
def test_folders_that_are_no_reranker_are_named(tmp_path):
    with pytest.raises(
        ValueError, match=r"no architecture named\), expected a sequence classifier with one label"
    ):
        build_scorer(tmp_path)
    (tmp_path / "config.json").write_text('{"architectures": ["T5EncoderModel"]}')
    with pytest.raises(ValueError, match=r"\(T5EncoderModel\), expected a sequence classifier"):
        build_scorer(tmp_path)
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(ValueError, match="not readable as a model's configuration"):
        build_scorer(tmp_path)
    with pytest.raises(ValueError, match="which does not exist"):
        build_scorer(tmp_path / "none")
    with pytest.raises(ValueError, match=re.escape("has 3 labels, expected a reranker with one")):
        build_scorer(tiny_cross_encoder(tmp_path / "three", labels=3), device="cpu").score(QUERY, DOCUMENTS)


@pytest.mark.slow
def test_a_pickled_reranker_carries_its_recipe(qwen3):
    recipe = Recipe(
        "mine",
        "causal_lm",
        frame=PromptFrame(head=("{instruction} {query}",), lead=" "),
        positive="yes",
        instruction="Birds",
        probability_scale=2.0,
    )
    reranker = Reranker(qwen3, recipe=recipe, device="cpu", max_length=64, top_n=3, score_threshold=-50.0)
    expected = reranker.rerank(QUERY, TEXTS)
    carried = pickle.dumps(reranker)
    assert len(carried) < 20_000  # no weights
    copy = pickle.loads(carried)
    assert copy.scorer is not reranker.scorer
    assert copy.rerank(QUERY, TEXTS) == expected
    assert len(expected) == 3
    again = pickle.loads(pickle.dumps(copy))
    assert np.array_equal(again.score(QUERY, TEXTS), reranker.score(QUERY, TEXTS))


@pytest.mark.slow
def test_a_reranker_over_a_scorer_of_the_library_can_be_pickled(cross_encoder):
    reranker = Reranker(CrossEncoderScorer(cross_encoder, device="cpu", max_length=32))
    expected = reranker.score(QUERY, TEXTS)
    copy = pickle.loads(pickle.dumps(reranker))
    assert np.array_equal(copy.score(QUERY, TEXTS), expected)
