"""Scores and orders of an evaluation's candidates by a reranker."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lamar_rag.progress import progress_bar
from lamar_rag.scoring.checks import checked_result
from lamar_rag.types import BatchScorer, Document, Scored, ScoringRequest

if TYPE_CHECKING:
    from lamar_rag.evaluation.judged_query import JudgedQuery
    from lamar_rag.evaluation.score_store import ScoreStore
    from lamar_rag.reranker import Reranker

_CHUNK = 8  # queries that are scored together; a killed run loses at most so many


def score_candidates(
    reranker: Reranker, judged: Sequence[JudgedQuery], store: ScoreStore, *, task: str, progress: bool = False
) -> None:
    """Score every candidate that the store does not know yet.

    Tasks share the scores of a pair, but for listwise rerankers, whose scores depend on the other candidates.

    Args:
        reranker: its preference takes no part; all candidates are ranked.
        judged: queries with candidates.
        store: of this reranker.
        task: the name of what is measured.
        progress: show a progress bar on stderr.

    Raises:
        ValueError: a score that is not a finite number, or a reranker that leaves documents out.
    """
    if reranker.top_n is not None or reranker.score_threshold is not None:
        raise ValueError(
            "got a reranker with top_n or score_threshold, expected one that ranks all candidates: leave both out"
        )
    requests = []
    for query in judged:
        key = _key(reranker, query, task)
        known = store.scores(key)
        missing = [document for document in query.candidates if document.id not in known]
        # a listwise reranker reads all of them together
        wanted = list(query.candidates) if missing and _is_listwise(reranker) else missing
        if wanted:
            options = replace(reranker.scoring, query_language=query.query.language)
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
) -> list[list[Document]]:
    """Return each query's candidates in the reranker's order; all of them have been scored.

    Args:
        reranker: whose order it is.
        judged: queries with candidates.
        store: their scores.
        task: as they were scored.
    """
    rankings = []
    for query in judged:
        known = store.scores(_key(reranker, query, task))
        scores = np.array([known[document.id] for document in query.candidates], dtype=np.float32)
        scored = Scored(scores, np.zeros(len(scores), dtype=np.bool_))
        ranked = reranker.order(query.candidates, scored, query.query.language)
        rankings.append([row.document for row in ranked])
    return rankings


def _key(reranker: Reranker, query: JudgedQuery, task: str) -> str:
    """Return what a score depends on beside the document: the query, and for listwise rerankers the candidates."""
    parts = [query.query.text]
    if _is_listwise(reranker):
        parts += [task, *(document.id for document in query.candidates)]
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{query.id}:{digest[:8]}"


def _is_listwise(reranker: Reranker) -> bool:
    return bool(getattr(reranker.scorer, "is_listwise", False))


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
