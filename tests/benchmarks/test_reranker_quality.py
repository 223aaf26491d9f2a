"""The evaluation of a reranker on parallel corpora, and the check for shared text, on data made by hand."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from conftest import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "benchmarks"))

from contamination import evaluation_texts, measured, normalized, shingles
from lamar_trainers.parquet_file import write_parquet
from lamar_trainers.synthesis import AlignmentGroup, DistillationPair
from parallel_corpora import Parallel, read_belebele
from reranker_quality import figures, outcomes, sampled

LANGUAGES = ["de", "en", "de", "en"]  # of columns 0 to 3; 0 and 1 say the same


def row(language, question, scores, *, gold, similarities=None):
    return {
        "language": language,
        "question": question,
        "scores": {str(c): s for c, s in enumerate(scores)},
        "similarities": {str(c): s for c, s in enumerate(similarities or [0.0] * 4)},
        "tasks": {
            "coherence": [1, 0],
            "retrieval": [0, 1, 2, 3],
            "rescue": [c for c in range(4) if c != gold],
        },
        "relevant": [0, 1],
        "gold": gold,
    }


def test_outcomes_by_hand():
    rows = [row("de", 0, [2.0, 3.0, 2.5, 0.0], gold=0)]
    plain = outcomes(rows, LANGUAGES, 0.0, 0.0)
    assert {name: values.tolist() for name, values in plain.items()} == {
        "coherence": [0.0],
        "retrieval": [0.0],
        "rescue": [1.0],
    }
    lifted = outcomes(rows, LANGUAGES, 1.1, 0.0)  # the gold one overtakes its translation, but not column 2
    assert (lifted["coherence"].tolist(), lifted["retrieval"].tolist()) == ([1.0], [0.0])
    assert lifted["rescue"].tolist() == [0.0]
    rows[0]["similarities"]["0"] = 0.2
    assert outcomes(rows, LANGUAGES, 0.0, 10.0)["retrieval"].tolist() == [1.0]
    assert outcomes(rows, LANGUAGES, 0.0, 1.0, score=0.0)["retrieval"].tolist() == [1.0]


def test_ties_go_to_the_first_stage_s_order():
    assert outcomes([row("de", 0, [1.0] * 4, gold=0)], LANGUAGES, 0.0, 0.0)["coherence"].tolist() == [0.0]


def test_languages_weigh_the_same_and_the_interval_is_that_of_the_questions():
    rows = [row("de", n, [0.0] * 4, gold=0) for n in range(30)] + [
        row("en", n, [0.0] * 4, gold=1) for n in range(10)
    ]
    right = {"coherence": np.array([1.0] * 15 + [0.0] * 15 + [1.0] * 10)}
    found = figures(rows, right, seed=1)["coherence"]
    assert found["value"] == pytest.approx((0.5 + 1.0) / 2)
    # German: 30 draws of a fair coin, halved in the mean over two languages
    low, high = found["interval"]
    deviation = np.sqrt(0.25 / 30) / 2
    assert high - low == pytest.approx(2 * 1.96 * deviation, rel=0.15)


def test_samples_are_distinct_questions_in_distinct_languages():
    texts = {k: [(str(n), f"{k}{n}") for n in range(50)] for k in ("de", "en", "ar")}
    found = sampled(Parallel(texts, texts), 20, 2, seed=3)
    assert len(found) == len(set(found)) == 40
    assert len({number for _, number in found}) == 20
    assert found == sampled(Parallel(texts, texts), 20, 2, seed=3)
    assert len(sampled(Parallel(texts, texts), None, 9, seed=3)) == 150


@pytest.mark.slow
def test_belebele_is_read_as_its_source_counts(data_dir):
    corpus = read_belebele(data_dir)
    assert sorted(corpus.languages()) == ["ar", "de", "en", "es", "fr", "zh"]
    for language in corpus.languages():
        assert (len(corpus.queries[language]), len(corpus.passages[language])) == (900, 488)


def test_shingles_ignore_case_and_punctuation():
    text = "Der Baikalsee, in Sibirien, ist der tiefste See der Erde!"
    assert normalized(text) == "der baikalsee in sibirien ist der tiefste see der erde"
    found = list(shingles(text))
    assert (len(found), len(found[0])) == (len(normalized(text)) - 39, 40)
    assert list(shingles("short")) == []
    assert len(next(shingles("贝加尔湖位于西伯利亚,是世界上最深的湖泊,水深超过一千米"))) == 18


def test_shared_text_is_found_whatever_field_it_stands_in(tmp_path):
    sentence = "the deepest lake of the world lies in the south of siberia"
    articles = [{"paragraphs": [{"context": f"They say {sentence}.", "qas": [{"question": "Where is it?"}]}]}]
    (tmp_path / "xquad").mkdir()
    (tmp_path / "xquad" / "xquad.en.json").write_text(json.dumps({"data": articles}))
    assert list(evaluation_texts(tmp_path)) == [("xquad", f"They say {sentence}."), ("xquad", "Where is it?")]
    other = "a text that has nothing to do with any of the lakes on this planet"
    pair = DistillationPair("c", 0, 0, 0, "positive", "en", "en", other, other, other, other)
    group = AlignmentGroup("d", 0, "en", "de", other, other, f"Indeed, THE {sentence[4:]}", other, other)
    write_parquet(tmp_path / "pairs.parquet", [pair], DistillationPair)
    write_parquet(tmp_path / "groups.parquet", [group], AlignmentGroup)
    found = measured(tmp_path, tmp_path)
    assert (found["training_texts"], found["training_texts_that_share_a_shingle"]) == (2, 1)
    assert list(found["shared"]) == ["d / xquad"]
    assert found["shared"]["d / xquad"]["longest_characters"] >= len(sentence)
