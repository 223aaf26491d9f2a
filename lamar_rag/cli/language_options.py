"""The language options that search, rerank and ask share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from lamar_rag.preference import LanguagePreference
    from lamar_rag.profiles import Profile

Language = Annotated[str | None, typer.Option("--language", help="The query's language; detected otherwise.")]
Weight = Annotated[
    float | None, typer.Option("--weight", help="Language preference: 0 is relevance alone, 1 is strong.")
]
Prefer = Annotated[
    str | None,
    typer.Option("--prefer", help="Preferred languages in order, such as de,en; the query's otherwise."),
]
Floor = Annotated[float | None, typer.Option("--floor", help="Lift no document below this relevance.")]


def query_language(query: str, given: str | None) -> str:
    """Return the code that was given, or the detected one."""
    from lamar_rag.languages import detect_language, normalize_language

    return normalize_language(given) if given is not None else detect_language(query)


def language_codes(listed: str | None) -> list[str] | None:
    """Return the codes of a comma-separated list."""
    if listed is None:
        return None
    codes = [code.strip() for code in listed.split(",") if code.strip()]
    if not codes:
        raise ValueError(f"got no language code in '{listed}', expected such as de,en")
    return codes


def dial(
    profile: Profile | None, weight: float | None, prefer: str | None, floor: float | None
) -> LanguagePreference:
    """Return the profile's preference with what the command line changes; no profile means no preference."""
    from lamar_rag.preference import LanguagePreference

    base = profile.preference if profile else LanguagePreference()
    codes = language_codes(prefer)
    return LanguagePreference(
        weight=base.weight if weight is None else weight,
        preferred=tuple(codes) if codes else base.preferred,
        floor=base.floor if floor is None else floor,
    )
