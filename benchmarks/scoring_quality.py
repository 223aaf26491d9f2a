"""nDCG@10 of a cross-encoder in several number formats on XQuAD's top 20 (evaluation only: never choose here).

    python benchmarks/scoring_quality.py [--questions 40] [--dtypes float32 int8]

For a random part of each query language's questions, centred multilingual-e5-small takes the 20 nearest of all
2,880 paragraphs in 12 languages, and the cross-encoder orders them. Relevant is the question's own paragraph in
any language. Writes docs/results/scoring-quality.json: the first stage's and each format's figures by query
language and averaged over languages, and the differences to the first format in points, with the 95 % interval
of a paired bootstrap over the questions.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import torch
from ir_measures import ScoredDoc, nDCG
from parallel_corpora import MODEL, Parallel, embedded, read_xquad
from scoring_machine import machine
from scoring_pools import REPOSITORY, default_data

from lamar_rag import Document, Reranker
from lamar_rag.cache import cache_dir
from lamar_rag.retrieval.centring import shipped_centring

CANDIDATES = 20
MEASURE = nDCG @ 10
FIRST_STAGE = "first stage"
_RESAMPLES = 2000


@dataclass(frozen=True)
class Question:
    """A question with its candidates, the nearest first; documents are named "paragraph/language"."""

    id: str
    language: str
    group: str
    text: str
    candidates: tuple[Document, ...]


def candidates_of(corpus: Parallel, options: argparse.Namespace) -> list[Question]:
    """Return the drawn questions of every language with the first stage's top 20."""
    centring = shipped_centring(MODEL)
    if centring is None:
        raise ValueError(f"got no language means for {MODEL}, expected those that the package ships")
    documents, vectors = [], []
    for language, rows in corpus.passages.items():
        plain = embedded([text for _, text in rows], "passage", options.cache)
        vectors.append(centring.apply(plain, "passage", [language] * len(rows)))
        documents += [Document(text, f"{group}/{language}", language) for group, text in rows]
    passages = np.concatenate(vectors)
    questions = []
    for language, rows in corpus.queries.items():
        plain = embedded([text for _, text in rows], "query", options.cache)
        queries = centring.apply(plain, "query", [language] * len(rows))
        rng = random.Random(f"quality:{options.seed}:{language}")
        for row in sorted(rng.sample(range(len(rows)), min(options.questions, len(rows)))):
            nearest = np.argsort(-(passages @ queries[row]), kind="stable")[:CANDIDATES]
            group, text = rows[row]
            chosen = tuple(documents[i] for i in nearest)
            questions.append(Question(f"{language}/{row}", language, group, text, chosen))
    return questions


def scored(questions: list[Question], folder: Path, dtype: str) -> np.ndarray:
    """Return the cross-encoder's scores, shape (questions, candidates)."""
    result = []
    with Reranker(folder, device="cpu", dtype=dtype) as reranker:
        for number, question in enumerate(questions):
            if number % 20 == 0:
                print(f"{dtype}: {number} of {len(questions)}", file=sys.stderr, flush=True)
            result.append(
                reranker.score(question.text, question.candidates, query_language=question.language)
            )
    return np.stack(result)


def ndcg(questions: list[Question], scores: np.ndarray, languages: list[str]) -> np.ndarray:
    """Return each question's nDCG@10, shape (questions,)."""
    qrels = {q.id: {f"{q.group}/{language}": 1 for language in languages} for q in questions}
    run = [
        ScoredDoc(question.id, document.id, float(score))
        for question, row in zip(questions, scores, strict=True)
        for document, score in zip(question.candidates, row, strict=True)
    ]
    found = {metric.query_id: metric.value for metric in ir_measures.iter_calc([MEASURE], qrels, run)}
    return np.array([found[question.id] for question in questions])


def averaged(values: np.ndarray, languages: np.ndarray) -> dict[str, Any]:
    """Return the means by query language and their mean."""
    rows = {str(code): float(values[languages == code].mean()) for code in dict.fromkeys(languages)}
    return {"ndcg@10": float(np.mean(list(rows.values()))), "languages": rows}


def difference(values: np.ndarray, base: np.ndarray, languages: np.ndarray, seed: int) -> dict[str, Any]:
    """Return `values` - `base` in points, averaged over languages with equal weight, and its interval."""
    change = 100 * (values - base)
    codes = list(dict.fromkeys(languages))
    rng = np.random.default_rng(seed)
    resampled = np.zeros(_RESAMPLES)
    for code in codes:
        rows = change[languages == code]
        resampled += rows[rng.integers(0, len(rows), (_RESAMPLES, len(rows)))].mean(axis=1) / len(codes)
    return {
        "points": float(np.mean([change[languages == code].mean() for code in codes])),
        "interval_95": [float(bound) for bound in np.quantile(resampled, [0.025, 0.975])],
        "worst_language_points": float(min(change[languages == code].mean() for code in codes)),
    }


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """Return the JSON document."""
    corpus = read_xquad(options.data)
    questions = candidates_of(corpus, options)
    languages = np.array([question.language for question in questions])
    first_stage = np.tile(-np.arange(CANDIDATES, dtype=np.float64), (len(questions), 1))
    scores = {FIRST_STAGE: first_stage}
    scores |= {dtype: scored(questions, options.model, dtype) for dtype in options.dtypes}
    values = {name: ndcg(questions, matrix, corpus.languages()) for name, matrix in scores.items()}
    base = options.dtypes[0]
    differences = {
        f"{name} - {base}": {
            **difference(values[name], values[base], languages, options.seed),
            "same_first": float((scores[name].argmax(axis=1) == scores[base].argmax(axis=1)).mean()),
        }
        for name in scores
        if name != base
    }
    for dtype in options.dtypes[1:]:
        change = float(np.abs(scores[dtype] - scores[base]).max())
        differences[f"{dtype} - {base}"]["largest_score_difference"] = change
    note = json.loads((options.model / "training.json").read_text(encoding="utf-8"))
    return {
        "dataset": "xquad",
        "first_stage": f"{MODEL}, centred",
        "questions": len(questions),
        "candidates": CANDIDATES,
        "seed": options.seed,
        "training": {name: note[name] for name in ("step", "finished")},
        "versions": {"ir-measures": version("ir-measures")},
        "machine": machine(),
        "systems": {name: averaged(value, languages) for name, value in values.items()},
        "differences": differences,
    }


def main() -> None:
    """Measure, print the differences, and write the JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=default_data(), help="folder that holds xquad/")
    parser.add_argument("--cache", type=Path, default=cache_dir() / "benchmark-vectors")
    parser.add_argument(
        "--model", type=Path, default=cache_dir() / "benchmark-models" / "e5-small-cross-encoder"
    )
    parser.add_argument("--dtypes", nargs="+", default=["float32", "int8"], help="the first is the base")
    parser.add_argument("--questions", type=int, default=40, help="of each query language")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument(
        "--output", type=Path, default=REPOSITORY / "docs" / "results" / "scoring-quality.json"
    )
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    result = measured(options)
    for name, entry in result["systems"].items():
        print(f"{name}: nDCG@10 {entry['ndcg@10']:.4f}")
    for name, entry in result["differences"].items():
        low, high = entry["interval_95"]
        print(f"{name}: {entry['points']:+.2f} points [{low:+.2f}, {high:+.2f}]")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
