"""LAMAR: a language-aware multilingual reranker, and the parts of a RAG pipeline around it.

Importing this is light: no torch, no models. What is named here is loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lamar_rag.pipeline import RagPipeline
    from lamar_rag.preference import LanguagePreference
    from lamar_rag.profiles import Profile, get_profile
    from lamar_rag.reranker import Reranker
    from lamar_rag.retrieval.faiss_index import FaissIndex
    from lamar_rag.retrieval.sentence_embedder import SentenceEmbedder
    from lamar_rag.types import Answer, Candidate, Document, RankedDocument

__version__ = "0.1.0"

_HOMES = {
    "Answer": "types",
    "Candidate": "types",
    "Document": "types",
    "FaissIndex": "retrieval.faiss_index",
    "LanguagePreference": "preference",
    "Profile": "profiles",
    "RagPipeline": "pipeline",
    "RankedDocument": "types",
    "Reranker": "reranker",
    "SentenceEmbedder": "retrieval.sentence_embedder",
    "get_profile": "profiles",
}

__all__ = [
    "Answer",
    "Candidate",
    "Document",
    "FaissIndex",
    "LanguagePreference",
    "Profile",
    "RagPipeline",
    "RankedDocument",
    "Reranker",
    "SentenceEmbedder",
    "__version__",
    "get_profile",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'lamar_rag' has no attribute '{name}'")
    return getattr(import_module(f"lamar_rag.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
