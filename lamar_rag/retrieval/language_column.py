"""Which language the document at each position has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lamar_rag.types import BoolArray


class LanguageColumn:
    """Language codes by position, two bytes a document."""

    def __init__(self, languages: Iterable[str] = ()) -> None:
        self._numbers: dict[str, int] = {}
        self._column = np.empty(0, dtype=np.uint16)
        self.extend(languages)

    def __len__(self) -> int:
        return len(self._column)

    def extend(self, languages: Iterable[str]) -> None:
        """Add the languages of the positions that follow."""
        added = [self._numbers.setdefault(code, len(self._numbers)) for code in languages]
        self._column = np.concatenate([self._column, np.array(added, dtype=np.uint16)])

    def counts(self) -> dict[str, int]:
        """Return the number of documents by language, the most frequent first, then by code."""
        totals = np.bincount(self._column, minlength=len(self._numbers))
        counts = {code: int(totals[number]) for code, number in self._numbers.items()}
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def mask(self, languages: Sequence[str]) -> BoolArray:
        """Return, shape (n,), which positions have one of the languages; unknown codes match none."""
        numbers = [self._numbers[code] for code in languages if code in self._numbers]
        return np.isin(self._column, numbers)
