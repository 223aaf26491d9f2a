"""From a model's name to the scorer that knows how to use it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lamar_rag.embedded.e5_folder import E5_SMALL
from lamar_rag.hub import resolve_model
from lamar_rag.types import Scorer


def build_scorer(
    model: str | Path,
    *,
    device: str | None = None,
    dtype: str | None = None,
    max_batch_tokens: int | None = None,
    trust_remote_code: bool = False,
) -> Scorer:
    """Return the scorer for a reranker's name, a hub id or a model folder.

    "multilingual-e5-small" and any sentence-transformers embedder score by similarity (embedded
    centring where it is shipped), sequence classifiers with one label as cross-encoders.

    Raises:
        ValueError: the model is neither.
    """
    options: dict[str, Any] = {"device": device, "dtype": dtype, "trust_remote_code": trust_remote_code}
    if max_batch_tokens is not None:  # each way of scoring has a default of its own
        options["max_batch_tokens"] = max_batch_tokens
    folder = Path(resolve_model(model, trust_remote_code=trust_remote_code))
    architectures = _architectures(folder)
    if any("ForSequenceClassification" in name for name in architectures):
        from lamar_rag.scoring.cross_encoder import CrossEncoderScorer

        return CrossEncoderScorer(model, **options)
    if (folder / "modules.json").is_file():
        from lamar_rag.retrieval.sentence_embedder import SentenceEmbedder
        from lamar_rag.scoring.bi_encoder import BiEncoderScorer

        return BiEncoderScorer(SentenceEmbedder(model, **options))
    raise ValueError(
        f"got model '{model}' ({', '.join(architectures) or 'no architecture named'}), expected a sequence classifier "
        f"with one label or a sentence-transformers embedder, such as 'nlpai-lab/LAMAR-600m' or '{E5_SMALL}'"
    )


def _architectures(folder: Path) -> list[str]:
    path = folder / "config.json"
    if not path.is_file():
        return []
    try:
        return list(json.loads(path.read_text(encoding="utf-8")).get("architectures") or [])
    except (ValueError, AttributeError) as error:
        raise ValueError(
            f"{path}: not readable as a model's configuration ({error}): save the model again"
        ) from error
