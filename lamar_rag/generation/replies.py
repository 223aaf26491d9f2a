"""From the tokens that a model writes to the text that the user reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lamar_rag.generation.prompts import is_not_found
from lamar_rag.types import GeneratedText, RankedDocument

_UNFINISHED = "\ufffd"  # what a decoder makes of the first bytes of a character


def trimmed_reply(text: str, *, one_line: bool) -> str:
    """Return `text` without surrounding whitespace; of `one_line` replies only the first line."""
    text = text.strip()
    return text.split("\n", 1)[0].rstrip() if one_line else text


def reply_is_complete(text: str) -> bool:
    """Tell whether a one-line reply has ended: a newline follows some text."""
    return "\n" in text.lstrip()


def read_reply(text: str, contexts: Sequence[RankedDocument], language: str) -> GeneratedText:
    """Return a trimmed reply as the generator's result.

    `source` is the first context that holds the reply word for word (case aside), None where none does.
    """
    if is_not_found(text, language):
        return GeneratedText(text, found=False)
    wanted = text.casefold()
    holders = (i for i, context in enumerate(contexts) if wanted in context.document.text.casefold())
    return GeneratedText(text, source=next(holders, None))


class ReplyStream:
    """Cuts a growing reply into pieces whose concatenation is the trimmed reply.

    Whitespace is held back until text follows it, and so is a character whose bytes are not all there.
    """

    def __init__(self, decode: Callable[[Sequence[int]], str], *, one_line: bool) -> None:
        self._decode = decode
        self._one_line = one_line
        self._tokens: list[int] = []
        self._sent = 0

    @property
    def count(self) -> int:
        """How many tokens were added so far."""
        return len(self._tokens)

    @property
    def is_complete(self) -> bool:
        """Whether a one-line reply has ended."""
        return self._one_line and reply_is_complete(self._decode(self._tokens))

    def push(self, tokens: Sequence[int]) -> str:
        """Add the next tokens and return the piece of text that is certain now (may be empty)."""
        self._tokens += tokens
        return self._next(self._text().rstrip(_UNFINISHED).rstrip())

    def finish(self) -> str:
        """Return what was held back and belongs to the reply."""
        return self._next(self._text())

    def _text(self) -> str:
        return trimmed_reply(self._decode(self._tokens), one_line=self._one_line)

    def _next(self, text: str) -> str:
        piece = text[self._sent :]
        self._sent += len(piece)
        return piece
