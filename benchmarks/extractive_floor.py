"""Calibrates the floor of extractive answers: the best sentence's score below which a question counts as unanswered.

    python benchmarks/extractive_floor.py --data DATA [--questions 60]

Native questions of ten languages. Answerable: the three contexts are the gold passage and the two passages of the
same data set that are nearest to the question. Unanswerable: the three nearest without the gold passage, which is
the hard case. The floor is the highest, in steps of 0.05, that still answers --keep of the answerable questions,
averaged over languages. XQuAD and BELEBELE are not touched. Takes a quarter of an hour on two cores.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path

import numpy as np

from lamar_rag.generation.extractive import ExtractiveGenerator
from lamar_rag.pipeline_parts import build_embedder
from lamar_rag.profiles import get_profile
from lamar_rag.reranker import Reranker
from lamar_rag.retrieval.faiss_index import FaissIndex
from lamar_rag.scoring.bi_encoder import BiEncoderScorer
from lamar_rag.types import Document

SETS = {
    "ar": "arcd/ar", "en": "tydiqa_goldp/en", "fa": "pquad/fa", "fi": "tydiqa_goldp/fi", "he": "heq/he",
    "ja": "jaquad/ja", "ko": "tydiqa_goldp/ko", "pt": "faquad/pt", "ru": "tydiqa_goldp/ru", "zh": "cmrc2018/zh",
}  # fmt: skip
SEED = 13
PASSAGES = 150


def rows(data: Path, name: str) -> list[dict]:
    """Return a seeded sample of a set's passages with their questions."""
    (file,) = sorted((data / "qa_native" / name.split("/")[0]).glob(f"{name.split('/')[1]}*.jsonl"))
    content = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return random.Random(SEED).sample(content, min(PASSAGES, len(content)))


def best_scores(data: Path, language: str, name: str, questions: int) -> tuple[list[float], list[float]]:
    """Return the best sentence's score of each question with, and without, its gold passage."""
    chosen = rows(data, name)
    embedder = build_embedder(get_profile("embedded"))
    documents = [Document(row["passage"], id=str(i), language=language) for i, row in enumerate(chosen)]
    pairs = [(row["qas"][0]["q"], i) for i, row in enumerate(chosen)][:questions]
    answerable, unanswerable = [], []
    with FaissIndex.build(documents, embedder, kind="flat") as index:
        scorer = BiEncoderScorer(embedder, vectors=index)
        reranker, generator = Reranker(scorer), ExtractiveGenerator(scorer)
        for question, gold in pairs:
            found = [c.document for c in index.search(question, 4, query_language=language)]
            others = [document for document in found if document.id != str(gold)]
            for contexts, scores in (
                ([documents[gold], *others[:2]], answerable),
                (others[:3], unanswerable),
            ):
                ranked = reranker.rerank(question, contexts, query_language=language)
                sentences = generator.scored_sentences(question, ranked, language=language)
                scores.append(max(sentence.score for sentence in sentences))
    return answerable, unanswerable


def main() -> None:
    """Measure, choose, and print the JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder that holds qa_native/")
    parser.add_argument("--questions", type=int, default=60, help="questions a language")
    parser.add_argument(
        "--keep", type=float, default=0.95, help="share of answerable questions that must be answered"
    )
    options = parser.parse_args()
    scores = {k: best_scores(options.data, k, name, options.questions) for k, name in SETS.items()}
    floors = np.arange(0.0, 1.0, 0.05)
    kept = {k: [np.mean(np.array(yes) >= floor) for floor in floors] for k, (yes, _) in scores.items()}
    refused = {k: [np.mean(np.array(no) < floor) for floor in floors] for k, (_, no) in scores.items()}
    balanced = np.mean([(np.array(kept[k]) + np.array(refused[k])) / 2 for k in scores], axis=0)
    answered = np.mean([kept[k] for k in scores], axis=0)
    best = int(np.flatnonzero(answered >= options.keep)[-1])
    result = {
        "floor": round(float(floors[best]), 2),
        "answered_of_answerable": {k: float(kept[k][best]) for k in scores},
        "refused_of_unanswerable": {k: float(refused[k][best]) for k in scores},
        "by_floor": {
            f"{floor:.2f}": {
                "answered": float(answered[i]),
                "refused": float(np.mean([refused[k][i] for k in scores])),
                "balanced_accuracy": float(balanced[i]),
            }
            for i, floor in enumerate(floors)
        },
    }
    json.dump(result, sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
