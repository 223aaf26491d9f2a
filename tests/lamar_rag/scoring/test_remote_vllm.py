"""`RemoteScorer` and `Reranker(url)` over a real vLLM server, which must answer as the model does here."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from tiny_rerankers import tiny_xlmr
from vllm_server import end_of_log, require_vllm, vllm_server

from lamar_rag import Document, LanguagePreference, Reranker
from lamar_rag.sample_corpus import sample_documents, sample_questions
from lamar_rag.scoring.cross_encoder import CrossEncoderScorer
from lamar_rag.scoring.remote import RemoteScorer
from lamar_rag.types import ScoringOptions

pytestmark = pytest.mark.slow

TOLERANCE = 1e-3
LIMIT = 512
DOCUMENTS = sample_documents()[:70]  # twelve languages, three batches
QUERY = sample_questions()[0].question
LONG = [Document(" ".join(document.text for document in DOCUMENTS[at:])) for at in range(0, 20, 5)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    require_vllm()
    words = sorted({word for document in sample_documents() for word in document.text.split()})
    # vLLM's attention on the CPU wants heads of 32 or more.
    return tiny_xlmr(tmp_path_factory.mktemp("xlmr"), hidden=64, heads=2, words=words)


@pytest.fixture(scope="module")
def log(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("vllm") / "vllm.log"


@pytest.fixture(scope="module")
def url(folder, log) -> Iterator[str]:
    with vllm_server(folder, log, "--max-model-len", str(LIMIT)) as found:
        yield found


@pytest.fixture(autouse=True)
def shown_log(url, log) -> Iterator[None]:
    yield
    sys.stderr.write(end_of_log(log))  # pytest shows it where a test failed


@pytest.fixture(scope="module")
def local(folder) -> CrossEncoderScorer:
    return CrossEncoderScorer(folder, device="cpu")


def answer(url: str, texts: list[str], **options: Any) -> httpx.Response:
    return httpx.post(f"{url}/v1/rerank", json={"query": QUERY, "documents": texts, **options}, timeout=60)


def largest_difference(a: np.ndarray, b: np.ndarray) -> float:
    assert a.shape == b.shape
    return float(np.abs(a - b).max())


def test_remote_scores_are_the_local_ones(url, local):
    assert len({document.language for document in DOCUMENTS}) == 12
    expected = local.score(QUERY, DOCUMENTS).scores
    assert np.ptp(expected) > 0.5  # the model tells the documents apart
    remote = RemoteScorer(url, timeout=120)
    scored = remote.score(QUERY, DOCUMENTS)
    assert largest_difference(scored.scores, expected) < TOLERANCE
    assert not scored.truncated.any()
    turned = remote.score(QUERY, DOCUMENTS[::-1]).scores
    assert largest_difference(turned[::-1], expected) < TOLERANCE


def test_vllm_answers_in_the_order_of_the_scores_and_by_default_with_the_sigmoid(url, local):
    logits = local.score(QUERY, DOCUMENTS).scores
    results = answer(url, [document.text for document in DOCUMENTS]).json()["results"]
    order = [result["index"] for result in results]
    assert order != sorted(order)
    scores = np.array([result["relevance_score"] for result in results], dtype=np.float32)
    assert largest_difference(scores, local.probability(logits)[order]) < TOLERANCE


def test_documents_beyond_the_limit_are_cut_as_here(url, local):
    refused = answer(url, [LONG[0].text])
    assert refused.status_code == 400
    assert f"maximum context length is {LIMIT}" in refused.text
    expected = local.score(QUERY, LONG)
    assert expected.truncated.all()
    assert largest_difference(RemoteScorer(url).score(QUERY, LONG).scores, expected.scores) < TOLERANCE


def test_max_length_cuts_as_here(url, local):
    options = ScoringOptions(max_length=40)
    expected = local.score(QUERY, DOCUMENTS, options).scores
    assert largest_difference(expected, local.score(QUERY, DOCUMENTS).scores) > 0.1
    found = RemoteScorer(url, timeout=120).score(QUERY, DOCUMENTS, options).scores
    assert largest_difference(found, expected) < TOLERANCE


def ranked_documents(reranker: Reranker, weight: float) -> tuple[list[str], dict[str, float]]:
    """Return the ids in their order, and the final score of each."""
    preference = LanguagePreference(weight=weight, preferred=["es", "de", "ar"])
    ranked = reranker.rerank(QUERY, DOCUMENTS, preference=preference)
    return [row.document.id for row in ranked], {row.document.id: row.score for row in ranked}


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_a_reranker_over_the_url_orders_as_the_local_one(url, local, weight):
    expected_order, expected = ranked_documents(Reranker(local), weight)
    order, final = ranked_documents(Reranker(url), weight)
    assert sorted(order) == sorted(expected_order)
    assert max(abs(final[name] - expected[name]) for name in expected) < TOLERANCE
    falling = np.array([expected[name] for name in order])
    assert (np.diff(falling) < 2 * TOLERANCE).all()  # another order only among equals
    if weight:
        assert expected_order != ranked_documents(Reranker(local), 0.0)[0]
