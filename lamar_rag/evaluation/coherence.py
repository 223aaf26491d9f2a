"""Language coherence: which of a passage's translations comes first (LAMAR, section 5.1 and tables 3, 8 to 13)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lamar_rag.evaluation.candidate_scoring import ranked_candidates, score_candidates
from lamar_rag.evaluation.evaluation_result import Columns, EvaluationResult, Row, common_setting
from lamar_rag.evaluation.judged_query import coherence_queries
from lamar_rag.evaluation.language_metrics import first_language_matrix
from lamar_rag.evaluation.ranking_metrics import ranking_metrics
from lamar_rag.evaluation.score_store import ScoreStore

if TYPE_CHECKING:
    from lamar_rag.evaluation.parallel_corpus import ParallelCorpus
    from lamar_rag.reranker import Reranker

_MEASURES = {"ndcg@1": "nDCG@1", "ndcg@10": "nDCG@10", "mrr@10": "RR@10"}


@dataclass(frozen=True, kw_only=True)
class CoherenceResult(EvaluationResult):
    """nDCG@1, nDCG@10, MRR@10 and mean rank of the passage in the query's language among its translations.

    Attributes:
        first_language: query language -> document language -> share of first ranks; rows sum to 1.
    """

    task: ClassVar[str] = "coherence"
    first_language: Mapping[str, Row]

    def _figures(self) -> dict[str, Any]:
        return {**super()._figures(), "first_language": self.first_language}


def evaluate_coherence(
    reranker: Reranker, corpus: ParallelCorpus, *, scores: ScoreStore | None = None, progress: bool = False
) -> CoherenceResult:
    """Rank each question's gold passage in all languages, and see where the one in its own language comes.

    Args:
        reranker: with its preference.
        corpus: from `open_corpus`.
        scores: where the model's scores are kept; the dial takes no part in them.
        progress: show a progress bar on stderr.
    """
    known = scores if scores is not None else ScoreStore()
    judged = coherence_queries(corpus)
    score_candidates(reranker, judged, known, task="coherence", progress=progress)
    ranked = dict(
        zip(
            [query.id for query in judged],
            ranked_candidates(reranker, judged, known, task="coherence"),
            strict=True,
        )
    )
    rankings = {query: [str(document.id) for document in row] for query, row in ranked.items()}
    relevant = {query.id: query.relevant for query in judged}
    values = ranking_metrics(_MEASURES, rankings, relevant)
    values["mean_rank"] = np.array(
        [1.0 + rankings[query.id].index(next(iter(query.relevant))) for query in judged]
    )
    columns = Columns(corpus, values)
    first = [(query.query.language, str(ranked[query.id][0].language)) for query in judged]
    return CoherenceResult(
        dataset=corpus.name,
        model=reranker.model,
        setting=common_setting(reranker, corpus),
        languages=columns.by_language(),
        avg=columns.means(),
        questions=columns.questions(["ndcg@1"]),
        rankings=rankings,
        relevant=relevant,
        first_language=first_language_matrix(corpus.languages, first),
    )
