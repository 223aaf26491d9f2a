"""Measures the first stage under language centring and the preference dial: coherence against rescue.

    python benchmarks/preference_dial.py --dataset ntrex --data DATA     # development: choose here
    python benchmarks/preference_dial.py --dataset mslearn --data DATA   # development: choose here
    python benchmarks/preference_dial.py --dataset xquad --data DATA     # evaluation only: never choose here

Writes one JSON document (the weights in the library's own unit, `Scorer.spread`; `spread` is what the data
set itself would give): for plain and centred e5 and each weight of the dial R@20, nDCG@1, rescue@1 and its
ceiling, by query language and averaged over languages with equal weight (definitions:
docs/language-preference.md). Vectors are kept under --cache, so that a second run takes seconds.

On NTREX, from which the shipped means come, each half of the documents is centred with means of the other half.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
from parallel_corpora import MODEL, XQUAD_LANGUAGES, Parallel, embedded, read_mslearn, read_ntrex, read_xquad

from lamar_rag.cache import cache_dir
from lamar_rag.preference import LanguagePreference
from lamar_rag.retrieval.centring import LanguageCentring, shipped_centring
from lamar_rag.retrieval.sentence_embedder import SentenceEmbedder
from lamar_rag.scoring.bi_encoder import BiEncoderScorer

CANDIDATES = 20
WEIGHTS = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0]

Vectors = dict[str, dict[str, np.ndarray]]  # kind -> language -> (n, d)


def embed_corpus(corpus: Parallel, cache: Path) -> Vectors:
    """Return the plain vectors of a corpus."""
    return {
        kind: {
            language: embedded([text for _, text in rows], kind, cache) for language, rows in texts.items()
        }
        for kind, texts in (("passage", corpus.passages), ("query", corpus.queries))
    }


def centre(vectors: Vectors, centring: LanguageCentring) -> Vectors:
    """Return the vectors with each language's mean taken out."""
    return {
        kind: {language: centring.apply(v, kind, [language] * len(v)) for language, v in by_language.items()}
        for kind, by_language in vectors.items()
    }


def centre_halves(vectors: Vectors, corpus: Parallel) -> Vectors:
    """Return the vectors of either half of the groups, centred with the means of the other half."""
    groups = list(dict.fromkeys(group for group, _ in next(iter(corpus.queries.values()))))
    first = set(groups[: len(groups) // 2])
    texts = {"passage": corpus.passages, "query": corpus.queries}
    result: Vectors = {kind: {k: np.empty_like(v) for k, v in rows.items()} for kind, rows in vectors.items()}
    for half in (True, False):
        mine = {
            kind: {
                k: np.array([(group in first) == half for group, _ in rows])
                for k, rows in texts[kind].items()
            }
            for kind in texts
        }
        others = {kind: {k: v[~mine[kind][k]] for k, v in rows.items()} for kind, rows in vectors.items()}
        means = LanguageCentring.estimate("other-half", others)
        for kind, rows in vectors.items():
            for k, v in rows.items():
                chosen = v[mine[kind][k]]
                result[kind][k][mine[kind][k]] = means.apply(chosen, kind, [k] * len(chosen))
    return result


def headlines(corpus: Parallel, vectors: Vectors) -> tuple[Parallel, Vectors]:
    """Return NTREX with its headlines as the only queries, of the documents that have a passage."""
    some = next(iter(corpus.passages.values()))
    kept = {group for group, _ in some}
    order = list(dict.fromkeys(group for group, _ in next(iter(corpus.queries.values()))))
    rows = [i for i, group in enumerate(order) if group in kept]  # the headlines stand first
    queries = {language: [texts[i] for i in rows] for language, texts in corpus.queries.items()}
    chosen = {language: v[rows] for language, v in vectors["query"].items()}
    return Parallel(corpus.passages, queries), {"passage": vectors["passage"], "query": chosen}


def top_candidates(scores: np.ndarray) -> np.ndarray:
    """Return the columns of the best candidates of each row, shape (n, CANDIDATES); ties by column."""
    return np.argsort(-scores, axis=1, kind="stable")[:, :CANDIDATES]


class Measurement:
    """First-stage scores over one parallel corpus, and what the dial makes of them."""

    def __init__(self, corpus: Parallel, vectors: Vectors) -> None:
        self.languages = corpus.languages()
        rows = [(group, language) for language in self.languages for group, _ in corpus.passages[language]]
        self.groups = np.array([group for group, _ in rows])
        self.passage_languages = np.array([language for _, language in rows])
        self.query_groups = {k: np.array([group for group, _ in corpus.queries[k]]) for k in self.languages}
        matrix = np.concatenate([vectors["passage"][language] for language in self.languages])
        self.scores = {k: vectors["query"][k] @ matrix.T for k in self.languages}
        self.coherence = {k: top_candidates(v) for k, v in self.scores.items()}
        self.rescue = {k: top_candidates(np.where(self._gold(k), -np.inf, v)) for k, v in self.scores.items()}

    def spread(self) -> float:
        """Return the median over queries of the standard deviation of the 20 candidates' scores."""
        deviations = [
            np.take_along_axis(self.scores[k], self.coherence[k], axis=1).std(axis=1) for k in self.languages
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


def measured(options: argparse.Namespace) -> dict[str, object]:
    """Return the JSON document for one data set."""
    if options.dataset == "ntrex":
        whole = read_ntrex(options.data, XQUAD_LANGUAGES)
        vectors = embed_corpus(whole, options.cache)
        corpus, plain = headlines(whole, vectors)
        _, centred = headlines(whole, centre_halves(vectors, whole))
    else:
        corpus = (read_xquad if options.dataset == "xquad" else read_mslearn)(options.data)
        plain = embed_corpus(corpus, options.cache)
        centred = centre(plain, shipped_centring(MODEL))
    result: dict[str, object] = {
        "dataset": options.dataset,
        "model": MODEL,
        "queries": sum(len(rows) for rows in corpus.queries.values()),
        "passages": sum(len(rows) for rows in corpus.passages.values()),
        "candidates": CANDIDATES,
        "versions": {name: version(name) for name in ("torch", "sentence-transformers", "numpy")},
        "python": platform.python_version(),
    }
    for name, chosen, means in (("plain", plain, None), ("centred", centred, "auto")):
        measurement = Measurement(corpus, chosen)
        unit = BiEncoderScorer(SentenceEmbedder(MODEL, centring=means)).spread
        points = [measurement.figures(weight, unit) for weight in options.weights]
        result[name] = {"spread": measurement.spread(), "unit": unit, "points": points}
    return result


def main() -> None:
    """Measure and write the JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dataset", choices=["ntrex", "mslearn", "xquad"], required=True)
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpora")
    parser.add_argument("--cache", type=Path, default=cache_dir() / "benchmark-vectors")
    parser.add_argument("--weights", type=float, nargs="+", default=WEIGHTS)
    parser.add_argument("--output", type=Path, help="file for the JSON; stdout by default")
    options = parser.parse_args()
    text = json.dumps(measured(options), indent=1, ensure_ascii=False) + "\n"
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
