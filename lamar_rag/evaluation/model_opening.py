"""The rerankers and embedders of an evaluation by name; all share one memory of embeddings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamar_rag.embedded.e5_folder import E5_SMALL
from lamar_rag.embedded.mini_folder import LAMAR_MINI
from lamar_rag.evaluation.named_model import PLAIN, fused_name, model_identity
from lamar_rag.mini_scorer import mini_dtype, mini_scorer
from lamar_rag.retrieval.cached_embedder import CachedEmbedder
from lamar_rag.retrieval.centring import shipped_centring
from lamar_rag.retrieval.sentence_embedder import SentenceEmbedder
from lamar_rag.scorer_factory import build_scorer
from lamar_rag.scoring.bi_encoder import BiEncoderScorer
from lamar_rag.scoring.fused import FusedScorer
from lamar_rag.torch_options import torch_device
from lamar_rag.types import BatchScorer, Scorer

if TYPE_CHECKING:
    from lamar_rag.evaluation.parallel_corpus import ParallelCorpus

_MINI_OPTIONS = ("device", "dtype", "max_length", "max_batch_tokens")


class ModelOpener:
    """Opens models by what a user wrote.

    A name is what `Reranker` takes, and further:

    - `EMBEDDER@plain`: without language centring;
    - `MODEL+20xEMBEDDER`: the cross-encoder's score plus 20 times the embedder's similarity, as in lamar-mini.

    Embedders compute in their own number format, whatever `dtype` says of a reranker that adds their similarity.

    Args:
        vectors: folder in which embeddings are kept.
        options: of `LoadingOptions`, for rerankers; None is the default.
    """

    def __init__(self, vectors: str | Path, options: Mapping[str, Any] | None = None) -> None:
        self._folder = Path(vectors)
        self._options = {name: value for name, value in (options or {}).items() if value is not None}
        self._memories: dict[str, CachedEmbedder] = {}

    def embedder(self, name: str) -> CachedEmbedder:
        """Return the embedder, with the centring that the library ships for it unless the name says @plain."""
        stem = name.removesuffix(PLAIN)
        if stem not in self._memories:
            shared = {
                key: self._options[key] for key in ("device", "trust_remote_code") if key in self._options
            }
            plain = SentenceEmbedder(stem, centring=None, **shared)
            # a folder that was trained anew is another embedder
            self._memories[stem] = CachedEmbedder(plain, self._folder / model_identity(stem))
        return self._memories[stem].with_centring(shipped_centring(stem) if stem == name else None)

    def scorer(self, name: str) -> Scorer:
        """Return the scorer of a name.

        Raises:
            ValueError: no such model, one that cannot be fused, or an option that it does not take.
        """
        fused = fused_name(name)
        if fused:
            scorer = build_scorer(fused.model, **self._options)
            if not isinstance(scorer, BatchScorer):
                raise ValueError(f"got {fused.model} in '{name}', expected a cross-encoder before the +")
            similarity = BiEncoderScorer(self.embedder(fused.embedder))
            return FusedScorer(scorer, similarity, weight=fused.weight, model=name)
        if name == LAMAR_MINI and not Path(name).is_dir():
            options = {key: value for key, value in self._options.items() if key in _MINI_OPTIONS}
            return mini_scorer(embedder=self.embedder(E5_SMALL), **options)
        scorer = build_scorer(name.removesuffix(PLAIN), **self._options)
        if isinstance(scorer, BiEncoderScorer):
            if "dtype" in self._options:
                raise ValueError(
                    f"got dtype for the embedder {name}, which computes in its own here: measure it without"
                )
            return BiEncoderScorer(self.embedder(name))
        if name.endswith(PLAIN):
            raise ValueError(f"got '{name}', expected an embedder before {PLAIN}")
        return scorer

    def setting(self, name: str) -> dict[str, Any]:
        """Return what decides a model's scores beside the texts."""
        dtype = mini_dtype(self._options.get("device")) if name == LAMAR_MINI else None
        return {
            "identity": model_identity(name),
            "device": torch_device(self._options.get("device")).type,
            "dtype": self._options.get("dtype", dtype),
            "max_length": self._options.get("max_length"),
        }

    def embed(self, corpus: ParallelCorpus, *, progress: bool = False) -> None:
        """Embed a corpus with every embedder that was opened, in large batches, so that scoring finds the vectors."""
        for embedder in self._memories.values():
            passages = [document.text for document in corpus.documents()]
            embedder.embed(passages, "passage", progress=progress)
            texts = [query.text for queries in corpus.queries.values() for query in queries]
            embedder.embed(texts, "query", progress=progress)
