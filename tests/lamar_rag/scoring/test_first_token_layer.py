"""The last layer of encoders is computed for the first tokens alone, and their scores stay what they were."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from tiny_models import tiny_cross_encoder

from lamar_rag.scoring.cross_encoder import CrossEncoderScorer
from lamar_rag.scoring.first_token_layer import first_tokens, is_trimmed, trim_last_layer
from lamar_rag.scoring.recipe import generic_recipe
from lamar_rag.types import Document

TEXTS = [
    "the cat sat on a mat",
    "dog barked",
    "le chat est assis",
    "moon",
    "die katze sitzt auf der matte at moon",
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    from transformers import AutoModelForSequenceClassification

    folder = tiny_cross_encoder(tmp_path_factory.mktemp("models") / "tiny")
    return AutoModelForSequenceClassification.from_pretrained(folder).eval(), folder


def test_first_tokens_are_what_the_whole_layer_gives(model):
    import torch

    whole, folder = model
    trimmed = type(whole).from_pretrained(folder).eval()
    trim_last_layer(trimmed)
    trim_last_layer(trimmed)  # twice is once
    assert is_trimmed(trimmed)
    assert not is_trimmed(whole)
    ids = torch.tensor([[0, 5, 6, 2, 0, 7, 2, 0, 8, 9]])
    with torch.inference_mode():
        expected = whole.base_model(input_ids=ids).last_hidden_state
        with first_tokens(torch.tensor([0, 4, 7])):
            found = trimmed.base_model(input_ids=ids).last_hidden_state
        assert found.shape == (1, 3, 32)
        torch.testing.assert_close(found, expected[:, [0, 4, 7]])
        # outside of the block the model is whole
        torch.testing.assert_close(trimmed.base_model(input_ids=ids).last_hidden_state, expected)


def test_scores_are_those_of_transformers(model):
    import torch
    from transformers import AutoTokenizer

    whole, folder = model
    tokenizer = AutoTokenizer.from_pretrained(folder)
    with CrossEncoderScorer(folder, generic_recipe(str(folder), "cross_encoder"), device="cpu") as scorer:
        scores = scorer.score("the cat", [Document(text) for text in TEXTS]).scores
        assert is_trimmed(scorer._loaded.forward.model)
    with torch.inference_mode():
        expected = [
            float(whole(**tokenizer("the cat", text, return_tensors="pt")).logits[0, 0]) for text in TEXTS
        ]
    np.testing.assert_allclose(scores, expected, atol=1e-5)


def test_threads_do_not_mix_their_tokens(model):
    import torch

    whole, folder = model
    trimmed = type(whole).from_pretrained(folder).eval()
    trim_last_layer(trimmed)
    ids = torch.tensor([[0, 5, 6, 2, 0, 7, 2]])
    found: dict[int, torch.Tensor] = {}
    barrier = threading.Barrier(4)

    def run(place: int) -> None:
        barrier.wait()
        for _ in range(20):
            with torch.inference_mode(), first_tokens(torch.tensor([place])):
                found[place] = trimmed.base_model(input_ids=ids).last_hidden_state

    threads = [threading.Thread(target=run, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with torch.inference_mode():
        expected = whole.base_model(input_ids=ids).last_hidden_state
    for place, states in found.items():
        torch.testing.assert_close(states, expected[:, [place]])
