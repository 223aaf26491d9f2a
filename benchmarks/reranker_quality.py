"""What a reranker makes of the embedded profile's candidates on XQuAD and BELEBELE: coherence, retrieval and rescue.

Evaluation only. Scores are kept in a file as they come, so that a run that stops goes on; figures over the dial are
worked out from them. Definitions: docs/language-preference.md; coherence is over the gold passage in all languages.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from parallel_corpora import MODEL, Parallel, embedded, read_belebele, read_xquad
from preference_dial import CANDIDATES, centre

from lamar_rag.cache import cache_dir
from lamar_rag.retrieval.centring import shipped_centring
from lamar_rag.scorer_factory import build_scorer
from lamar_rag.types import Document, ScoringOptions

RESAMPLES = 10_000
WEIGHTS = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0, 3.0, 4.0]


class Candidates:
    """A parallel corpus with the centred first stage's similarities."""

    def __init__(self, corpus: Parallel, cache: Path) -> None:
        self.corpus, self.languages = corpus, corpus.languages()
        rows = [(g, language, text) for language in self.languages for g, text in corpus.passages[language]]
        self.groups = np.array([group for group, _, _ in rows])
        self.passage_languages = np.array([language for _, language, _ in rows])
        self.texts = [text for _, _, text in rows]
        kinds: Any = (("passage", corpus.passages), ("query", corpus.queries))
        vectors = {
            kind: {k: embedded([text for _, text in texts], kind, cache) for k, texts in by_language.items()}
            for kind, by_language in kinds
        }
        centred = centre(vectors, shipped_centring(MODEL))
        self.queries = centred["query"]
        self.matrix = np.concatenate([centred["passage"][language] for language in self.languages])

    def query(self, language: str, number: int, *, retrieved: bool) -> dict[str, Any]:
        """Return the columns of a query's tasks, in the first stage's order, and their similarities."""
        similarities = self.matrix @ self.queries[language][number]
        same = self.groups == self.corpus.queries[language][number][0]
        gold = same & (self.passage_languages == language)
        order = np.argsort(-similarities, kind="stable")
        tasks = {"coherence": [int(c) for c in order if same[c]]}
        if retrieved:
            tasks["retrieval"] = [int(c) for c in order[:CANDIDATES]]
            tasks["rescue"] = [int(c) for c in order if not gold[c]][:CANDIDATES]
        columns = sorted({column for task in tasks.values() for column in task})
        return {
            "tasks": tasks,
            "columns": columns,
            "similarities": {column: float(similarities[column]) for column in columns},
            "relevant": [c for c in columns if same[c]],
            "gold": int(np.flatnonzero(gold)[0]),
        }


def sampled(corpus: Parallel, questions: int | None, per_question: int, seed: int) -> list[tuple[str, int]]:
    """Return (language, question) of a random choice of questions, each in some of the languages."""
    random = np.random.default_rng(seed)
    languages = corpus.languages()
    count = len(corpus.queries[languages[0]])
    chosen = random.permutation(count)[: questions or count].tolist()
    per_question = min(per_question, len(languages))
    return [
        (str(language), number)
        for number in chosen
        for language in random.choice(languages, size=per_question, replace=False)
    ]


def score_all(options: argparse.Namespace, candidates: Candidates) -> list[dict[str, Any]]:
    """Return a record a query, from the file where it is there already."""
    scorer = build_scorer(options.model, dtype=options.dtype, max_length=options.max_length)
    asked = sampled(candidates.corpus, options.questions, options.languages, options.seed)
    file = options.scores
    file.parent.mkdir(parents=True, exist_ok=True)
    done = {}
    if file.is_file():
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        done = {(row["language"], row["question"]): row for row in rows}
    with file.open("a", encoding="utf-8") as output:
        for language, number in asked:
            if (language, number) in done:
                continue
            query = candidates.query(language, number, retrieved=options.dataset == "xquad")
            documents = [
                Document(candidates.texts[c], language=str(candidates.passage_languages[c]))
                for c in query["columns"]
            ]
            text = candidates.corpus.queries[language][number][1]
            started = time.perf_counter()
            scores = scorer.score(text, documents, ScoringOptions(query_language=language)).scores
            row = {
                "language": language,
                "question": number,
                "seconds": time.perf_counter() - started,
                "scores": dict(zip(map(str, query["columns"]), map(float, scores), strict=True)),
                **{name: query[name] for name in ("tasks", "relevant", "gold")},
                "similarities": {str(c): s for c, s in query["similarities"].items()},
            }
            done[language, number] = row
            output.write(json.dumps(row) + "\n")
            output.flush()
    return [done[key] for key in asked]


def outcomes(
    rows: list[dict[str, Any]], languages: list[str], bonus: float, similarity: float, score: float = 1.0
) -> dict[str, np.ndarray]:
    """Return by task, shape (n,), whether each query's first document is right."""
    found: dict[str, list[bool]] = {"coherence": [], "retrieval": [], "rescue": []}
    for row in rows:
        for task, columns in row["tasks"].items():
            values = [
                score * row["scores"][str(c)]
                + similarity * row["similarities"][str(c)]
                + bonus * (languages[c] == row["language"])
                for c in columns
            ]
            first = columns[int(np.argmax(values))]
            found[task].append(first in row["relevant"] if task == "rescue" else first == row["gold"])
    return {task: np.array(right, dtype=float) for task, right in found.items() if right}


def figures(rows: list[dict[str, Any]], right: dict[str, np.ndarray], seed: int) -> dict[str, Any]:
    """Return the means over languages with equal weight, and 95 % bootstrap intervals over questions."""
    numbers, question_of = np.unique([row["question"] for row in rows], return_inverse=True)
    names, language_of = np.unique([row["language"] for row in rows], return_inverse=True)
    cells = {}
    for task, values in right.items():
        sums, counts = np.zeros((len(numbers), len(names))), np.zeros((len(numbers), len(names)))
        np.add.at(sums, (question_of, language_of), values)
        np.add.at(counts, (question_of, language_of), 1.0)
        cells[task] = sums, counts

    def means(weights: np.ndarray) -> dict[str, float]:
        found = {task: float(((weights @ s) / (weights @ n)).mean()) for task, (s, n) in cells.items()}
        if "rescue" in found:
            total = found["retrieval"] + found["rescue"]
            found["balanced"] = 2 * found["retrieval"] * found["rescue"] / total if total else 0.0
        return found

    random = np.random.default_rng(seed)
    draws = [
        means(
            np.bincount(random.integers(len(numbers), size=len(numbers)), minlength=len(numbers)).astype(
                float
            )
        )
        for _ in range(RESAMPLES)
    ]
    whole = means(np.ones(len(numbers)))
    return {
        name: {
            "value": value,
            "interval": np.quantile([draw[name] for draw in draws], [0.025, 0.975]).tolist(),
        }
        for name, value in whole.items()
    }


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """Return the JSON document."""
    corpus = (read_xquad if options.dataset == "xquad" else read_belebele)(options.data)
    candidates = Candidates(corpus, options.cache)
    rows = score_all(options, candidates)
    languages = candidates.passage_languages.tolist()
    unit = options.unit or build_scorer(options.model).spread or 1.0
    pairs = sum(len(row["scores"]) for row in rows)
    result: dict[str, Any] = {
        "dataset": options.dataset,
        "model": options.model,
        "dtype": options.dtype,
        "questions": len({row["question"] for row in rows}),
        "queries": len(rows),
        "pairs": pairs,
        "pairs_per_second": pairs / sum(row["seconds"] for row in rows),
        "unit": unit,
        "first_stage": figures(rows, outcomes(rows, languages, 0.0, 1.0, score=0.0), options.seed),
        "versions": {name: version(name) for name in ("torch", "transformers", "numpy")},
        "python": platform.python_version(),
    }
    result["points"] = [
        {
            "weight": weight,
            **figures(rows, outcomes(rows, languages, weight * unit, options.similarity), options.seed),
        }
        for weight in options.weights
    ]
    return result


def main() -> None:
    """Measure and write the JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dataset", choices=["xquad", "belebele"], default="xquad")
    parser.add_argument("--model", default="lamar-mini", help="a reranker's name or folder")
    parser.add_argument("--dtype", help="of the reranker")
    parser.add_argument("--max-length", type=int, help="tokens of a pair")
    parser.add_argument(
        "--similarity", type=float, default=0.0, help="weight of the centred cosine in the score"
    )
    parser.add_argument("--unit", type=float, help="of the dial; by default the scorer's")
    parser.add_argument("--questions", type=int, help="how many, drawn at random; all by default")
    parser.add_argument("--languages", type=int, default=3, help="in which each question is asked")
    parser.add_argument("--weights", type=float, nargs="+", default=WEIGHTS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpora")
    parser.add_argument("--cache", type=Path, default=cache_dir() / "benchmark-vectors")
    parser.add_argument("--scores", type=Path, required=True, help="file that the scores are kept in")
    parser.add_argument("--output", type=Path, help="file for the JSON; stdout by default")
    options = parser.parse_args()
    text = json.dumps(measured(options), indent=1) + "\n"
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
