"""Reranker: a scorer, a language preference, and a deterministic top n."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from lamar_rag.async_scoring import AsyncScoring, deadline, in_thread
from lamar_rag.checks import check_count
from lamar_rag.closing import Closing
from lamar_rag.document_languages import located_documents
from lamar_rag.document_list import checked_documents, checked_text
from lamar_rag.fork_renewal import renew_after_fork
from lamar_rag.languages import UNDETERMINED, detect_language, normalize_language
from lamar_rag.preference import LanguagePreference
from lamar_rag.ranking import ranked_documents
from lamar_rag.reranker_options import (
    RerankKeywords,
    ScoreKeywords,
    check_cut,
    check_own_scorer,
    check_preference,
    check_scoring,
    merged_options,
)
from lamar_rag.reranker_settings import reranker_arguments, settings_dict
from lamar_rag.scoring.checks import checked_result
from lamar_rag.types import (
    Document,
    LongDocuments,
    RankedDocument,
    Scored,
    Scorer,
    ScoringOptions,
    ScoringRequest,
)

if TYPE_CHECKING:
    from lamar_rag.scoring.recipe import Recipe
    from lamar_rag.types import FloatArray

DEFAULT_MODEL = "nlpai-lab/LAMAR-600m"


class Reranker(Closing):
    """Orders documents by their relevance to a query, with a dial for their language.

    The model is loaded on first use (a hub model is then downloaded, after a line that says so). One
    object may be shared by any number of threads and event loops: equal calls give equal results. The
    inputs are never changed. A pickled reranker carries its options, not its weights.

    Args:
        model: a name that `lamar models` lists, a hub id, a model folder, the URL of a rerank server, or a
            `Scorer` of your own.
        preference: the language dial; None leaves the model's order as it is.
        top_n: documents to return; None returns all.
        score_threshold: documents whose relevance is below it are left out.
        long_documents: "truncate" reads the beginning of a document that is too long, "windows" scores
            overlapping pieces of it and takes the best.
        instruction: what counts as relevant, for the models that take an instruction.
        recipe: score by this recipe (or the registry's of this name), whatever the model's name is.
        device, dtype, max_length, max_batch_tokens, trust_remote_code: passed on to the scorer that is
            built (`LoadingOptions`); leave them out when `model` is a `Scorer`.

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
        instruction: str | None = None,
        recipe: str | Recipe | None = None,
        device: str | None = None,
        dtype: str | None = None,
        max_length: int | None = None,
        max_batch_tokens: int | None = None,
        trust_remote_code: bool = False,
    ) -> None:
        check_cut(top_n, score_threshold)
        self.scoring = ScoringOptions(long_documents=long_documents, instruction=instruction)
        check_scoring(self.scoring)
        check_count("max_length", max_length, optional=True)
        check_count("max_batch_tokens", max_batch_tokens, optional=True)
        self._options = {
            "recipe": recipe,
            "device": device,
            "dtype": dtype,
            "max_length": max_length,
            "max_batch_tokens": max_batch_tokens,
            "trust_remote_code": trust_remote_code,
        }
        if not isinstance(model, str | Path):
            check_own_scorer(model, self._options)
        self._given = model
        self.preference = LanguagePreference() if preference is None else check_preference(preference)
        self.top_n, self.score_threshold = top_n, score_threshold
        self._scorer: Scorer | None = None if isinstance(model, str | Path) else model
        self._lock = threading.Lock()
        self._async = AsyncScoring()
        renew_after_fork(self)

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

    def score(
        self, query: str, documents: Sequence[Document | str], **options: Unpack[ScoreKeywords]
    ) -> FloatArray:
        """Return the model's own scores (no preference), float32 of shape (n,), in the order of `documents`.

        Raises:
            ValueError: an option out of range, or a query or document that is not text.
            ScoringCancelledError: `cancel` was set.
        """
        return self._scored(self._request(query, documents, options)).scores

    async def ascore(
        self,
        query: str,
        documents: Sequence[Document | str],
        *,
        timeout: float | None = None,
        **options: Unpack[ScoreKeywords],
    ) -> FloatArray:
        """Return what `score` returns, without blocking the event loop; see `arerank`."""
        async with deadline(timeout, self.model):
            request = await in_thread(self._request, query, documents, options)
            return (await self._ascored(request)).scores

    def probability(self, scores: FloatArray) -> FloatArray | None:
        """Return scores through the model's own mapping to 0..1, shape (n,); None where it has none."""
        return self.scorer.probability(scores)

    def rerank(
        self, query: str, documents: Sequence[Document | str], **options: Unpack[RerankKeywords]
    ) -> list[RankedDocument]:
        """Return the documents in their new order, the best first; ties keep the order of the input.

        Options that are not given are those of the object. `query_language` is detected where it is
        not given, and so is the language of each document that states none.

        Raises:
            ValueError: an option out of range, or a query or document that is not text.
            ScoringCancelledError: `cancel` was set.
        """
        request = self._rerank_request(query, documents, options)
        return self._ordered(request, self._scored(request), options)

    async def arerank(
        self,
        query: str,
        documents: Sequence[Document | str],
        *,
        timeout: float | None = None,
        **options: Unpack[RerankKeywords],
    ) -> list[RankedDocument]:
        """Return what `rerank` returns, without blocking the event loop.

        Requests that come while the model is busy are scored together in the next batches. A task that is
        cancelled takes its own request away and no other. After `timeout` seconds TimeoutError is raised.
        """
        async with deadline(timeout, self.model):
            request = await in_thread(self._rerank_request, query, documents, options)
            scored = await self._ascored(request)
            return await in_thread(self._ordered, request, scored, options)

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
        check_cut(top_n, score_threshold)
        if not documents and not len(scored.scores):
            return []  # without making a scorer
        chosen = self.preference if preference is None else check_preference(preference)
        threshold = score_threshold if score_threshold is not None else self.score_threshold
        limit = top_n if top_n is not None else self.top_n
        return ranked_documents(
            documents, scored, self.scorer, chosen, query_language, top_n=limit, score_threshold=threshold
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the options as JSON values: `Reranker.from_dict` makes an equal reranker of them.

        Raises:
            ValueError: the reranker was made from a `Scorer` object.
        """
        if not isinstance(self._given, str | Path):
            raise ValueError(
                "got a reranker over a Scorer object, expected one by name: only names can be written"
            )
        return settings_dict(str(self._given), self.preference, self.scoring, self._options) | {
            "top_n": self.top_n,
            "score_threshold": self.score_threshold,
        }

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> Self:
        """Return the reranker that `to_dict` described."""
        return cls(**reranker_arguments(cls, settings))

    def close(self) -> None:
        """Free the model's memory, also that of a `Scorer` that was passed in; the next call loads it again.

        Asynchronous requests that still wait get a RuntimeError.
        """
        self._async.close()
        with self._lock:
            if self._scorer is not None:
                self._scorer.close()

    def __getstate__(self) -> dict[str, Any]:
        """Options travel, the model does not: a copy in another process loads its own."""
        state = {**self.__dict__, "_lock": None, "_async": None}
        return {**state, "_scorer": None} if isinstance(self._given, str | Path) else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock(), _async=AsyncScoring())
        renew_after_fork(self)

    def renew(self) -> None:
        """Make new locks and an empty queue, in a forked child."""
        self._lock = threading.Lock()
        self._async.renew()

    def _request(
        self,
        query: str,
        documents: Sequence[Document | str],
        options: ScoreKeywords | RerankKeywords,
        allowed: type[Any] = ScoreKeywords,
    ) -> ScoringRequest:
        check_cut(options.get("top_n"), options.get("score_threshold"))  # type: ignore[arg-type]
        text, checked = checked_text(query, "query"), checked_documents(documents)
        language = normalize_language(options.get("query_language") or UNDETERMINED)
        if checked and not options.get("query_language"):  # for none at all nothing is loaded
            language = detect_language(text)
        return ScoringRequest(text, checked, merged_options(self.scoring, options, language, allowed))

    def _rerank_request(
        self, query: str, documents: Sequence[Document | str], options: RerankKeywords
    ) -> ScoringRequest:
        """Return the request with the documents' languages, where the dial will ask for them anyway."""
        given = options.get("preference")
        dial = self.preference if given is None else check_preference(given)
        request = self._request(query, documents, options, RerankKeywords)
        return replace(request, documents=located_documents(request.documents)) if dial.weight else request

    def _scored(self, request: ScoringRequest) -> Scored:
        if not request.documents:
            return Scored.nothing()
        result = self.scorer.score(request.query, request.documents, request.options)
        return checked_result(result, self.model, request.documents)

    async def _ascored(self, request: ScoringRequest) -> Scored:
        if not request.documents:
            return self._scored(request)
        result = await self._async.score(lambda: self.scorer, request)
        return checked_result(result, self.model, request.documents)

    def _ordered(
        self, request: ScoringRequest, scored: Scored, options: RerankKeywords
    ) -> list[RankedDocument]:
        return self.order(
            request.documents,
            scored,
            request.options.query_language,
            top_n=options.get("top_n"),
            score_threshold=options.get("score_threshold"),
            preference=options.get("preference"),
        )
