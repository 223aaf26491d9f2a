"""Queries with mixed-language documents to score, made from XQuAD (evaluation only), and texts of given lengths.

The same seed always gives the same pools, whatever machine or process makes them.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from pathlib import Path

from parallel_corpora import XQUAD_LANGUAGES, read_xquad

REPOSITORY = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Pool:
    """One query with its documents; `gold` is the position of the paragraph that answers it."""

    query: str
    language: str
    documents: tuple[str, ...]
    gold: int


def default_data() -> Path:
    """Return the folder of the corpora: $LAMAR_DATA, else shared/data beside the checkout."""
    return Path(os.environ.get("LAMAR_DATA", REPOSITORY.parent / "shared" / "data"))


def xquad_pools(data: Path, *, count: int, size: int, seed: int) -> list[Pool]:
    """Return `count` pools of `size` documents; the queries' languages take turns.

    A pool holds its query's own paragraph and others, no paragraph twice, each in a language drawn from all 12.

    Raises:
        ValueError: `size` is more than there are paragraphs.
    """
    corpus = read_xquad(data)
    paragraphs = len(corpus.passages["en"])
    if not 1 <= size <= paragraphs:
        raise ValueError(f"got size={size}, expected 1 to {paragraphs}, the paragraphs that XQuAD has")
    rng = random.Random(f"pools:{seed}:{size}")
    start = rng.randrange(len(XQUAD_LANGUAGES))
    pools = []
    for number in range(count):
        language = XQUAD_LANGUAGES[(start + number) % len(XQUAD_LANGUAGES)]
        group, query = rng.choice(corpus.queries[language])
        gold = int(group)
        chosen = [gold, *rng.sample([i for i in range(paragraphs) if i != gold], size - 1)]
        rng.shuffle(chosen)
        documents = tuple(corpus.passages[rng.choice(XQUAD_LANGUAGES)][i][1] for i in chosen)
        pools.append(Pool(query, language, documents, chosen.index(gold)))
    return pools


def short_texts(data: Path, *, count: int, seed: int, longest: int = 160) -> list[str]:
    """Return beginnings of paragraphs of all languages, of 10 to `longest` characters, evenly spread."""
    rng = random.Random(f"short:{seed}")
    texts = _paragraphs(data)
    return [rng.choice(texts)[: rng.randint(10, longest)] for _ in range(count)]


def long_texts(data: Path, *, count: int, seed: int, characters: int = 3000) -> list[str]:
    """Return texts of so many characters: paragraphs of one language one after another, in any order.

    3,000 characters are more than 512 tokens in each language.
    """
    rng = random.Random(f"long:{seed}")
    corpus = read_xquad(data).passages
    result = []
    for number in range(count):
        rows = corpus[XQUAD_LANGUAGES[number % len(XQUAD_LANGUAGES)]]
        text = ""
        while len(text) < characters:
            text += rng.choice(rows)[1] + "\n"
        result.append(text[:characters])
    return result


def _paragraphs(data: Path) -> list[str]:
    return [text for rows in read_xquad(data).passages.values() for _, text in rows]
