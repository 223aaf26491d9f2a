"""Scores one (query, document) pair at a time with a model on this machine, many of them in a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lamar_rag.progress import progress_bar
from lamar_rag.scoring.activation import logit_probability
from lamar_rag.scoring.batching import Rows, run_batches
from lamar_rag.scoring.cancelling import check_cancelled, is_cancelled
from lamar_rag.scoring.checks import checked_scores
from lamar_rag.scoring.encoding import EncodedRequest, RequestEncoder, check_limit
from lamar_rag.scoring.forward import BatchForward
from lamar_rag.scoring.local_scorer import LocalScorer
from lamar_rag.scoring.recipe import Recipe
from lamar_rag.types import Document, Scored, ScoringCancelledError, ScoringOptions, ScoringRequest

if TYPE_CHECKING:
    from lamar_rag.types import FloatArray


@dataclass(frozen=True)
class LoadedModel:
    """A model ready to score; `supported` are the tokens that a call may ask for."""

    forward: BatchForward
    encoder: RequestEncoder
    supported: int
    batch_tokens: int


class _Work(NamedTuple):
    """One request on its way.

    `position` is each document's text among those that differ, `first` each input's first one of the same
    tokens: texts that are cut to the same beginning are scored once, and stay equal to the last digit.
    """

    request: ScoringRequest
    encoded: EncodedRequest
    position: Rows
    first: Rows
    logits: FloatArray


class PointwiseScorer(LocalScorer[LoadedModel]):
    """A `BatchScorer` over a model that is loaded on first use.

    One object may be shared by any number of threads: nothing of a call is kept in it, texts are tokenized
    without touching the tokenizer's settings, and the model runs one batch at a time. Equal documents of a
    request are scored once.

    Args:
        model: a hub id or a folder.
        recipe: the model's input and where its score is read.
        spread: the unit of the language preference in the model's scores, where it is known.
        options: see `LoadingOptions`. Where memory runs out the batches are halved.

    Raises:
        ValueError: an option out of range.
    """

    def __init__(
        self,
        model: str | Path,
        recipe: Recipe,
        *,
        spread: float | None = None,
        **options: Any,
    ) -> None:
        super().__init__(model, recipe, spread=spread, **options)
        self._budget: int | None = None  # less than the model's own once memory ran out

    def score(
        self, query: str, documents: Sequence[Document], options: ScoringOptions = ScoringOptions()
    ) -> Scored:
        """Return raw logits, shape (n,), in the order of `documents`."""
        (result,) = self.score_many([ScoringRequest(query, documents, options)])
        if isinstance(result, Exception):
            raise result
        return result

    def score_many(self, requests: Sequence[ScoringRequest]) -> list[Scored | Exception]:
        """Return the scores of several requests, whose pairs share batches.

        A request that cannot be read, or whose `cancel` is set, has its exception in its place; all have it
        where the model cannot be loaded.
        """
        results: list[Scored | Exception | None] = [
            None if r.documents else Scored.nothing() for r in requests
        ]
        if any(result is None for result in results):
            try:
                loaded = self._load()
            except Exception as error:  # handed to each request: a queue would otherwise load once for each
                return [error if result is None else result for result in results]
            works: dict[int, _Work] = {}
            for i, request in enumerate(requests):
                if results[i] is None:
                    try:
                        works[i] = self._prepared(loaded, request)
                    except (ValueError, ScoringCancelledError) as error:
                        results[i] = error
            self._run(loaded, list(works.values()))
            for i, work in works.items():
                results[i] = self._result(work)
        return [result for result in results if result is not None]

    def probability(self, scores: FloatArray) -> FloatArray | None:
        """Return the authors' own mapping of scores to 0..1, None where they give none."""
        scale = self._recipe.probability_scale
        return None if scale is None else logit_probability(scores, scale)

    def close(self) -> None:
        """Free the model's memory; the next call loads it again."""
        with self._lock:
            self._budget = None
        super().close()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_budget": None}

    def _prepared(self, loaded: LoadedModel, request: ScoringRequest) -> _Work:
        check_limit(request.options, loaded.supported, self.model)
        check_cancelled(request.options)
        unique = {text: i for i, text in enumerate(dict.fromkeys(d.text for d in request.documents))}
        encoded = loaded.encoder.encode(request.query, list(unique), request.options)
        position = np.array([unique[document.text] for document in request.documents], dtype=np.intp)
        seen: dict[bytes, int] = {}
        first = [seen.setdefault(text.ids.tobytes(), i) for i, text in enumerate(encoded.inputs)]
        logits = np.full(len(first), np.nan, dtype=np.float32)
        return _Work(request, encoded, position, np.array(first, dtype=np.intp), logits)

    def _run(self, loaded: LoadedModel, works: Sequence[_Work]) -> None:
        """Fill in the works' logits; those of a work that is cancelled on the way stay NaN."""
        import torch

        pairs = [(work, i) for work in works for i in np.unique(work.first).tolist()]
        lengths = np.array([len(work.encoded.inputs[i].ids) for work, i in pairs], dtype=np.int64)
        shown = any(work.request.options.progress for work in works)
        with progress_bar("scoring", len(pairs), shown=shown) as advance:

            def run(rows: Rows) -> None:
                wanted = [pairs[row] for row in rows if not is_cancelled(pairs[row][0].request.options)]
                if wanted:
                    with self._lock, torch.inference_mode():
                        logits = loaded.forward([work.encoded.inputs[i] for work, i in wanted]).numpy()
                    for (work, i), logit in zip(wanted, logits, strict=True):
                        work.logits[i] = logit
                advance(len(rows))

            budget = self._budget or loaded.batch_tokens
            enough = run_batches(lengths, budget, run, packed=loaded.forward.is_packed)
        if enough < budget:  # kept, but not so small that a moment's lack would slow down all that follows
            self._budget = max(enough, loaded.batch_tokens // 8)

    def _result(self, work: _Work) -> Scored | Exception:
        request, encoded = work.request, work.encoded
        try:
            check_cancelled(request.options)
            # every text has at least one input; a NaN wins here, and is found below
            logits = work.logits[work.first]
            best = np.maximum.reduceat(logits, np.flatnonzero(np.diff(encoded.owners, prepend=-1)))
            scores = checked_scores(best[work.position], self.model, request.documents)
        except (ValueError, ScoringCancelledError) as error:
            return error
        return Scored(scores, encoded.truncated[work.position])
