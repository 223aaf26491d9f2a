"""Triplets from line-parallel documents."""

from __future__ import annotations

import json

import pytest
from lamar_trainers.lexical_neighbours import lexical_neighbours, trigrams
from lamar_trainers.line_triplets import LineTriplet, line_triplets, runs, write_line_triplets
from lamar_trainers.table_corpus import folder_corpus


def test_trigrams_ignore_case_and_runs_of_spaces():
    assert trigrams("Ab  c") == [" ab", "ab ", "b c", " c "]
    assert trigrams("猫") == [" 猫 "]
    assert trigrams("") == ["  "]


def test_neighbours_are_those_with_the_same_words():
    documents = ["the cat sat on the mat", "a dog barked at night", "cats and mats", "猫は寝る", "犬は走る"]
    near = lexical_neighbours(["my cats, your mats", "猫は起きた"], documents, count=2, excluded=[{0}, set()])
    assert near[0][0] == 2
    assert near[1][0] == 3
    assert all(len(found) == 2 for found in near)
    assert 0 not in near[0]


def test_what_shares_nothing_keeps_the_order_of_the_input():
    assert lexical_neighbours(["zzz"], ["abc", "def", "ghi"], count=2, excluded=[{1}]) == [[0, 2]]
    with pytest.raises(ValueError, match="expected a set a query and a count of at least 1"):
        lexical_neighbours(["a"], ["b"], count=0, excluded=[set()])


def test_documents_are_runs_of_the_same_id():
    assert runs(["a", "a", "b", "a"]) == [[0, 1], [2], [3]]


def news(documents=6, size=12):
    ids = [f"d{number}" for number in range(documents) for _ in range(size)]
    return ids, [f"sentence {number} of story {name}" for number, name in enumerate(ids)]


def test_windows_cover_each_document_once_and_negatives_are_of_another():
    ids, lines = news()
    triplets = line_triplets(runs(ids), lines, window=4, seed=1)
    # 11 sentences after the headline: windows of 5, 5 and 1 (too short); and one triplet for the headline
    assert len(triplets) == 6 * 3
    for start in range(0, len(triplets), 3):
        headline, first, second = triplets[start : start + 3]
        top = start // 3 * 12
        assert headline == LineTriplet(start // 3, top, tuple(range(top + 1, top + 5)), headline.negative)
        assert sorted((first.query, *first.positive)) == list(range(top + 1, top + 6))
        assert sorted((second.query, *second.positive)) == list(range(top + 6, top + 11))
    for triplet in triplets:
        assert len({ids[line] for line in (triplet.query, *triplet.positive)}) == 1
        (other,) = {ids[line] for line in triplet.negative}
        assert other != ids[triplet.query]
    assert line_triplets(runs(ids), lines, window=4, seed=1) == triplets
    assert line_triplets(runs(ids), lines, window=4, seed=2) != triplets


def test_every_language_gets_the_same_rows(tmp_path):
    lines = {
        "en": ["head", "one", "two", "other", "three"],
        "zh": ["头", "一", "二", "其他", "三"],
        "de": list("abcde"),
    }
    triplets = [LineTriplet(0, 0, (1, 2), (3, 4)), LineTriplet(0, 1, (2,), (3,))]
    write_line_triplets(tmp_path / "c", "news", triplets, lines)
    corpus = folder_corpus(tmp_path / "c", cache=tmp_path / "cache")
    assert corpus.languages == ("de", "en", "zh")
    assert [corpus.text("positive", 0, language) for language in ("en", "zh")] == ["one two", "一二"]
    assert corpus.text("negative", 1, "de") == "d"
    assert [corpus.document(row) for row in range(2)] == ["news-0", "news-0"]


def test_a_row_with_an_empty_line_is_left_out_of_all_languages(tmp_path):
    lines = {"en": ["a", "b", "c", "d"], "de": ["a", " ", "c", "d"]}
    write_line_triplets(tmp_path, "n", [LineTriplet(4, 0, (1,), (2,)), LineTriplet(4, 0, (2,), (3,))], lines)
    for language in ("en", "de"):
        (row,) = (tmp_path / f"{language}.jsonl").read_text().splitlines()
        assert json.loads(row) == {"id": "n-4#1", "query": "a", "positive": "c", "negative": "d"}


def test_mistakes_are_named(tmp_path):
    with pytest.raises(ValueError, match="got window=0"):
        line_triplets([[0, 1]], ["a", "b"], window=0, seed=0)
    with pytest.raises(ValueError, match="got 1 documents of at least 2 sentences"):
        line_triplets([[0, 1, 2], [3]], list("abcd"), seed=0)
    with pytest.raises(ValueError, match="expected the same number in every language"):
        write_line_triplets(tmp_path, "n", [], {"en": ["a"], "de": []})


@pytest.mark.slow
def test_ntrex_becomes_a_corpus_in_several_languages(data_dir, tmp_path):
    folder = data_dir / "ntrex128"
    documents = runs((folder / "DOCUMENT_IDS.tsv").read_text().splitlines())
    assert (len(documents), sum(map(len, documents))) == (123, 1997)  # as its SOURCE.md counts
    names = {"en": "src.eng", "de": "ref.deu", "zh": "ref.zho-CN", "ar": "ref.arb"}
    lines = {
        language: (folder / "NTREX-128" / f"newstest2019-{name}.txt").read_text(encoding="utf-8").splitlines()
        for language, name in names.items()
    }
    triplets = line_triplets(documents, lines["en"], seed=42)
    write_line_triplets(tmp_path / "ntrex", "ntrex", triplets, lines)
    corpus = folder_corpus(tmp_path / "ntrex", cache=tmp_path / "cache")
    assert len(corpus) == len(triplets) > 450
    of_line = {line: number for number, document in enumerate(documents) for line in document}
    for row, triplet in enumerate(triplets):
        assert corpus.text("query", row, "de") == lines["de"][triplet.query].strip()
        assert of_line[triplet.negative[0]] != of_line[triplet.query] == of_line[triplet.positive[0]]
        assert lines["zh"][triplet.query].strip() not in corpus.text("positive", row, "zh").split("。")
