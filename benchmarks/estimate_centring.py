"""Estimates the means of language centring from NTREX-128 and writes them for the library to ship.

    python benchmarks/estimate_centring.py --data DATA --output lamar_rag/embedded/e5_small_centring.safetensors

Passages are windows of four sentences of a document (every second window), queries its headline and every
sixth sentence: about 240 and 430 texts a language, 51 languages. XQuAD and BELEBELE are not touched.
Vectors are kept under --cache, language by language: a killed run goes on where it was.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from preference_dial import MODEL, embedded

from lamar_rag.cache import cache_dir
from lamar_rag.languages import normalize_language
from lamar_rag.retrieval.centring import LanguageCentring

NAME = "ntrex-51"
_WINDOW = 4


def documents(data: Path, file: Path) -> list[list[str]]:
    """Return the sentences of each document of one language."""
    ids = (data / "ntrex128" / "DOCUMENT_IDS.tsv").read_text(encoding="utf-8").splitlines()
    lines = file.read_text(encoding="utf-8").split("\n")[: len(ids)]
    grouped: dict[str, list[str]] = {}
    for document, sentence in zip(ids, lines, strict=True):
        grouped.setdefault(document, []).append(sentence)
    return list(grouped.values())


def texts(sentences: list[list[str]]) -> dict[str, list[str]]:
    """Return the queries and passages of one language."""
    windows = [" ".join(d[start : start + _WINDOW]) for d in sentences for start in range(1, len(d), _WINDOW)]
    headlines = [d[0] for d in sentences]
    return {"query": headlines + [s for d in sentences for s in d[1::6]], "passage": windows[::2]}


def main() -> None:
    """Embed, average and save."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder that holds ntrex128/")
    parser.add_argument("--output", type=Path, required=True, help="the .safetensors file to write")
    parser.add_argument("--cache", type=Path, default=cache_dir() / "benchmark-vectors")
    options = parser.parse_args()
    vectors: dict[str, dict[str, np.ndarray]] = {"query": {}, "passage": {}}
    for file in sorted((options.data / "ntrex128" / "NTREX-128").glob("newstest2019-*.txt")):
        language = normalize_language(file.name.split(".")[1])
        for kind, chosen in texts(documents(options.data, file)).items():
            vectors[kind][language] = embedded(chosen, kind, options.cache)
    LanguageCentring.estimate(NAME, vectors).save(options.output)
    print(f"{options.output}: means of {MODEL} for {len(vectors['query'])} languages")


if __name__ == "__main__":
    main()
