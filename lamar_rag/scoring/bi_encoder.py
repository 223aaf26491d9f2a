"""Scores by embedding similarity: the cosine between the query's vector and each document's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from lamar_rag.document_languages import located_documents
from lamar_rag.languages import UNDETERMINED
from lamar_rag.progress import progress_bar
from lamar_rag.scoring.cancelling import check_cancelled
from lamar_rag.scoring.checks import check_spread, checked_scores
from lamar_rag.types import (
    Document,
    Embedder,
    LongDocuments,
    Scored,
    ScoringOptions,
    TextKind,
)

if TYPE_CHECKING:
    from lamar_rag.types import BoolArray, FloatArray

_CHUNK = 256  # documents between two looks at `cancel`
# By model and centring: the median, over queries, of the standard deviation of the scores of the 20 best
# candidates, measured on the NTREX development set of benchmarks/preference_dial.py.
_SPREADS: dict[tuple[str, str | None], float] = {
    (name, centring): spread
    for name in ("multilingual-e5-small", "intfloat/multilingual-e5-small")
    for centring, spread in ((None, 0.015), ("ntrex-51", 0.052))
}


class PassageEmbedder(Embedder, Protocol):
    """An embedder that knows its own length limit."""

    def truncated(self, texts: Sequence[str], kind: TextKind) -> BoolArray:
        """Return, shape (n,), whether each text is longer than the model reads."""
        ...

    def windows(self, text: str) -> list[str]:
        """Return a passage in pieces that the model reads whole."""
        ...


class VectorSource(Protocol):
    """Something that still has the vectors of documents, such as the index they were retrieved from."""

    def known_vectors(self, documents: Sequence[Document]) -> tuple[FloatArray, BoolArray]:
        """Return vectors, shape (n, d), and, shape (n,), which of them are known (the others are undefined)."""
        ...


class BiEncoderScorer:
    """A `Scorer` over an embedder.

    Args:
        embedder: embeds the query and the documents; with centring, the languages matter.
        vectors: where the documents' vectors may be had without embedding them again. It must hold vectors
            of the same embedder with the same centring.
        spread: the unit of the language preference; by default what was measured for the embedder.
    """

    def __init__(
        self,
        embedder: PassageEmbedder,
        *,
        vectors: VectorSource | None = None,
        spread: float | None = None,
    ) -> None:
        check_spread(spread)
        self.embedder = embedder
        self._vectors = vectors
        self._spread = spread if spread is not None else _SPREADS.get((embedder.model, embedder.centring))

    @property
    def model(self) -> str:
        """The embedder's name, with the centring where there is one."""
        return self.embedder.model + (f" ({self.embedder.centring})" if self.embedder.centring else "")

    @property
    def spread(self) -> float | None:
        """The typical standard deviation of candidates' scores, None where it was not measured."""
        return self._spread

    @property
    def reads_languages(self) -> bool:
        """Whether the documents' languages count in their scores."""
        return self.embedder.centring is not None

    def score(
        self, query: str, documents: Sequence[Document], options: ScoringOptions = ScoringOptions()
    ) -> Scored:
        """Return cosines, shape (n,), in the order of `documents`."""
        if not documents:
            return Scored.nothing()
        for name, value in (("max_length", options.max_length), ("instruction", options.instruction)):
            if value is not None:
                raise ValueError(f"got {name} for the embedder {self.model}, which takes none: leave it out")
        (query_vector,) = self.embedder.embed([query], "query", languages=[options.query_language])
        query_cut = self.embedder.truncated([query], "query")[0]
        scores = np.empty(len(documents), dtype=np.float32)
        truncated = np.empty(len(documents), dtype=np.bool_)
        with progress_bar("scoring", len(documents), shown=options.progress) as advance:
            for start in range(0, len(documents), _CHUNK):
                check_cancelled(options)
                part = slice(start, start + _CHUNK)
                chunk = located_documents(documents[part])
                scores[part], truncated[part] = self._cosines(query_vector, chunk, options.long_documents)
                advance(len(chunk))
        return Scored(checked_scores(scores, self.model, documents), truncated | query_cut)

    def _cosines(
        self, query: FloatArray, documents: Sequence[Document], long_documents: LongDocuments
    ) -> tuple[FloatArray, BoolArray]:
        """Return the cosines, shape (n,), and which documents were cut."""
        cut = self.embedder.truncated([document.text for document in documents], "passage")
        in_windows = cut if long_documents == "windows" else np.zeros_like(cut)
        scores = np.empty(len(documents), dtype=np.float32)
        whole = np.flatnonzero(~in_windows).tolist()
        if whole:
            scores[whole] = _dots(self._passages([documents[row] for row in whole]), query)
        for row in np.flatnonzero(in_windows).tolist():
            pieces = self.embedder.windows(documents[row].text)
            languages = [documents[row].language or UNDETERMINED] * len(pieces)
            vectors = self.embedder.embed(pieces, "passage", languages=languages)
            scores[row] = _dots(vectors, query).max()
        return scores, cut & ~in_windows

    def probability(self, scores: FloatArray) -> FloatArray | None:
        """Return None: cosines are no probabilities."""
        return None

    def close(self) -> None:
        """Free the embedder's model; the next call loads it again."""
        close = getattr(self.embedder, "close", None)
        if close is not None:
            close()

    def _passages(self, documents: Sequence[Document]) -> FloatArray:
        if self._vectors is None:
            return self._embed(documents)
        vectors, known = self._vectors.known_vectors(documents)
        unknown = np.flatnonzero(~known).tolist()
        if not unknown:
            return vectors
        fresh = self._embed([documents[row] for row in unknown])
        if len(unknown) == len(documents):
            return fresh
        merged = vectors.copy()
        merged[unknown] = fresh
        return merged

    def _embed(self, documents: Sequence[Document]) -> FloatArray:
        languages = [document.language or UNDETERMINED for document in documents]
        return self.embedder.embed([document.text for document in documents], "passage", languages=languages)


def _dots(vectors: FloatArray, query: FloatArray) -> FloatArray:
    """Return the products, shape (n,), summed in double precision: no document's depends on its place in a block."""
    return (vectors.astype(np.float64) @ query.astype(np.float64)).astype(np.float32)
