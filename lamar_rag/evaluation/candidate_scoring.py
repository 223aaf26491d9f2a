"""Scores and orders of an evaluation's candidates by a reranker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lamar_rag.progress import progress_bar
from lamar_rag.scoring.checks import checked_result
from lamar_rag.types import BatchScorer, Document, Scored, ScoringOptions, ScoringRequest

if TYPE_CHECKING:
    from lamar_rag.evaluation.judged_query import JudgedQuery
    from lamar_rag.evaluation.score_store import ScoreStore
    from lamar_rag.preference import LanguagePreference
    from lamar_rag.reranker import Reranker

_CHUNK = 8  # queries that are scored together; a killed run loses at most so many


def score_candidates(
    reranker: Reranker, judged: Sequence[JudgedQuery], store: ScoreStore, *, task: str, progress: bool = False
) -> None:
    """Score every candidate that the store does not know yet.

    Tasks share the scores of a pair, but for listwise rerankers, whose scores depend on the other candidates.

    Args:
        reranker: its preference takes no part.
        judged: queries with candidates.
        store: of this reranker.
        task: the name of what is measured.
        progress: show a progress bar on stderr.

    Raises:
        ValueError: a score that is not a finite number.
    """
    requests = []
    for query in judged:
        key = _key(reranker, query, task)
        known = store.scores(key)
        missing = [document for document in query.candidates if document.id not in known]
        # a listwise reranker reads all of them together
        wanted = list(query.candidates) if missing and key != query.id else missing
        if wanted:
            options = ScoringOptions(query_language=query.query.language)
            requests.append((key, ScoringRequest(query.query.text, wanted, options)))
    total = sum(len(request.documents) for _, request in requests)
    with progress_bar(f"scoring {task}", total, shown=progress and bool(total)) as advance:
        for start in range(0, len(requests), _CHUNK):
            chunk = requests[start : start + _CHUNK]
            results = _scored(reranker, [request for _, request in chunk])
            store.add(
                [
                    (key, _by_document(request.documents, scored))
                    for (key, request), scored in zip(chunk, results, strict=True)
                ]
            )
            advance(sum(len(request.documents) for _, request in chunk))


def ranked_candidates(
    reranker: Reranker,
    judged: Sequence[JudgedQuery],
    store: ScoreStore,
    *,
    task: str,
    preference: LanguagePreference | None = None,
) -> list[list[Document]]:
    """Return each query's candidates in the reranker's order; all of them have been scored.

    Args:
        reranker: whose order it is.
        judged: queries with candidates.
        store: their scores.
        task: as they were scored.
        preference: the dial; by default the reranker's own.
    """
    rankings = []
    for query in judged:
        known = store.scores(_key(reranker, query, task))
        scores = np.array([known[document.id] for document in query.candidates], dtype=np.float32)
        scored = Scored(scores, np.zeros(len(scores), dtype=np.bool_))
        ranked = reranker.order(query.candidates, scored, query.query.language, preference=preference)
        rankings.append([row.document for row in ranked])
    return rankings


def _key(reranker: Reranker, query: JudgedQuery, task: str) -> str:
    return f"{task}/{query.id}" if getattr(reranker.scorer, "is_listwise", False) else query.id


def _scored(reranker: Reranker, requests: Sequence[ScoringRequest]) -> list[Scored]:
    scorer = reranker.scorer
    results: list[Scored | Exception] = (
        scorer.score_many(requests)
        if isinstance(scorer, BatchScorer)
        else [scorer.score(request.query, request.documents, request.options) for request in requests]
    )
    checked = []
    for request, result in zip(requests, results, strict=True):
        if isinstance(result, Exception):
            raise result
        checked.append(checked_result(result, reranker.model, request.documents))
    return checked


def _by_document(documents: Sequence[Document], scored: Scored) -> dict[str, float]:
    return {document.id: float(score) for document, score in zip(documents, scored.scores, strict=True)}
