"""LlamaIndex's own parts for tests: nodes, an embedding that counts letters, and logs of what is reported."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.callbacks import CBEventType
from llama_index.core.callbacks.base_handler import BaseCallbackHandler
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers.base import BaseEventHandler
from llama_index.core.schema import MetadataMode, NodeWithScore, TextNode
from pydantic import Field
from tiny_models import TableScorer

from lamar_rag.types import Scored

# One sentence in each of four languages, none of which shares a word with another.
PASSAGES = {
    "de": "Die Katze sitzt seit heute Morgen auf der Matte im Wohnzimmer.",
    "fr": "Le chat est assis sur le tapis depuis ce matin dans le salon.",
    "en": "The cat sat on the mat in the living room since this morning.",
    "es": "El gato está sentado en la alfombra del salón desde esta mañana.",
}
GERMAN_QUERY = "Wo sitzt die Katze heute Morgen?"


def scored_node(text: str, score: float | None = 0.5, **fields: Any) -> NodeWithScore:
    return NodeWithScore(node=TextNode(text=text, **fields), score=score)


def embed_text(node: NodeWithScore) -> str:
    return node.get_content(metadata_mode=MetadataMode.EMBED)


def outcome(nodes: Sequence[NodeWithScore]) -> list[tuple[str, float | None]]:
    """What a reranking decides: which nodes, in which order, with which scores."""
    return [(node.node_id, node.score) for node in nodes]


@contextmanager
def unchanged(nodes: list[NodeWithScore]) -> Iterator[None]:
    """Assert that the block leaves the list, the nodes in it and everything in them as they were."""
    before, members = copy.deepcopy(nodes), list(nodes)
    inner = [node.node for node in nodes]
    yield
    assert [node.to_dict() for node in nodes] == [node.to_dict() for node in before]
    assert all(now is then for now, then in zip(nodes, members, strict=True))
    assert all(now.node is then for now, then in zip(nodes, inner, strict=True))


class LetterEmbedding(BaseEmbedding):
    """A text's vector holds how often each letter is in it."""

    def _vector(self, text: str) -> list[float]:
        return [1.0, *(float(text.lower().count(chr(code))) for code in range(97, 123))]

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._vector(text)

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._vector(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._vector(query)


class LengthScorer(TableScorer):
    """Scores any text by its number of characters; those in `cut` are said to be truncated."""

    def __init__(self, cut: Sequence[str] = (), *, model: str = "length") -> None:
        super().__init__({}, model=model)
        self._cut = cut

    def score(self, query, documents, options=None):
        with self._lock:
            self.calls += 1
            self.seen.append((query, list(documents), options.query_language, options.long_documents))
        lengths = np.array([len(document.text) for document in documents], dtype=np.float32)
        cut = np.array([any(piece in document.text for piece in self._cut) for document in documents])
        return Scored(lengths, cut)


class HeldScorer(TableScorer):
    """Waits inside `score` until the test lets go of it, or the request is cancelled."""

    def __init__(self, table: Mapping[str, float]) -> None:
        super().__init__(table, model="held")
        self.entered, self.release = threading.Event(), threading.Event()
        self.in_time: list[bool] = []

    def score(self, query, documents, options=None):
        self.entered.set()
        self.in_time.append(self.release.wait(10))
        return super().score(query, documents, options)


class FailingScorer(TableScorer):
    def __init__(self) -> None:
        super().__init__({}, model="failing")

    def score(self, query, documents, options=None):
        raise RuntimeError("the model fell over")


class NumbersScorer(TableScorer):
    """Returns these numbers, whatever it is asked."""

    def __init__(self, numbers: Sequence[float]) -> None:
        super().__init__({}, model="numbers")
        self._numbers = numbers

    def score(self, query, documents, options=None):
        return Scored(np.array(self._numbers, dtype=np.float32), np.zeros(len(documents), dtype=np.bool_))


class EventLog(BaseEventHandler):
    """Keeps the instrumentation events of a reranking."""

    events: list[Any] = Field(default_factory=list)

    @classmethod
    def class_name(cls) -> str:
        return "EventLog"

    def handle(self, event: Any, **_: Any) -> None:
        if event.class_name().startswith("ReRank"):
            self.events.append(event)

    @property
    def names(self) -> list[str]:
        return [event.class_name() for event in self.events]


@contextmanager
def logged_events() -> Iterator[EventLog]:
    """Listen at the root dispatcher, where tracing packages do."""
    log, dispatcher = EventLog(), get_dispatcher()
    dispatcher.add_event_handler(log)
    try:
        yield log
    finally:
        dispatcher.event_handlers.remove(log)


class CallbackLog(BaseCallbackHandler):
    """Keeps the callback events of a reranking: ("start" or "end", its id, its payload)."""

    def __init__(self) -> None:
        super().__init__([], [])
        self.calls: list[tuple[str, str, dict[Any, Any] | None]] = []

    def on_event_start(self, event_type, payload=None, event_id="", parent_id="", **_):
        if event_type == CBEventType.RERANKING:
            self.calls.append(("start", event_id, payload))
        return event_id

    def on_event_end(self, event_type, payload=None, event_id="", **_):
        if event_type == CBEventType.RERANKING:
            self.calls.append(("end", event_id, payload))

    def start_trace(self, trace_id=None):
        pass

    def end_trace(self, trace_id=None, trace_map=None):
        pass

    def check_pairs(self, count: int) -> None:
        """Assert that `count` events began and each ended once, after its start."""
        for kind in ("start", "end"):
            ids = [event_id for name, event_id, _ in self.calls if name == kind]
            assert len(ids) == len(set(ids)) == count
        began: set[str] = set()
        for name, event_id, _ in self.calls:
            assert (event_id in began) == (name == "end")
            began.add(event_id)
