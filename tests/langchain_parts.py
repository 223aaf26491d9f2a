"""What the tests of the LangChain integration share: rerankers over given scores, handlers that write down."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.runnables import Runnable
from langchain_lamar import LamarReranker
from tiny_models import TableScorer

from lamar_rag import RankedDocument, Reranker, Scored, Scorer
from lamar_rag.types import ScoringOptions


def over(scorer: Scorer, **options: Any) -> LamarReranker:
    """Return a LamarReranker over a scorer."""
    return LamarReranker(reranker=Reranker(scorer), **options)


def over_table(table: dict[str, float], **options: Any) -> LamarReranker:
    """Return a LamarReranker over fixed scores; one unit of the language dial is one unit of score."""
    return over(TableScorer(table), **options)


def texts(documents: Sequence[Document]) -> list[str]:
    return [document.page_content for document in documents]


def scores(documents: Sequence[Document]) -> list[float]:
    return [document.metadata["relevance_score"] for document in documents]


def told(documents: Sequence[Document], rows: Sequence[RankedDocument]) -> list[Document]:
    """Return LangChain documents as they should look after the library ranked them as `rows`."""
    expected = []
    for row in rows:
        source = documents[row.index]
        metadata = {"language": row.language, **source.metadata, "relevance_score": row.score}
        if row.truncated:
            metadata["truncated"] = True
        expected.append(Document(source.page_content, id=source.id, metadata=metadata))
    return expected


class FailingScorer(TableScorer):
    """A scorer that breaks."""

    def score(self, query: str, documents: Any, options: ScoringOptions = ScoringOptions()) -> Scored:
        raise RuntimeError("the scorer broke")


class WaitingScorer(TableScorer):
    """A scorer that answers when it is let go, or told to give up."""

    def __init__(self, table: dict[str, float]) -> None:
        super().__init__(table)
        self.started, self.let_go = threading.Event(), threading.Event()

    def score(self, query: str, documents: Any, options: ScoringOptions = ScoringOptions()) -> Scored:
        self.started.set()
        assert self.let_go.wait(30), "nobody let it go"
        return super().score(query, documents, options)


@dataclass(frozen=True)
class Event:
    """One call of a handler."""

    kind: str
    run: UUID
    parent: UUID | None = None
    name: str | None = None
    payload: Any = None


class _Written:
    """The events of the runs so far."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def of(self, name: str) -> list[Event]:
        """Return all events of the runs with this name, in order."""
        runs = {event.run for event in self.events if event.name == name}
        return [event for event in self.events if event.run in runs]

    def write(self, kind: str, payload: Any, about: dict[str, Any]) -> None:
        name = about.get("name") if kind.endswith("start") else None
        self.events.append(Event(kind, about["run_id"], about.get("parent_run_id"), name, payload))


class Handler(_Written, BaseCallbackHandler):
    """A handler that writes down what chains and retrievers tell."""

    def on_chain_start(self, serialized, inputs, **about):
        self.write("start", inputs, about)

    def on_chain_end(self, outputs, **about):
        self.write("end", outputs, about)

    def on_chain_error(self, error, **about):
        self.write("error", error, about)

    def on_retriever_start(self, serialized, query, **about):
        self.write("retriever start", query, about)


class AsyncHandler(_Written, AsyncCallbackHandler):
    """The same as coroutines."""

    async def on_chain_start(self, serialized, inputs, **about):
        self.write("start", inputs, about)

    async def on_chain_end(self, outputs, **about):
        self.write("end", outputs, about)

    async def on_chain_error(self, error, **about):
        self.write("error", error, about)

    async def on_retriever_start(self, serialized, query, **about):
        self.write("retriever start", query, about)


async def _abatch(runnable: Runnable, given: Any) -> Any:
    return await runnable.abatch([given, given])


async def _streamed(runnable: Runnable, given: Any) -> Any:
    return [chunk async for chunk in runnable.astream(given)]


def _same(results: list[Any]) -> Any:
    assert results[0] == results[1]
    return results[0]


def _sum(chunks: list[Any]) -> Any:
    total = chunks[0]
    for chunk in chunks[1:]:
        total = total + chunk
    return total


# Every way to run a chain, as a function of the chain and its input.
WAYS: dict[str, Callable[[Runnable, Any], Any]] = {
    "invoke": lambda chain, given: chain.invoke(given),
    "ainvoke": lambda chain, given: asyncio.run(chain.ainvoke(given)),
    "batch": lambda chain, given: _same(chain.batch([given, given])),
    "abatch": lambda chain, given: _same(asyncio.run(_abatch(chain, given))),
    "stream": lambda chain, given: _sum(list(chain.stream(given))),
    "astream": lambda chain, given: _sum(asyncio.run(_streamed(chain, given))),
}
