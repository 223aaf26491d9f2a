"""A second computation of three evaluation figures, written from their definitions alone.

It shares no code with the package on purpose: two computations that agree on real data can only be wrong
together where the definition itself is. Every figure is a mean over the queries of a language, then over
the languages with equal weight, as a fraction (mean_rank: as a rank, from 1).
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

CANDIDATES = 20
CUTOFF = 10

BELEBELE_FILES = {
    "ar": "arb_Arab",
    "de": "deu_Latn",
    "en": "eng_Latn",
    "es": "spa_Latn",
    "fr": "fra_Latn",
    "zh": "zho_Hans",
}

Scores = NDArray[np.float64]
Similarities = Callable[[str], Scores]


@dataclass(frozen=True)
class Parallel:
    """A corpus whose passages and queries exist in every language, in the same order.

    passages: language -> texts (passages); queries: language -> (query, index of its gold passage) pairs.
    """

    languages: list[str]
    passages: dict[str, list[str]]
    queries: dict[str, list[tuple[str, int]]]

    @property
    def passage_count(self) -> int:
        """Passages of one language; the documents are languages x passages."""
        return len(self.passages[self.languages[0]])


def read_xquad(folder: Path) -> Parallel:
    """Read xquad.LANG.json; questions are put in the order of the ids in the first language."""
    files = {path.name.split(".")[1]: path for path in sorted(folder.glob("xquad.*.json"))}
    languages = sorted(files)
    passages: dict[str, list[str]] = {}
    by_id: dict[str, dict[str, tuple[str, int]]] = {}
    for language in languages:
        articles = json.loads(files[language].read_text(encoding="utf-8"))["data"]
        paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
        passages[language] = [paragraph["context"] for paragraph in paragraphs]
        by_id[language] = {
            question["id"]: (question["question"], index)
            for index, paragraph in enumerate(paragraphs)
            for question in paragraph["qas"]
        }
    ids = list(by_id[languages[0]])
    queries = {language: [by_id[language][key] for key in ids] for language in languages}
    return Parallel(languages, passages, queries)


def read_belebele(folder: Path) -> Parallel:
    """Read the six JSONL files; passages in the order of the first language, questions by their number."""
    languages = sorted(BELEBELE_FILES)
    rows = {language: _rows(folder / f"{BELEBELE_FILES[language]}.jsonl") for language in languages}
    # a dict keeps the place of the first occurrence, which is the order of the passages
    links = list(dict.fromkeys(row["link"] for row in rows[languages[0]]))
    place = {link: index for index, link in enumerate(links)}
    passages: dict[str, list[str]] = {}
    queries: dict[str, list[tuple[str, int]]] = {}
    for language in languages:
        texts = {row["link"]: row["flores_passage"] for row in rows[language]}
        passages[language] = [texts[link] for link in links]
        ordered = sorted(rows[language], key=lambda row: (place[row["link"]], int(row["question_number"])))
        queries[language] = [(row["question"], place[row["link"]]) for row in ordered]
    return Parallel(languages, passages, queries)


def coherence(parallel: Parallel, similarities: Similarities) -> dict[str, float]:
    """Ndcg@1, ndcg@10, mrr@10 and mean_rank of the same-language passage among the gold's translations.

    similarities(language): (queries, documents); the candidates of a query: (languages,).
    """
    per_language = []
    for own, language in enumerate(parallel.languages):
        scores = similarities(language)
        figures = []
        for query, (_, gold) in enumerate(parallel.queries[language]):
            documents = [_document(parallel, other, gold) for other in range(len(parallel.languages))]
            rank = _order(scores[query, documents]).index(own) + 1
            figures.append({**_single_relevant(rank), "mean_rank": float(rank)})
        per_language.append(_mean(figures))
    return _mean(per_language)


def retrieval(parallel: Parallel, similarities: Similarities) -> dict[str, float]:
    """Recall@20, ndcg@1, ndcg@10 and mrr@10 of the first-stage order, relevant = gold in own language.

    similarities(language): (queries, documents); the candidates of a query: (20,) of all documents.
    """
    per_language = []
    for own, language in enumerate(parallel.languages):
        scores = similarities(language)
        figures = []
        for query, (_, gold) in enumerate(parallel.queries[language]):
            candidates = _order(scores[query])[:CANDIDATES]
            relevant = _document(parallel, own, gold)
            found = relevant in candidates
            rank = candidates.index(relevant) + 1 if found else None
            figures.append({"recall@20": float(found), **_single_relevant(rank)})
        per_language.append(_mean(figures))
    return _mean(per_language)


def rescue(parallel: Parallel, similarities: Similarities) -> dict[str, float]:
    """Rescue@1, ceiling and ndcg@10 when the gold passage in the query's language is taken away.

    similarities(language): (queries, documents); the candidates of a query: (20,) of documents - 1.
    """
    per_language = []
    others = len(parallel.languages) - 1
    # the ideal counts every translation that exists, retrieved or not
    ideal = _dcg(range(1, others + 1))
    for own, language in enumerate(parallel.languages):
        scores = similarities(language)
        figures = []
        for query, (_, gold) in enumerate(parallel.queries[language]):
            removed = _document(parallel, own, gold)
            relevant = {
                _document(parallel, other, gold) for other in range(len(parallel.languages)) if other != own
            }
            # dropped before the cut, so that 20 candidates remain as they would without it in the corpus
            candidates = [document for document in _order(scores[query]) if document != removed][:CANDIDATES]
            ranks = [rank for rank, document in enumerate(candidates, start=1) if document in relevant]
            figures.append(
                {"rescue@1": float(1 in ranks), "ceiling": float(bool(ranks)), "ndcg@10": _dcg(ranks) / ideal}
            )
        per_language.append(_mean(figures))
    return _mean(per_language)


def _rows(path: Path) -> list[dict[str, Any]]:
    # not splitlines(): it also breaks at separators that JSON strings may hold unescaped
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


def _document(parallel: Parallel, language: int, passage: int) -> int:
    """Index of a passage among all documents, which are ordered language by language."""
    return language * parallel.passage_count + passage


def _order(scores: Scores) -> list[int]:
    """Candidates (candidates,) from best to worst; a NaN would sort last silently, so it is an error."""
    if np.isnan(scores).any():
        raise ValueError("a similarity is NaN")
    order: list[int] = np.argsort(-scores, kind="stable").tolist()
    return order


def _dcg(ranks: Iterable[int]) -> float:
    """Discounted gain of relevant documents at these ranks, from 1, binary gain, cut at 10."""
    return float(sum(1.0 / np.log2(rank + 1.0) for rank in ranks if rank <= CUTOFF))


def _single_relevant(rank: int | None) -> dict[str, float]:
    """The figures of a query with one relevant document at this rank; None: it is not a candidate."""
    if rank is None:
        return {"ndcg@1": 0.0, "ndcg@10": 0.0, "mrr@10": 0.0}
    return {
        "ndcg@1": float(rank == 1),
        "ndcg@10": _dcg([rank]),
        "mrr@10": 1.0 / rank if rank <= CUTOFF else 0.0,
    }


def _mean(figures: list[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([figure[name] for figure in figures])) for name in figures[0]}
