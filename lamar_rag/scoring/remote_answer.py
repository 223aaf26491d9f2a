"""From the body of a rerank server's answer to scores in the order of the documents."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import numpy as np

from lamar_rag.scoring.remote_shapes import RerankShape

_LARGEST = float(np.finfo(np.float32).max)


def parsed(body: bytes) -> object:
    """Return a body as JSON.

    Raises:
        ValueError: it is none.
    """
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        pass
    # Raised out here, for the parser's own error holds the whole body.
    raise ValueError("got a body that is not JSON")


def ordered_scores(shape: RerankShape, answer: object, labels: Sequence[str]) -> list[float]:
    """Return one score a document, matched by index whatever the answer's order is.

    Args:
        shape: the API that answered.
        answer: the parsed body.
        labels: the name of each document, for messages.

    Raises:
        ValueError: a document without score or with two, an index out of range, a score that is no finite
            number, or another form of answer. The message says what was got.
    """
    try:
        pairs = shape.pairs(answer)
    except ValueError as error:
        raise ValueError(f"got JSON of another form than {error}") from None
    scores: dict[int, float] = {}
    for index, score in pairs:
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(labels):
            raise ValueError(f"got index {_shown(index)}, expected 0 to {len(labels) - 1}")
        if index in scores:
            raise ValueError(f"got two scores for {labels[index]}")
        scores[index] = _number(score, labels[index])
    if len(scores) != len(labels):
        missing = next(position for position in range(len(labels)) if position not in scores)
        raise ValueError(f"got {len(scores)} scores for {len(labels)} documents, none for {labels[missing]}")
    return [scores[position] for position in range(len(labels))]


def _number(score: object, label: str) -> float:
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise ValueError(f"got score {_shown(score)} for {label}, expected a number")
    try:
        value = float(score)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value) or abs(value) > _LARGEST:
        raise ValueError(f"got score {value} for {label}, expected a finite 32-bit number")
    return value


def _shown(value: object) -> str:
    """Return a number as it is, and of anything else, which may hold what no message may repeat, the kind."""
    if value is None or isinstance(value, bool | float):
        return json.dumps(value)
    if isinstance(value, int):
        return str(value) if abs(value) < 10**20 else "of more than 20 digits"
    return f"of type {type(value).__name__}"
