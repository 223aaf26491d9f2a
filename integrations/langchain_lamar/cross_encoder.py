"""LamarCrossEncoder: scores pairs, for LangChain's own CrossEncoderReranker."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from lamar_rag.extras import MissingExtraError
from lamar_rag.reranker_fields import RerankerFields
from lamar_rag.reranker_options import RerankKeywords

try:
    from langchain_core.cross_encoders import BaseCrossEncoder
except ModuleNotFoundError as old:  # langchain-core before 1.3
    if old.name != "langchain_core.cross_encoders":
        raise
    try:
        from langchain_classic.retrievers.document_compressors.cross_encoder import (
            BaseCrossEncoder,
        )
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("langchain_classic"):
            raise
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
            ValueError: something else than pairs of strings, or scores that are not finite.
        """
        self._check_whole()
        text_pairs = list(text_pairs)
        for position, pair in enumerate(text_pairs):
            _check_pair(pair, position)
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


def _check_pair(pair: object, position: int) -> None:
    texts = list(pair) if isinstance(pair, Sequence) and not isinstance(pair, str) else None
    if texts is None or len(texts) != 2 or not all(isinstance(text, str) for text in texts):
        kinds = None if texts is None else ", ".join(type(text).__name__ for text in texts)
        got = f"a {type(pair).__name__}" if kinds is None else f"({kinds})"
        raise ValueError(
            f"got {got} at position {position} of text_pairs, expected (query, document), both strings"
        )
