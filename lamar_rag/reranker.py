"""Reranker: a scorer, a language preference, and a deterministic top n."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lamar_rag.checks import check_count
from lamar_rag.closing import Closing
from lamar_rag.languages import UNDETERMINED, detect_language, detect_languages, normalize_language
from lamar_rag.preference import LanguagePreference
from lamar_rag.text import replace_surrogates
from lamar_rag.types import Document, LongDocuments, RankedDocument, Scored, Scorer

if TYPE_CHECKING:
    from lamar_rag.types import FloatArray

DEFAULT_MODEL = "nlpai-lab/LAMAR-600m"


class Reranker(Closing):
    """Orders documents by their relevance to a query, with a dial for their language.

    The model is loaded on first use (a hub model is then downloaded, after a line that says so). One
    object may be shared by any number of threads. The inputs are never changed.

    Args:
        model: a hub id, a model folder, "multilingual-e5-small" (embedded), or a `Scorer` of your own.
        preference: the language dial; None leaves the model's order as it is.
        top_n: documents to return; None returns all.
        score_threshold: documents whose relevance is below it are left out.
        long_documents: "truncate" reads the beginning of a document that is too long, "windows" scores
            overlapping pieces of it and takes the best.
        device, dtype, max_batch_tokens, trust_remote_code: passed on to the scorer that is built; leave
            them out when `model` is a `Scorer`.

    Raises:
        ValueError: an option out of range.
    """

    def __init__(
        self,
        model: str | Path | Scorer = DEFAULT_MODEL,
        *,
        preference: LanguagePreference | None = None,
        top_n: int | None = None,
        score_threshold: float | None = None,
        long_documents: LongDocuments = "truncate",
        device: str | None = None,
        dtype: str | None = None,
        max_batch_tokens: int | None = None,
        trust_remote_code: bool = False,
    ) -> None:
        self._check(top_n, score_threshold, long_documents)
        if not isinstance(model, str | Path):
            if (device, dtype, max_batch_tokens) != (None, None, None) or trust_remote_code:
                raise ValueError(
                    "got device, dtype, max_batch_tokens or trust_remote_code beside a Scorer object, which has its "
                    "own: "
                    "set them where the scorer is made"
                )
            if not isinstance(model, Scorer):
                raise ValueError(
                    f"got model of type {type(model).__name__}, expected a name, a folder or an object with "
                    "the methods of lamar_rag.types.Scorer"
                )
        self._given = model
        self._options = {
            "device": device,
            "dtype": dtype,
            "max_batch_tokens": max_batch_tokens,
            "trust_remote_code": trust_remote_code,
        }
        check_count("max_batch_tokens", max_batch_tokens, optional=True)
        self.preference = LanguagePreference() if preference is None else _preference(preference)
        self.top_n, self.score_threshold = top_n, score_threshold
        self.long_documents: LongDocuments = long_documents
        self._scorer: Scorer | None = None if isinstance(model, str | Path) else model
        self._lock = threading.Lock()

    @property
    def model(self) -> str:
        """The model's name."""
        return str(self._given) if isinstance(self._given, str | Path) else self._given.model

    @property
    def scorer(self) -> Scorer:
        """The scorer; made on first use."""
        with self._lock:
            if self._scorer is None:
                from lamar_rag.scorer_factory import build_scorer

                self._scorer = build_scorer(self._given, **self._options)  # type: ignore[arg-type]
            return self._scorer

    def score(self, query: str, documents: Sequence[Document | str]) -> FloatArray:
        """Return the model's own scores (no preference), float32 of shape (n,), in the order of `documents`."""
        located = self._located(documents)
        return self._scored(query, located, detect_language(query), self.long_documents).scores

    def rerank(
        self,
        query: str,
        documents: Sequence[Document | str],
        *,
        top_n: int | None = None,
        score_threshold: float | None = None,
        preference: LanguagePreference | None = None,
        query_language: str | None = None,
        long_documents: LongDocuments | None = None,
    ) -> list[RankedDocument]:
        """Return the documents in their new order, the best first; ties keep the order of the input.

        Options that are not given are those of the object. `query_language` is detected where it is
        not given, and so is the language of each document that states none.

        Raises:
            ValueError: an option out of range, or a query or document that is not text.
        """
        self._check(top_n, score_threshold, long_documents)
        language = (
            normalize_language(query_language) if query_language else detect_language(_text(query, "query"))
        )
        located = self._located(documents)
        scored = self._scored(query, located, language, long_documents or self.long_documents)
        return self.order(
            located, scored, language, top_n=top_n, score_threshold=score_threshold, preference=preference
        )

    def order(
        self,
        documents: Sequence[Document],
        scored: Scored,
        query_language: str,
        *,
        top_n: int | None = None,
        score_threshold: float | None = None,
        preference: LanguagePreference | None = None,
    ) -> list[RankedDocument]:
        """Return scored documents in their order: what `rerank` does after scoring.

        Moving the dial needs no new scores: call this again with another preference.
        """
        if not documents:
            return []
        languages = [normalize_language(document.language or UNDETERMINED) for document in documents]
        chosen = self.preference if preference is None else _preference(preference)
        spread = self.scorer.spread if chosen.weight else None
        final = chosen.apply(scored.scores, languages, normalize_language(query_language), spread=spread)
        threshold = score_threshold if score_threshold is not None else self.score_threshold
        kept = [
            i
            for i in np.argsort(-final, kind="stable").tolist()
            if threshold is None or scored.scores[i] >= threshold
        ]
        limit = top_n if top_n is not None else self.top_n
        return [
            RankedDocument(
                document=documents[i],
                score=float(final[i]),
                rank=rank,
                index=i,
                language=languages[i],
                truncated=bool(scored.truncated[i]),
                relevance=float(scored.scores[i]),
            )
            for rank, i in enumerate(kept[:limit], start=1)
        ]

    def close(self) -> None:
        """Free the model's memory; the next call loads it again."""
        with self._lock:
            if self._scorer is not None:
                self._scorer.close()

    def __getstate__(self) -> dict[str, Any]:
        """Options travel, the model does not: a copy in another process loads its own."""
        state = {**self.__dict__, "_lock": None}
        return {**state, "_scorer": None} if isinstance(self._given, str | Path) else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())

    def _scored(
        self, query: str, documents: Sequence[Document], language: str, long_documents: LongDocuments
    ) -> Scored:
        if not documents:
            return Scored(np.zeros(0, dtype=np.float32), np.zeros(0, dtype=np.bool_))
        return self.scorer.score(
            _text(query, "query"), documents, query_language=language, long_documents=long_documents
        )

    @staticmethod
    def _located(documents: Sequence[Document | str]) -> list[Document]:
        """Return documents that all state a language; the caller's own objects stay as they are."""
        if isinstance(documents, str) or not isinstance(documents, Sequence):
            kind = "one string" if isinstance(documents, str) else f"a {type(documents).__name__}"
            raise ValueError(f"got {kind} for documents, expected a list: pass [document]")
        plain = [_document(document, i) for i, document in enumerate(documents)]
        silent = [i for i, document in enumerate(plain) if not document.language]
        texts = [replace_surrogates(plain[i].text) for i in silent]
        found = dict(zip(silent, detect_languages(texts), strict=True))
        return [
            _with_language(document, found[i] if i in found else normalize_language(document.language or ""))
            for i, document in enumerate(plain)
        ]

    @staticmethod
    def _check(top_n: int | None, score_threshold: float | None, long_documents: str | None) -> None:
        check_count("top_n", top_n, optional=True)
        if score_threshold is not None and not (
            isinstance(score_threshold, int | float) and math.isfinite(score_threshold)
        ):
            raise ValueError(f"got score_threshold={score_threshold!r}, expected a finite number (or None)")
        if long_documents not in (None, "truncate", "windows"):
            raise ValueError(f"got long_documents='{long_documents}', expected 'truncate' or 'windows'")


def _preference(value: object) -> LanguagePreference:
    if not isinstance(value, LanguagePreference):
        raise ValueError(
            f"got preference={value!r}, expected a LanguagePreference: LanguagePreference(weight=0.5)"
        )
    return value


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"got a {what} of type {type(value).__name__}, expected a string")
    return value


def _document(value: object, position: int) -> Document:
    if isinstance(value, Document):
        _text(value.text, f"text in document {position}")
        return value
    return Document(text=_text(value, f"document at position {position}"))


def _with_language(document: Document, language: str) -> Document:
    if document.language == language:
        return document
    return Document(document.text, document.id, language, document.title, document.metadata)
