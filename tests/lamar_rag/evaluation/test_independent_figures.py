"""The second computation of the evaluation figures, against values worked out by hand."""

import json

import numpy as np
import pytest
from independent_figures import (
    BELEBELE_FILES,
    Parallel,
    coherence,
    read_belebele,
    read_xquad,
    rescue,
    retrieval,
)

# 1 / log2(rank + 1) at ranks 2 to 4, typed in rather than computed
SECOND = 0.6309297535714575
THIRD = 0.5
FOURTH = 0.43067655807339306

# documents: 0 de-a, 1 de-b, 2 de-c, 3 en-a, 4 en-b, 5 en-c
SMALL = Parallel(
    languages=["de", "en"],
    passages={"de": ["de-a", "de-b", "de-c"], "en": ["en-a", "en-b", "en-c"]},
    queries={"de": [("de-?", 0), ("de-??", 2)], "en": [("en-?", 0), ("en-??", 2)]},
)
SMALL_SCORES = {
    "de": np.array(
        [
            [0.9, 0.1, 0.2, 0.8, 0.3, 0.4],  # order 0 3 5 4 2 1
            [0.5, 0.6, 0.4, 0.1, 0.2, 0.7],  # order 5 1 0 2 4 3
        ]
    ),
    "en": np.array(
        [
            [0.5, 0.2, 0.1, 0.5, 0.9, 0.3],  # order 4 0 3 5 1 2: 0 and 3 tie, 0 stands first
            [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],  # order 5 4 3 2 1 0
        ]
    ),
}


def test_coherence_ranks_the_translations_and_keeps_the_order_of_ties():
    figures = coherence(SMALL, SMALL_SCORES.__getitem__)

    # ranks of the own passage: de 1 (0.9 over 0.8) and 2 (0.4 under 0.7); en 2 (a tie, de stands first) and 1
    assert figures == pytest.approx(
        {"ndcg@1": 0.5, "ndcg@10": (1 + SECOND) / 2, "mrr@10": 0.75, "mean_rank": 1.5}
    )


def test_retrieval_ranks_the_own_gold_among_all_documents():
    figures = retrieval(SMALL, SMALL_SCORES.__getitem__)

    # ranks: de 1 and 4, en 3 and 1
    assert figures == pytest.approx(
        {
            "recall@20": 1.0,
            "ndcg@1": 0.5,
            "ndcg@10": (1 + FOURTH + THIRD + 1) / 4,
            "mrr@10": (1 + 1 / 4 + 1 / 3 + 1) / 4,
        }
    )


def test_rescue_takes_the_own_gold_away_before_ranking():
    figures = rescue(SMALL, SMALL_SCORES.__getitem__)

    # de: without 0, document 3 is first; without 2, document 5 is first.
    # en: without 3, document 0 is second; without 5, document 2 is third (4 3 2)
    assert figures == pytest.approx(
        {"rescue@1": 0.5, "ceiling": 1.0, "ndcg@10": (1 + 1 + SECOND + THIRD) / 4}
    )


def test_cuts_equal_weight_of_languages_and_the_ideal_over_all_relevant():
    # three languages of 8 passages, 24 documents: de 0-7, en 8-15, fr 16-23
    passages = [f"passage {index}" for index in range(8)]
    parallel = Parallel(
        languages=["de", "en", "fr"],
        passages={"de": passages, "en": passages, "fr": passages},
        queries={"de": [("?", 0)], "en": [("?", 2), ("?", 3), ("?", 4)], "fr": [("?", 3)]},
    )
    falling = -np.arange(24.0)  # document i stands at rank i + 1
    scores = {"de": falling[None, :], "en": np.tile(falling, (3, 1)), "fr": -falling[None, :]}

    # own gold: de document 0, rank 1; en documents 10, 11, 12, ranks 11, 12, 13: inside 20, outside 10;
    # fr document 19 in rising order, rank 5. Counting queries alike would give 1/5 instead of 1/3.
    fifth = 0.38685280723454163
    assert retrieval(parallel, scores.__getitem__) == pytest.approx(
        {"recall@20": 1.0, "ndcg@1": 1 / 3, "ndcg@10": (1 + fifth) / 3, "mrr@10": (1 + 1 / 5) / 3}
    )
    # de: translations 8 and 16, ranks 8 and 16 once document 0 is gone: 1/log2(9) over the ideal of two.
    # en: translations (2, 18), (3, 19), (4, 20): ranks 3, 4, 5; the other ones 18, 19, 20 count nothing.
    # fr: translations 11 and 3 in rising order, ranks 12 and 20 once document 19 is gone: both outside 10.
    ideal = 1 + SECOND
    eighth = 0.31546487678572877
    assert rescue(parallel, scores.__getitem__) == pytest.approx(
        {"rescue@1": 0.0, "ceiling": 1.0, "ndcg@10": (eighth + (THIRD + FOURTH + fifth) / 3) / ideal / 3}
    )

    # a gold at rank 21 of 24 is no candidate, and every figure is 0
    only = Parallel(["fr"], {"fr": passages * 3}, {"fr": [("?", 20)]})
    assert retrieval(only, lambda _: falling[None, :]) == {
        "recall@20": 0.0,
        "ndcg@1": 0.0,
        "ndcg@10": 0.0,
        "mrr@10": 0.0,
    }


def test_readers_align_passages_and_questions_of_all_languages(tmp_path):
    for language, ids in {"en": ["1", "2"], "de": ["2", "1"]}.items():
        paragraphs = [
            {
                "context": f"{language}-a",
                "qas": [{"id": key, "question": f"{language}-{key}"} for key in ids],
            },
            {"context": f"{language}-b", "qas": [{"id": "3", "question": f"{language}-3"}]},
        ]
        data = {"data": [{"paragraphs": [paragraph]} for paragraph in paragraphs]}
        (tmp_path / f"xquad.{language}.json").write_text(json.dumps(data), encoding="utf-8")
    rows = [("y", 2), ("x", 1), ("y", 1)]
    for language, name in BELEBELE_FILES.items():
        lines = [
            json.dumps(
                {
                    "link": link,
                    "question_number": number,
                    "flores_passage": f"{language}-{link}\u2028",
                    "question": f"{language}-{link}{number}",
                },
                ensure_ascii=False,
            )
            for link, number in (rows if language == "ar" else reversed(rows))
        ]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")

    xquad = read_xquad(tmp_path)
    belebele = read_belebele(tmp_path)

    assert xquad == Parallel(
        ["de", "en"],
        {"de": ["de-a", "de-b"], "en": ["en-a", "en-b"]},
        {"de": [("de-2", 0), ("de-1", 0), ("de-3", 1)], "en": [("en-2", 0), ("en-1", 0), ("en-3", 1)]},
    )
    assert belebele.languages == ["ar", "de", "en", "es", "fr", "zh"]
    for language in belebele.languages:
        assert belebele.passages[language] == [f"{language}-y\u2028", f"{language}-x\u2028"]
        assert belebele.queries[language] == [
            (f"{language}-y1", 0),
            (f"{language}-y2", 0),
            (f"{language}-x1", 1),
        ]
