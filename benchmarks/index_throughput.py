"""Passages a second of building an index beside `SentenceTransformer.encode`: same model, machine and run.

    python benchmarks/index_throughput.py --data DATA [--passages 2880] [--rounds 1]

Both embed XQuAD's passages (all 12 languages, one corpus) with multilingual-e5-small in float32; ours also reads
the corpus, takes the language means out, builds the FAISS index and saves it. The two run in turns, each round in
another order; the JSON gives every time and the ratio of the medians.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import statistics
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

from lamar_rag.embedded.e5_folder import e5_small_folder
from lamar_rag.pipeline_parts import build_embedder
from lamar_rag.profiles import get_profile
from lamar_rag.retrieval.corpus_reader import read_corpus
from lamar_rag.retrieval.faiss_index import FaissIndex
from lamar_rag.types import Document


def timed_index(documents: list[Document] | None, corpus: Path) -> float:
    """Return the seconds from reading the corpus to the saved index, the model being loaded before."""
    embedder = build_embedder(get_profile("embedded"))
    embedder.embed(["warm up"], "passage")
    start = time.perf_counter()
    source = documents if documents is not None else read_corpus(corpus)
    with tempfile.TemporaryDirectory() as folder, FaissIndex.build(source, embedder) as index:
        index.save(Path(folder) / "index")
    return time.perf_counter() - start


def timed_encode(texts: list[str]) -> float:
    """Return the seconds of sentence-transformers' own loop, the model being loaded before."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(e5_small_folder()), device="cpu")
    model.encode(["passage: warm up"])
    start = time.perf_counter()
    model.encode([f"passage: {text}" for text in texts], normalize_embeddings=True)
    return time.perf_counter() - start


def main() -> None:
    """Time both in turns and print the JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder that holds xquad/")
    parser.add_argument("--passages", type=int, help="a seeded sample of so many; all by default")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    corpus = options.data / "xquad"
    everything = list(read_corpus(corpus))
    sample = None
    if options.passages and options.passages < len(everything):
        sample = random.Random(13).sample(everything, options.passages)
    texts = [document.text for document in sample or everything]
    times: dict[str, list[float]] = {"FaissIndex.build and save": [], "SentenceTransformer.encode": []}
    for round_ in range(options.rounds):
        for name in sorted(times, reverse=round_ % 2 == 1):
            seconds = timed_encode(texts) if name.startswith("Sentence") else timed_index(sample, corpus)
            times[name].append(seconds)
    rates = {name: len(texts) / statistics.median(seconds) for name, seconds in times.items()}
    result = {
        "passages": len(texts),
        "seconds": times,
        "passages_per_second": rates,
        "ratio": rates["FaissIndex.build and save"] / rates["SentenceTransformer.encode"],
        "versions": {name: version(name) for name in ("torch", "sentence-transformers", "faiss-cpu")},
        "python": platform.python_version(),
    }
    json.dump(result, sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
