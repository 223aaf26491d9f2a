"""LamarReranker: a node postprocessor that keeps the best nodes, in their new order."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from llama_index.core.callbacks import CallbackManager, CBEventType, EventPayload
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle
from pydantic import BaseModel, Field, StrictBool, field_validator

from lamar_rag import Document
from lamar_rag.async_scoring import in_thread
from lamar_rag.document_languages import located_documents
from lamar_rag.ranking_fields import RankingFields
from lamar_rag.types import RankedDocument

dispatcher = get_dispatcher(__name__)


class LamarReranker(RankingFields, BaseNodePostprocessor):
    """Orders nodes by their relevance to the query, with a dial for their language.

    The model reads a node's text with the metadata that its embedding has (MetadataMode.EMBED). One object may be
    shared by any number of threads and event loops. The nodes that are passed in are not changed: those returned
    are new `NodeWithScore` objects, whose score (a float) is what the order follows, the model's raw score plus the
    language preference. A node whose text the model did not read to its end has `truncated: True` in its metadata,
    where neither an embedding nor a language model sees it.

    Example:
        >>> reranker = LamarReranker(model="nlpai-lab/LAMAR-600m", top_n=3)
        >>> index.as_query_engine(similarity_top_k=20, node_postprocessors=[reranker])
    """

    keep_retrieval_score: StrictBool = Field(
        default=False,
        description="Keep the retriever's score in the metadata as retrieval_score, unseen by any model.",
    )

    @classmethod
    def class_name(cls) -> str:
        """Return the name that serialised objects carry."""
        return "LamarReranker"

    @classmethod
    def _completed(cls, options: dict[str, Any]) -> dict[str, Any]:
        """Take what `to_dict` wrote, the class's name too."""
        if options.get("class_name") == cls.class_name():
            options = {name: value for name, value in options.items() if name != "class_name"}
        return super()._completed(options)

    @field_validator("callback_manager", mode="before")
    @classmethod
    def _checked_manager(cls, value: object) -> object:
        if value is not None and not isinstance(value, CallbackManager):
            raise ValueError(
                f"got callback_manager={type(value).__name__}, expected a CallbackManager (or None)"
            )
        return CallbackManager() if value is None else value

    def __getstate__(self) -> dict[str, Any]:
        """Return the options, without a callback manager that cannot be pickled.

        LlamaIndex's own version takes what cannot be pickled out of the object itself, a given reranker too.

        Raises:
            TypeError: the reranker is over a `Scorer` that cannot be pickled.
        """
        if self.reranker is not None and not _can_be_pickled(self.reranker):
            raise TypeError(
                f"got a reranker over {self.model}, whose Scorer cannot be pickled: pass a model by name"
            )
        state = BaseModel.__getstate__(self)
        fields = dict(state["__dict__"])
        if not _can_be_pickled(fields["callback_manager"]):
            del fields["callback_manager"]
        return {**state, "__dict__": fields}

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        nodes = _checked_nodes(nodes)
        with self._reported(nodes, query_bundle) as kept:
            query = _query_text(query_bundle)
            if nodes:
                ranked = self._reranker.rerank(query, self._texts(nodes), **self.call_options())
                kept += [self._result(nodes[row.index], row) for row in ranked]
        return kept

    @dispatcher.span
    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        nodes = _checked_nodes(nodes)
        with self._reported(nodes, query_bundle) as kept:
            query = _query_text(query_bundle)
            if nodes:
                texts = await in_thread(self._texts, nodes)
                ranked = await self._reranker.arerank(query, texts, **self.call_options())
                kept += [self._result(nodes[row.index], row) for row in ranked]
        return kept

    @contextmanager
    def _reported(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None
    ) -> Iterator[list[NodeWithScore]]:
        """Report a reranking's start and, whatever comes, its end with the nodes that the block puts in the list."""
        if query_bundle is not None and not isinstance(query_bundle, QueryBundle):
            raise ValueError(
                f"got a {type(query_bundle).__name__} for query_bundle, expected a QueryBundle: pass query_str="
            )
        kept: list[NodeWithScore] = []
        top_n = self.top_n or self._reranker.top_n or len(nodes)
        dispatcher.event(
            ReRankStartEvent(query=query_bundle, nodes=nodes, top_n=top_n, model_name=self.model)
        )
        payload: dict[str, Any] = {
            EventPayload.NODES: nodes,
            EventPayload.MODEL_NAME: self.model,
            EventPayload.QUERY_STR: None if query_bundle is None else query_bundle.query_str,
            EventPayload.TOP_K: top_n,
        }
        try:
            with self.callback_manager.event(CBEventType.RERANKING, payload=payload) as event:
                yield kept
                event.on_end(payload={EventPayload.NODES: list(kept)})
        finally:
            dispatcher.event(ReRankEndEvent(nodes=kept))

    def _texts(self, nodes: Sequence[NodeWithScore]) -> list[Document]:
        """Return what the model reads of each node, in the language that its metadata states or its content has."""
        texts = [
            Document(
                row.get_content(metadata_mode=MetadataMode.EMBED),
                row.node.node_id,
                self.stated_language(row.node.metadata),
            )
            for row in nodes
        ]
        counts = self.language_weight or getattr(self._reranker.scorer, "reads_languages", False)
        return _located(nodes, texts) if counts else texts

    def _result(self, given: NodeWithScore, row: RankedDocument) -> NodeWithScore:
        marks: dict[str, Any] = {}
        if self.keep_retrieval_score and "retrieval_score" not in given.metadata:
            marks["retrieval_score"] = given.score
        if row.truncated:
            marks["truncated"] = True
        changed = marks or given.metadata.get("truncated") is True
        node = _marked(given.node, marks) if changed else given.node
        return given.model_copy(update={"node": node, "score": row.score})


def _marked(node: BaseNode, marks: dict[str, Any]) -> BaseNode:
    """Return a copy of the node with marks in its metadata that no model sees; an earlier `truncated` is gone."""
    metadata = dict(node.metadata)
    if metadata.get("truncated") is True:
        del metadata["truncated"]
    metadata |= marks
    unseen = {
        "excluded_embed_metadata_keys": list(dict.fromkeys([*node.excluded_embed_metadata_keys, *marks])),
        "excluded_llm_metadata_keys": list(dict.fromkeys([*node.excluded_llm_metadata_keys, *marks])),
    }
    return node.model_copy(update={"metadata": metadata, **unseen})


def _can_be_pickled(value: object) -> bool:
    try:
        pickle.dumps(value)
    except Exception:  # a class's own way of being pickled may raise anything
        return False
    return True


def _checked_nodes(nodes: Iterable[object]) -> list[NodeWithScore]:
    if isinstance(nodes, str) or not isinstance(nodes, Iterable):
        raise ValueError(f"got a {type(nodes).__name__} for nodes, expected a list of NodeWithScore")
    checked = []
    for position, node in enumerate(nodes):
        if not isinstance(node, NodeWithScore):
            raise ValueError(
                f"got a {type(node).__name__} at position {position} of nodes, expected a NodeWithScore: "
                "NodeWithScore(node=node)"
            )
        checked.append(node)
    return checked


def _query_text(query_bundle: QueryBundle | None) -> str:
    if query_bundle is None:
        raise ValueError("Missing query bundle in extra info: pass query_str= or query_bundle=")
    return query_bundle.query_str


def _located(nodes: Sequence[NodeWithScore], texts: Sequence[Document]) -> list[Document]:
    """Return every text with a language, told of its content alone: metadata keys are English in any corpus."""
    silent = [i for i, text in enumerate(texts) if not text.language]
    contents = [Document(nodes[i].get_content(metadata_mode=MetadataMode.NONE)) for i in silent]
    told = dict(zip(silent, located_documents(contents), strict=True))
    return [replace(text, language=told[i].language) if i in told else text for i, text in enumerate(texts)]
