"""LAMAR and the other rerankers of lamar_rag in LangChain.

from langchain_lamar import LamarReranker

retriever = LamarReranker(top_n=3).after(vector_store.as_retriever(search_kwargs={"k": 20}))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lamar_rag.extras import require

require("langchain_core", extra="langchain", purpose="langchain_lamar")

from langchain_lamar.reranker import LamarReranker  # noqa: E402

if TYPE_CHECKING:
    from langchain_lamar.cross_encoder import LamarCrossEncoder

__all__ = ["LamarCrossEncoder", "LamarReranker"]


def __getattr__(name: str) -> Any:
    """Import LamarCrossEncoder on first use: its base class is elsewhere in older versions of LangChain."""
    if name != "LamarCrossEncoder":
        raise AttributeError(f"module 'langchain_lamar' has no attribute {name!r}")
    from langchain_lamar.cross_encoder import LamarCrossEncoder

    return LamarCrossEncoder
