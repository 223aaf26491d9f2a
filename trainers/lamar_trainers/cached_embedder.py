"""The embedder of a run: texts are embedded once, also over several steps."""

from __future__ import annotations

from pathlib import Path

from lamar_rag.retrieval.cached_embedder import CachedEmbedder
from lamar_rag.retrieval.sentence_embedder import SentenceEmbedder


def run_embedder(model: str, work: str | Path, *, dtype: str | None = None) -> CachedEmbedder:
    """Return the embedder of a run, which all its steps share: vectors are kept in the run's folder, by their format.

    Args:
        model: an embedder's name.
        work: the run's folder.
        dtype: "float32", "bfloat16" or "float16"; by default the model's own.
    """
    folder = Path(work) / ("vectors" if dtype is None else f"vectors-{dtype}")
    return CachedEmbedder(SentenceEmbedder(model, centring=None, dtype=dtype), folder)
