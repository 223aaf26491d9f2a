"""A parallel corpus small enough to work its figures out by hand, with the models that make them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from tiny_models import TableScorer

from lamar_rag.evaluation.parallel_corpus import ParallelCorpus, ParallelQuery
from lamar_rag.types import Document, Scored, ScoringOptions

PASSAGES = {"de": {"0": "null", "1": "eins"}, "en": {"0": "zero", "1": "one"}}
# the similarities of a query with null, eins, zero, one
SIMILARITIES = {
    "null?": [0.9, 0.1, 0.8, 0.2],
    "eins?": [0.5, 0.4, 0.3, 0.6],
    "zero?": [0.7, 0.1, 0.6, 0.2],
    "one?": [0.1, 0.2, 0.3, 0.9],
}
SCORES = {
    ("null?", "null"): 1.0,
    ("null?", "zero"): 3.0,
    ("eins?", "null"): 4.0,
    ("zero?", "zero"): 2.0,
    ("zero?", "null"): 1.0,
    ("one?", "eins"): 5.0,
    ("one?", "one"): 5.0,
}


class PairScorer(TableScorer):
    """A `Scorer` whose scores are looked up by query and text; 0 where there is none."""

    def __init__(self, table: Mapping[tuple[str, str], float], *, model: str = "pairs") -> None:
        super().__init__({}, spread=1.0, model=model)
        self.pairs = table
        self.options: list[ScoringOptions] = []

    def score(
        self, query: str, documents: Sequence[Document], options: ScoringOptions = ScoringOptions()
    ) -> Scored:
        self.calls += 1
        self.options.append(options)
        scores = np.array([self.pairs.get((query, d.text), 0.0) for d in documents], dtype=np.float32)
        return Scored(scores, np.zeros(len(documents), dtype=np.bool_))


class VectorEmbedder:
    """An `Embedder` by table: passages are the unit vectors of four dimensions, queries their similarities."""

    model, dimension, centring = "vectors", 4, None

    def embed(self, texts, kind, *, languages=None, progress=False):
        order = [text for passages in PASSAGES.values() for text in passages.values()]
        rows = [SIMILARITIES[t] if kind == "query" else np.eye(4)[order.index(t)] for t in texts]
        return np.array(rows, dtype=np.float32)


def hand_corpus() -> ParallelCorpus:
    queries = {
        language: [
            ParallelQuery(f"q{group}", group, language, f"{text}?") for group, text in passages.items()
        ]
        for language, passages in PASSAGES.items()
    }
    return ParallelCorpus("hand", PASSAGES, queries)


def write_parallel_folder(
    folder: Path, *, questions: int = 12, languages: Sequence[str] = ("de", "en")
) -> Path:
    """Write a corpus in the library's own format whose words tiny models know."""
    words = {"en": ["the cat sat", "dog barked", "on a mat"], "de": ["die katze sitzt", "auf", "der matte"]}
    folder.mkdir(parents=True, exist_ok=True)
    for language in languages:
        lines = [
            {
                "id": f"q{number}",
                "passage_id": f"p{number // 2}",
                "passage": f"{words[language][number // 2 % 3]} {'abcdefghij'[number // 2 % 10]}",
                "question": f"{words[language][number % 3]} {'klmnopqrst'[number % 10]}",
                "answers": ["x"],
            }
            for number in range(questions)
        ]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{language}.jsonl").write_text(text, encoding="utf-8")
    return folder
