"""Opens a saved index with the embedder that it was built with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lamar_rag.profiles import Profile
    from lamar_rag.retrieval.faiss_index import FaissIndex


def index_profile(folder: Path, name: str) -> Profile:
    """Return the profile with the embedder and centring that the index itself names.

    A person who built an index with other settings need not repeat them at every question.
    """
    from lamar_rag.profiles import get_profile
    from lamar_rag.retrieval.faiss_index import FaissIndex

    manifest = FaissIndex.info(folder)
    profile = get_profile(name)
    same = profile.reranker == profile.embedder
    reranker = manifest.model if same else profile.reranker
    return get_profile(
        name, embedder=manifest.model, centring=manifest.centring is not None, reranker=reranker
    )


def open_index(folder: Path, profile: str) -> FaissIndex:
    """Return the loaded index."""
    from lamar_rag.pipeline_parts import build_embedder
    from lamar_rag.retrieval.faiss_index import FaissIndex

    return FaissIndex.load(folder, build_embedder(index_profile(folder, profile)))
