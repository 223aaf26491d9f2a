"""A cross-encoder's score and a similarity as one."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hash_embedder import HashEmbedder
from tiny_models import TableScorer, tiny_cross_encoder

from lamar_rag import Document, LanguagePreference, Reranker
from lamar_rag.scoring.cross_encoder import CrossEncoderScorer
from lamar_rag.scoring.fused import FusedScorer
from lamar_rag.types import BatchScorer, Scorer, ScoringOptions, ScoringRequest

TEXTS = ["the cat sat on the mat", "a dog barked at night", "the mat"]
TABLE = dict(zip(TEXTS, [0.25, -0.5, 1.0], strict=True))
DOCUMENTS = [Document(text, language="en") for text in TEXTS]


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory):
    return CrossEncoderScorer(tiny_cross_encoder(tmp_path_factory.mktemp("m") / "tiny"))


@pytest.fixture
def fused(cross_encoder):
    return FusedScorer(cross_encoder, TableScorer(TABLE), weight=3.0, model="both", spread=0.5)


def test_the_score_is_the_sum(fused, cross_encoder):
    alone = cross_encoder.score("the cat", DOCUMENTS)
    found = fused.score("the cat", DOCUMENTS)
    np.testing.assert_allclose(found.scores, alone.scores + 3.0 * np.float32([0.25, -0.5, 1.0]), rtol=1e-6)
    assert found.scores.dtype == np.float32
    np.testing.assert_array_equal(found.truncated, alone.truncated)
    assert fused.score("the cat", []).scores.shape == (0,)


def test_many_requests_are_scored_as_one_by_one_and_each_has_its_own_failure(fused):
    cancelled = threading.Event()
    cancelled.set()
    requests = [
        ScoringRequest("the cat", DOCUMENTS),
        ScoringRequest("a dog", DOCUMENTS[:2], ScoringOptions(cancel=cancelled)),
        ScoringRequest("a dog", [Document("not in the table")]),
        ScoringRequest("a dog", DOCUMENTS[:2]),
    ]
    first, stopped, unknown, last = fused.score_many(requests)
    np.testing.assert_allclose(first.scores, fused.score("the cat", DOCUMENTS).scores, atol=1e-5)
    np.testing.assert_allclose(last.scores, fused.score("a dog", DOCUMENTS[:2]).scores, atol=1e-5)
    assert isinstance(stopped, Exception)
    assert isinstance(unknown, KeyError)


def test_options_of_the_cross_encoder_do_not_reach_the_embedder(cross_encoder):
    from lamar_rag.scoring.bi_encoder import BiEncoderScorer

    class Embedder(HashEmbedder):
        def truncated(self, texts, kind):
            return np.zeros(len(texts), dtype=np.bool_)

    similarity = BiEncoderScorer(Embedder())
    fused = FusedScorer(cross_encoder, similarity, weight=1.0, model="both")
    found = fused.score("the cat", DOCUMENTS, ScoringOptions(max_length=16))
    expected = cross_encoder.score("the cat", DOCUMENTS, ScoringOptions(max_length=16)).scores
    np.testing.assert_allclose(
        found.scores, expected + similarity.score("the cat", DOCUMENTS).scores, atol=1e-6
    )


def test_a_reranker_takes_it_with_its_own_spread(fused):
    assert isinstance(fused, Scorer)
    assert isinstance(fused, BatchScorer)
    documents = [*DOCUMENTS[:2], Document(TEXTS[2], language="de")]
    reranker = Reranker(fused, preference=LanguagePreference(weight=2.0))
    rows = reranker.rerank("the cat", documents, query_language="en")
    scores = fused.score("the cat", documents).scores
    expected = sorted((scores + np.float32([1.0, 1.0, 0.0])).tolist(), reverse=True)
    assert [row.score for row in rows] == pytest.approx(expected, abs=1e-5)
    assert (fused.model, fused.spread, fused.reads_languages) == ("both", 0.5, False)
