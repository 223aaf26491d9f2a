"""The key of a rerank server: read from the environment at each request, and kept nowhere."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx

# Upper case only: a key pasted where a variable's name belongs has small letters, and is refused unseen.
_NAME = re.compile(r"[A-Z_][A-Z0-9_]*")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie|password", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """Where a key is found: the first of the environment variables `names` that is set."""

    names: tuple[str, ...] = ()
    required: bool = False

    def check(self) -> None:
        """Raise ValueError where a key that is needed is not set, or cannot be sent."""
        name, value = self._found()
        if self.required and not value:
            raise ValueError(f"got no API key: set the environment variable {' or '.join(self.names)}")
        if not (value.isascii() and value.isprintable()):
            raise ValueError(f"got an API key with characters that no header can hold: set {name} again")

    def authorize(self, request: httpx.Request) -> httpx.Request:
        """Put the key into a request's headers."""
        _, value = self._found()
        if value:
            request.headers["Authorization"] = f"Bearer {value}"
        return request

    def redacted(self, text: str) -> str:
        """Return `text` with the key replaced, for servers that repeat it in their answers."""
        _, value = self._found()
        return text.replace(value, "[key]") if value else text

    def _found(self) -> tuple[str, str]:
        for name in self.names:
            value = os.environ.get(name, "").strip()
            if value:
                return name, value
        return "", ""


_FRAMING = frozenset(
    {
        "host",
        "connection",
        "content-length",
        "content-type",
        "content-encoding",
        "transfer-encoding",
        "accept-encoding",
    }
)


def check_key_name(name: object) -> None:
    """Raise ValueError unless `name` is None or can be an environment variable; it is not shown."""
    if name is not None and not (isinstance(name, str) and _NAME.fullmatch(name)):
        raise ValueError(
            "got an api_key_env that is no name of an environment variable (capitals, digits, underscores): "
            "give the variable's name, such as 'JINA_API_KEY', never the key"
        )


def checked_headers(headers: object) -> dict[str, str]:
    """Return a copy of further headers.

    Raises:
        ValueError: they are not texts that a header can hold, or one whose name says that it holds a secret.
    """
    if headers is None:
        return {}
    if not isinstance(headers, Mapping):
        raise ValueError(
            f"got headers of type {type(headers).__name__}, expected a mapping of names to texts"
        )
    for name, value in headers.items():
        if not (isinstance(name, str) and _HEADER_NAME.fullmatch(name)):
            raise ValueError("got a header whose name is not one: letters, digits and '-' are expected")
        if name.lower() in _FRAMING:
            raise ValueError(f"got header '{name}', which the HTTP client sets itself: leave it out")
        if _SECRET_HEADER.search(name):
            raise ValueError(
                f"got header '{name}', which holds a secret: put the key into an environment variable, "
                "and give its name with api_key_env="
            )
        if not (isinstance(value, str) and value.isascii() and value.isprintable()):
            raise ValueError(f"got header '{name}' with a value that is no printable ASCII text")
    return dict(headers)
