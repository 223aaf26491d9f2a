"""The address of a rerank server: checked, completed, and shown without secrets."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, parse_qsl, urlsplit

from lamar_rag.scoring.remote_shapes import SHAPES, RerankShape

_ENDPOINT = "/rerank"
_VERSION = re.compile(r"/v[12]$")
# By the version that a URL ends with, where the host does not tell.
_VERSION_SHAPES = {"/v1": "vllm", "/v2": "cohere"}
# The only query parameter that is let through: any other may hold a key, and HTTP clients log URLs.
_HARMLESS_PARAMETER = "api-version"


@dataclass(frozen=True, slots=True)
class ServerUrl:
    """A server's base URL or its full rerank endpoint; `text` is without the query."""

    text: str
    host: str
    path: str
    query: str = ""

    @property
    def root(self) -> str:
        """The URL without a rerank endpoint's and a version's path, where a server tells about itself."""
        return self.text[: len(self.text) - len(self.path)] + _VERSION.sub("", self._base_path)

    def own_shape(self) -> RerankShape | None:
        """Return the shape that the host or the path's version tells, None where neither does."""
        for shape in SHAPES.values():
            if self.host in shape.hosts:
                return shape
        version = _VERSION.search(self._base_path)
        return SHAPES[_VERSION_SHAPES[version.group()]] if version else None

    def endpoint(self, shape: RerankShape) -> str:
        """Return where to send the rerank requests, the query included."""
        if self.path.endswith(_ENDPOINT):
            url = self.text
        else:
            url = self.text + (_ENDPOINT if _VERSION.search(self.path) else shape.path)
        return url + (f"?{self.query}" if self.query else "")

    @property
    def _base_path(self) -> str:
        return self.path.removesuffix(_ENDPOINT)


def server_url(url: object) -> ServerUrl:
    """Return a URL in its parts.

    Raises:
        ValueError: not an http or https URL, or one that may carry a secret.
    """
    if not isinstance(url, str):
        raise ValueError(
            f"got url of type {type(url).__name__}, expected a string such as 'http://localhost:8000'"
        )
    parts, port = _split(url)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        # A text that is no URL is not shown: it may be a key in the wrong place, or hold one.
        raise ValueError("got a url that is none, expected http or https, such as 'http://localhost:8000'")
    if "@" in parts.netloc:
        raise ValueError(
            f"got a url with user or password for host {parts.hostname}: take them out, "
            "and name the environment variable that holds the key with api_key_env="
        )
    if parts.fragment or any(name != _HARMLESS_PARAMETER for name, _ in parse_qsl(parts.query, True)):
        raise ValueError(
            f"got a url with a query or fragment for host {parts.hostname}, expected at most '?api-version=...': "
            "name the environment variable that holds a key with api_key_env="
        )
    path = parts.path.rstrip("/")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    text = f"{parts.scheme}://{host}{'' if port is None else f':{port}'}{path}"
    return ServerUrl(text, parts.hostname, path, parts.query)


def _split(url: str) -> tuple[SplitResult | None, int | None]:
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return None, None
    try:
        parts = urlsplit(url)
        return parts, parts.port
    except ValueError:
        return None, None
