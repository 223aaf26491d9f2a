"""The rerankers and embedders of an evaluation by name; all share one memory of embeddings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamar_rag.embedded.e5_folder import E5_SMALL
from lamar_rag.embedded.mini_folder import LAMAR_MINI
from lamar_rag.mini_scorer import mini_scorer
from lamar_rag.retrieval.cached_embedder import CachedEmbedder
from lamar_rag.retrieval.centring import shipped_centring
from lamar_rag.retrieval.sentence_embedder import SentenceEmbedder
from lamar_rag.scorer_factory import build_scorer
from lamar_rag.scoring.bi_encoder import BiEncoderScorer
from lamar_rag.scoring.fused import FusedScorer
from lamar_rag.types import BatchScorer, Scorer

if TYPE_CHECKING:
    from lamar_rag.evaluation.parallel_corpus import ParallelCorpus

_PLAIN = "@plain"
_FUSED = re.compile(r"(?P<model>.+)\+(?P<weight>\d+(?:\.\d+)?)x(?P<embedder>[^+]+)")
_MINI_OPTIONS = ("device", "dtype", "max_length", "max_batch_tokens")


class ModelOpener:
    """Opens models by what a user wrote.

    A name is what `Reranker` takes, and further:

    - `EMBEDDER@plain`: without language centring;
    - `MODEL+20xEMBEDDER`: the cross-encoder's score plus 20 times the embedder's similarity, as in lamar-mini.

    Args:
        vectors: folder in which embeddings are kept.
        options: of `LoadingOptions`, for rerankers; None is the default.
    """

    def __init__(self, vectors: str | Path, options: Mapping[str, Any] | None = None) -> None:
        self._folder = Path(vectors)
        self._options = {name: value for name, value in (options or {}).items() if value is not None}
        self._plain: dict[str, SentenceEmbedder] = {}
        self._embedders: dict[str, CachedEmbedder] = {}

    def embedder(self, name: str) -> CachedEmbedder:
        """Return the embedder, with the centring that the library ships for it unless the name says @plain."""
        if name not in self._embedders:
            stem = name.removesuffix(_PLAIN)
            centring = shipped_centring(stem) if stem == name else None
            if stem not in self._plain:
                device = self._options.get("device")
                self._plain[stem] = SentenceEmbedder(stem, centring=None, device=device)
            self._embedders[name] = CachedEmbedder(self._plain[stem], self._folder, centring=centring)
        return self._embedders[name]

    def scorer(self, name: str) -> Scorer:
        """Return the scorer of a name.

        Raises:
            ValueError: no such model, or one that cannot be fused.
        """
        fused = _FUSED.fullmatch(name)
        if fused and not Path(name).exists():
            scorer = build_scorer(fused["model"], **self._options)
            if not isinstance(scorer, BatchScorer):
                raise ValueError(f"got {fused['model']} in '{name}', expected a cross-encoder before the +")
            similarity = BiEncoderScorer(self.embedder(fused["embedder"]))
            return FusedScorer(scorer, similarity, weight=float(fused["weight"]), model=name)
        if name.endswith(_PLAIN):
            return BiEncoderScorer(self.embedder(name))
        if name == LAMAR_MINI and not Path(name).is_dir():
            options = {key: value for key, value in self._options.items() if key in _MINI_OPTIONS}
            return mini_scorer(embedder=self.embedder(E5_SMALL), **options)
        scorer = build_scorer(name, **self._options)
        return BiEncoderScorer(self.embedder(name)) if isinstance(scorer, BiEncoderScorer) else scorer

    def embed(self, corpus: ParallelCorpus, *, progress: bool = False) -> None:
        """Embed a corpus with every embedder that was opened, in large batches, so that scoring finds the vectors."""
        for embedder in self._embedders.values():
            for language, passages in corpus.passages.items():
                embedder.embed([*passages.values()], "passage", languages=[language] * len(passages))
            texts = [query.text for queries in corpus.queries.values() for query in queries]
            embedder.embed(texts, "query", progress=progress)
