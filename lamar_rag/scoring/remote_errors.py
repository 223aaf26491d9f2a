"""What can go wrong with a rerank server, and how it is told: in one line, without secrets."""

from __future__ import annotations

EXCERPT_CHARACTERS = 200


class RemoteScoringError(RuntimeError):
    """A rerank server refused a request, or answered what cannot be used. The message names both."""


class RemoteUnavailableError(RemoteScoringError, ConnectionError):
    """A rerank server could not be reached, or stayed overloaded or broken through all attempts."""


def one_line(text: str) -> str:
    """Return the beginning of a foreign text on one line, with all that is not printable escaped."""
    shown = "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text[: EXCERPT_CHARACTERS + 1]
    )
    return shown if len(shown) <= EXCERPT_CHARACTERS else shown[: EXCERPT_CHARACTERS - 3] + "..."
