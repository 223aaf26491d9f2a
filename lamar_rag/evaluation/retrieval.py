"""Reranking of what a first stage retrieves among all passages in all languages (LAMAR, table 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from lamar_rag.evaluation.candidate_scoring import ranked_candidates, score_candidates
from lamar_rag.evaluation.evaluation_result import Columns, EvaluationResult, Row, common_setting
from lamar_rag.evaluation.judged_query import retrieval_queries
from lamar_rag.evaluation.language_metrics import language_metrics
from lamar_rag.evaluation.ranking_metrics import ranking_metrics
from lamar_rag.evaluation.score_store import ScoreStore

if TYPE_CHECKING:
    from lamar_rag.evaluation.first_stage import FirstStage
    from lamar_rag.reranker import Reranker

_MEASURES = {"ndcg@1": "nDCG@1", "ndcg@10": "nDCG@10", "mrr@10": "RR@10"}


@dataclass(frozen=True, kw_only=True)
class RetrievalResult(EvaluationResult):
    """nDCG@1, nDCG@10 and MRR@10 of the passage in the query's language, before and after reranking.

    `avg` and `languages` are of the reranked order. A query whose passage was not retrieved counts 0.

    Attributes:
        first_stage: the same figures of the first stage's order, mean over languages.
        first_stage_languages: and by query language.
        recall: share of queries whose passage is among the candidates, mean over languages, by its name.
        recall_languages: and by query language.
        language: which languages come first, in both orders (`language_metrics`).
    """

    task: ClassVar[str] = "retrieval"
    first_stage: Row
    first_stage_languages: Mapping[str, Row]
    recall: Row
    recall_languages: Mapping[str, Row]
    language: Mapping[str, Any]

    def _figures(self) -> dict[str, Any]:
        return {
            "first_stage": self.first_stage,
            "reranked": self.avg,
            **self.recall,
            "languages": {
                language: {
                    "first_stage": self.first_stage_languages[language],
                    "reranked": figures,
                    **self.recall_languages[language],
                }
                for language, figures in self.languages.items()
            },
            "language": self.language,
        }


def evaluate_retrieval(
    reranker: Reranker, stage: FirstStage, *, scores: ScoreStore | None = None, progress: bool = False
) -> RetrievalResult:
    """Retrieve among all passages in all languages, rerank, and see where the passage in the query's language comes.

    Args:
        reranker: with its preference.
        stage: the first stage over a parallel corpus.
        scores: where the model's scores are kept; the dial takes no part in them.
        progress: show a progress bar on stderr.
    """
    known = scores if scores is not None else ScoreStore()
    judged = retrieval_queries(stage)
    score_candidates(reranker, judged, known, task="retrieval", progress=progress)
    ranked = ranked_candidates(reranker, judged, known, task="retrieval")
    relevant = {query.id: query.relevant for query in judged}
    before = {query.id: [str(document.id) for document in query.candidates] for query in judged}
    after = {
        query.id: [str(document.id) for document in row] for query, row in zip(judged, ranked, strict=True)
    }
    recall = f"recall@{stage.candidates}"
    measures = {**_MEASURES, recall: f"R@{stage.candidates}"}
    first = Columns(stage.corpus, ranking_metrics(measures, before, relevant))
    reranked = Columns(stage.corpus, ranking_metrics(_MEASURES, after, relevant))
    first_means, first_languages = first.means(), first.by_language()
    own = first.questions(["ndcg@1"])
    return RetrievalResult(
        dataset=stage.corpus.name,
        model=reranker.model,
        setting={**common_setting(reranker, stage.corpus), **stage.setting},
        languages=reranked.by_language(),
        avg=reranked.means(),
        questions={
            **reranked.questions(["ndcg@1"]),
            **{f"first_stage {name}": values for name, values in own.items()},
        },
        rankings=after,
        relevant=relevant,
        first_stage={name: first_means[name] for name in _MEASURES},
        first_stage_languages={
            language: {name: row[name] for name in _MEASURES} for language, row in first_languages.items()
        },
        recall={recall: first_means[recall]},
        recall_languages={language: {recall: row[recall]} for language, row in first_languages.items()},
        language=language_metrics(stage.corpus.languages, judged, ranked),
    )
