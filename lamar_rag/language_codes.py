"""One form for every language code: ISO 639-1 where it exists, else ISO 639-3."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iso639 import Language

UNDETERMINED = "und"

# A primary language subtag, then whatever else BCP 47, BELEBELE or NTREX hang on it (script, region).
_TAG = re.compile(r"(?P<language>[A-Za-z]{2,3})(?P<rest>(?:[-_][A-Za-z0-9]{1,8})*)")

# What the ISO 639-3 tables do not say: the two forms of Norwegian's main written language are one,
# Filipino is standardised Tagalog, Hassaniyya is an Arabic dialect outside the macrolanguage's list,
# and five two-letter codes were withdrawn but are still sent by older software (Java, Android).
_EXCEPTIONS = {
    "nb": "no",
    "nob": "no",
    "fil": "tl",
    "mey": "ar",
    "iw": "he",
    "in": "id",
    "ji": "yi",
    "jw": "jv",
    "mo": "ro",
}

# Codes of ISO 639-2/3 that are not one language: several, none, uncoded.
_NOT_ONE_LANGUAGE = frozenset({UNDETERMINED, "mul", "mis", "zxx"})

_SCRIPTS = "adlm arab aran hebr mand nkoo rohg samr syrc thaa"
_RIGHT_TO_LEFT_SCRIPTS = frozenset(_SCRIPTS.split())
# Normalised codes whose usual script runs right to left; then members of macrolanguages that are
# written otherwise than most of their macrolanguage (Sorani is, Kurmanji is not).
_LANGUAGES = "ar arc bal brh dv fa glk he khw ks lah lrc mzn nqo ps rhg sd skr syr ug ur yi"
_MEMBERS = "azb ckb pnb sdh uzs"
_RIGHT_TO_LEFT_LANGUAGES = frozenset(f"{_LANGUAGES} {_MEMBERS}".split())


def normalize_language(code: str) -> str:
    """Return the one form of `code` that the library compares: "de" for "de", "deu", "ger" or "de-DE".

    Takes ISO 639-1, 639-2 and 639-3 codes, BCP 47 tags ("pt_BR", "zh-Hans"), and the names of
    BELEBELE and FLORES ("arb_Arab") and NTREX ("srp-Cyrl"), in any case. Script and region are
    dropped. A language without a two-letter code takes its macrolanguage's where that has one
    ("arz" and "arb" are "ar", "yue" is "zh", "plt" is "mg"); Norwegian Bokmål is "no" and Filipino
    is "tl". "und", "mul", "mis" and "zxx", which name no single language, are "und".

    Raises:
        ValueError: `code` is not the code of a language.
    """
    if not isinstance(code, str):
        raise _unknown(code)
    normalized = _normalize_tag(code)
    if normalized is None:
        raise _unknown(code)
    return normalized


def is_right_to_left(code: str) -> bool:
    """Whether text in the language runs right to left.

    A script in the tag decides ("arb_Latn" does not, "pa-Arab" does), else the language's usual one.

    Raises:
        ValueError: `code` is not the code of a language.
    """
    normalized = normalize_language(code)
    primary, *rest = re.split("[-_]", code.strip().lower())
    for subtag in rest:
        if len(subtag) == 4 and subtag.isalpha():
            return subtag in _RIGHT_TO_LEFT_SCRIPTS
    return primary in _RIGHT_TO_LEFT_LANGUAGES or normalized in _RIGHT_TO_LEFT_LANGUAGES


def iso_language(code: str) -> Language | None:
    """Return the ISO 639-3 record of a two- or three-letter code in lower case, None where there is none."""
    # Its tables take a quarter of a second to load, so not at the top of the module.
    from iso639 import Language, LanguageNotFoundError

    lookups = (Language.from_part1,) if len(code) == 2 else (Language.from_part3, Language.from_part2b)
    for lookup in lookups:
        try:
            return lookup(code)
        except LanguageNotFoundError:
            continue
    return None


@lru_cache(maxsize=4096)
def _normalize_tag(code: str) -> str | None:
    match = _TAG.fullmatch(code.strip())
    return None if match is None else _normalize_primary(match["language"].lower())


def _normalize_primary(code: str) -> str | None:
    if code in _NOT_ONE_LANGUAGE:
        return UNDETERMINED
    if code in _EXCEPTIONS:
        return _EXCEPTIONS[code]
    language = iso_language(code)
    if language is None or language.scope == "S":
        return None
    if language.status == "R":  # withdrawn: follow its one successor, if it has one
        successor = language.retire_change_to
        return _normalize_primary(successor) if successor else None
    if language.part1:
        return _EXCEPTIONS.get(language.part1, language.part1)
    if language.macrolanguage:
        macrolanguage = iso_language(language.macrolanguage)
        if macrolanguage is not None and macrolanguage.part1:
            return macrolanguage.part1
    return language.part3


def _unknown(code: object) -> ValueError:
    return ValueError(
        f"unknown language code {code!r}: expected an ISO 639 code, a BCP 47 tag or a BELEBELE name; "
        'write it as "de", "deu", "de-DE" or "deu_Latn", or "und" where the language is not known'
    )
