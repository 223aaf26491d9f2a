"""The language dial: how much a document's language counts beside its relevance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lamar_rag.languages import UNDETERMINED, normalize_language

if TYPE_CHECKING:
    from lamar_rag.types import FloatArray


_PRIOR_COUNT = 4  # pseudo-observations in an estimated spread
_LARGEST = 1e6  # beyond it float32 scores lose what tells documents apart


@dataclass(frozen=True, slots=True)
class LanguagePreference:
    """Adds `weight * spread * share` to the score of each document in a wanted language.

    `spread` is the scorer's own unit (`Scorer.spread`; where a scorer declares none, `estimated_spread` of
    the scores at hand), so that one weight means about the same for every model. With
    weight 1 a document in the wanted language overtakes one that is a typical score difference better.

    Args:
        weight: 0 changes nothing; negative values push the wanted language down.
        preferred: languages in order of preference; None means the query's own. The first gets the
            whole bonus, the i-th of p (from 0) the share 1 - i/p, the others none.
        floor: a document whose relevance is below it is never lifted.

    Raises:
        ValueError: a weight or floor that is not finite, an empty list or an unknown language code.
    """

    weight: float = 0.0
    preferred: tuple[str, ...] | None = None
    floor: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("weight", self.weight), ("floor", self.floor)):
            if value is None and name == "floor":
                continue
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ValueError(f"got {name}={value!r} for the language preference, expected a number")
            if not math.isfinite(value) or abs(value) > _LARGEST:
                raise ValueError(
                    f"got {name}={value} for the language preference, expected a number within ±{_LARGEST:g}"
                )
        if self.preferred is None:
            return
        if not isinstance(self.preferred, list | tuple | str):
            raise ValueError(
                f"got preferred of type {type(self.preferred).__name__}, expected a list of codes in order"
            )
        if isinstance(self.preferred, str):
            raise ValueError(
                f"got preferred='{self.preferred}', expected a list of language codes: preferred=['{self.preferred}']"
            )
        if not self.preferred:
            raise ValueError(
                "got an empty list of preferred languages: give at least one code, or None for the query's language"
            )
        codes = dict.fromkeys(normalize_language(code) for code in self.preferred)
        object.__setattr__(self, "preferred", tuple(codes))

    def shares(self, languages: Sequence[str], query_language: str) -> FloatArray:
        """Return each document's share of the bonus, shape (n,), from 0 to 1."""
        wanted = self.preferred or ((query_language,) if query_language != UNDETERMINED else ())
        by_language = {language: 1.0 - i / len(wanted) for i, language in enumerate(wanted)}
        return np.array([by_language.get(language, 0.0) for language in languages], dtype=np.float32)

    def apply(
        self,
        scores: FloatArray,
        languages: Sequence[str],
        query_language: str,
        *,
        spread: float | None = None,
    ) -> FloatArray:
        """Return new scores, shape (n,): the relevance plus each document's bonus.

        Raises:
            ValueError: another number of languages than of scores.
        """
        if len(languages) != len(scores):
            raise ValueError(
                f"got {len(languages)} languages for {len(scores)} scores: give one code a score"
            )
        if self.weight == 0.0 or len(scores) == 0:
            return scores.copy()
        unit = estimated_spread(scores) if spread is None else spread
        bonus = self.weight * unit * self.shares(languages, query_language)
        if self.floor is not None:
            bonus = np.where(scores >= self.floor, bonus, 0.0)
        return np.asarray(scores + bonus, dtype=np.float32)


def estimated_spread(scores: FloatArray) -> float:
    """Return the unit of the dial where a scorer declares none, from the scores at hand.

    It is the standard deviation after four more observations that lie a tenth of the largest magnitude
    from the mean: without them two close candidates, or many equal ones, would make the dial do nothing.
    1.0 where all scores are 0, for then any bonus decides.
    """
    values = scores.astype(np.float64)
    prior = 0.1 * float(np.abs(values).max())
    if prior == 0.0:
        return 1.0
    squares = float(((values - values.mean()) ** 2).sum()) + _PRIOR_COUNT * prior**2
    return math.sqrt(squares / (len(values) - 1 + _PRIOR_COUNT))
