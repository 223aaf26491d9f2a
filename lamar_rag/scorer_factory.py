"""From a model's name to the scorer that knows how to use it."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from lamar_rag.checks import check_trust
from lamar_rag.embedded.e5_folder import E5_SMALL
from lamar_rag.embedded.mini_folder import LAMAR_MINI
from lamar_rag.hub import resolve_model
from lamar_rag.scoring.recipe import Recipe, ScoringWay, generic_recipe
from lamar_rag.scoring.registry import find_recipe
from lamar_rag.types import Scorer

logger = logging.getLogger(__name__)

# By way of scoring; imported where they are used, for they bring torch with them.
_SCORERS: dict[ScoringWay, tuple[str, str]] = {
    "cross_encoder": ("lamar_rag.scoring.cross_encoder", "CrossEncoderScorer"),
    "single_string": ("lamar_rag.scoring.cross_encoder", "CrossEncoderScorer"),
    "causal_lm": ("lamar_rag.scoring.causal_lm", "CausalLMScorer"),
    "listwise": ("lamar_rag.scoring.listwise", "ListwiseScorer"),
}
_GENERIC: dict[str, ScoringWay] = {
    "ForSequenceClassification": "cross_encoder",
    "ForCausalLM": "causal_lm",
    "LMHeadModel": "causal_lm",
}


def build_scorer(
    model: str | Path,
    *,
    recipe: str | Recipe | None = None,
    trust_remote_code: bool = False,
    **options: Any,
) -> Scorer:
    """Return the scorer for a reranker's name, a hub id, a model folder or a server's URL.

    Names of the registry and registered recipes are scored by their recipe; "lamar-mini" as it ships;
    "multilingual-e5-small" and any sentence-transformers embedder by similarity (embedded centring where it
    is shipped); any other model with one label as a cross-encoder, any other causal language model by the
    generic yes/no question: a log line says so.

    Args:
        model: the model.
        recipe: score by this recipe (or the registry's of this name), whatever the model's name is.
        trust_remote_code: run the Python code that the model's repository brings.
        options: of `LoadingOptions`, or of `RemoteScorer` for a URL; None is its default.

    Raises:
        ValueError: the model is none of these, or it needs remote code that is not trusted.
    """
    given = {name: value for name, value in options.items() if value is not None}
    check_trust(trust_remote_code)
    if str(model).lower().startswith(("http://", "https://")):
        if recipe is not None:
            raise ValueError(
                "got recipe with the URL of a server, which decides its input itself: leave it out"
            )
        return _remote_scorer(str(model), given | ({"trust_remote_code": True} if trust_remote_code else {}))
    given["trust_remote_code"] = trust_remote_code
    if recipe is None and str(model) == LAMAR_MINI and not Path(model).is_dir():
        from lamar_rag.mini_scorer import mini_scorer

        return mini_scorer(**given)
    chosen = _recipe(recipe) if recipe is not None else find_recipe(str(model))
    if chosen is None:
        return _generic_scorer(model, given)
    is_own = recipe is not None or Path(model).expanduser().is_dir()  # a folder goes before a name
    source = model if is_own else chosen.model
    if chosen.remote_code and not trust_remote_code and not is_own:
        raise ValueError(
            f"model {chosen.model} needs the Python code of its repository: read it, then pass trust_remote_code=True"
        )
    return _scorer_class(chosen.scoring)(source, chosen, **given)


def _recipe(recipe: str | Recipe) -> Recipe:
    found = find_recipe(recipe) if isinstance(recipe, str) else recipe
    if not isinstance(found, Recipe):
        raise ValueError(
            f"got recipe={recipe!r}, expected a Recipe or a name that `lamar models` lists as a reranker"
        )
    return found


def _scorer_class(scoring: ScoringWay) -> Callable[..., Scorer]:
    if scoring not in _SCORERS:
        raise ValueError(f"got a recipe with scoring={scoring!r}, expected one of {', '.join(_SCORERS)}")
    module, name = _SCORERS[scoring]
    scorer: Callable[..., Scorer] = getattr(import_module(module), name)
    return scorer


def _generic_scorer(model: str | Path, options: dict[str, Any]) -> Scorer:
    folder = Path(resolve_model(model, trust_remote_code=options["trust_remote_code"]))
    architectures = [] if _is_embedder(folder) else _architectures(folder)
    for ending, scoring in _GENERIC.items():
        if any(ending in name for name in architectures):
            logger.warning("model %s is not registered: scored as %s with the generic recipe", model, scoring)
            return _scorer_class(scoring)(model, generic_recipe(str(model), scoring), **options)
    if _is_embedder(folder):
        from lamar_rag.retrieval.sentence_embedder import SentenceEmbedder
        from lamar_rag.scoring.bi_encoder import BiEncoderScorer

        if "max_length" in options:
            raise ValueError(
                f"got max_length for the embedder {model}, which reads what it was made for: leave it out"
            )
        return BiEncoderScorer(SentenceEmbedder(model, **options))
    raise ValueError(
        f"got model '{model}' ({', '.join(architectures) or 'no architecture named'}), expected a sequence classifier "
        "with one label, a causal language model or a sentence-transformers embedder, such as "
        f"'nlpai-lab/LAMAR-600m' or '{E5_SMALL}'"
    )


def _remote_scorer(url: str, options: dict[str, Any]) -> Scorer:
    from lamar_rag.scoring.remote import RemoteScorer

    local = sorted(options.keys() - {"max_length"})
    if local:
        raise ValueError(
            f"got {', '.join(local)} with the URL of a server, which decides them itself: leave them out"
        )
    return RemoteScorer(url, **options)


def _architectures(folder: Path) -> list[str]:
    path = folder / "config.json"
    if not path.is_file():
        return []
    try:
        named = json.loads(path.read_text(encoding="utf-8")).get("architectures") or []
        return [str(name) for name in named]
    except (ValueError, AttributeError, TypeError) as error:
        raise ValueError(
            f"{path}: not readable as a model's configuration ({error}): save the model again"
        ) from error


def _is_embedder(folder: Path) -> bool:
    """Say whether a sentence-transformers folder pools tokens into vectors; its rerankers have the same file."""
    path = folder / "modules.json"
    if not path.is_file():
        return False
    try:
        return any(
            "Pooling" in str(module.get("type")) for module in json.loads(path.read_text(encoding="utf-8"))
        )
    except (ValueError, AttributeError, TypeError) as error:
        raise ValueError(f"{path}: not readable ({error}): save the model again") from error
