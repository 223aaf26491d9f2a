from __future__ import annotations

from math import erfc, sqrt

import numpy as np
import peer_measure
import pytest

from lamar_rag.evaluation.language_metrics import (
    first_language_matrix,
    language_peer,
    language_rank_share,
    language_split,
)
from lamar_rag.types import Document


def test_matrix():
    first = [("de", "de"), ("de", "en"), ("de", "en"), ("de", "de"), ("en", "en")]
    assert first_language_matrix(["de", "en", "ar"], first) == {
        "de": {"de": 0.5, "en": 0.5, "ar": 0.0},
        "en": {"de": 0.0, "en": 1.0, "ar": 0.0},
        "ar": {"de": 0.0, "en": 0.0, "ar": 0.0},
    }


@pytest.mark.parametrize(
    ("language", "document", "expected"),
    [
        ("de", "r", "relevant, query's language"),
        ("en", "r", "relevant, other"),
        ("de", "x", "not relevant, query's language"),
        ("en", "x", "not relevant, other"),
    ],
)
def test_split(language, document, expected):
    first = Document("text", id=document, language=language)
    assert language_split("de", first, frozenset("r")) == expected


def test_peer_by_hand():
    # ranks 1, 3 and 2, 4: means 2 and 3 about 2.5, so H = 3 * (2 * .25 + 2 * .25) / 5 = 0.6, one degree of freedom
    assert language_peer(["de", "en", "de", "en"], [1, 2, 3, 4]) == pytest.approx(erfc(sqrt(0.6 / 2)))
    assert language_peer(["de", "de"], [1, 2]) == 1.0
    assert language_peer([], []) == 1.0


def test_peer_agrees_with_its_authors():
    random = np.random.default_rng(0)
    for _ in range(200):
        languages = random.choice(["de", "en", "zh"], size=12).tolist()
        ranks = (1 + random.permutation(20)[:12]).tolist()
        samples = {k: [] for k in ("de", "en", "zh")}
        for language, rank in zip(languages, ranks, strict=True):
            samples[language].append(rank)
        assert language_peer(languages, ranks) == pytest.approx(peer_measure.kruskal(*samples.values())[1])


def test_rank_share():
    # rises of 3 and 0 (a fall counts nothing) of possible 4 and 2
    assert language_rank_share({"a": 5, "b": 3}, {"a": 2, "b": 7}) == pytest.approx(50.0)
    assert language_rank_share({"a": 1}, {"a": 4}) == 0.0
    assert language_rank_share({}, {}) == 0.0
    assert language_rank_share({"a": 3, "b": 2}, {"a": 1, "b": 1}) == 100.0
