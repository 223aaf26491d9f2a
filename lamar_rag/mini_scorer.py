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
from lamar_rag.torch_options import has_cpu_bfloat16, torch_device

if TYPE_CHECKING:
    from lamar_rag.scoring.bi_encoder import PassageEmbedder, VectorSource

# The weight that balanced retrieval and rescue best on 400 development queries, and the mean standard deviation of a
# query's candidates with it (docs/lamar-mini.md). XQuAD and BELEBELE took no part.
SIMILARITY_WEIGHT = 20.0
SPREAD = 1.8

MINI_RECIPE = Recipe(
    LAMAR_MINI,
    "cross_encoder",
    licence="CC-BY-SA-4.0 (adapter); MIT (base)",
    parameters_millions=118,
    source="docs/lamar-mini.md",
    max_length=192,
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

    Where no `dtype` is given, a CPU that computes in bfloat16 does: nearly twice as fast, with logits that differ by
    0.01 in the mean. Other machines use float32.

    Args:
        embedder: multilingual-e5-small with language centring, where it is loaded already.
        vectors: where the documents' vectors of this embedder may be had.
        spread: the unit of the language preference; by default what was measured.
        options: of `LoadingOptions`.
    """
    shared = {name: options[name] for name in ("device",) if name in options}
    options["dtype"] = options.get("dtype") or mini_dtype(options.get("device"))
    chosen = embedder or SentenceEmbedder(E5_SMALL, **shared)
    return FusedScorer(
        CrossEncoderScorer(LAMAR_MINI, MINI_RECIPE, **options),
        BiEncoderScorer(chosen, vectors=vectors),
        weight=SIMILARITY_WEIGHT,
        model=LAMAR_MINI,
        spread=SPREAD if spread is None else spread,
    )


def mini_dtype(device: str | None = None) -> str:
    """Return the number format that lamar-mini computes in where none is asked for.

    Args:
        device: as torch names it; by default the best there is.
    """
    return "bfloat16" if torch_device(device).type == "cpu" and has_cpu_bfloat16() else "float32"
