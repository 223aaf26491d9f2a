"""Questions with hard negatives, and the file that they are kept in."""

from __future__ import annotations

import json

import pytest
from lamar_trainers.labelled_file import read_labelled, write_labelled
from lamar_trainers.native_queries import AnsweredPassage, native_queries, read_passages
from lamar_trainers.synthesis import LabelledQuery

PASSAGES = [
    AnsweredPassage(
        "The Nile is 6650 km long.", (("How long is the Nile?", "6650 km"), ("Which river?", "The Nile"))
    ),
    AnsweredPassage("The Amazon is long, too.", (("What about the Amazon?", "long"),)),
    AnsweredPassage("Some say that the nile is the longest river.", (("What do some say?", "nile"),)),
    AnsweredPassage("Paris is in France.", (("Where is Paris?", "France"),)),
]


def test_negatives_are_near_and_never_hold_the_answer():
    queries = native_queries(PASSAGES, "en", negatives=2, seed=0)
    assert [query.query for query in queries] == [q for passage in PASSAGES for q, _ in passage.questions]
    length, river, *_ = queries
    assert length.positives == (PASSAGES[0].text,)
    assert length.negatives[0] == PASSAGES[2].text  # "nile", and not "6650 km"
    assert PASSAGES[2].text not in river.negatives  # it holds "the nile"
    assert [len(query.negatives) for query in queries] == [2, 2, 1, 2, 2]  # "long" is in three passages
    assert {query.language for query in queries} == {"en"}


def test_questions_of_a_passage_are_limited_and_the_seed_chooses():
    many = [AnsweredPassage("text", tuple((f"q{i}", f"a{i}") for i in range(30))), PASSAGES[3]]
    first = [query.query for query in native_queries(many, "en", questions=3, seed=1)]
    assert len(first) == 4
    assert first == [query.query for query in native_queries(many, "en", questions=3, seed=1)]
    assert first != [query.query for query in native_queries(many, "en", questions=3, seed=2)]


def test_rows_are_written_and_read_back(tmp_path):
    queries = [LabelledQuery("frage", ("ja", "doch"), ("nein",), "de"), LabelledQuery("q", ("a",), ())]
    assert write_labelled(tmp_path / "new" / "rows.jsonl", queries) == 2
    assert list(read_labelled(tmp_path / "new" / "rows.jsonl")) == queries


def test_english_is_the_language_of_a_row_that_names_none(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"query": "q", "positives": ["a"]}\n\n')
    assert list(read_labelled(tmp_path / "rows.jsonl")) == [LabelledQuery("q", ("a",), (), "en")]


@pytest.mark.parametrize(
    "line",
    [
        "no json",
        "[]",
        '{"query": 3}',
        '{"query": "q"}',
        '{"query": "q", "positives": "a"}',
        '{"query": "q", "positives": [1]}',
    ],
)
def test_another_line_is_named(tmp_path, line):
    (tmp_path / "rows.jsonl").write_text('{"query": "q", "positives": ["a"]}\n' + line)
    with pytest.raises(ValueError, match=r"rows.jsonl, line 2.* expected {"):
        list(read_labelled(tmp_path / "rows.jsonl"))


def test_passages_without_questions_are_named(tmp_path):
    (tmp_path / "p.jsonl").write_text(json.dumps({"passage": "text"}))
    with pytest.raises(ValueError, match=r"p.jsonl, line 1, expected"):
        read_passages(tmp_path / "p.jsonl")


@pytest.mark.slow
def test_real_questions_get_negatives_without_their_answers(data_dir):
    passages = read_passages(data_dir / "qa_native" / "arcd" / "ar.jsonl")
    assert len(passages) == 460
    queries = native_queries(passages[:60], "ar", questions=2, seed=0)
    answers = {question: answer for passage in passages for question, answer in passage.questions}
    for query in queries:
        assert len(query.negatives) == 2
        assert all(answers[query.query].casefold() not in text.casefold() for text in query.negatives)
