"""Reads the parallel corpora that the benchmarks measure on, and embeds them once."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lamar_rag.languages import normalize_language
from lamar_rag.retrieval.sentence_embedder import SentenceEmbedder

MODEL = "multilingual-e5-small"
XQUAD_LANGUAGES = ["ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh"]
_WINDOW = 4  # sentences of an NTREX passage
_QUERY_STEP = 6  # every so many sentences of an NTREX document also count as a query, for the means


@dataclass(frozen=True)
class Parallel:
    """A corpus in which group g exists in every language: passages and queries, each with its group."""

    passages: dict[str, list[tuple[str, str]]]  # language -> (group, text)
    queries: dict[str, list[tuple[str, str]]]

    def languages(self) -> list[str]:
        """Return the codes."""
        return list(self.passages)


def read_xquad(data: Path) -> Parallel:
    """Read XQuAD's 12 files: one group a paragraph. Evaluation only."""
    passages, queries = {}, {}
    for language in XQUAD_LANGUAGES:
        articles = json.loads((data / "xquad" / f"xquad.{language}.json").read_text(encoding="utf-8"))["data"]
        paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
        passages[language] = [(str(i), paragraph["context"]) for i, paragraph in enumerate(paragraphs)]
        queries[language] = [
            (str(i), qa["question"]) for i, paragraph in enumerate(paragraphs) for qa in paragraph["qas"]
        ]
    return Parallel(passages, queries)


def read_belebele(data: Path) -> Parallel:
    """Read BELEBELE's files, as many languages as there are: one group a passage. Evaluation only."""
    passages, queries = {}, {}
    for file in sorted((data / "belebele").glob("*.jsonl")):
        language = normalize_language(file.stem)
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        passages[language] = list(
            {row["link"]: (row["link"], row["flores_passage"]) for row in rows}.values()
        )
        queries[language] = [(row["link"], row["question"]) for row in rows]
    return Parallel(passages, queries)


def read_mslearn(data: Path) -> Parallel:
    """Read the parallel sections in XQuAD's 12 languages; the query is "title: heading"."""
    rows = {}
    for language in XQUAD_LANGUAGES:
        lines = (data / "mslearn_parallel" / f"{language}.jsonl").read_text(encoding="utf-8").splitlines()
        rows[language] = [json.loads(line) for line in lines]
    shared = set.intersection(*({row["id"] for row in rows[language]} for language in rows))
    kept = {language: [row for row in rows[language] if row["id"] in shared] for language in rows}
    return Parallel(
        {language: [(row["id"], row["text"]) for row in kept[language]] for language in kept},
        {
            language: [(row["id"], f"{row['title']}: {row['heading']}") for row in kept[language]]
            for language in kept
        },
    )


def read_ntrex(data: Path, languages: list[str] | None = None) -> Parallel:
    """Read NTREX-128: passages are every second window of four sentences of a document.

    Its queries are the headlines, first, then every sixth sentence; `headlines` leaves only the former.
    """
    ids = (data / "ntrex128" / "DOCUMENT_IDS.tsv").read_text(encoding="utf-8").splitlines()
    passages, queries = {}, {}
    for file in sorted((data / "ntrex128" / "NTREX-128").glob("newstest2019-*.txt")):
        language = normalize_language(file.name.split(".")[1])
        if languages is not None and language not in languages:
            continue
        lines = file.read_text(encoding="utf-8").split("\n")[: len(ids)]
        documents: dict[str, list[str]] = {}
        for document, sentence in zip(ids, lines, strict=True):
            documents.setdefault(document, []).append(sentence)
        windows = [
            (document, " ".join(sentences[start : start + _WINDOW]))
            for document, sentences in documents.items()
            for start in range(1, len(sentences), _WINDOW)
        ]
        passages[language] = windows[::2]
        queries[language] = [(document, sentences[0]) for document, sentences in documents.items()] + [
            (document, sentence)
            for document, sentences in documents.items()
            for sentence in sentences[1::_QUERY_STEP]
        ]
    return Parallel(passages, queries)


def embedded(texts: list[str], kind: str, cache: Path) -> np.ndarray:
    """Return plain unit vectors, shape (n, d), from the cache where the same texts were embedded before."""
    key = hashlib.sha256("\0".join([MODEL, kind, *texts]).encode()).hexdigest()[:24]
    file = cache / f"{key}.npy"
    if file.is_file():
        return np.load(file, allow_pickle=False)
    vectors = SentenceEmbedder(MODEL, centring=None).embed(texts, kind, progress=True)
    cache.mkdir(parents=True, exist_ok=True)
    partial = file.with_suffix(".partial.npy")
    np.save(partial, vectors)
    partial.replace(file)
    return vectors
