"""A local rerank server: it checks the form of each request, records it, and answers sorted by score."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Form:
    """What one API wants: where, with which keys beside query and documents, and how it answers."""

    paths: tuple[str, ...]
    texts: str
    keys: Mapping[
        str, Callable[[Any, int], bool]
    ]  # key -> whether a value is right, given the number of texts
    optional: tuple[str, ...]
    score: str
    wrap: Callable[[list[dict]], Any]


def _name(value: Any, _: int) -> bool:
    return isinstance(value, str) and value != ""


def _count(value: Any, texts: int) -> bool:
    return type(value) is int and value == texts


def _length(value: Any, _: int) -> bool:
    return type(value) is int and (value == -1 or value > 0)


FORMS = {
    "vllm": Form(
        ("/v1/rerank", "/rerank", "/v2/rerank"),
        "documents",
        {
            "model": _name,
            "truncate_prompt_tokens": _length,
            "use_activation": lambda value, _: value is False,
        },
        ("model", "truncate_prompt_tokens"),
        "relevance_score",
        lambda rows: {"id": "rerank-1", "model": "served", "usage": {"total_tokens": 1}, "results": rows},
    ),
    "tei": Form(
        ("/rerank",),
        "texts",
        {
            "raw_scores": lambda value, _: value is True,
            "truncate": lambda value, _: value is True,
            "return_text": lambda value, _: value is False,
        },
        (),
        "score",
        lambda rows: rows,
    ),
    "cohere": Form(
        ("/v2/rerank",),
        "documents",
        {
            "model": _name,
            "top_n": _count,
            "max_tokens_per_doc": lambda value, _: type(value) is int and value > 0,
        },
        ("max_tokens_per_doc",),
        "relevance_score",
        lambda rows: {"id": "1", "results": rows, "meta": {"api_version": {"version": "2"}}},
    ),
    "jina": Form(
        ("/v1/rerank",),
        "documents",
        {"model": _name, "top_n": _count, "return_documents": lambda value, _: value is False},
        (),
        "relevance_score",
        lambda rows: {"model": "jina", "usage": {"total_tokens": 1}, "results": rows},
    ),
}


@dataclass
class Seen:
    """One request as it arrived."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any = None
    texts: list[str] = field(default_factory=list)


@dataclass
class Reply:
    """An answer given instead of the ordinary one."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    before: Callable[[], Any] | None = None  # called before it is sent
    hang_up: bool = False  # close the connection without an answer


def number(text: str) -> float:
    """The ordinary score: the number at the end of a text such as "d17", in hundredths."""
    digits = "".join(character for character in text if character.isdigit())
    return int(digits or 0) / 100


class RerankServer:
    """`with RerankServer("tei") as server:` serves on `server.url`.

    Args:
        shape: the form of the API.
        score: from a text to its score.
        most: documents a request may have before it is answered with `too_many`.
        pages: answers to GET, by path.
    """

    def __init__(
        self,
        shape: str,
        *,
        score: Callable[[str], Any] = number,
        most: int = 1000,
        too_many: int = 413,
        pages: Mapping[str, Any] | None = None,
    ) -> None:
        self.form, self.score, self.most, self.too_many = FORMS[shape], score, most, too_many
        self.pages = dict(pages or {})
        self.seen: list[Seen] = []
        self.problems: list[str] = []
        self.replies: list[Reply] = []  # given first, one a POST
        self.edit: Callable[[Any], Any] = lambda answer: answer
        self.on_post: Callable[[Seen], Any] = lambda seen: None
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def posts(self) -> list[Seen]:
        return [seen for seen in self.seen if seen.method == "POST"]

    def __enter__(self) -> RerankServer:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        assert self.problems == []

    def answer(self, seen: Seen) -> Reply:
        with self._lock:
            self.seen.append(seen)
            reply = self.replies.pop(0) if seen.method == "POST" and self.replies else None
        if seen.method == "GET":
            page = self.pages.get(seen.path)
            return Reply(404, b"no such page") if page is None else Reply(200, json.dumps(page).encode())
        problems = self._wrong(seen)
        self.problems.extend(problems)
        self.on_post(seen)
        if reply is not None:
            return reply
        if problems:
            return Reply(400, "; ".join(problems).encode())
        if len(seen.texts) > self.most:
            message = f"batch size {len(seen.texts)} > maximum allowed batch size {self.most}"
            return Reply(self.too_many, json.dumps({"error": message}).encode())
        rows = [{"index": i, self.form.score: self.score(text)} for i, text in enumerate(seen.texts)]
        rows.sort(key=lambda row: (-row[self.form.score], row["index"]))
        return Reply(200, json.dumps(self.edit(self.form.wrap(rows))).encode())

    def _wrong(self, seen: Seen) -> list[str]:
        form, body = self.form, seen.body
        if seen.path.split("?")[0] not in form.paths:
            return [f"path {seen.path}"]
        if seen.headers.get("content-type") != "application/json":
            return [f"content type {seen.headers.get('content-type')}"]
        texts = body.get(form.texts) if isinstance(body, dict) else None
        if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
            return [f"texts {texts!r}"]
        seen.texts = texts
        wrong = [f"query {body.get('query')!r}"] if not isinstance(body.get("query"), str) else []
        wrong += [f"unknown {key}" for key in body.keys() - form.keys.keys() - {"query", form.texts}]
        for key, right in form.keys.items():
            if key not in body:
                wrong += [] if key in form.optional else [f"no {key}"]
            elif not right(body[key], len(texts)):
                wrong.append(f"{key} {body[key]!r}")
        return wrong

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._reply(Seen("GET", self.path, _lower(self.headers)))

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["Content-Length"]))
                self._reply(Seen("POST", self.path, _lower(self.headers), json.loads(raw.decode("utf-8"))))

            def _reply(self, seen: Seen) -> None:
                reply = outer.answer(seen)
                if reply.before is not None:
                    reply.before()
                if reply.hang_up:
                    self.close_connection = True
                    return
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)

            def log_message(self, *args: Any) -> None:
                """Say nothing."""

        return Handler


def _lower(headers: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
