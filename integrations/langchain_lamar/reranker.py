"""LamarReranker: a document compressor that keeps the best documents, in their new order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isnan
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.runnables import Runnable, RunnableLambda, RunnableParallel, RunnablePassthrough

import lamar_rag
from lamar_rag.async_scoring import in_thread
from lamar_rag.ranking_fields import RankingFields
from lamar_rag.types import RankedDocument


class LamarReranker(RankingFields, BaseDocumentCompressor):
    """Orders documents by their relevance to a query, with a dial for their language.

    Drops into `ContextualCompressionRetriever(base_compressor=..., base_retriever=...)`; in a chain without it,
    `reranker.after(retriever)` is a retriever whose results are reranked. One object may be shared by any number of
    threads and event loops. The caller's documents are not changed: those returned are new ones with the same id
    and metadata (nested values are shared), and in the metadata

    - `relevance_score` (float): what the order follows, the model's raw score plus the language preference;
    - `language`: the code of the document's language, added where the metadata has no `language`;
    - `truncated`: True where the model did not read all of the document or the query, else removed.

    Example:
        >>> reranker = LamarReranker(model="nlpai-lab/LAMAR-600m", top_n=3)
        >>> reranker.compress_documents(documents, "Wie lang ist der Nil?")
    """

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """Return the best documents, the best first; nothing is loaded for an empty list.

        Raises:
            ValueError: a query or a document that is not text, or scores that are not finite.
        """
        return self.as_runnable().invoke({"query": query, "documents": documents}, {"callbacks": callbacks})

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """Return what `compress_documents` returns, without blocking the event loop."""
        return await self.as_runnable().ainvoke(
            {"query": query, "documents": documents}, {"callbacks": callbacks}
        )

    def as_runnable(self) -> Runnable[dict[str, Any], list[Document]]:
        """Return the reranker as a step of a chain: from {"query": ..., "documents": ...} to documents."""
        return RunnableLambda(self._rerank, afunc=self._arerank, name=type(self).__name__)

    def after(self, retriever: Runnable[str, list[Document]]) -> Runnable[str, list[Document]]:
        """Return a retriever that hands all of its documents to the reranker: from a query to documents."""
        found: Runnable[str, dict[str, Any]] = RunnableParallel(
            query=RunnablePassthrough(), documents=retriever
        )
        return found | self.as_runnable()

    def _rerank(self, given: dict[str, Any]) -> list[Document]:
        documents, texts = self._texts(given)
        ranked = self._reranker.rerank(given["query"], texts, **self.call_options())
        return [self._result(documents[row.index], row) for row in ranked]

    async def _arerank(self, given: dict[str, Any]) -> list[Document]:
        documents, texts = await in_thread(self._texts, given)  # language codes are read from files
        ranked = await self._reranker.arerank(given["query"], texts, **self.call_options())
        return [self._result(documents[row.index], row) for row in ranked]

    def _texts(self, given: dict[str, Any]) -> tuple[list[Document], list[lamar_rag.Document]]:
        """Return the documents as they came and as the library's own.

        Raises:
            ValueError: another input than {"query": ..., "documents": ...} with a list of documents.
        """
        if not isinstance(given, dict) or not {"query", "documents"} <= given.keys():
            got = str(sorted(map(str, given))) if isinstance(given, dict) else f"a {type(given).__name__}"
            raise ValueError(
                f"got {got} for {type(self).__name__}, expected a dict with 'query' and 'documents'"
            )
        if isinstance(given["documents"], str) or not isinstance(given["documents"], Iterable):
            got = type(given["documents"]).__name__
            raise ValueError(
                f"got a {got} for documents, expected a list of langchain_core.documents.Document"
            )
        documents = list(given["documents"])
        for position, document in enumerate(documents):
            if not isinstance(document, Document):
                raise ValueError(
                    f"got a {type(document).__name__} at position {position} of documents, expected a "
                    "langchain_core.documents.Document: Document(text)"
                )
        return documents, [
            lamar_rag.Document(row.page_content, row.id or "", self.stated_language(row.metadata))
            for row in documents
        ]

    def _result(self, document: Document, row: RankedDocument) -> Document:
        metadata = {**document.metadata, "relevance_score": row.score}
        if _says_nothing(metadata.get("language")):
            metadata["language"] = row.language
        if row.truncated:
            metadata["truncated"] = True
        elif metadata.get("truncated") is True:  # the mark of an earlier reranking
            del metadata["truncated"]
        return document.model_copy(update={"metadata": metadata})


def _says_nothing(value: object) -> bool:
    """Whether a metadata value is as good as none; a table's missing value is NaN."""
    return (
        value is None or (isinstance(value, str) and not value) or (isinstance(value, float) and isnan(value))
    )
