"""LangPair: query and document languages in turn, so that every pair of languages comes equally often."""

from __future__ import annotations

from collections.abc import Sequence


def language_pair(count: int, languages: Sequence[str]) -> tuple[str, str]:
    """Return the languages of instance number `count` of a dataset: (query, document) or (source, target).

    Cycles the ordered Cartesian product of the languages (appendix A.2): after n * n instances every pair has come
    once, the pairs of a language with itself too.

    Raises:
        ValueError: no languages, or a negative count.
    """
    if not languages or count < 0:
        raise ValueError(
            f"got count={count} and {len(languages)} languages, expected a count from 0 and at least one"
        )
    first, second = divmod(count % len(languages) ** 2, len(languages))
    return languages[first], languages[second]
