"""What a call to a Reranker may say, and how it is checked."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, TypedDict, get_type_hints

from lamar_rag.checks import check_count, is_finite
from lamar_rag.preference import LanguagePreference
from lamar_rag.types import LongDocuments, Scorer, ScoringOptions


class ScoreKeywords(TypedDict, total=False):
    """Options of a scoring call; those that are not given are the object's."""

    query_language: str | None
    long_documents: LongDocuments | None
    max_length: int | None
    instruction: str | None
    progress: bool
    cancel: threading.Event | None


class RerankKeywords(ScoreKeywords, total=False):
    """Options of a reranking call; those that are not given are the object's."""

    top_n: int | None
    score_threshold: float | None
    preference: LanguagePreference | None


def merged_options(
    own: ScoringOptions, given: Mapping[str, Any], query_language: str, allowed: type[Any]
) -> ScoringOptions:
    """Return an object's options with what a call says instead; `allowed` are the keywords that it knows.

    Raises:
        ValueError: an option out of range.
        TypeError: an option that does not exist.
    """
    known = get_type_hints(allowed).keys()
    unknown = given.keys() - known
    if unknown:
        raise TypeError(f"got unknown option {', '.join(sorted(unknown))}, expected {', '.join(known)}")
    scoring = {field.name for field in fields(ScoringOptions)} - {"query_language"}
    said = {name: value for name, value in given.items() if name in scoring and value is not None}
    options = replace(own, query_language=query_language, **said)
    check_scoring(options)
    return options


def check_scoring(options: ScoringOptions) -> None:
    """Raise ValueError for an option of the wrong type or out of range."""
    if options.long_documents not in ("truncate", "windows"):
        raise ValueError(f"got long_documents='{options.long_documents}', expected 'truncate' or 'windows'")
    check_count("max_length", options.max_length, optional=True)
    if options.instruction is not None and not isinstance(options.instruction, str):
        raise ValueError(
            f"got an instruction of type {type(options.instruction).__name__}, expected a string"
        )
    if options.cancel is not None and not hasattr(options.cancel, "is_set"):
        raise ValueError(f"got cancel={options.cancel!r}, expected a threading.Event")


def check_cut(top_n: int | None, score_threshold: float | None) -> None:
    """Raise ValueError unless the two limits of a result are in range."""
    check_count("top_n", top_n, optional=True)
    if score_threshold is not None and not is_finite(score_threshold):
        raise ValueError(f"got score_threshold={score_threshold!r}, expected a finite number (or None)")


def check_preference(value: object) -> LanguagePreference:
    """Return the value if it is a LanguagePreference; raise ValueError otherwise."""
    if not isinstance(value, LanguagePreference):
        raise ValueError(
            f"got preference={value!r}, expected a LanguagePreference: LanguagePreference(weight=0.5)"
        )
    return value


def check_own_scorer(model: object, options: Mapping[str, Any]) -> None:
    """Raise ValueError unless `model` is a `Scorer` object, without options that only a named model takes."""
    if any(options.values()):
        raise ValueError(
            f"got {', '.join(name for name, value in options.items() if value)} beside a Scorer object, "
            "which has its own: set them where the scorer is made"
        )
    if isinstance(model, type) or not isinstance(model, Scorer):
        raise ValueError(
            f"got model={model!r}, expected a name, a folder, a URL or an object with the methods of "
            "lamar_rag.types.Scorer (model, spread, score, probability, close)"
        )
