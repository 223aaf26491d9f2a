"""Triplets from documents that are translated line by line (NTREX, TICO-19), as numbers of lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

from lamar_trainers.lexical_neighbours import lexical_neighbours

_NO_SPACES = frozenset({"zh", "ja", "th"})  # sentences follow one another without a space
_NEAR = 5  # the negative is one of this many nearest windows, so that it is not always the same


@dataclass(frozen=True)
class LineTriplet:
    """A query, a positive and a negative document as line numbers: the same in every language.

    `source` is the number of the document that query and positive are of.
    """

    source: int
    query: int
    positive: tuple[int, ...]
    negative: tuple[int, ...]


def runs(document_ids: Sequence[str]) -> list[list[int]]:
    """Return the line numbers of each document: consecutive lines with the same id."""
    numbered = groupby(enumerate(document_ids), key=lambda line: line[1])
    return [[number for number, _ in lines] for _, lines in numbered]


def line_triplets(
    documents: Sequence[Sequence[int]],
    lines: Sequence[str],
    *,
    window: int = 4,
    headlines: bool = True,
    seed: int,
) -> list[LineTriplet]:
    """Return triplets: a headline with the beginning of its document, and a sentence with those around it.

    Every document is cut into windows of `window` + 1 sentences, of which one at random is the query and the
    others the positive document. The negative is the rest of a window of another document, one of the lexically
    nearest to the query.

    Args:
        documents: line numbers of each document.
        lines: the texts in one language, by which nearness is told.
        window: sentences of a positive document.
        headlines: whether a document's first line is its headline.
        seed: of the choice of sentences and negatives.

    Raises:
        ValueError: a window below 1, or fewer than two documents that are long enough.
    """
    if window < 1:
        raise ValueError(f"got window={window}, expected at least 1")
    random = np.random.default_rng(seed)
    cut = [
        (number, query, positive)
        for number, document in enumerate(documents)
        for query, positive in _cuts(document, window, headlines, random)
    ]
    of_document: dict[int, set[int]] = {}
    for position, (number, _, _) in enumerate(cut):
        of_document.setdefault(number, set()).add(position)
    if len(of_document) < 2:
        raise ValueError(
            f"got {len(of_document)} documents of at least 2 sentences, expected 2 or more: "
            "negatives are of other documents"
        )
    near = lexical_neighbours(
        [lines[query] for _, query, _ in cut],
        [" ".join(lines[line] for line in positive) for _, _, positive in cut],
        count=_NEAR,
        excluded=[of_document[number] for number, _, _ in cut],
    )
    return [
        LineTriplet(number, query, positive, cut[found[int(random.integers(len(found)))]][2])
        for (number, query, positive), found in zip(cut, near, strict=True)
    ]


def _cuts(
    document: Sequence[int], window: int, headlines: bool, random: np.random.Generator
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield queries with their positive documents."""
    body = document[1:] if headlines else document
    for start in range(0, len(body), window + 1):
        lines = body[start : start + window + 1]
        if len(lines) < 2:
            return
        if headlines and start == 0:
            yield document[0], tuple(lines[:window])
        query = lines[int(random.integers(len(lines)))]
        yield query, tuple(line for line in lines if line != query)


def write_line_triplets(
    folder: str | Path, name: str, triplets: Sequence[LineTriplet], lines: Mapping[str, Sequence[str]]
) -> None:
    """Write triplets as the folder that `folder_corpus` reads: a `LANGUAGE.jsonl` a language.

    Rows of which some language has an empty line are left out of all languages.

    Args:
        folder: is made.
        name: begins the rows' ids, NAME-SOURCE#NUMBER.
        triplets: as line numbers.
        lines: the texts of each language, all of the same length.

    Raises:
        ValueError: languages with another number of lines.
    """
    sizes = {language: len(texts) for language, texts in lines.items()}
    if len(set(sizes.values())) != 1:
        raise ValueError(f"got {sizes} lines, expected the same number in every language")
    empty = {n for texts in lines.values() for n, text in enumerate(texts) if not text.strip()}
    kept = [
        (number, triplet)
        for number, triplet in enumerate(triplets)
        if empty.isdisjoint((triplet.query, *triplet.positive, *triplet.negative))
    ]
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for language, texts in lines.items():
        rows = (
            _row(f"{name}-{triplet.source}#{number}", triplet, texts, language) for number, triplet in kept
        )
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{language}.jsonl").write_text(text, encoding="utf-8")


def _row(name: str, triplet: LineTriplet, texts: Sequence[str], language: str) -> dict[str, str]:
    def joined(numbers: Iterable[int]) -> str:
        return ("" if language in _NO_SPACES else " ").join(texts[number].strip() for number in numbers)

    return {
        "id": name,
        "query": texts[triplet.query].strip(),
        "positive": joined(triplet.positive),
        "negative": joined(triplet.negative),
    }
