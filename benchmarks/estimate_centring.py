"""Estimates the means of language centring from NTREX-128 and writes them for the library to ship.

    python benchmarks/estimate_centring.py --data DATA --output lamar_rag/embedded/e5_small_centring.safetensors

Passages are windows of four sentences of a document (every second window), queries its headline and every
sixth sentence: 258 and 493 texts a language, 51 languages. XQuAD and BELEBELE are not touched. Vectors are
kept under --cache, language by language: a killed run goes on where it was.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from parallel_corpora import MODEL, read_ntrex
from preference_dial import embed_corpus

from lamar_rag.cache import cache_dir
from lamar_rag.retrieval.centring import LanguageCentring

NAME = "ntrex-51"


def main() -> None:
    """Embed, average and save."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder that holds ntrex128/")
    parser.add_argument("--output", type=Path, required=True, help="the .safetensors file to write")
    parser.add_argument("--cache", type=Path, default=cache_dir() / "benchmark-vectors")
    options = parser.parse_args()
    corpus = read_ntrex(options.data)
    LanguageCentring.estimate(NAME, embed_corpus(corpus, options.cache)).save(options.output)
    print(f"{options.output}: means of {MODEL} for {len(corpus.languages())} languages")


if __name__ == "__main__":
    main()
