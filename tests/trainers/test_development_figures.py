"""The development set and its figures, by hand and against ir-measures."""

from __future__ import annotations

import ir_measures
import numpy as np
import pytest
from hash_embedder import HashEmbedder
from ir_measures import Success
from lamar_trainers.development_callback import best_figures
from lamar_trainers.development_figures import development_figures
from lamar_trainers.development_set import CANDIDATES, DevelopmentQuery, DevelopmentText, development_queries

from lamar_rag.retrieval.centring import LanguageCentring

NO_CENTRING = LanguageCentring(
    "none", {kind: {"*": np.zeros(16, np.float32)} for kind in ("query", "passage")}
)


def query(group, language, places, dataset="news"):
    groups, languages = zip(*places, strict=True)
    texts = tuple(f"{g} {c}" for g, c in places)
    return DevelopmentQuery(
        dataset, group, language, f"?{group}", texts, groups, languages, (0.0,) * len(places)
    )


QUERY = query("a", "de", [("a", "en"), ("a", "de"), ("b", "de"), ("c", "en")])


@pytest.mark.parametrize(
    ("scores", "bonus", "ndcg", "rescue", "coherence"),
    [
        ([3, 4, 2, 1], 0, 1, 1, 1),  # gold first, its translation next
        ([4, 3, 2, 1], 0, 0, 1, 0),  # the translation above the gold one
        ([4, 3, 2, 1], 1.5, 1, 1, 1),  # the bonus turns it round
        ([4, 3, 2, 1], 2.5, 1, 0, 1),  # too much of it: an irrelevant one in the query's language
        ([1, 2, 3, 4], 0, 0, 0, 1),
        ([2, 2, 2, 2], 0, 0, 1, 0),  # ties: the first stage's order
    ],
)
def test_figures_by_hand(scores, bonus, ndcg, rescue, coherence):
    found = development_figures([QUERY], [np.array(scores, np.float32)], bonus=bonus)
    assert (found["ndcg@1"], found["rescue@1"], found["coherence@1"]) == (ndcg, rescue, coherence)
    expected = 2 * ndcg * rescue / (ndcg + rescue) if ndcg + rescue else 0
    assert found["balanced@1"] == expected


def test_languages_weigh_the_same_and_questions_have_no_translations():
    german = [QUERY, QUERY, QUERY]
    english = query("b", "en", [("c", "en"), ("b", "en")], dataset="questions")
    scores = [np.array([3, 4, 2, 1.0])] * 3 + [np.array([2.0, 1.0])]
    found = development_figures([*german, english], scores)
    assert (found["ndcg@1"], found["rescue@1"]) == (0.5, 1.0)
    assert found["balanced@1"] == 1.0  # of the German ones, which have translations
    with pytest.raises(ValueError, match="got 2 scores for 4 documents"):
        development_figures([QUERY], [np.zeros(2)])


def test_the_best_bonus_is_a_share_of_the_scores_deviation():
    scores = [np.array([4, 3.5, 0, -2.0], np.float32)]
    found = best_figures([QUERY], scores)
    unit = float(np.std(scores[0]))
    assert found["balanced@1"] == 1.0
    assert found["bonus"] / unit == pytest.approx(0.3)


def corpus(groups=9, languages=("en", "de", "ar", "zh")):
    passages = [
        DevelopmentText("n", f"g{g}", c, f"passage {g} {c}") for g in range(groups) for c in languages
    ]
    queries = [DevelopmentText("n", f"g{g}", c, f"query {g} {c}") for g in range(groups) for c in languages]
    return queries, passages


def test_candidates_are_the_first_stage_s_and_one_more_for_the_gold_passage():
    queries, passages = corpus()
    found = list(development_queries(queries, passages, embedder=HashEmbedder(), centring=NO_CENTRING))
    assert {len(q.documents) for q in found} == {20, 21}
    for asked, row in zip(queries, found, strict=True):
        cosines = (
            HashEmbedder().embed([p.text for p in passages], "passage")
            @ HashEmbedder().embed([asked.text], "query")[0]
        )
        order = np.argsort(-cosines, kind="stable")
        assert list(row.documents) == [passages[i].text for i in order[: len(row.documents)]]
        gold = passages.index(
            DevelopmentText("n", asked.group, asked.language, f"passage {asked.group[1:]} {asked.language}")
        )
        assert (row.gold is not None) == (gold in order[:CANDIDATES].tolist())
        assert len(row.documents) == CANDIDATES + (row.gold is not None)


def test_figures_agree_with_ir_measures():
    queries, passages = corpus()
    found = list(development_queries(queries, passages, embedder=HashEmbedder(), centring=NO_CENTRING))
    random = np.random.default_rng(1)
    scores = [random.normal(size=len(q.documents)) for q in found]
    qrels = {str(i): {f"{q.group} {q.language}": 1} for i, q in enumerate(found)}
    run = {
        str(i): {
            f"{g} {c}": s for g, c, s in list(zip(q.groups, q.languages, values.tolist(), strict=True))[:20]
        }
        for i, (q, values) in enumerate(zip(found, scores, strict=True))
    }
    # as many queries a language: the mean over queries is that over languages
    expected = ir_measures.calc_aggregate([Success @ 1], qrels, run)[Success @ 1]
    assert development_figures(found, scores)["ndcg@1"] == pytest.approx(expected)
