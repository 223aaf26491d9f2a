"""What a parallel corpus is: the same queries and documents in every language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

DocumentField = Literal["positive", "negative"]
Field = Literal["query", "positive", "negative"]

ENGLISH = "en"


@dataclass(frozen=True)
class DocumentIdentity:
    """A document whatever its language: the row that it stands in, and as what."""

    row: int
    field: DocumentField


class ParallelCorpus(Protocol):
    """Rows of a query, a positive and (in some corpora) a negative document, each in every language.

    `languages` are ordered, and English ("en") is one of them: it is what the teacher reads.
    """

    @property
    def name(self) -> str:
        """The corpus's name, which its instances carry."""
        ...

    @property
    def languages(self) -> Sequence[str]:
        """The languages, in the order of their pairs."""
        ...

    def __len__(self) -> int:
        """The number of rows."""
        ...

    def text(self, field: Field, row: int, language: str) -> str:
        """Return one text of a row.

        Raises:
            ValueError: the corpus has no such field, row or language.
        """
        ...
