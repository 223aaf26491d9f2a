"""LamarCrossEncoder: scores pairs, for LangChain's own CrossEncoderReranker."""

from __future__ import annotations

from collections import defaultdict

from lamar_rag.extras import MissingExtraError
from lamar_rag.reranker_fields import RerankerFields
from lamar_rag.reranker_options import RerankKeywords

try:
    from langchain_core.cross_encoders import BaseCrossEncoder
except ModuleNotFoundError:  # langchain-core before 1.3
    try:
        from langchain_classic.retrievers.document_compressors.cross_encoder import (
            BaseCrossEncoder,
        )
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "LamarCrossEncoder needs langchain-core 1.3, or langchain-classic beside an older one: "
            "pip install 'langchain-core>=1.3'"
        ) from error


class LamarCrossEncoder(RerankerFields, BaseCrossEncoder):
    """Scores (query, document) pairs; the dial for languages counts in the scores.

    Example:
        >>> CrossEncoderReranker(model=LamarCrossEncoder(model="BAAI/bge-reranker-v2-m3"), top_n=3)
    """

    def model_post_init(self, context: object) -> None:
        """Refuse a reranker that leaves documents out."""
        super().model_post_init(context)
        self._check_whole()

    def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
        """Return one score a pair (query, document), in the order of the pairs; [] for none.

        Pairs with the same query are scored together, as one reranking of their documents.

        Raises:
            ValueError: texts that are no strings, or scores that are not finite.
        """
        self._check_whole()
        positions: dict[str, list[int]] = defaultdict(list)
        for position, (query, _) in enumerate(text_pairs):
            positions[query].append(position)
        scores = [0.0] * len(text_pairs)
        for query, rows in positions.items():
            documents = [text_pairs[row][1] for row in rows]
            options: RerankKeywords = {**self.call_options(), "top_n": len(documents)}
            for ranked in self._reranker.rerank(query, documents, **options):
                scores[rows[ranked.index]] = ranked.score
        return scores

    def _check_whole(self) -> None:
        threshold = self._reranker.score_threshold
        if threshold is not None:
            raise ValueError(
                f"got a reranker with score_threshold={threshold}, expected one without: "
                "a cross-encoder returns a score for every pair"
            )
