"""Coherence, retrieval and rescue, worked out by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from math import log2

import pytest
from evaluation_parts import SCORES, PairScorer, VectorEmbedder, hand_corpus

from lamar_rag import LanguagePreference, Reranker
from lamar_rag.evaluation import FirstStage, evaluate_coherence, evaluate_rescue, evaluate_retrieval
from lamar_rag.evaluation.parallel_corpus import ParallelCorpus
from lamar_rag.evaluation.score_store import ScoreStore

SECOND = 1 / log2(3)  # nDCG of the only relevant document at rank 2
ORACLE = {("null?", "null"): 2.0, ("null?", "zero"): 1.0, ("zero?", "null"): 1.0}


def test_coherence():
    result = evaluate_coherence(Reranker(PairScorer(ORACLE)), hand_corpus())
    # null? has de above en; eins? and one? are tied and go to de, which stands first; zero? has de above en
    assert result.languages == {
        "de": {"ndcg@1": 1.0, "ndcg@10": 1.0, "mrr@10": 1.0, "mean_rank": 1.0, "n": 2},
        "en": {"ndcg@1": 0.0, "ndcg@10": pytest.approx(SECOND), "mrr@10": 0.5, "mean_rank": 2.0, "n": 2},
    }
    assert result.avg == {
        "ndcg@1": 0.5,
        "ndcg@10": pytest.approx((1 + SECOND) / 2),
        "mrr@10": 0.75,
        "mean_rank": 1.5,
    }
    assert result.first_language == {"de": {"de": 1.0, "en": 0.0}, "en": {"de": 1.0, "en": 0.0}}
    assert result.questions["ndcg@1"] == [0.5, 0.5]


def test_coherence_with_a_dial():
    reranker = Reranker(PairScorer(ORACLE), preference=LanguagePreference(weight=0.5))
    result = evaluate_coherence(reranker, hand_corpus())
    # half a unit breaks the tie of one?, and does not lift zero? above null?
    assert result.languages["en"]["ndcg@1"] == 0.5
    assert result.questions["ndcg@1"] == [0.5, 1.0]
    assert result.setting["weight"] == 0.5
    assert result.setting["unit"] == 1.0


def test_retrieval():
    stage = FirstStage(hand_corpus(), VectorEmbedder(), candidates=2)
    result = evaluate_retrieval(Reranker(PairScorer(SCORES)), stage)
    # candidates: null? [null zero], eins? [one null] (its own passage is missed), zero? [null zero], one? [one zero]
    assert result.recall == {"recall@2": 0.75}
    assert result.recall_languages == {"de": {"recall@2": 0.5}, "en": {"recall@2": 1.0}}
    assert result.first_stage == {
        "ndcg@1": 0.5,
        "ndcg@10": pytest.approx((0.5 + (SECOND + 1) / 2) / 2),
        "mrr@10": pytest.approx((0.5 + 0.75) / 2),
    }
    # reranked: null? [zero null], eins? [null one], zero? [zero null], one? [one zero]
    assert result.languages["de"]["ndcg@1"] == 0.0
    assert result.languages["en"]["ndcg@1"] == 1.0
    assert result.avg["mrr@10"] == pytest.approx((0.25 + 1.0) / 2)
    assert result.rankings["q0.de"] == ["0.en", "0.de"]
    assert result.questions["ndcg@1"] == [0.5, 0.5]
    assert result.questions["first_stage ndcg@1"] == [0.5, 0.5]


def test_retrieval_says_which_languages_come_first():
    stage = FirstStage(hand_corpus(), VectorEmbedder(), candidates=2)
    language = evaluate_retrieval(Reranker(PairScorer(SCORES)), stage).language
    # before: null (de), one (for de), null (for en), one (en); all answer the question
    assert language["first_stage"]["foreign_first"] == 0.5
    assert language["first_stage"]["split"] == {
        "relevant, query's language": 0.5,
        "relevant, other": 0.5,
        "not relevant, query's language": 0.0,
        "not relevant, other": 0.0,
    }
    # after: zero (for de), null (for de, and not relevant to eins?), zero (en), one (en)
    assert language["reranked"]["foreign_first"] == 0.25
    assert language["reranked"]["split"]["not relevant, query's language"] == 0.25
    assert language["reranked"]["first_language"]["de"] == {"de": 0.5, "en": 0.5}
    # null?: zero rose 1 of 1 rank; eins?: one fell, and none could rise; zero?: zero rose 1 of 1; one?: none could
    assert language["mlrs"] == pytest.approx((100 + 0 + 100 + 0) / 4)


def test_rescue():
    stage = FirstStage(hand_corpus(), VectorEmbedder(), candidates=2)
    result = evaluate_rescue(Reranker(PairScorer(SCORES)), stage)
    # without the own passage: null? [zero one], eins? [one null], zero? [null one], one? [zero eins]
    assert result.first_stage["rescue@1"] == 0.75
    assert result.avg["ceiling"] == 1.0
    # reranked: null? [zero one], eins? [null one], zero? [null one], one? [eins zero]
    assert result.languages["de"]["rescue@1"] == 0.5
    assert result.languages["en"]["rescue@1"] == 1.0
    assert result.languages["de"]["ndcg@10"] == pytest.approx((1 + SECOND) / 2)
    assert result.questions["rescue@1"] == [1.0, 0.5]
    assert not any(document.startswith("0") for document in result.relevant["q1.de"])


def test_a_corpus_in_one_language_has_nothing_to_rescue():
    corpus = hand_corpus()
    alone = ParallelCorpus("alone", {"de": corpus.passages["de"]}, {"de": corpus.queries["de"]})
    with pytest.raises(ValueError, match="two languages at least"):
        evaluate_rescue(Reranker(PairScorer({})), FirstStage(alone, VectorEmbedder()))


def test_json_has_the_documented_form():
    stage = FirstStage(hand_corpus(), VectorEmbedder(), candidates=2)
    reranker = Reranker(PairScorer(SCORES))
    coherence = json.loads(evaluate_coherence(reranker, hand_corpus()).to_json())
    assert coherence["dataset"] == "hand"
    assert coherence["model"] == "pairs"
    assert set(coherence["languages"]["de"]) == {"ndcg@1", "ndcg@10", "mrr@10", "mean_rank", "n"}
    assert {"avg", "first_language"} <= set(coherence)
    retrieval = json.loads(evaluate_retrieval(reranker, stage).to_json())
    assert set(retrieval["languages"]["en"]) == {"first_stage", "reranked", "recall@2"}
    assert retrieval["reranked"]["ndcg@1"] == 0.5
    assert retrieval["recall@2"] == 0.75
    rescue = json.loads(evaluate_rescue(reranker, stage).to_json())
    assert rescue["rescue@1"] == 0.75
    assert {"ceiling", "ndcg@10", "languages"} <= set(rescue)


def test_frame_has_a_row_a_language_and_their_mean():
    frame = evaluate_coherence(Reranker(PairScorer(ORACLE)), hand_corpus()).to_frame()
    assert list(frame.index) == ["de", "en", "avg"]
    assert frame.loc["avg", "mrr@10"] == 0.75
    assert frame.loc["en", "n"] == 2


def test_scores_are_shared_between_tasks_and_weights():
    scorer, scores = PairScorer(SCORES), ScoreStore()
    stage = FirstStage(hand_corpus(), VectorEmbedder(), candidates=4)
    evaluate_retrieval(Reranker(scorer), stage, scores=scores)
    asked = scorer.calls
    evaluate_rescue(Reranker(scorer), stage, scores=scores)  # its candidates are among the four
    evaluate_coherence(Reranker(scorer, preference=LanguagePreference(2.0)), hand_corpus(), scores=scores)
    assert scorer.calls == asked == 4


def test_listwise_scores_are_not_shared():
    scorer, scores = PairScorer(SCORES), ScoreStore()
    scorer.is_listwise = True
    stage = FirstStage(hand_corpus(), VectorEmbedder(), candidates=4)
    evaluate_retrieval(Reranker(scorer), stage, scores=scores)
    evaluate_rescue(Reranker(scorer), stage, scores=scores)
    assert scorer.calls == 8


def test_listwise_scores_belong_to_their_candidates():
    scorer, scores = PairScorer(SCORES), ScoreStore()
    scorer.is_listwise = True
    for candidates in (4, 2, 4):
        stage = FirstStage(hand_corpus(), VectorEmbedder(), candidates=candidates)
        evaluate_retrieval(Reranker(scorer), stage, scores=scores)
    assert scorer.calls == 8  # four queries with four candidates, and with two


def test_another_text_of_a_question_is_scored_anew():
    scorer, scores = PairScorer(SCORES), ScoreStore()
    corpus = hand_corpus()
    evaluate_coherence(Reranker(scorer), corpus, scores=scores)
    first, second = corpus.queries["de"]
    changed = replace(corpus, queries={**corpus.queries, "de": [replace(first, text="other?"), second]})
    evaluate_coherence(Reranker(scorer), changed, scores=scores)
    assert scorer.calls == 5


def test_the_rerankers_own_options_count():
    scorer = PairScorer(SCORES)
    evaluate_coherence(Reranker(scorer, long_documents="windows"), hand_corpus())
    assert {options.long_documents for options in scorer.options} == {"windows"}
    assert [options.query_language for options in scorer.options] == ["de", "de", "en", "en"]


@pytest.mark.parametrize("cut", [{"top_n": 1}, {"score_threshold": 0.5}])
def test_a_reranker_that_leaves_documents_out_is_refused(cut):
    with pytest.raises(ValueError, match="ranks all candidates"):
        evaluate_coherence(Reranker(PairScorer(SCORES), **cut), hand_corpus())


def test_a_score_that_is_no_number_is_an_error():
    with pytest.raises(ValueError, match="nan"):
        evaluate_coherence(Reranker(PairScorer({("null?", "zero"): float("nan")})), hand_corpus())
