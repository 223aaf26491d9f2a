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
    from lamar_rag.scoring.recipe import PromptFrame, Recipe
    from lamar_rag.scoring.registry import register_recipe
    from lamar_rag.scoring.remote import RemoteScorer
    from lamar_rag.types import (
        Answer,
        Candidate,
        Document,
        RankedDocument,
        Scored,
        Scorer,
        ScoringCancelledError,
        ScoringOptions,
    )

__version__ = "0.1.0"

_HOMES = {
    "Answer": "types",
    "Candidate": "types",
    "Document": "types",
    "FaissIndex": "retrieval.faiss_index",
    "LanguagePreference": "preference",
    "Profile": "profiles",
    "PromptFrame": "scoring.recipe",
    "RagPipeline": "pipeline",
    "RankedDocument": "types",
    "Recipe": "scoring.recipe",
    "RemoteScorer": "scoring.remote",
    "Reranker": "reranker",
    "Scored": "types",
    "Scorer": "types",
    "ScoringCancelledError": "types",
    "ScoringOptions": "types",
    "SentenceEmbedder": "retrieval.sentence_embedder",
    "get_profile": "profiles",
    "register_recipe": "scoring.registry",
}

__all__ = [
    "Answer",
    "Candidate",
    "Document",
    "FaissIndex",
    "LanguagePreference",
    "Profile",
    "PromptFrame",
    "RagPipeline",
    "RankedDocument",
    "Recipe",
    "RemoteScorer",
    "Reranker",
    "Scored",
    "Scorer",
    "ScoringCancelledError",
    "ScoringOptions",
    "SentenceEmbedder",
    "__version__",
    "get_profile",
    "register_recipe",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'lamar_rag' has no attribute '{name}'")
    found = getattr(import_module(f"lamar_rag.{_HOMES[name]}"), name)
    globals()[name] = found  # this function is not asked for it again
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
