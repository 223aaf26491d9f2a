"""A reranker's options as JSON values, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from inspect import signature
from typing import Any

from lamar_rag.preference import LanguagePreference
from lamar_rag.scoring.recipe import PromptFrame, Recipe
from lamar_rag.types import ScoringOptions


def settings_dict(
    model: str, preference: LanguagePreference, scoring: ScoringOptions, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return JSON values that `reranker_arguments` understands."""
    recipe = options["recipe"]
    return {
        **options,
        "model": model,
        "preference": asdict(preference),
        "long_documents": scoring.long_documents,
        "instruction": scoring.instruction,
        "recipe": asdict(recipe) if isinstance(recipe, Recipe) else recipe,
    }


def reranker_arguments(reranker: type[Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the class `reranker` for what `settings_dict` wrote.

    Raises:
        ValueError: something else.
    """
    try:
        return signature(reranker).bind(**_arguments(settings)).arguments
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"got settings that Reranker.to_dict did not write ({error!r}): write them again"
        ) from error


def _arguments(settings: Mapping[str, Any]) -> dict[str, Any]:
    arguments = dict(settings)
    arguments["preference"] = LanguagePreference(**settings.get("preference") or {})
    recipe = settings.get("recipe")
    if isinstance(recipe, Mapping):
        frame = recipe.get("frame")
        pieces = frame and PromptFrame(
            **{**frame, "head": tuple(frame["head"]), "foot": tuple(frame["foot"])}
        )
        arguments["recipe"] = Recipe(**{**recipe, "frame": pieces})
    return arguments
