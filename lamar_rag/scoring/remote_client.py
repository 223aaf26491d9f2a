"""One HTTP client that any number of threads share: opened on first use, with retries and a size limit."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from lamar_rag.extras import require
from lamar_rag.scoring.http_retry import (
    RetryPolicy,
    Stop,
    TransientHttpError,
    is_transient,
    retry_after_seconds,
)
from lamar_rag.scoring.remote_errors import RemoteScoringError, RemoteUnavailableError, one_line
from lamar_rag.scoring.remote_key import ApiKey

if TYPE_CHECKING:
    import httpx

MAX_ANSWER_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A server's answer, whole."""

    status: int
    body: bytes
    retry_after: str | None = None


class _OpenClient:
    """A client with the number of requests that use it, so that none is closed under a request."""

    def __init__(self, client: httpx.Client) -> None:
        self.client, self.users, self.retired = client, 0, False


class RemoteClient:
    """Sends requests to one server.

    Args:
        server: the server's URL as messages show it.
        key: where the key is read.
        headers: further headers of every request.
        timeout: seconds for connecting, and for each silence of the server.
        policy: retries.
    """

    def __init__(
        self, server: str, *, key: ApiKey, headers: Mapping[str, str], timeout: float, policy: RetryPolicy
    ) -> None:
        self.server, self.key, self._policy = server, key, policy
        self._headers, self._timeout = dict(headers), timeout
        self._open: _OpenClient | None = None
        self._lock = threading.Lock()

    def get(self, url: str, stop: Stop) -> HttpAnswer:
        """Return the answer to a GET, whatever its status (429 and 5xx aside)."""
        return self._send("GET", url, None, stop)

    def post(self, url: str, body: Mapping[str, Any], stop: Stop) -> HttpAnswer:
        """Return the answer to a POST of JSON, whatever its status (429 and 5xx aside).

        Raises:
            RemoteUnavailableError: no answer, or 429 or 5xx, through all attempts.
            RemoteScoringError: an answer that is too large or breaks HTTP.
            ScoringCancelledError: `stop` ended the call.
            ValueError: the key is missing.
        """
        return self._send("POST", url, json.dumps(body, ensure_ascii=False).encode("utf-8"), stop)

    def excerpt(self, body: bytes) -> str:
        """Return the beginning of an answer for a message: on one line, without the key."""
        return one_line(self.key.redacted(body[:8192].decode("utf-8", errors="replace")))

    def close(self) -> None:
        """Close the connections, once the requests under way are done; the next request opens new ones."""
        with self._lock:
            mine, self._open = self._open, None
            if mine is None:
                return
            mine.retired = True
            idle = mine.users == 0
        if idle:
            mine.client.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_open": None, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())

    def renew(self) -> None:
        """Forget lock and connections, in a forked child."""
        self._lock, self._open = threading.Lock(), None

    def _send(self, method: str, url: str, content: bytes | None, stop: Stop) -> HttpAnswer:
        self.key.check()

        def attempt() -> HttpAnswer:
            stop.check()
            answer = self._exchange(method, url, content, stop)
            if is_transient(answer.status):
                raise TransientHttpError(
                    f"HTTP {answer.status}: {self.excerpt(answer.body)}",
                    retry_after_seconds(answer.retry_after, time.time()),
                )
            return answer

        try:
            return self._policy.run(attempt, stop)
        except TransientHttpError as error:
            cause = error.cause
        # Raised out here, so that no error of the HTTP client, which holds the request, hangs on it.
        attempts = "1 attempt" if self._policy.retries == 0 else f"{self._policy.retries + 1} attempts"
        raise RemoteUnavailableError(f"rerank server {self.server} gave no answer in {attempts}: {cause}")

    def _exchange(self, method: str, url: str, content: bytes | None, stop: Stop) -> HttpAnswer:
        httpx = require("httpx", extra="remote", purpose="a rerank server")
        passing = (
            httpx.TimeoutException,
            httpx.NetworkError,
            httpx.RemoteProtocolError,
            httpx.ProxyError,
        )
        try:
            with (
                self._borrowed() as client,
                client.stream(method, url, content=content, auth=self.key.authorize) as response,
            ):
                body = self._read(response, stop)
                return HttpAnswer(response.status_code, body, response.headers.get("retry-after"))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            transient = isinstance(error, passing)
            cause = one_line(self.key.redacted(f"{type(error).__name__}: {error}".removesuffix(": ")))
        if transient:
            raise TransientHttpError(cause)
        raise RemoteScoringError(f"rerank server {self.server} cannot be used: {cause}")

    def _read(self, response: httpx.Response, stop: Stop) -> bytes:
        chunks: list[bytes] = []
        size = 0
        encoding = response.headers.get("content-encoding", "identity")
        if encoding.lower() != "identity":  # a few kilobytes can decode to more than the memory holds
            raise RemoteScoringError(
                f"rerank server {self.server} answered with content-encoding {one_line(encoding)}, which was not "
                "asked for: switch compression off there"
            )
        for chunk in response.iter_raw():
            stop.check()
            size += len(chunk)
            if size > MAX_ANSWER_BYTES:
                raise RemoteScoringError(
                    f"rerank server {self.server} answered more than {MAX_ANSWER_BYTES // 2**20} MiB: "
                    "check that the url is a rerank endpoint"
                )
            chunks.append(chunk)
        return b"".join(chunks)

    @contextmanager
    def _borrowed(self) -> Iterator[httpx.Client]:
        with self._lock:
            if self._open is None:
                self._open = _OpenClient(self._new_client())
            mine = self._open
            mine.users += 1
        try:
            yield mine.client
        finally:
            with self._lock:
                mine.users -= 1
                last = mine.retired and mine.users == 0
            if last:
                mine.client.close()

    def _new_client(self) -> httpx.Client:
        package = require("httpx", extra="remote", purpose="a rerank server")
        headers = {
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            **self._headers,
        }
        return cast("httpx.Client", package.Client(timeout=self._timeout, headers=headers))
