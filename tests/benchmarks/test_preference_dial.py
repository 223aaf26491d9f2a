from __future__ import annotations

import sys

import ir_measures
import numpy as np
import pytest
from conftest import REPOSITORY
from ir_measures import R, Success, nDCG

from lamar_rag import Document, LanguagePreference, Reranker
from lamar_rag.scoring.bi_encoder import BiEncoderScorer

sys.path.insert(0, str(REPOSITORY / "benchmarks"))

from parallel_corpora import Parallel
from preference_dial import CANDIDATES, Measurement, centre_halves

LANGUAGES = ["de", "en", "zh"]
GROUPS = [str(i) for i in range(25)]


@pytest.fixture(scope="module")
def corpus():
    random = np.random.default_rng(5)
    texts = {language: [(group, f"{group} in {language}") for group in GROUPS] for language in LANGUAGES}

    def vectors():
        drawn = {language: random.normal(size=(len(GROUPS), 6)).astype(np.float32) for language in LANGUAGES}
        return {k: v / np.linalg.norm(v, axis=1, keepdims=True) for k, v in drawn.items()}

    base = vectors()
    near = {k: base["en"] + 0.6 * v for k, v in vectors().items()}
    near = {k: (v / np.linalg.norm(v, axis=1, keepdims=True)).astype(np.float32) for k, v in near.items()}
    return Parallel(texts, texts), {
        "query": near,
        "passage": {k: base["en"] * 0.5 + v for k, v in near.items()},
    }


def runs(measurement, weight: float, *, without_gold: bool):
    """TREC run and qrels of the same setting, made without the code under test but for its score matrix."""
    run, qrels = {}, {}
    names = [f"{group}-{language}" for language in LANGUAGES for group in GROUPS]
    for language in LANGUAGES:
        for i, group in enumerate(GROUPS):
            query = f"{language}{group}"
            gold = f"{group}-{language}"
            scores = dict(zip(names, measurement.scores[language][i].tolist(), strict=True))
            if without_gold:
                del scores[gold]
            best = sorted(scores, key=lambda name: -scores[name])[:CANDIDATES]
            run[query] = {n: scores[n] + (weight * 0.2 if n.endswith(f"-{language}") else 0.0) for n in best}
            wanted = [f"{group}-{k}" for k in LANGUAGES if k != language] if without_gold else [gold]
            qrels[query] = dict.fromkeys(wanted, 1)
    return qrels, run


@pytest.mark.parametrize("weight", [0.0, 0.5, 2.0])
def test_figures_equal_ir_measures(corpus, weight):
    measurement = Measurement(*corpus)
    figures = measurement.figures(weight, spread=0.2)
    coherence = ir_measures.calc_aggregate([nDCG @ 1, R @ 20], *runs(measurement, weight, without_gold=False))
    rescue = ir_measures.calc_aggregate(
        [Success @ 1, Success @ 20], *runs(measurement, weight, without_gold=True)
    )
    assert figures["ndcg@1"] == pytest.approx(coherence[nDCG @ 1], abs=1e-9)
    assert figures["recall@20"] == pytest.approx(coherence[R @ 20], abs=1e-9)
    assert figures["rescue@1"] == pytest.approx(rescue[Success @ 1], abs=1e-9)
    assert figures["ceiling"] == pytest.approx(rescue[Success @ 20], abs=1e-9)
    assert 0.0 < figures["rescue@1"] < 1.0


def test_the_first_document_is_what_the_reranker_puts_first(corpus):
    measurement = Measurement(*corpus)
    _, vectors = corpus

    class Embedder:
        model, dimension, centring = "vectors", 6, None

        def embed(self, texts, kind, *, languages=None, progress=False):
            rows = [text.split(" in ") for text in texts]
            return np.stack([vectors[kind][language][int(group)] for group, language in rows])

        def truncated(self, texts, kind):
            return np.zeros(len(texts), dtype=np.bool_)

        def windows(self, text):
            return [text]

    reranker = Reranker(BiEncoderScorer(Embedder(), spread=0.2), preference=LanguagePreference(weight=0.7))
    candidates = [
        Document(f"{group} in {k}", id=f"{group}-{k}", language=k) for k in LANGUAGES for group in GROUPS
    ]
    for language in LANGUAGES:
        columns = measurement._first(language, measurement.coherence[language], 0.7, 0.2)
        for i, group in enumerate(GROUPS):
            pool = [candidates[column] for column in measurement.coherence[language][i]]
            (first,) = reranker.rerank(f"{group} in {language}", pool, top_n=1, query_language=language)
            assert first.document is candidates[columns[i]]


def test_halves_are_centred_with_the_other_half_only(corpus):
    parallel, vectors = corpus
    before = {kind: {k: v.copy() for k, v in rows.items()} for kind, rows in vectors.items()}
    centred = centre_halves(vectors, parallel)
    expected = vectors["query"]["de"][:12] - vectors["query"]["de"][12:].mean(axis=0)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert np.allclose(centred["query"]["de"][:12], expected, atol=1e-6)
    for kind, rows in before.items():
        for k, v in rows.items():
            assert np.array_equal(vectors[kind][k], v)
