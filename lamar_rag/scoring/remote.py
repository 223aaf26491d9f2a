"""Scores from a rerank server over HTTP: vLLM, Text Embeddings Inference, Cohere or Jina."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from lamar_rag.checks import check_count
from lamar_rag.closing import Closing
from lamar_rag.fork_renewal import renew_after_fork
from lamar_rag.progress import progress_bar
from lamar_rag.scoring.activation import logit_probability
from lamar_rag.scoring.http_retry import RetryPolicy, Stop
from lamar_rag.scoring.remote_batches import distinct_texts, score_batches
from lamar_rag.scoring.remote_call import RerankCall
from lamar_rag.scoring.remote_client import RemoteClient
from lamar_rag.scoring.remote_key import ApiKey, check_key_name, checked_headers
from lamar_rag.scoring.remote_options import check_counts, check_model, check_numbers
from lamar_rag.scoring.remote_shapes import SHAPES, RerankShape, ShapeName
from lamar_rag.scoring.remote_target import Target, check_shape, find_target
from lamar_rag.scoring.remote_url import ServerUrl, server_url
from lamar_rag.text import CHARACTERS_PER_TOKEN, replace_surrogates
from lamar_rag.types import Document, Scored, ScoringOptions

if TYPE_CHECKING:
    from lamar_rag.types import FloatArray

_DEFAULTS = ScoringOptions()


class RemoteScorer(Closing):
    """A `Scorer` over a rerank server. Any number of threads may share it.

    What the scores are depends on the server: Cohere and Jina send 0..1 (save `jina-reranker-v3`, whose
    cosines also depend on the other documents of the request), TEI and vLLM are asked for logits. A server
    does not tell which documents it cut, so `truncated` only marks what was cut here because it cannot fit
    into `max_length`.

    A key is read from the environment at each request and never kept: from `api_key_env`, else, where the
    shape is named or the host is the service's own, from the shape's own variable (VLLM_API_KEY;
    CO_API_KEY or COHERE_API_KEY; JINA_API_KEY). TEI has none of its own.

    Args:
        url: a base URL ("http://localhost:8000") or a rerank endpoint ("https://api.jina.ai/v1/rerank").
        shape: the API, see `remote_shapes`; "auto" goes by the host, then by the path's version ("/v1" is
            vLLM, "/v2" Cohere), then by what the server tells at GET /info and GET /v1/models.
        model: the served model's name; vLLM is asked for it, Cohere and Jina need it.
        api_key_env: the environment variable with the key.
        timeout: seconds for connecting, and for each silence of the server.
        retries: further attempts after a connection error, a timeout, 429 or 5xx.
        batch_size: documents a request; a batch that the server finds too large is halved.
        max_concurrency: requests that one call has under way at a time.
        spread: the unit of the language preference, in the server's scores.
        max_length: tokens a pair may have (vLLM) or a document (Cohere); others cut at their own limit.
        headers: further headers; none that holds a key.
        backoff: seconds before the first retry, doubled for each further one.

    Raises:
        ValueError: an option out of range.
    """

    def __init__(
        self,
        url: str,
        *,
        shape: ShapeName = "auto",
        model: str | None = None,
        api_key_env: str | None = None,
        timeout: float = 30.0,
        retries: int = 3,
        batch_size: int = 32,
        max_concurrency: int = 4,
        spread: float | None = None,
        max_length: int | None = None,
        headers: Mapping[str, str] | None = None,
        backoff: float = 0.5,
    ) -> None:
        self._url = server_url(url)
        self._shape = _chosen_shape(shape, self._url)
        check_model(model)
        check_counts(retries, batch_size, max_concurrency, max_length)
        check_numbers(timeout=timeout, backoff=backoff, spread=spread)
        check_key_name(api_key_env)
        if self._shape is not None:
            check_shape(self._shape, model=model, max_length=max_length)
        self._named_shape, self._named_model, self._spread = shape, model, spread
        self.batch_size, self.max_concurrency, self.max_length = batch_size, max_concurrency, max_length
        self._client = RemoteClient(
            self._url.text,
            key=_key(api_key_env, shape, self._shape, self._url),
            headers=checked_headers(headers),
            timeout=float(timeout),
            policy=RetryPolicy(retries, float(backoff)),
        )
        self._target: Target | None = None
        self._asking = threading.Lock()
        renew_after_fork(self)

    @property
    def model(self) -> str:
        """The served model's name where it was given, else the URL."""
        return self._named_model or self._url.text

    @property
    def spread(self) -> float | None:
        """The unit of the language preference, None where it was not given."""
        return self._spread

    def __repr__(self) -> str:
        return f"RemoteScorer('{self._url.text}', shape='{self._named_shape}', model={self._named_model!r})"

    def score(self, query: str, documents: Sequence[Document], options: ScoringOptions = _DEFAULTS) -> Scored:
        """Return the server's scores, shape (n,), in the order of `documents`; equal texts are sent once.

        Raises:
            ValueError: an option that cannot be met by this server, or no key where one is needed.
            RemoteScoringError: the server refused, or its answer has not one finite number a document.
            RemoteUnavailableError: no answer, 429 or 5xx through all attempts (also a ConnectionError).
            ScoringCancelledError: `options.cancel` was set.
        """
        if not documents:
            return Scored.nothing()
        max_length = self._checked_length(options)
        stop = Stop(options.cancel)
        stop.check()
        target = self._found_target(stop)
        check_shape(target.shape, model=target.model, max_length=max_length)
        limit = None if max_length is None else CHARACTERS_PER_TOKEN * max_length
        texts, cut = distinct_texts(documents, limit)
        call = RerankCall(self._client, target, replace_surrogates(query[:limit]), max_length, stop)
        with progress_bar("scoring", len(documents), shown=options.progress) as done:
            found = score_batches(
                texts,
                call.scores,
                batch_size=self.batch_size,
                workers=self.max_concurrency,
                stop=stop,
                done=done,
            )
        scores = np.empty(len(documents), dtype=np.float32)
        for text, score in zip(texts, found, strict=True):
            scores[text.rows] = score
        truncated = np.full(len(documents), limit is not None and len(query) > limit)
        truncated[cut] = True
        return Scored(scores, truncated)

    def probability(self, scores: FloatArray) -> FloatArray | None:
        """Return the scores as 0..1: TEI's and vLLM's through the sigmoid, Cohere's and Jina's as they are.

        None where a score that should be in 0..1 is not.
        """
        shape = self._shape or self._found_target(Stop()).shape
        values = np.asarray(scores, dtype=np.float32)
        if shape.score_kind == "logit":
            return logit_probability(values)
        if shape.score_kind == "probability" and bool(((values >= 0) & (values <= 1)).all()):
            return values.copy()
        return None

    def close(self) -> None:
        """Close the connections; the next call opens new ones, and asks again which model is served."""
        with self._asking:
            self._target = None
        self._client.close()

    def __getstate__(self) -> dict[str, Any]:
        """Options travel, connections and keys do not."""
        return {**self.__dict__, "_asking": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _asking=threading.Lock())
        renew_after_fork(self)

    def renew(self) -> None:
        """Make a new lock and new connections, in a forked child: two processes cannot share one."""
        self._asking = threading.Lock()
        self._client.renew()

    def _checked_length(self, options: ScoringOptions) -> int | None:
        if options.long_documents == "windows":
            raise ValueError(
                "got long_documents='windows', which a rerank server cannot do (cutting at token limits needs the "
                "model's tokenizer): use long_documents='truncate', or split the documents before"
            )
        if options.instruction is not None:
            raise ValueError("got an instruction for a rerank server, whose API has none: leave it out")
        check_count("max_length", options.max_length, optional=True)
        return options.max_length if options.max_length is not None else self.max_length

    def _found_target(self, stop: Stop) -> Target:
        with self._asking:
            if self._target is None:
                self._target = find_target(self._client, self._url, self._shape, self._named_model, stop)
            return self._target


def _chosen_shape(shape: object, url: ServerUrl) -> RerankShape | None:
    if shape == "auto":
        return url.own_shape()
    if not isinstance(shape, str) or shape not in SHAPES:
        raise ValueError(f"got shape={shape!r}, expected one of {', '.join(map(repr, get_args(ShapeName)))}")
    return SHAPES[shape]


def _key(api_key_env: str | None, named: str, shape: RerankShape | None, url: ServerUrl) -> ApiKey:
    if api_key_env is not None:
        return ApiKey((api_key_env,), required=True)
    # A service's key goes to the service itself, or where the user says that its API is spoken: never to a
    # server whose API was only guessed.
    own_host = shape is not None and url.host in shape.hosts
    if shape is None or not (own_host or named != "auto"):
        return ApiKey()
    return ApiKey(shape.key_names, required=own_host)
