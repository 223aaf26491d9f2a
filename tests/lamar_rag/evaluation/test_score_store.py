from __future__ import annotations

import pytest

from lamar_rag.evaluation.score_store import ScoreFile

SETTING = {"model": "m", "passages": "abc"}


def test_scores_come_back(tmp_path):
    path = tmp_path / "deep" / "scores.jsonl"
    with ScoreFile(path, SETTING) as store:
        store.add([("q.de", {"0.de": 0.25, "0.en": -1.5}), ("q.en", {"0.de": 3.0})])
        store.add([("q.de", {"1.de": 7.0})])
        assert store.scores("q.de") == {"0.de": 0.25, "0.en": -1.5, "1.de": 7.0}
    with ScoreFile(path, SETTING) as store:
        assert store.scores("q.de") == {"0.de": 0.25, "0.en": -1.5, "1.de": 7.0}
        assert store.scores("q.en") == {"0.de": 3.0}
        assert store.scores("other") == {}


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_line_that_was_cut_is_scored_again(tmp_path, cut):
    path = tmp_path / "scores.jsonl"
    with ScoreFile(path, SETTING) as store:
        store.add([("a", {"d": 1.0})])
        before = path.read_bytes()
        store.add([("b", {"d": 2.0})])
    path.write_bytes(path.read_bytes()[:-cut])
    with ScoreFile(path, SETTING) as store:
        assert store.scores("a") == {"d": 1.0}
        assert store.scores("b") == {}
        assert path.read_bytes() == before


def test_a_file_cut_in_its_first_line_begins_anew(tmp_path):
    path = tmp_path / "scores.jsonl"
    path.write_text('{"model": "m', encoding="utf-8")
    with ScoreFile(path, SETTING) as store:
        store.add([("a", {"d": 1.0})])
    with ScoreFile(path, SETTING) as store:
        assert store.scores("a") == {"d": 1.0}


def test_scores_of_another_setting_are_refused(tmp_path):
    path = tmp_path / "scores.jsonl"
    ScoreFile(path, SETTING).close()
    with pytest.raises(ValueError, match=r"another setting \(dtype, model differ\)"):
        ScoreFile(path, {**SETTING, "model": "other", "dtype": "int8"})
    ScoreFile(path, SETTING).close()  # the lock was let go


def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "scores.jsonl"
    path.write_text("no scores\n", encoding="utf-8")
    with pytest.raises(ValueError, match="no file of scores"):
        ScoreFile(path, SETTING)


def test_one_process_writes_at_a_time(tmp_path):
    path = tmp_path / "scores.jsonl"
    with ScoreFile(path, SETTING), pytest.raises(TimeoutError):
        ScoreFile(path, SETTING)
