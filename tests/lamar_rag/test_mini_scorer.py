"""lamar-mini, the real one: an ordinary cross-encoder's folder, and what it does to real sentences."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from conftest import REPOSITORY

from lamar_rag import Document, LanguagePreference, Reranker
from lamar_rag.embedded.adapter import read_adapter
from lamar_rag.embedded.mini_folder import lamar_mini_folder
from lamar_rag.hub import resolve_model
from lamar_rag.mini_scorer import MINI_RECIPE, SIMILARITY_WEIGHT, mini_scorer
from lamar_rag.retrieval.sentence_embedder import SentenceEmbedder
from lamar_rag.scoring.bi_encoder import BiEncoderScorer
from lamar_rag.torch_options import has_cpu_bfloat16
from lamar_rag.types import ScoringOptions

QUERY = "Wie tief ist der Baikalsee?"
DOCUMENTS = [
    Document("Lake Baikal is 1,642 metres deep, the deepest lake in the world.", language="en"),
    Document("Der Baikalsee ist mit 1642 Metern der tiefste See der Erde.", language="de"),
    Document("Der Bodensee liegt an der Grenze zu Österreich und der Schweiz.", language="de"),
    Document("The Nile flows through eleven countries.", language="en"),
]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def scorer():
    return mini_scorer(dtype="float32")


def test_the_adapter_is_small_and_says_what_it_is_made_for():
    path = REPOSITORY / "lamar_rag" / "embedded" / "lamar_mini.safetensors"
    assert path.stat().st_size <= 8_000_000
    assert {"base", "layers"} <= read_adapter(path).about.keys()


def test_sentence_transformers_reads_the_folder_and_scores_the_same(scorer):
    from sentence_transformers import CrossEncoder

    assert resolve_model("lamar-mini") == str(lamar_mini_folder())
    model = CrossEncoder(str(lamar_mini_folder()), max_length=MINI_RECIPE.max_length, device="cpu")
    pairs = [(QUERY, document.text) for document in DOCUMENTS]
    expected = model.predict(pairs, activation_fn=torch.nn.Identity())
    found = scorer.cross_encoder.score(QUERY, DOCUMENTS).scores
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_the_score_adds_the_centred_similarity(scorer):
    options = ScoringOptions(query_language="de")
    similarity = BiEncoderScorer(SentenceEmbedder("multilingual-e5-small")).score(QUERY, DOCUMENTS, options)
    alone = scorer.cross_encoder.score(QUERY, DOCUMENTS, options)
    expected = alone.scores + SIMILARITY_WEIGHT * similarity.scores
    np.testing.assert_allclose(scorer.score(QUERY, DOCUMENTS, options).scores, expected, atol=1e-4)


def test_what_answers_comes_first_in_the_query_s_language_then_in_another():
    reranker = Reranker("lamar-mini", preference=LanguagePreference(weight=0.5))
    order = [row.index for row in reranker.rerank(QUERY, DOCUMENTS)]
    assert order[:2] == [1, 0]


def test_bfloat16_is_chosen_where_the_cpu_has_it_and_changes_little(scorer, monkeypatch):
    chosen = mini_scorer().cross_encoder
    assert chosen._options.dtype == ("bfloat16" if has_cpu_bfloat16() else None)
    monkeypatch.setattr("lamar_rag.mini_scorer.has_cpu_bfloat16", lambda: True)
    lower = mini_scorer().cross_encoder
    assert lower._options.dtype == "bfloat16"
    expected = scorer.cross_encoder.score(QUERY, DOCUMENTS).scores
    np.testing.assert_allclose(lower.score(QUERY, DOCUMENTS).scores, expected, atol=0.1)
    assert mini_scorer(dtype="float32").cross_encoder._options.dtype == "float32"
