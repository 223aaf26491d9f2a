"""A teacher's scores: once a pair, over several runs, in the form that the student learns."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet
import pytest
from lamar_trainers.parquet_file import write_parquet
from lamar_trainers.score_cache import ScoreCache
from lamar_trainers.synthesis import DistillationPair
from lamar_trainers.teacher import english_requests, score_requests, write_teacher_scores
from sklearn.linear_model import LogisticRegression
from tiny_models import TableScorer


def pair(group, query, document, own):
    return DistillationPair(
        dataset="d", group=group, query_row=group, document_row=group if own else 90, document_field="positive",
        query_language="de", document_language="fr", query=f"de {query}", document=f"fr {document}",
        teacher_query=query, teacher_document=document,
    )  # fmt: skip


TABLE = {"a": 3.5, "b": -2.0, "c": 0.25, "d": 5.0, "e": -4.0, "f": 1.0}
PAIRS = [
    pair(0, "q0", "a", True), pair(0, "q0", "b", False), pair(0, "q0", "c", False),
    pair(1, "q1", "d", True), pair(1, "q1", "e", False), pair(1, "q1", "f", False),
    pair(0, "q0", "a", True), pair(2, "q2", "c", True),
]  # fmt: skip


class CountingScorer(TableScorer):
    """Keeps what it was asked, and stops after so many queries."""

    def __init__(self, queries=None):
        super().__init__(TABLE)
        self.asked, self.queries = [], queries

    def score(self, query, documents, options=None):
        if self.queries == 0:
            raise RuntimeError("no more")
        if self.queries is not None:
            self.queries -= 1
        self.asked += [(query, document.text) for document in documents]
        return super().score(query, documents)


@pytest.fixture
def pairs(tmp_path):
    write_parquet(tmp_path / "pairs.parquet", PAIRS, DistillationPair)
    return tmp_path / "pairs.parquet"


def scored(pairs, tmp_path, scorer, **options):
    cache = ScoreCache(tmp_path / "teacher", "table")
    score_requests(scorer, english_requests(pairs), cache, **options)
    return cache


def test_every_english_pair_is_scored_once(pairs, tmp_path):
    scorer = CountingScorer()
    cache = scored(pairs, tmp_path, scorer, workers=2)
    assert sorted(set(scorer.asked)) == sorted({(p.teacher_query, p.teacher_document) for p in PAIRS})
    assert [cache[p.teacher_query, p.teacher_document] for p in PAIRS] == [
        TABLE[p.teacher_document] for p in PAIRS
    ]


def test_a_later_run_scores_what_is_missing(pairs, tmp_path, monkeypatch):
    monkeypatch.setattr("lamar_trainers.teacher._CHUNK", 1)
    with pytest.raises(RuntimeError, match="no more"):
        scored(pairs, tmp_path, CountingScorer(queries=1))
    scorer = CountingScorer()
    scored(pairs, tmp_path, scorer)
    assert ("q0", "a") not in scorer.asked
    again = CountingScorer(queries=0)
    assert len(scored(pairs, tmp_path, again)) == 7
    assert len(ScoreCache(tmp_path / "teacher", "another model")) == 0


def test_raw_scores_become_labels_of_the_student_s_pairs(pairs, tmp_path):
    cache = scored(pairs, tmp_path, CountingScorer())
    about = write_teacher_scores(
        pairs, tmp_path / "scored.parquet", [cache], names=["table"], calibrated=False
    )
    rows = pyarrow.parquet.read_table(tmp_path / "scored.parquet").to_pylist()
    labels = [TABLE[p.teacher_document] for p in PAIRS]
    assert [row["label"] for row in rows] == labels
    assert [row["document"] for row in rows] == [p.document for p in PAIRS]
    assert (about["mean"], about["standard_deviation"]) == (np.mean(labels), np.std(labels))
    assert json.loads((tmp_path / "scored.json").read_text()) == about
    assert about["form"] == "the scorer's raw score"


def test_calibration_is_logistic_regression_on_the_known_labels(pairs, tmp_path):
    first, second = scored(pairs, tmp_path, CountingScorer()), ScoreCache(tmp_path / "teacher", "second")
    second.keep(
        {(p.teacher_query, p.teacher_document): len(p.teacher_document + p.teacher_query) / 9 for p in PAIRS}
    )
    about = write_teacher_scores(
        pairs, tmp_path / "scored.parquet", [first, second], names=["table", "second"], calibrated=True
    )
    features = np.array(
        [[TABLE[p.teacher_document], len(p.teacher_document + p.teacher_query) / 9] for p in PAIRS]
    )
    scale = features.std(axis=0) + 1e-9
    reference = LogisticRegression().fit(features / scale, [p.query_row == p.document_row for p in PAIRS])
    labels = pyarrow.parquet.read_table(tmp_path / "scored.parquet")["label"].to_pylist()
    np.testing.assert_allclose(labels, reference.decision_function(features / scale), rtol=1e-6)
    assert about["form"] == "logit"


def test_probabilities_and_several_scorers_need_calibration(pairs, tmp_path):
    cache = ScoreCache(tmp_path / "teacher", "bounded")
    cache.keep({(p.teacher_query, p.teacher_document): 0.5 for p in PAIRS})
    with pytest.raises(ValueError, match=r"got scores of bounded within \[-1, 1\] .* fusion: calibrated"):
        write_teacher_scores(pairs, tmp_path / "s.parquet", [cache], names=["bounded"], calibrated=False)
    with pytest.raises(ValueError, match="expected one scorer with raw scores"):
        write_teacher_scores(pairs, tmp_path / "s.parquet", [cache] * 2, names=["a", "b"], calibrated=False)
    assert not (tmp_path / "s.parquet").exists()
