"""Parallel corpora in folders of JSONL."""

from __future__ import annotations

import json

import pytest
from lamar_trainers.document_selection import own_and_sampled
from lamar_trainers.synthesis import distillation_pairs
from lamar_trainers.table_corpus import folder_corpus

GREETINGS = {"en": ["one", "two", "three", "four"], "de": ["eins", "zwei", "drei", "vier"]}


def written(folder, texts, **columns):
    folder.mkdir(exist_ok=True)
    for language, rows in texts.items():
        lines = [
            {"id": str(i), "query": f"q {row}", "positive": row, **columns} for i, row in enumerate(rows)
        ]
        (folder / f"{language}.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return folder


def test_rows_are_read_by_language_in_the_order_of_the_codes(tmp_path):
    corpus = folder_corpus(written(tmp_path / "greetings", GREETINGS), cache=tmp_path / "cache")
    assert (corpus.name, corpus.languages, len(corpus)) == ("greetings", ("de", "en"), 4)
    assert corpus.text("query", 2, "de") == "q drei"
    assert corpus.text("positive", 3, "en") == "four"


def test_languages_may_be_named_as_ntrex_does(tmp_path):
    texts = {"deu": GREETINGS["de"], "eng": GREETINGS["en"]}
    assert folder_corpus(written(tmp_path / "a", texts), cache=tmp_path / "cache").languages == ("de", "en")


def test_algorithm_1_runs_on_it(tmp_path):
    corpus = folder_corpus(written(tmp_path / "greetings", GREETINGS), cache=tmp_path / "cache")
    pairs = list(distillation_pairs(corpus, own_and_sampled, seed=0))
    assert len(pairs) == 16
    for pair in pairs:
        assert pair.document == GREETINGS[pair.document_language][pair.document_row]
        assert pair.teacher_document == GREETINGS["en"][pair.document_row]


@pytest.mark.parametrize(
    ("field", "row", "language"),
    [("negative", 0, "en"), ("query", 4, "en"), ("query", -1, "en"), ("query", 0, "fr")],
)
def test_what_is_not_there_is_named(tmp_path, field, row, language):
    corpus = folder_corpus(written(tmp_path / "greetings", GREETINGS), cache=tmp_path / "cache")
    with pytest.raises(
        ValueError, match=f"got {field} {row} in {language}, expected one of corpus greetings"
    ):
        corpus.text(field, row, language)


def test_an_empty_text_is_named(tmp_path):
    folder = written(tmp_path / "a", {"en": ["one", " "], "de": ["eins", "zwei"]})
    with pytest.raises(ValueError, match=r"got no positive in row 1 \(en\) of corpus a"):
        folder_corpus(folder, cache=tmp_path / "cache").text("positive", 1, "en")


def test_rows_that_differ_are_named(tmp_path):
    folder = written(tmp_path / "a", {"en": ["one", "two"], "de": ["eins"]})
    with pytest.raises(ValueError, match="got 2 rows in en and 1 in de of corpus a"):
        folder_corpus(folder, cache=tmp_path / "cache")
    folder = written(tmp_path / "b", {"en": ["one", "two"], "de": ["eins", "zwei"]})
    lines = (folder / "en.jsonl").read_text().replace('"id": "1"', '"id": "7"')
    (folder / "en.jsonl").write_text(lines)
    with pytest.raises(ValueError, match="got id '7' in row 1 of en and '1' in de of corpus b"):
        folder_corpus(folder, cache=tmp_path / "cache")


def test_a_missing_column_and_an_empty_folder_are_named(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(ValueError, match=r"expected a folder with LANGUAGE.jsonl files"):
        folder_corpus(tmp_path / "a")
    (tmp_path / "a" / "en.jsonl").write_text('{"id": "1", "query": "q"}')
    with pytest.raises(ValueError, match="expected also positive"):
        folder_corpus(tmp_path / "a", cache=tmp_path / "cache")
