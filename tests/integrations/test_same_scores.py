"""Core, LangChain and LlamaIndex on XQuAD's passages with the embedded model: one order, one set of scores."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path

import pytest
from langchain_core.documents import Document
from langchain_lamar import LamarCrossEncoder
from langchain_lamar import LamarReranker as LangChainReranker
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.postprocessor.lamar import LamarReranker as LlamaIndexReranker

from lamar_rag import LanguagePreference, Reranker
from lamar_rag.embedded.e5_folder import E5_SMALL

pytestmark = pytest.mark.slow
POOL = 6


@pytest.fixture(scope="module")
def pools(data_dir: Path) -> list[tuple[str, list[str]]]:
    """One question of every language, with its own paragraph and others, each in a language drawn by lot."""
    articles = {
        path.name.split(".")[1]: json.loads(path.read_text(encoding="utf-8"))["data"]
        for path in sorted((data_dir / "xquad").glob("xquad.*.json"))
    }
    paragraphs = {
        language: [paragraph for article in data for paragraph in article["paragraphs"]]
        for language, data in articles.items()
    }
    rng = random.Random(13)
    made = []
    for own in paragraphs.values():
        chosen = rng.sample(range(len(own)), POOL)
        question = own[chosen[0]]["qas"][0]["question"]
        texts = [paragraphs[rng.choice(list(paragraphs))][i]["context"] for i in chosen]
        made.append((question, rng.sample(texts, POOL)))
    return made


@pytest.fixture(scope="module")
def core() -> Reranker:
    return Reranker(E5_SMALL)


def through_langchain(rows: list[Document]) -> list[tuple[str, float]]:
    return [(row.page_content, row.metadata["relevance_score"]) for row in rows]


def through_llama_index(rows: list[NodeWithScore]) -> list[tuple[str, float]]:
    return [(row.get_content(), row.score) for row in rows]


@pytest.mark.parametrize(
    ("preference", "queries"),
    [
        (LanguagePreference(0.5), 12),
        (LanguagePreference(), 2),
        (LanguagePreference(1.0, preferred=("en", "de"), floor=0.2), 2),
    ],
)
def test_the_same_order_and_scores(pools, core, preference, queries):
    options = {
        "language_weight": preference.weight,
        "preferred_languages": preference.preferred,
        "language_floor": preference.floor,
        "top_n": None,
    }
    chain = LangChainReranker(reranker=core, **options)
    engine = LlamaIndexReranker(reranker=core, **options)
    assert len(pools) == 12
    for query, texts in pools[:queries]:
        expected = [
            (row.document.text, row.score) for row in core.rerank(query, texts, preference=preference)
        ]
        documents = [Document(text) for text in texts]
        nodes = [NodeWithScore(node=TextNode(text=text), score=0.0) for text in texts]
        assert through_langchain(chain.compress_documents(documents, query)) == expected
        assert through_llama_index(engine.postprocess_nodes(nodes, query_str=query)) == expected


def test_the_same_order_and_scores_from_an_event_loop(pools, core):
    query, texts = pools[-1]
    expected = [(row.document.text, row.score) for row in core.rerank(query, texts, top_n=3)]
    documents = [Document(text) for text in texts]
    nodes = [NodeWithScore(node=TextNode(text=text)) for text in texts]
    found = asyncio.run(LangChainReranker(reranker=core).acompress_documents(documents, query))
    assert through_langchain(found) == expected
    kept = asyncio.run(LlamaIndexReranker(reranker=core).apostprocess_nodes(nodes, query_str=query))
    assert through_llama_index(kept) == expected


def test_models_of_their_own_give_the_same(pools, core):
    query, texts = pools[0]
    expected = [(row.document.text, row.score) for row in core.rerank(query, texts, top_n=3)]
    with LangChainReranker(model=E5_SMALL) as chain:
        rows = chain.compress_documents([Document(text) for text in texts], query)
    with LlamaIndexReranker(model=E5_SMALL) as engine:
        nodes = engine.postprocess_nodes(
            [NodeWithScore(node=TextNode(text=text)) for text in texts], query_str=query
        )
    with LamarCrossEncoder(model=E5_SMALL) as encoder:
        scores = encoder.score([(query, text) for text in texts])
    assert through_langchain(rows) == through_llama_index(nodes) == expected
    assert scores == core.score(query, texts).tolist()
