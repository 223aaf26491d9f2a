"""LAMAR and the other rerankers of lamar_rag in LlamaIndex.

from llama_index.postprocessor.lamar import LamarReranker

engine = index.as_query_engine(similarity_top_k=20, node_postprocessors=[LamarReranker(top_n=3)])
"""

from lamar_rag.extras import require

require("llama_index.core", extra="llama-index", purpose="llama_index.postprocessor.lamar")

from llama_index.postprocessor.lamar.base import LamarReranker  # noqa: E402

__all__ = ["LamarReranker"]
