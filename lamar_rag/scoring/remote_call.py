"""One query's requests to a rerank server, and what is said where the server refuses one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lamar_rag.scoring.http_retry import Stop
from lamar_rag.scoring.remote_answer import ordered_scores, parsed
from lamar_rag.scoring.remote_batches import RemoteText
from lamar_rag.scoring.remote_client import HttpAnswer, RemoteClient
from lamar_rag.scoring.remote_errors import RemoteScoringError
from lamar_rag.scoring.remote_shapes import RerankShape
from lamar_rag.scoring.remote_target import Target

_KEY_REFUSED = (401, 403)
_TOO_LARGE = 413
_UNPROCESSABLE = 422


@dataclass(frozen=True, slots=True)
class RerankCall:
    """What all requests for one query have in common. `max_length` is in tokens, None leaves it to the server."""

    client: RemoteClient
    target: Target
    query: str
    max_length: int | None
    stop: Stop

    def scores(self, batch: Sequence[RemoteText]) -> list[float]:
        """Return the score of each text, in order; a batch that the server finds too large goes in halves.

        Raises:
            RemoteScoringError: the server refuses, or its answer has not one finite number a text.
        """
        texts = [text.text for text in batch]
        body = self.target.shape.body(self.query, texts, model=self.target.model, max_length=self.max_length)
        answer = self.client.post(self.target.endpoint, body, self.stop)
        if _is_too_large(answer, self.target.shape) and len(batch) > 1:
            middle = len(batch) // 2
            return self.scores(batch[:middle]) + self.scores(batch[middle:])
        if not 200 <= answer.status < 300:
            raise self._error(self._refusal(answer, batch))
        try:
            return ordered_scores(self.target.shape, parsed(answer.body), [text.label for text in batch])
        except ValueError as error:
            raise self._error(f"{error}, in: {self.client.excerpt(answer.body)}") from None

    def _refusal(self, answer: HttpAnswer, batch: Sequence[RemoteText]) -> str:
        refusal = f"got HTTP {answer.status}: {self.client.excerpt(answer.body)}"
        if answer.status in _KEY_REFUSED:
            names = self.client.key.names
            hint = (
                f"check the key in {' or '.join(names)}"
                if names
                else "name the key's variable with api_key_env="
            )
            return f"{refusal} ({hint})"
        if 300 <= answer.status < 400:
            return f"got a redirect (HTTP {answer.status}): give the url that it leads to"
        if _is_too_large(answer, self.target.shape):
            return f"{refusal} ({batch[0].label}, {len(batch[0].text)} characters, is too large even alone)"
        return refusal

    def _error(self, problem: str) -> RemoteScoringError:
        model = f"model {self.target.model}" if self.target.model else f"shape '{self.target.shape.name}'"
        text = f"rerank server {self.client.server} ({model}): {problem}"
        return RemoteScoringError(self.client.key.redacted(text))


def _is_too_large(answer: HttpAnswer, shape: RerankShape) -> bool:
    if answer.status == _TOO_LARGE:
        return True
    sign = shape.too_large
    return answer.status == _UNPROCESSABLE and sign is not None and sign.encode() in answer.body
