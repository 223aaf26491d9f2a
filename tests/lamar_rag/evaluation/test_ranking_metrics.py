from __future__ import annotations

from math import log2

import ir_measures
import numpy as np
import pytest
from evaluation_parts import PairScorer
from ir_measures import RR, R, Success, nDCG

from lamar_rag.evaluation.candidate_scoring import ranked_candidates, score_candidates
from lamar_rag.evaluation.judged_query import JudgedQuery
from lamar_rag.evaluation.parallel_corpus import ParallelQuery
from lamar_rag.evaluation.ranking_metrics import ranking_metrics
from lamar_rag.evaluation.score_store import ScoreStore
from lamar_rag.reranker import Reranker
from lamar_rag.types import Document

NAMES = {
    "ndcg@1": "nDCG@1",
    "ndcg@10": "nDCG@10",
    "mrr@10": "RR@10",
    "recall@20": "R@20",
    "any": "Success@20",
}


def random_runs(count: int):
    """Candidates with coarse scores, hence ties, and relevant documents of which some are no candidates."""
    random = np.random.default_rng(0)
    for number in range(count):
        names = [f"d{i}" for i in random.permutation(40)[: random.integers(1, 31)]]
        scores = random.integers(0, 4, size=len(names)).astype(float)
        relevant = {f"d{i}" for i in random.permutation(40)[: random.integers(1, 6)]}
        yield f"q{number}", names, scores, frozenset(relevant)


@pytest.fixture(scope="module")
def measured():
    """Our figures of 1,000 runs, in the order that the core gives their ties, and the same runs for others to score."""
    judged, table, runs = [], {}, list(random_runs(1000))
    for name, documents, scores, relevant in runs:
        candidates = tuple(Document(d, id=d, language="en") for d in documents)
        judged.append(JudgedQuery(ParallelQuery(name, "0", "en", name), candidates, relevant))
        table |= {(name, d): score for d, score in zip(documents, scores.tolist(), strict=True)}
    reranker, store = Reranker(PairScorer(table)), ScoreStore()
    score_candidates(reranker, judged, store, task="retrieval")
    ranked = ranked_candidates(reranker, judged, store, task="retrieval")
    rankings = {q.id: [str(d.id) for d in row] for q, row in zip(judged, ranked, strict=True)}
    return ranking_metrics(NAMES, rankings, {q.id: q.relevant for q in judged}), runs


def test_ties_of_a_thousand_random_runs_agree_with_ir_measures(measured):
    ours, runs = measured
    # a score that falls with the place breaks the ties as the core does
    run = [
        ir_measures.ScoredDoc(query, document, score - 1e-3 * place)
        for query, documents, scores, _ in runs
        for place, (document, score) in enumerate(zip(documents, scores, strict=True))
    ]
    qrels = [ir_measures.Qrel(query, d, 1) for query, _, _, relevant in runs for d in relevant]
    measures = {
        nDCG @ 1: "ndcg@1",
        nDCG @ 10: "ndcg@10",
        RR @ 10: "mrr@10",
        R @ 20: "recall@20",
        Success @ 20: "any",
    }
    places = {query: place for place, (query, *_) in enumerate(runs)}
    compared = 0
    for metric in ir_measures.iter_calc(list(measures), qrels, run):
        assert ours[measures[metric.measure]][places[metric.query_id]] == pytest.approx(
            metric.value, abs=1e-9
        )
        compared += 1
    assert compared == 5000


def test_they_agree_with_the_formulas(measured):
    ours, runs = measured
    for place, (_, documents, scores, relevant) in enumerate(runs):
        order = sorted(range(len(documents)), key=lambda i: -scores[i])
        hits = [rank for rank, i in enumerate(order, start=1) if documents[i] in relevant]
        gain = sum(1 / log2(rank + 1) for rank in hits if rank <= 10)
        ideal = sum(1 / log2(rank + 1) for rank in range(1, min(len(relevant), 10) + 1))
        assert ours["ndcg@10"][place] == pytest.approx(gain / ideal)
        assert ours["ndcg@1"][place] == float(1 in hits)
        assert ours["mrr@10"][place] == pytest.approx(1 / hits[0] if hits and hits[0] <= 10 else 0.0)
        assert ours["recall@20"][place] == pytest.approx(sum(rank <= 20 for rank in hits) / len(relevant))


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="no relevant document for query q"):
        ranking_metrics(NAMES, {"q": ["a"]}, {})
    with pytest.raises(ValueError, match="a document twice in the ranking of query q"):
        ranking_metrics(NAMES, {"q": ["a", "a"]}, {"q": frozenset("a")})
