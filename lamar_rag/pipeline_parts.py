"""Builds the parts of a pipeline from a profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lamar_rag.embedded.e5_folder import E5_SMALL
from lamar_rag.embedded.mini_folder import LAMAR_MINI
from lamar_rag.profiles import Profile
from lamar_rag.reranker import Reranker
from lamar_rag.types import Generator, Scorer

if TYPE_CHECKING:
    from lamar_rag.retrieval.faiss_index import FaissIndex
    from lamar_rag.retrieval.sentence_embedder import SentenceEmbedder

EXTRACTIVE = "extractive"

# Score of the best sentence below which a question counts as not answered, by scorer; calibrated by
# benchmarks/extractive_floor.py on native questions and passages (docs/answers.md).
_FLOORS: dict[str, float] = {"multilingual-e5-small (ntrex-51)": 0.3}


def build_embedder(profile: Profile, *, device: str | None = None) -> SentenceEmbedder:
    """Return the profile's embedder (loaded on first use)."""
    from lamar_rag.retrieval.sentence_embedder import SentenceEmbedder

    return SentenceEmbedder(profile.embedder, centring="auto" if profile.centring else None, device=device)


def build_reranker(profile: Profile, index: FaissIndex, embedder: SentenceEmbedder) -> Reranker:
    """Return the profile's reranker.

    Where it is the first stage's own model, or lamar-mini over it, it shares the embedder and takes the documents'
    vectors from the index, so that the similarity costs no second pass.
    """
    if profile.reranker is None or profile.reranker == profile.embedder:
        from lamar_rag.scoring.bi_encoder import BiEncoderScorer

        scorer = BiEncoderScorer(embedder, vectors=index)
        return Reranker(scorer, preference=profile.preference)
    if profile.reranker == LAMAR_MINI and profile.embedder == E5_SMALL and profile.centring:
        from lamar_rag.mini_scorer import mini_scorer

        return Reranker(mini_scorer(embedder=embedder, vectors=index), preference=profile.preference)
    return Reranker(profile.reranker, preference=profile.preference)


def build_generator(name: str, reranker: Reranker) -> Generator:
    """Return the generator of that name: "extractive" (quotes the best sentence), or a causal language model.

    A model is an embedded one ("smollm2-135m-instruct", "gemma3-270m"), a folder or a hub id.
    """
    if name == EXTRACTIVE:
        from lamar_rag.generation.extractive import ExtractiveGenerator

        scorer = _sentence_scorer(reranker.scorer)
        return ExtractiveGenerator(scorer, floor=_FLOORS.get(scorer.model))
    from lamar_rag.generation.transformers_generator import TransformersGenerator

    return TransformersGenerator(name)


def _sentence_scorer(scorer: Scorer) -> Scorer:
    """Return what sentences are chosen by: of a fused scorer the similarity alone, whose floor is calibrated."""
    from lamar_rag.scoring.fused import FusedScorer

    return scorer.similarity if isinstance(scorer, FusedScorer) else scorer
