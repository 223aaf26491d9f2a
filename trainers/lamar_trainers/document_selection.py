"""SelectDocs: which documents a query is paired with for distillation (LAMAR, appendix A.2)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lamar_trainers.parallel_corpus import DocumentIdentity

SelectDocuments = Callable[[int, int, np.random.Generator], list[DocumentIdentity]]


def own_and_sampled(
    rows: int, row: int, random: np.random.Generator, *, sampled: int = 3
) -> list[DocumentIdentity]:
    """Return a row's own document and documents of other rows: for corpora of queries with one document (MMARCO).

    Args:
        rows: rows of the corpus.
        row: the query's.
        random: where the other rows come from.
        sampled: other documents, each of another row.

    Raises:
        ValueError: too few rows.
    """
    others = other_rows(rows, row, sampled, random)
    return [DocumentIdentity(row, "positive"), *(DocumentIdentity(other, "positive") for other in others)]


def triplet_rounds(
    rows: int, row: int, random: np.random.Generator, *, rounds: int = 20
) -> list[DocumentIdentity]:
    """Return, a round, a row's own two documents, two positives and two negatives of other rows (MIRACL triplets).

    The four other documents of a round are of four rows; rounds are independent.

    Args:
        rows: rows of the corpus.
        row: the query's.
        random: where the other rows come from.
        rounds: 20 in the paper, which makes 120 documents a query.

    Raises:
        ValueError: too few rows.
    """
    selected = []
    for _ in range(rounds):
        first, second, third, fourth = other_rows(rows, row, 4, random)
        selected += [DocumentIdentity(row, "positive"), DocumentIdentity(row, "negative")]
        selected += [DocumentIdentity(first, "positive"), DocumentIdentity(second, "positive")]
        selected += [DocumentIdentity(third, "negative"), DocumentIdentity(fourth, "negative")]
    return selected


def other_rows(rows: int, row: int, count: int, random: np.random.Generator) -> list[int]:
    """Return `count` rows without replacement, the current one never among them.

    Raises:
        ValueError: too few rows.
    """
    if rows - 1 < count:
        raise ValueError(
            f"got a corpus of {rows} rows, expected at least {count + 1}: every query needs others"
        )
    drawn = random.choice(rows - 1, size=count, replace=False)
    return [int(other) + (other >= row) for other in drawn]
