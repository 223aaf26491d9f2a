"""Milliseconds that the LangChain and LlamaIndex classes add to `Reranker.rerank`.

    python benchmarks/adapter_overhead.py [--documents 100] [--rounds 200]

The scorer returns fixed numbers at once, so that only the way there and back is timed: passages of the sample
corpus with three or four keys of metadata, all of them returned (the most that there is to do) or the best three.
The core gets the text that the adapter gives it, ready made. Core and adapter run in turns; `added_ms` is the
median of the differences, round by round, and `added_quiet_ms` the difference of the 10th percentiles, which a
machine that others load now and then changes less. `languages` says whether the dial is on, and who tells the
documents' languages then: "none" (dial off), "stated" in the metadata or "detected" by the library, on both sides.
`node_texts_ms` is what LlamaIndex itself takes to put the nodes' texts and metadata together, which is part of
what its adapter adds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from importlib.metadata import version
from itertools import product

import numpy as np
from langchain_core.documents import Document as LangChainDocument
from langchain_lamar import LamarReranker as LangChainReranker
from llama_index.core.schema import MetadataMode, NodeWithScore, TextNode
from llama_index.postprocessor.lamar import LamarReranker as LlamaIndexReranker

from lamar_rag import Document, LanguagePreference, Reranker
from lamar_rag.sample_corpus import sample_documents
from lamar_rag.types import Scored, ScoringOptions

QUERY = "Wie tief ist der Baikalsee?"
Call = Callable[[], Awaitable[object]]


class FixedScorer:
    """A `Scorer` that takes no time."""

    model, spread = "fixed", 1.0

    def score(
        self, query: str, documents: Sequence[Document], options: ScoringOptions = ScoringOptions()
    ) -> Scored:
        """Return the same scores for every call."""
        scores = np.random.default_rng(13).standard_normal(len(documents)).astype(np.float32)
        return Scored(scores, np.zeros(len(documents), dtype=np.bool_))

    def probability(self, scores: np.ndarray) -> None:
        """Return None: there is no mapping."""
        return

    def close(self) -> None:
        """Free nothing."""


def embed_text(node: NodeWithScore) -> str:
    """Return what an embedding, and the reranker, read of a node."""
    return node.get_content(metadata_mode=MetadataMode.EMBED)


def calls(corpus: list[Document], languages: str, top_n: int | None) -> dict[str, Call]:
    """Return what is timed, by name."""
    preference = LanguagePreference(0.0 if languages == "none" else 0.5)
    core = Reranker(FixedScorer(), preference=preference)
    stated = {"language"} if languages == "stated" else set()
    metadata = [
        {"source": row.id, "page": 1, "title": row.title, **({"language": row.language} if stated else {})}
        for row in corpus
    ]
    chain = LangChainReranker(reranker=core, top_n=top_n)
    found = [
        LangChainDocument(row.text, metadata=data, id=row.id)
        for row, data in zip(corpus, metadata, strict=True)
    ]
    engine = LlamaIndexReranker(reranker=core, top_n=top_n)
    nodes = [
        NodeWithScore(node=TextNode(text=row.text, id_=row.id, metadata=data), score=0.5)
        for row, data in zip(corpus, metadata, strict=True)
    ]

    documents = [Document(row.text, row.id, row.language if stated else None) for row in corpus]
    embedded = [replace(row, text=embed_text(node)) for row, node in zip(documents, nodes, strict=True)]

    def blocking(work: Callable[[], object]) -> Call:
        async def call() -> object:
            return work()

        return call

    return {
        "rerank: core for LangChain": blocking(lambda: core.rerank(QUERY, documents, top_n=top_n)),
        "rerank: core for LlamaIndex": blocking(lambda: core.rerank(QUERY, embedded, top_n=top_n)),
        "rerank: LangChain": blocking(lambda: chain.compress_documents(found, QUERY)),
        "rerank: LlamaIndex": blocking(lambda: engine.postprocess_nodes(nodes, query_str=QUERY)),
        "arerank: core for LangChain": lambda: core.arerank(QUERY, documents, top_n=top_n),
        "arerank: core for LlamaIndex": lambda: core.arerank(QUERY, embedded, top_n=top_n),
        "arerank: LangChain": lambda: chain.acompress_documents(found, QUERY),
        "arerank: LlamaIndex": lambda: engine.apostprocess_nodes(nodes, query_str=QUERY),
        "node texts": blocking(lambda: [embed_text(node) for node in nodes]),
    }


async def timed(chosen: dict[str, Call], rounds: int) -> dict[str, list[float]]:
    """Return each call's milliseconds, a row a round; the first tenth is warm-up and left out."""
    times: dict[str, list[float]] = {name: [] for name in chosen}
    for round_ in range(rounds + rounds // 10):
        for name in sorted(chosen, reverse=round_ % 2 == 1):
            start = time.perf_counter()
            await chosen[name]()
            times[name].append(1e3 * (time.perf_counter() - start))
    return {name: row[rounds // 10 :] for name, row in times.items()}


def measured(count: int, rounds: int, languages: str, top_n: int | None) -> dict[str, object]:
    """Return the medians of one setting, and of what each adapter adds."""
    corpus = sample_documents()[:count]
    times = asyncio.run(timed(calls(corpus, languages, top_n), rounds))
    medians = {name: statistics.median(row) for name, row in times.items()}
    pairs = {
        name: (row, times[name.replace(": ", ": core for ")])
        for name, row in times.items()
        if name.endswith((": LangChain", ": LlamaIndex"))
    }
    return {
        "languages": languages,
        "top_n": top_n,
        "core_ms": {name: value for name, value in medians.items() if "core" in name},
        "added_ms": {name: float(np.median(np.subtract(*pair))) for name, pair in pairs.items()},
        "added_quiet_ms": {
            name: np.subtract(*np.percentile(pair, 10, axis=1)) for name, pair in pairs.items()
        },
        "node_texts_ms": medians["node texts"],
    }


def main() -> None:
    """Time every setting and print the JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    settings = product(("none", "stated", "detected"), (None, 3))
    result = {
        "documents": options.documents,
        "rounds": options.rounds,
        "settings": [measured(options.documents, options.rounds, *setting) for setting in settings],
        "versions": {name: version(name) for name in ("langchain-core", "llama-index-core", "pydantic")},
        "python": platform.python_version(),
    }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
