"""The value types and protocols that every part of the library speaks.

Nothing here imports more than the standard library and numpy, so `import lamar_rag` stays light.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    FloatArray = npt.NDArray[np.float32]
    BoolArray = npt.NDArray[np.bool_]

TextKind = Literal["query", "passage"]
LongDocuments = Literal["truncate", "windows"]


@dataclass(frozen=True, slots=True)
class Document:
    """A text that can be ranked.

    `language` is an ISO 639-1 code (see `lamar_rag.languages.normalize_language`), `"und"` where it
    was looked for and could not be told, and None where nobody has looked yet.
    """

    text: str
    id: str = ""
    language: str | None = None
    title: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A document as the first stage (a `Retriever`) returned it. `rank` counts from 1."""

    document: Document
    score: float
    rank: int


@dataclass(frozen=True, slots=True)
class RankedDocument:
    """A document as the reranker placed it.

    `score` is what the order follows: `relevance` (the model's own score) plus the language
    preference's share. `rank` counts from 1, `index` is the position in the input (from 0),
    `truncated` says that the model did not read all of the document (or of the query). `probability` is
    the relevance through the model's own mapping to 0..1, None where it has none.
    """

    document: Document
    score: float
    rank: int
    index: int
    language: str
    truncated: bool
    relevance: float
    probability: float | None = None


class ScoringCancelledError(RuntimeError):
    """A call was given up because its `cancel` event was set; nothing of it runs on."""


@dataclass(frozen=True, slots=True)
class ScoringOptions:
    """What one call to a `Scorer` may ask for; a scorer ignores what does not apply to its model.

    Args:
        query_language: the query's code, `"und"` where it is not known.
        long_documents: "truncate" reads the beginning of a document that is too long, "windows" scores
            overlapping pieces of it and takes the best.
        max_length: tokens a (query, document) pair may have; None means the scorer's own limit.
        instruction: what counts as relevant, for the models that take an instruction.
        progress: show a progress bar on stderr.
        cancel: set it from another thread, and the call raises `ScoringCancelledError` before its next batch.
    """

    query_language: str = "und"
    long_documents: LongDocuments = "truncate"
    max_length: int | None = None
    instruction: str | None = None
    progress: bool = False
    cancel: threading.Event | None = None


@dataclass(frozen=True, slots=True)
class ScoringRequest:
    """One query with its documents and options."""

    query: str
    documents: Sequence[Document]
    options: ScoringOptions = ScoringOptions()


class Scored(NamedTuple):
    """What a `Scorer` returns for one query and n documents."""

    scores: FloatArray  # (n,), raw, higher is better
    truncated: BoolArray  # (n,)

    @classmethod
    def nothing(cls) -> Scored:
        """Return the result for no documents."""
        import numpy as np

        return cls(np.zeros(0, dtype=np.float32), np.zeros(0, dtype=np.bool_))


@dataclass(frozen=True, slots=True)
class GeneratedText:
    """What a `Generator` wrote. `source` is the position (from 0) of the context it quotes, if any."""

    text: str
    found: bool = True
    source: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one question, with everything that led to it.

    `contexts` are the documents that the generator read, in the reranker's order; `candidates` is
    the first stage's list, in its own order. `timings_ms` maps a stage to its milliseconds.
    `source` is the position (from 0) in `contexts` of the document that the answer quotes.
    """

    question: str
    answer: str
    found: bool
    language: str
    contexts: tuple[RankedDocument, ...]
    candidates: tuple[Candidate, ...]
    timings_ms: Mapping[str, float]
    source: int | None = None


@runtime_checkable
class Scorer(Protocol):
    """Scores how relevant each document is to a query.

    `spread` is the typical distance between scores of unlike documents, in the scorer's own units
    (the unit of `LanguagePreference.weight`); None where it is not known for the model.
    """

    @property
    def model(self) -> str:
        """The model's name."""
        ...

    @property
    def spread(self) -> float | None:
        """The unit of the language preference, in the scorer's own units."""
        ...

    def score(
        self, query: str, documents: Sequence[Document], options: ScoringOptions = ScoringOptions()
    ) -> Scored:
        """Return raw scores, shape (n,), in the order of `documents`."""
        ...

    def probability(self, scores: FloatArray) -> FloatArray | None:
        """Return the scores through the model's own mapping to 0..1; None where it has none."""
        ...

    def close(self) -> None:
        """Free the model's memory; the next call loads it again."""
        ...


@runtime_checkable
class BatchScorer(Scorer, Protocol):
    """A scorer that puts the pairs of several requests into the same batches."""

    def score_many(self, requests: Sequence[ScoringRequest]) -> list[Scored | Exception]:
        """Return each request's scores, in order; where one fails or is cancelled, its exception."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def model(self) -> str:
        """The model's name."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    @property
    def centring(self) -> str | None:
        """Name of the language centring in use, None without it."""
        ...

    def embed(
        self,
        texts: Sequence[str],
        kind: TextKind,
        *,
        languages: Sequence[str] | None = None,
        progress: bool = False,
    ) -> FloatArray:
        """Return float32 unit vectors, shape (n, d). `languages` are codes, one a text."""
        ...


@runtime_checkable
class Retriever(Protocol):
    """Finds candidates for a query: the first stage."""

    def search(
        self,
        query: str,
        k: int = 20,
        *,
        query_language: str | None = None,
        languages: Sequence[str] | None = None,
        per_language: int | None = None,
    ) -> list[Candidate]:
        """Return at most `k` candidates, the best first.

        `languages` restricts the search to documents in them, `per_language` takes the best so many of each.
        """
        ...


@runtime_checkable
class Generator(Protocol):
    """Writes an answer to a question from contexts, in the question's language."""

    @property
    def name(self) -> str:
        """The generator's name."""
        ...

    def generate(self, question: str, contexts: Sequence[RankedDocument], *, language: str) -> GeneratedText:
        """Return the answer; `language` is the question's code."""
        ...

    def stream(self, question: str, contexts: Sequence[RankedDocument], *, language: str) -> Iterator[str]:
        """Yield the answer's text in pieces."""
        ...
