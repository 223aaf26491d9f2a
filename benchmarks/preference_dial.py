"""Measures the first stage under language centring and the preference dial: coherence against rescue.

    python benchmarks/preference_dial.py --dataset mslearn --data DATA   # the development set: choose here
    python benchmarks/preference_dial.py --dataset xquad --data DATA     # evaluation only: never choose here

Writes one JSON document: for plain and centred e5 and each weight of the dial R@20, nDCG@1, rescue@1 and its
ceiling, by query language and averaged over languages with equal weight (definitions: docs/language-preference.md).
Vectors are kept under --cache, so that a second run takes seconds.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np

from lamar_rag.cache import cache_dir
from lamar_rag.preference import LanguagePreference
from lamar_rag.retrieval.centring import LanguageCentring, shipped_centring
from lamar_rag.retrieval.sentence_embedder import SentenceEmbedder

CANDIDATES = 20
MODEL = "multilingual-e5-small"
XQUAD_LANGUAGES = ["ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh"]
WEIGHTS = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0]


@dataclass(frozen=True)
class Parallel:
    """A corpus in which group g exists in every language: passages and queries, each with its group."""

    passages: dict[str, list[tuple[str, str]]]  # language -> (group, text)
    queries: dict[str, list[tuple[str, str]]]


def read_xquad(data: Path) -> Parallel:
    """Read XQuAD's 12 files: one group a paragraph."""
    passages, queries = {}, {}
    for language in XQUAD_LANGUAGES:
        articles = json.loads((data / "xquad" / f"xquad.{language}.json").read_text(encoding="utf-8"))["data"]
        paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
        passages[language] = [(str(i), paragraph["context"]) for i, paragraph in enumerate(paragraphs)]
        queries[language] = [
            (str(i), qa["question"]) for i, paragraph in enumerate(paragraphs) for qa in paragraph["qas"]
        ]
    return Parallel(passages, queries)


def read_mslearn(data: Path) -> Parallel:
    """Read the parallel sections in XQuAD's 12 languages; the query is "title: heading"."""
    rows = {
        language: [
            json.loads(line)
            for line in (data / "mslearn_parallel" / f"{language}.jsonl")
            .read_text(encoding="utf-8")
            .splitlines()
        ]
        for language in XQUAD_LANGUAGES
    }
    shared = set.intersection(*({row["id"] for row in rows[language]} for language in XQUAD_LANGUAGES))
    kept = {language: [row for row in rows[language] if row["id"] in shared] for language in XQUAD_LANGUAGES}
    return Parallel(
        {language: [(row["id"], row["text"]) for row in kept[language]] for language in kept},
        {
            language: [(row["id"], f"{row['title']}: {row['heading']}") for row in kept[language]]
            for language in kept
        },
    )


def embedded(texts: list[str], kind: str, cache: Path) -> np.ndarray:
    """Return plain unit vectors, shape (n, d), from the cache where the same texts were embedded before."""
    key = hashlib.sha256("\0".join([MODEL, kind, *texts]).encode()).hexdigest()[:24]
    file = cache / f"{key}.npy"
    if file.is_file():
        return np.load(file, allow_pickle=False)
    vectors = SentenceEmbedder(MODEL, centring=None).embed(texts, kind, progress=True)
    cache.mkdir(parents=True, exist_ok=True)
    np.save(file, vectors)
    return vectors


def top_candidates(scores: np.ndarray) -> np.ndarray:
    """Return the columns of the best candidates of each row, shape (n, CANDIDATES); ties by column."""
    return np.argsort(-scores, axis=1, kind="stable")[:, :CANDIDATES]


class Measurement:
    """First-stage scores of one embedder over one parallel corpus, and what reranking makes of them."""

    def __init__(self, corpus: Parallel, cache: Path, centring: LanguageCentring | None) -> None:
        self.languages = list(corpus.passages)
        self.groups = np.array(
            [group for language in self.languages for group, _ in corpus.passages[language]]
        )
        self.passage_languages = np.array(
            [language for language in self.languages for _ in corpus.passages[language]]
        )
        self.query_groups = {
            language: np.array([group for group, _ in corpus.queries[language]])
            for language in self.languages
        }
        texts = {language: [text for _, text in corpus.passages[language]] for language in self.languages}
        questions = {language: [text for _, text in corpus.queries[language]] for language in self.languages}
        passages = {language: embedded(texts[language], "passage", cache) for language in self.languages}
        queries = {language: embedded(questions[language], "query", cache) for language in self.languages}
        if centring is not None:
            passages = {k: centring.apply(v, "passage", [k] * len(v)) for k, v in passages.items()}
            queries = {k: centring.apply(v, "query", [k] * len(v)) for k, v in queries.items()}
        matrix = np.concatenate([passages[language] for language in self.languages])
        self.scores = {language: queries[language] @ matrix.T for language in self.languages}
        self.coherence = {k: top_candidates(v) for k, v in self.scores.items()}
        self.rescue = {k: top_candidates(np.where(self._gold(k), -np.inf, v)) for k, v in self.scores.items()}

    def spread(self) -> float:
        """Return the median over queries of the standard deviation of the 20 candidates' scores."""
        deviations = [
            np.take_along_axis(self.scores[language], self.coherence[language], axis=1).std(axis=1)
            for language in self.languages
        ]
        return float(np.median(np.concatenate(deviations)))

    def figures(self, weight: float, spread: float) -> dict[str, object]:
        """Return R@20, nDCG@1, rescue@1 and its ceiling, fractions, for one weight of the dial."""
        rows = {}
        for language in self.languages:
            gold, relevant = self._gold(language), self._same_group(language)
            first = self._first(language, self.coherence[language], weight, spread)
            rescued = self._first(language, self.rescue[language], weight, spread)
            n = np.arange(len(first))
            rows[language] = {
                "recall@20": float(np.take_along_axis(gold, self.coherence[language], 1).any(axis=1).mean()),
                "ndcg@1": float(gold[n, first].mean()),
                "rescue@1": float(relevant[n, rescued].mean()),
                "ceiling": float(np.take_along_axis(relevant, self.rescue[language], 1).any(axis=1).mean()),
            }
        average = {
            name: float(np.mean([row[name] for row in rows.values()])) for name in rows[self.languages[0]]
        }
        total = average["ndcg@1"] + average["rescue@1"]
        balanced = 2 * average["ndcg@1"] * average["rescue@1"] / total if total else 0.0
        return {"weight": weight, **average, "balanced@1": balanced, "languages": rows}

    def _gold(self, language: str) -> np.ndarray:
        return self._same_group(language) & (self.passage_languages == language)[None, :]

    def _same_group(self, language: str) -> np.ndarray:
        return self.query_groups[language][:, None] == self.groups[None, :]

    def _first(self, language: str, candidates: np.ndarray, weight: float, spread: float) -> np.ndarray:
        """Return the column that comes first after the dial, shape (n,), as `Reranker` would have it."""
        scores = np.take_along_axis(self.scores[language], candidates, axis=1)
        preference = LanguagePreference(weight=weight)
        best = [
            int(
                np.argmax(
                    preference.apply(row, list(self.passage_languages[columns]), language, spread=spread)
                )
            )
            for row, columns in zip(scores, candidates, strict=True)
        ]
        return candidates[np.arange(len(candidates)), best]


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dataset", choices=["xquad", "mslearn"], required=True)
    parser.add_argument(
        "--data", type=Path, required=True, help="folder that holds xquad/ and mslearn_parallel/"
    )
    parser.add_argument("--cache", type=Path, default=cache_dir() / "benchmark-vectors")
    parser.add_argument("--centring", type=Path, help="means to use instead of the shipped ones")
    parser.add_argument(
        "--spread", type=float, help="unit of the weights; measured on this dataset by default"
    )
    parser.add_argument("--weights", type=float, nargs="+", default=WEIGHTS)
    parser.add_argument("--output", type=Path, help="file for the JSON; stdout by default")
    return parser.parse_args()


def main() -> None:
    """Measure and write the JSON."""
    options = parse()
    corpus = (read_xquad if options.dataset == "xquad" else read_mslearn)(options.data)
    centring = LanguageCentring.load(options.centring) if options.centring else shipped_centring(MODEL)
    result: dict[str, object] = {
        "dataset": options.dataset,
        "model": MODEL,
        "queries": sum(len(rows) for rows in corpus.queries.values()),
        "passages": sum(len(rows) for rows in corpus.passages.values()),
        "candidates": CANDIDATES,
        "versions": {name: version(name) for name in ("torch", "sentence-transformers", "numpy")},
        "python": platform.python_version(),
    }
    for name, means in (("plain", None), ("centred", centring)):
        measurement = Measurement(corpus, options.cache, means)
        spread = measurement.spread()
        unit = options.spread if options.spread and means is not None else spread
        result[name] = {
            "centring": means.name if means else None,
            "spread": spread,
            "unit": unit,
            "points": [measurement.figures(weight, unit) for weight in options.weights],
        }
    text = json.dumps(result, indent=1, ensure_ascii=False)
    if options.output:
        options.output.write_text(text + "\n", encoding="utf-8")
    else:
        sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
