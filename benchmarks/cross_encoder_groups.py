"""Training groups for the benchmarks' cross-encoder: a query, the passage that answers it, and negatives.

Questions come from qa_native (one language a pair), headings from mslearn_parallel (any language against any).
The evaluation sets (XQuAD, Belebele) are never read here. An article belongs to one split with all it has.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

_HELD_OUT_SHARE = 0.05  # of the articles
_QUESTIONS_A_PASSAGE = 3
_PARALLEL_SHARE = 0.4  # of the groups
_LEXICAL_POOL = 8  # a lexical negative is one of so many nearest passages
_WINDOW = {True: 140, False: 340}  # characters of about 110 tokens, by whether the script has no spaces
_DENSE = {"zh", "zh-Hant", "ja", "th", "ko"}


@dataclass(frozen=True)
class Group:
    """One query with its texts; the positive is the first."""

    query: str
    texts: tuple[str, ...]


@dataclass(frozen=True)
class _Question:
    text: str
    answer: str
    passage: int


def _held_out(article: str) -> bool:
    digest = hashlib.sha256(article.encode()).digest()
    return int.from_bytes(digest[:4]) / 2**32 < _HELD_OUT_SHARE


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _window(text: str, anchor: int, dense: bool, rng: random.Random) -> str:
    """Return a piece of the text that starts at most a window before `anchor`, at a word's beginning."""
    width = _WINDOW[dense]
    if anchor < width * 2 // 3:
        return text
    start = anchor - rng.randrange(width // 6, width // 2)
    space = text.find(" ", start, anchor)
    return text[space + 1 if space >= 0 else start :]


class QuestionSet:
    """The questions of one file of qa_native, in one split."""

    def __init__(self, path: Path, *, held_out: bool) -> None:
        self._dense = path.stem in _DENSE
        rows = [
            row for row in _lines(path) if _held_out(f"{path.stem}:{row['title'] or row['pid']}") == held_out
        ]
        self.passages = [row["passage"] for row in rows]
        self._titles = [row["title"] for row in rows]
        self._by_title: dict[str, list[int]] = defaultdict(list)
        for i, title in enumerate(self._titles):
            self._by_title[title].append(i)
        rng = random.Random(path.name)
        self.questions = [
            _Question(qa["q"], qa["a"], i)
            for i, row in enumerate(rows)
            for qa in rng.sample(row["qas"], min(_QUESTIONS_A_PASSAGE, len(row["qas"])))
        ]
        self._vectorizer = TfidfVectorizer(
            analyzer="char_wb", ngram_range=(2, 3), min_df=2, sublinear_tf=True, dtype=np.float32
        )
        self._matrix = self._vectorizer.fit_transform(self.passages) if len(rows) > 1 else None

    def group(self, negatives: int, strangers: list[str], rng: random.Random) -> Group:
        """Return a question with its passage, lexical and same-article negatives, and `strangers`."""
        question = rng.choice(self.questions)
        passage = self.passages[question.passage]
        hard = [self._cropped(i, rng) for i in self._hard(question, negatives - len(strangers), rng)]
        positive = _window(passage, max(0, passage.find(question.answer)), self._dense, rng)
        fill = [self.stranger(rng) for _ in range(negatives - len(strangers) - len(hard))]
        return Group(question.text, (positive, *hard, *fill, *strangers))

    def stranger(self, rng: random.Random) -> str:
        """Return any passage."""
        return self._cropped(rng.randrange(len(self.passages)), rng)

    def _cropped(self, i: int, rng: random.Random) -> str:
        return _window(self.passages[i], rng.randrange(len(self.passages[i])), self._dense, rng)

    def _hard(self, question: _Question, count: int, rng: random.Random) -> list[int]:
        title = self._titles[question.passage]
        siblings = self._free(self._by_title[title] if title else [], question)
        chosen = rng.sample(siblings, min(len(siblings), (count + 1) // 2))
        nearest = self._free(self._nearest(question.text), question)
        left = [i for i in nearest if i not in chosen][:_LEXICAL_POOL]
        return chosen + rng.sample(left, min(len(left), count - len(chosen)))

    def _nearest(self, query: str) -> list[int]:
        if self._matrix is None:
            return []
        scores = (self._matrix @ self._vectorizer.transform([query]).T).toarray()[:, 0]
        return [int(i) for i in np.argsort(-scores, kind="stable")[: 3 * _LEXICAL_POOL]]

    def _free(self, indices: list[int], question: _Question) -> list[int]:
        """Return the passages that neither are nor hold the answer."""
        return [i for i in indices if i != question.passage and question.answer not in self.passages[i]]


class SectionSet:
    """The parallel sections in one split: `rows[id][language]`."""

    def __init__(self, folder: Path, *, held_out: bool) -> None:
        self.rows: dict[str, dict[str, dict[str, str]]] = defaultdict(dict)
        self._siblings: dict[str, list[str]] = defaultdict(list)
        for path in sorted(folder.glob("*.jsonl")):
            for row in _lines(path):
                if _held_out(row["id"].split("#")[0]) == held_out:
                    self.rows[row["id"]][path.stem] = row
        for id_ in self.rows:
            self._siblings[id_.split("#")[0]].append(id_)

    def group(self, negatives: int, strangers: list[str], rng: random.Random) -> Group:
        """Return a heading, its section (in another language half of the time), and other sections.

        Half of the negatives speak the query's language, so that the language alone tells nothing.
        """
        id_ = rng.choice(list(self.rows))
        languages = list(self.rows[id_])
        mine = rng.choice(languages)
        other = rng.choice(languages) if rng.random() < 0.5 else mine
        row = self.rows[id_][mine]
        siblings = [s for s in self._siblings[id_.split("#")[0]] if s != id_]
        rng.shuffle(siblings)
        rest = rng.sample([s for s in self.rows if s != id_], negatives)
        ids = list(dict.fromkeys(siblings[: (negatives + 1) // 2] + rest))[: negatives - len(strangers)]
        texts = [self._text(i, mine if rng.random() < 0.5 else rng.choice(languages), rng) for i in ids]
        positive = self.rows[id_][other]["text"]
        return Group(f"{row['title']}: {row['heading']}", (positive, *texts, *strangers))

    def _text(self, id_: str, language: str, rng: random.Random) -> str:
        row = self.rows[id_]
        return row[language if language in row else rng.choice(list(row))]["text"]


class GroupSampler:
    """Draws groups from all sets; the same (seed, number) always gives the same group."""

    def __init__(self, data: Path, *, held_out: bool, seed: int) -> None:
        files = sorted((data / "qa_native").glob("*/*.jsonl"))
        sets = [QuestionSet(path, held_out=held_out) for path in files]
        self._sets = [questions for questions in sets if len(questions.passages) > 1]
        self._weights = [len(questions.questions) ** 0.5 for questions in self._sets]
        self._sections = SectionSet(data / "mslearn_parallel", held_out=held_out)
        self._seed = f"{seed}:{held_out}"

    def group(self, number: int, negatives: int) -> Group:
        """Return group `number` with so many negatives, one in four of them a stranger."""
        rng = random.Random(f"{self._seed}:{number}")
        strangers = [self._question_set(rng).stranger(rng) for _ in range(max(1, negatives // 4))]
        if rng.random() < _PARALLEL_SHARE:
            return self._sections.group(negatives, strangers, rng)
        return self._question_set(rng).group(negatives, strangers, rng)

    def _question_set(self, rng: random.Random) -> QuestionSet:
        return rng.choices(self._sets, self._weights)[0]
