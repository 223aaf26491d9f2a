"""Scores all documents together, in one prompt: jina-reranker-v3."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lamar_rag.progress import progress_bar
from lamar_rag.scoring.cancelling import check_cancelled
from lamar_rag.scoring.checks import checked_scores
from lamar_rag.scoring.encoding import check_limit
from lamar_rag.scoring.listwise_model import ListwiseModel
from lamar_rag.scoring.listwise_prompt import blocks, without_markers
from lamar_rag.scoring.loading_options import LoadingOptions
from lamar_rag.scoring.local_scorer import LocalScorer
from lamar_rag.scoring.recipe import Recipe, generic_recipe
from lamar_rag.scoring.token_cut import cut_text
from lamar_rag.text import replace_surrogates
from lamar_rag.torch_options import free_memory, is_out_of_memory
from lamar_rag.types import Document, Scored, ScoringOptions
from lamar_rag.windows import text_windows

if TYPE_CHECKING:
    from lamar_rag.types import FloatArray

logger = logging.getLogger(__name__)

_DOCUMENT_TOKENS, _QUERY_TOKENS = 2048, 512
_PER_BLOCK = 125


@dataclass(frozen=True)
class _Passage:
    owner: int
    text: str
    tokens: int


class ListwiseScorer(LocalScorer[ListwiseModel]):
    """A `Scorer` over a listwise reranker of jina-reranker-v3's form: cosines, from -1 to 1.

    The documents of a block see each other, so that a score depends on the other candidates and on
    their order: the same documents in the same order have the same scores. Documents beyond what fits into
    a block go into the next, and the blocks' query vectors are averaged, weighted by max (1 + score) / 2.

    Args:
        model: a hub id or a folder with a Qwen3 body and `projector.0.weight`, `projector.2.weight`.
        recipe: the model's.
        options: see `LoadingOptions`. `max_length` is a document's; where memory runs out the blocks are
            halved, which a warning tells, for it changes scores.
    """

    is_listwise = True

    def __init__(
        self, model: str | Path, recipe: Recipe | None = None, *, spread: float | None = None, **options: Any
    ) -> None:
        super().__init__(model, recipe or generic_recipe(str(model), "listwise"), spread=spread, **options)
        check_limit(ScoringOptions(max_length=self._options.max_length), _DOCUMENT_TOKENS, str(model))

    def score(
        self, query: str, documents: Sequence[Document], options: ScoringOptions = ScoringOptions()
    ) -> Scored:
        """Return cosines, shape (n,), in the order of `documents`."""
        if not documents:
            return Scored.nothing()
        loaded = self._load()
        limit = self._document_limit(options)
        text, query_tokens, query_cut = cut_text(loaded.backend, without_markers(query), _QUERY_TOKENS)
        passages: list[_Passage] = []
        truncated = np.full(len(documents), query_cut, dtype=np.bool_)
        for row, document in enumerate(documents):
            pieces, cut = self._pieces(loaded, document.text, limit, options)
            passages.extend(_Passage(row, piece, tokens) for piece, tokens in pieces)
            truncated[row] |= cut
        scores = self._scores(loaded, text, query_tokens, passages, limit, options)
        best = np.full(len(documents), -np.inf, dtype=np.float32)
        np.maximum.at(best, [passage.owner for passage in passages], scores)
        return Scored(checked_scores(best, self.model, documents), truncated)

    def probability(self, scores: FloatArray) -> FloatArray | None:
        """Return None: the authors map their cosines to no probability."""
        return None

    def _load_now(self, options: LoadingOptions) -> ListwiseModel:
        return ListwiseModel(self._source, options)

    def _document_limit(self, options: ScoringOptions) -> int:
        check_limit(options, _DOCUMENT_TOKENS, self.model)
        return options.max_length or self._options.max_length or _DOCUMENT_TOKENS

    def _pieces(
        self, loaded: ListwiseModel, text: str, limit: int, options: ScoringOptions
    ) -> tuple[list[tuple[str, int]], bool]:
        """Return a document as passages with their tokens, and whether its end was cut off."""
        if options.long_documents == "truncate":
            part, tokens, cut = cut_text(loaded.backend, without_markers(text), limit)
            return [(part, tokens)], cut
        kept = without_markers(replace_surrogates(text))
        encoding = loaded.backend.encode(kept, add_special_tokens=False)
        windows = text_windows(kept, encoding, limit, min(self._options.window_overlap, limit // 2))
        return [(window, min(len(encoding.ids), limit)) for window in windows], False

    def _scores(
        self,
        loaded: ListwiseModel,
        query: str,
        query_tokens: int,
        passages: Sequence[_Passage],
        limit: int,
        options: ScoringOptions,
    ) -> FloatArray:
        """Return a cosine a passage, from all blocks' vectors."""
        per_block = _PER_BLOCK
        while True:
            try:
                return self._in_blocks(loaded, query, query_tokens, passages, limit, per_block, options)
            except (RuntimeError, MemoryError) as error:
                if per_block == 1 or not is_out_of_memory(error):
                    raise
            per_block = max(1, min(per_block, len(passages)) // 2)
            free_memory()
            logger.warning(
                "out of memory: going on with %d documents a block, which changes scores", per_block
            )

    def _in_blocks(
        self,
        loaded: ListwiseModel,
        query: str,
        query_tokens: int,
        passages: Sequence[_Passage],
        limit: int,
        per_block: int,
        options: ScoringOptions,
    ) -> FloatArray:
        vectors, query_vectors, weights = [], [], []
        instruction = cut_text(loaded.backend, without_markers(options.instruction or ""), _QUERY_TOKENS)
        if instruction.cut:
            raise ValueError(
                f"got an instruction of more than {_QUERY_TOKENS} tokens, expected a shorter one"
            )
        capacity = loaded.context - 2 * query_tokens - instruction.tokens
        spans = list(blocks([p.tokens for p in passages], capacity, limit, per_block))
        with progress_bar("scoring", len(passages), shown=options.progress) as advance:
            for span in spans:
                check_cancelled(options)
                block = [passage.text for passage in passages[span]]
                with self._lock:
                    documents, query_vector = loaded.vectors(query, block, instruction.text)
                vectors.append(documents)
                query_vectors.append(query_vector)
                weights.append(((1.0 + _cosines(query_vector, documents)) / 2.0).max())
                advance(len(block))
        merged = np.average(np.stack(query_vectors), axis=0, weights=weights)
        return np.asarray(_cosines(merged, np.concatenate(vectors)), dtype=np.float32)


def _cosines(query: FloatArray, documents: FloatArray) -> FloatArray:
    norms = np.linalg.norm(documents, axis=1) * np.linalg.norm(query)
    return np.asarray(documents @ query / norms)
