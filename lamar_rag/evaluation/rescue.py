"""Cross-lingual rescue: what comes first where the passage does not exist in the query's language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from lamar_rag.evaluation.candidate_scoring import ranked_candidates, score_candidates
from lamar_rag.evaluation.evaluation_result import Columns, EvaluationResult, Row, common_setting
from lamar_rag.evaluation.judged_query import rescue_queries
from lamar_rag.evaluation.ranking_metrics import ranking_metrics
from lamar_rag.evaluation.score_store import ScoreStore

if TYPE_CHECKING:
    from lamar_rag.evaluation.first_stage import FirstStage
    from lamar_rag.reranker import Reranker

_MEASURES = {"rescue@1": "P@1", "ndcg@10": "nDCG@10"}


@dataclass(frozen=True, kw_only=True)
class RescueResult(EvaluationResult):
    """Share of queries whose first document is a translation of the missing passage, and nDCG@10 over them.

    Attributes:
        first_stage: the same figures of the first stage's order, and the ceiling, mean over languages.
    """

    task: ClassVar[str] = "rescue"
    first_stage: Row

    def _figures(self) -> dict[str, Any]:
        return {**self.avg, "first_stage": self.first_stage, "languages": self.languages}


def evaluate_rescue(
    reranker: Reranker, stage: FirstStage, *, scores: ScoreStore | None = None, progress: bool = False
) -> RescueResult:
    """Take the passage in the query's language out of the corpus, retrieve, rerank, and look for its translations.

    Args:
        reranker: with its preference.
        stage: the first stage over a parallel corpus.
        scores: where the model's scores are kept; the dial takes no part in them.
        progress: show a progress bar on stderr.

    Raises:
        ValueError: a corpus in one language only.
    """
    if len(stage.corpus.languages) < 2:
        raise ValueError(
            f"got {stage.corpus.name} in {stage.corpus.languages[0]} alone, expected two languages at least: without "
            "translations there is nothing to rescue"
        )
    known = scores if scores is not None else ScoreStore()
    judged = rescue_queries(stage)
    score_candidates(reranker, judged, known, task="rescue", progress=progress)
    ranked = ranked_candidates(reranker, judged, known, task="rescue")
    relevant = {query.id: query.relevant for query in judged}
    before = {query.id: [str(document.id) for document in query.candidates] for query in judged}
    after = {
        query.id: [str(document.id) for document in row] for query, row in zip(judged, ranked, strict=True)
    }
    measures = {**_MEASURES, "ceiling": f"Success@{stage.candidates}"}
    first = Columns(stage.corpus, ranking_metrics(measures, before, relevant))
    reranked = Columns(
        stage.corpus,
        {**ranking_metrics(_MEASURES, after, relevant), "ceiling": first.values["ceiling"]},
    )
    own = first.questions(["rescue@1"])
    return RescueResult(
        dataset=stage.corpus.name,
        model=reranker.model,
        setting={**common_setting(reranker, stage.corpus), **stage.setting},
        languages=reranked.by_language(),
        avg=reranked.means(),
        questions={**reranked.questions(["rescue@1"]), "first_stage rescue@1": own["rescue@1"]},
        rankings=after,
        relevant=relevant,
        first_stage=first.means(),
    )
