"""A reranker's score and an embedder's similarity as one score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lamar_rag.scoring.checks import check_spread
from lamar_rag.types import BatchScorer, Document, Scored, Scorer, ScoringOptions, ScoringRequest

if TYPE_CHECKING:
    from lamar_rag.types import FloatArray


class FusedScorer:
    """A `Scorer`: the cross-encoder's score plus `weight` times the similarity's.

    Where the documents come from an index of the similarity's own embedder, their vectors are there already, and the
    similarity costs one vector a query; elsewhere each document is embedded too.

    Args:
        cross_encoder: reads query and document together.
        similarity: a scorer over embeddings.
        weight: of the similarity, in the cross-encoder's units.
        model: the name of the two together.
        spread: the unit of the language preference.
    """

    def __init__(
        self,
        cross_encoder: BatchScorer,
        similarity: Scorer,
        *,
        weight: float,
        model: str,
        spread: float | None = None,
    ) -> None:
        check_spread(spread)
        self.cross_encoder, self.similarity, self.weight = cross_encoder, similarity, weight
        self._model, self._spread = model, spread

    @property
    def model(self) -> str:
        """The name of the two together."""
        return self._model

    @property
    def spread(self) -> float | None:
        """The unit of the language preference, None where it is not known."""
        return self._spread

    @property
    def reads_languages(self) -> bool:
        """Whether the documents' languages count in their scores."""
        return bool(getattr(self.similarity, "reads_languages", False))

    @property
    def is_listwise(self) -> bool:
        """Whether a document's score depends on the other candidates."""
        return bool(getattr(self.cross_encoder, "is_listwise", False))

    def score(
        self, query: str, documents: Sequence[Document], options: ScoringOptions = ScoringOptions()
    ) -> Scored:
        """Return scores, shape (n,), in the order of `documents`; truncated is what the cross-encoder did not read."""
        return self._fused(
            ScoringRequest(query, documents, options), self.cross_encoder.score(query, documents, options)
        )

    def score_many(self, requests: Sequence[ScoringRequest]) -> list[Scored | Exception]:
        """Return each request's scores, in order; where one fails or is cancelled, its exception."""
        results: list[Scored | Exception] = []
        for request, scored in zip(requests, self.cross_encoder.score_many(requests), strict=True):
            if isinstance(scored, Exception):
                results.append(scored)
                continue
            try:
                results.append(self._fused(request, scored))
            except Exception as error:
                results.append(error)
        return results

    def probability(self, scores: FloatArray) -> FloatArray | None:
        """Return the scores through the cross-encoder's mapping to 0..1."""
        return self.cross_encoder.probability(scores)

    def close(self) -> None:
        """Free both models; the next call loads them again."""
        self.cross_encoder.close()
        self.similarity.close()

    def _fused(self, request: ScoringRequest, scored: Scored) -> Scored:
        if not request.documents:
            return scored
        # an embedder takes neither; they are the cross-encoder's
        options = replace(request.options, max_length=None, instruction=None, progress=False)
        similar = self.similarity.score(request.query, request.documents, options)
        fused = scored.scores + np.float32(self.weight) * similar.scores
        return Scored(fused.astype(np.float32), scored.truncated)
