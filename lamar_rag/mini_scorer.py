"""lamar-mini as a scorer: our small cross-encoder, and the centred similarity of the encoder that it was made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lamar_rag.embedded.e5_folder import E5_SMALL
from lamar_rag.embedded.mini_folder import LAMAR_MINI
from lamar_rag.retrieval.sentence_embedder import SentenceEmbedder
from lamar_rag.scoring.bi_encoder import BiEncoderScorer
from lamar_rag.scoring.cross_encoder import CrossEncoderScorer
from lamar_rag.scoring.fused import FusedScorer
from lamar_rag.scoring.recipe import Recipe

if TYPE_CHECKING:
    from lamar_rag.scoring.bi_encoder import PassageEmbedder, VectorSource

# Not tuned yet (docs/lamar-mini.md).
SIMILARITY_WEIGHT = 20.0
SPREAD = 1.0

MINI_RECIPE = Recipe(
    LAMAR_MINI,
    "cross_encoder",
    licence="CC-BY-SA-4.0 (adapter); MIT (base)",
    parameters_millions=107,
    source="docs/lamar-mini.md",
    max_length=128,
    note="adds the centred similarity of multilingual-e5-small, which an index already has",
)


def mini_scorer(
    *,
    embedder: PassageEmbedder | None = None,
    vectors: VectorSource | None = None,
    spread: float | None = None,
    **options: Any,
) -> FusedScorer:
    """Return lamar-mini.

    Args:
        embedder: multilingual-e5-small with language centring, where it is loaded already.
        vectors: where the documents' vectors of this embedder may be had.
        spread: the unit of the language preference; by default what was measured.
        options: of `LoadingOptions`.
    """
    shared = {name: options[name] for name in ("device",) if name in options}
    chosen = embedder or SentenceEmbedder(E5_SMALL, **shared)
    return FusedScorer(
        CrossEncoderScorer(LAMAR_MINI, MINI_RECIPE, **options),
        BiEncoderScorer(chosen, vectors=vectors),
        weight=SIMILARITY_WEIGHT,
        model=LAMAR_MINI,
        spread=SPREAD if spread is None else spread,
    )
