"""Queries with hard negatives from question answering corpora that were written in their language."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lamar_trainers.lexical_neighbours import Neighbours, lexical_neighbours
from lamar_trainers.synthesis import LabelledQuery


@dataclass(frozen=True)
class AnsweredPassage:
    """A passage with its questions, each with an answer out of it; `title` is of the article that it stands in."""

    text: str
    questions: tuple[tuple[str, str], ...]
    title: str = ""


def read_passages(path: str | Path) -> list[AnsweredPassage]:
    """Return the passages of a JSONL file with rows {passage, qas: [{q, a}]} and, if known, title.

    Raises:
        ValueError: a line that is something else.
    """
    passages = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), start=1):
        try:
            row = json.loads(line)
            questions = tuple((str(qa["q"]), str(qa["a"])) for qa in row["qas"])
            passages.append(AnsweredPassage(str(row["passage"]), questions, str(row.get("title", ""))))
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise ValueError(
                f'got {line[:80]} in {path}, line {number}, expected {{"passage": "...", "qas": [{{"q": "...", '
                '"a": "..."}]}'
            ) from error
    return passages


def native_queries(
    passages: Sequence[AnsweredPassage],
    language: str,
    *,
    negatives: int = 2,
    questions: int = 4,
    nearest: int | None = None,
    neighbours: Neighbours = lexical_neighbours,
    seed: int,
) -> list[LabelledQuery]:
    """Return questions, each with its passage and passages that are near and hold not its answer.

    Args:
        passages: of one corpus in one language.
        language: its code.
        negatives: negatives a question, at most.
        questions: questions a passage, at most; chosen at random where there are more.
        nearest: the negatives are drawn at random from so many of the nearest; None: they are the nearest.
        neighbours: what is near: `lexical_neighbours`, or `embedding_neighbours` with its embedder.
        seed: of the choices.

    Raises:
        ValueError: `nearest` below `negatives`.
    """
    nearest = negatives if nearest is None else nearest
    if nearest < negatives:
        raise ValueError(f"got nearest={nearest}, expected at least the number of negatives, {negatives}")
    random = np.random.default_rng(seed)
    chosen = []
    for number, passage in enumerate(passages):
        order = sorted(random.permutation(len(passage.questions))[:questions].tolist())
        chosen += [(number, *passage.questions[place]) for place in order]
    texts = [passage.text for passage in passages]
    folded = [text.casefold() for text in texts]
    excluded = [_with_answer(folded, answer) | {number} for number, _, answer in chosen]
    queries = [question for _, question, _ in chosen]
    near = neighbours(queries, texts, count=nearest, excluded=excluded)
    drawn = [
        found
        if len(found) <= negatives
        else random.choice(np.asarray(found), negatives, replace=False).tolist()
        for found in near
    ]
    return [
        LabelledQuery(question, (texts[number],), tuple(texts[other] for other in others), language)
        for (number, question, _), others in zip(chosen, drawn, strict=True)
    ]


def _with_answer(folded: Sequence[str], answer: str) -> set[int]:
    wanted = answer.casefold()
    return {number for number, text in enumerate(folded) if wanted in text}
