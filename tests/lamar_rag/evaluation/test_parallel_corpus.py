from __future__ import annotations

import json
from collections import Counter

import pytest
from evaluation_parts import hand_corpus, write_parallel_folder

from lamar_rag.evaluation import ParallelCorpus, ParallelQuery, open_corpus
from lamar_rag.evaluation.belebele import read_belebele
from lamar_rag.evaluation.xquad import read_xquad


def test_documents_stand_language_by_language():
    documents = hand_corpus().documents()
    assert [document.id for document in documents] == ["0.de", "1.de", "0.en", "1.en"]
    assert [document.language for document in documents] == ["de", "de", "en", "en"]
    assert documents[3].metadata == {"group": "1"}


@pytest.mark.parametrize(
    ("passages", "queries", "message"),
    [
        ({"0": "a"}, ["q0"], "passage 2 of en is missing, expected 1"),
        ({"0": "a", "2": "b"}, ["q0"], "passage 2 of en is 2, expected 1"),
        ({"0": "a", "1": "b"}, ["q0"], "query 2 of en is missing"),
        ({"0": "a", "1": "b"}, ["q0", "q7"], r"query 2 of en is \('q7', '0'\)"),
    ],
)
def test_what_is_not_parallel_is_named(passages, queries, message):
    whole = hand_corpus()
    other = [ParallelQuery(name, "0", "en", "text") for name in queries]
    with pytest.raises(ValueError, match=message):
        ParallelCorpus(
            "odd",
            {"de": whole.passages["de"], "en": passages},
            {"de": whole.queries["de"], "en": other},
        )


def test_a_query_without_its_passage_is_an_error():
    query = ParallelQuery("q", "9", "de", "text")
    with pytest.raises(ValueError, match="names the passage 9"):
        ParallelCorpus("odd", {"de": {"0": "a"}}, {"de": [query]})


def test_a_subset_takes_every_passage_before_a_second_question(data_dir):
    whole = read_xquad(data_dir / "xquad")
    subset = whole.limited(300, seed=3)
    assert [q.id for q in subset.queries["ar"]] == [q.id for q in subset.queries["zh"]]
    counts = Counter(query.group for query in subset.queries["en"])
    assert len(counts) == 240
    assert max(counts.values()) == 2
    assert subset.subset == "300 of 1190 questions a language, seed 3"
    assert subset.passages == whole.passages
    assert subset.queries == whole.limited(300, seed=3).queries != whole.limited(300, seed=4).queries
    assert whole.limited(1190) is whole


def test_the_real_xquad(data_dir):
    corpus = open_corpus("xquad", data_dir)
    assert corpus.languages == ["ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh"]
    assert {len(passages) for passages in corpus.passages.values()} == {240}
    assert {len(queries) for queries in corpus.queries.values()} == {1190}
    for queries in corpus.queries.values():
        for query in queries:
            assert all(answer in corpus.passages[query.language][query.group] for answer in query.answers)


def test_the_real_belebele(data_dir):
    corpus = open_corpus("belebele", data_dir)
    assert corpus.languages == ["ar", "de", "en", "es", "fr", "zh"]
    assert {len(passages) for passages in corpus.passages.values()} == {488}
    assert {len(queries) for queries in corpus.queries.values()} == {900}
    # the same link and number is the same question, though the files have their rows in different orders
    rows = {
        language: [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for language, path in (
            ("ar", data_dir / "belebele" / "arb_Arab.jsonl"),
            ("fr", data_dir / "belebele" / "fra_Latn.jsonl"),
        )
    }
    links = list(dict.fromkeys(row["link"] for row in rows["ar"]))
    for language, found in rows.items():
        ordered = sorted(found, key=lambda row: (links.index(row["link"]), row["question_number"]))
        assert [query.text for query in corpus.queries[language]] == [row["question"] for row in ordered]
        assert [corpus.passages[language][query.group] for query in corpus.queries[language]] == [
            row["flores_passage"] for row in ordered
        ]


def test_belebele_names_what_is_missing(tmp_path, data_dir):
    with pytest.raises(ValueError, match="zzz_Zzzz"):
        read_belebele(data_dir / "belebele", ["eng_Latn", "zzz_Zzzz"])
    with pytest.raises(ValueError, match="no BELEBELE file"):
        read_belebele(tmp_path)
    row = {"link": "l", "question_number": 1, "flores_passage": "p"}
    (tmp_path / "eng_Latn.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"eng_Latn.jsonl:1: no question"):
        read_belebele(tmp_path)


def test_belebele_that_is_not_parallel(tmp_path):
    for variant, numbers in (("eng_Latn", (1, 2)), ("deu_Latn", (1, 3))):
        rows = [
            {"link": "l", "question_number": n, "flores_passage": "p", "question": f"q{n}"} for n in numbers
        ]
        (tmp_path / f"{variant}.jsonl").write_text(
            "".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8"
        )
    with pytest.raises(ValueError, match=r"query 2 of en is .*0-2.* expected .*0-3"):
        read_belebele(tmp_path)


def test_xquad_names_what_is_missing(tmp_path):
    with pytest.raises(ValueError, match="language xx for XQuAD"):
        read_xquad(tmp_path, ["xx"])
    with pytest.raises(ValueError, match=r"xquad\.ar\.json"):
        read_xquad(tmp_path)


def test_a_corpus_of_ones_own(tmp_path):
    corpus = open_corpus(write_parallel_folder(tmp_path / "own"))
    assert corpus.name == "own"
    assert corpus.languages == ["de", "en"]
    assert len(corpus.passages["de"]) == 6
    assert corpus.queries["en"][5] == ParallelQuery("q5", "p2", "en", "on a mat p", ("x",))
    assert open_corpus(tmp_path / "own", languages=["en"]).languages == ["en"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "q", "passage_id": "p"}', r"en\.jsonl:1: got passage=None"),
        ("[]", r"en\.jsonl:1: got a list"),
        ("{", r"en\.jsonl:1: not JSON"),
        ('{"id": "q q", "passage_id": "p", "passage": "t", "question": "t"}', "id without spaces"),
        (
            '{"id": "q", "passage_id": "p", "passage": "t", "question": "t", "answers": "abc"}',
            "got answers='abc'",
        ),
        ('{"id": "q", "passage_id": "p", "passage": " ", "question": "t"}', "got passage=' '"),
    ],
)
def test_lines_that_are_wrong_are_named(tmp_path, line, message):
    (tmp_path / "en.jsonl").write_text(line + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        open_corpus(tmp_path)


def test_unknown_data_sets_are_named(tmp_path):
    with pytest.raises(ValueError, match="expected xquad, belebele, or a folder"):
        open_corpus("squad")
    with pytest.raises(ValueError, match=r"no LANGUAGE\.jsonl"):
        open_corpus(tmp_path)


def test_the_hub_out_of_reach_is_said_in_one_line():
    with pytest.raises(FileNotFoundError, match=r"google/xquad .*--data FOLDER"):
        open_corpus("xquad", languages=["en"])


def test_line_separators_inside_a_text_are_part_of_it(tmp_path):
    row = {"id": "q", "passage_id": "p", "passage": "one\u2028two\u0085three", "question": "t"}
    text = "\ufeff" + json.dumps(row, ensure_ascii=False) + "\n"
    (tmp_path / "en.jsonl").write_text(text, encoding="utf-8")
    assert open_corpus(tmp_path).passages["en"]["p"] == "one\u2028two\u0085three"
    (tmp_path / "en.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"en\.jsonl: not UTF-8 at byte 0"):
        open_corpus(tmp_path)


def test_two_files_of_one_language_are_named(tmp_path):
    folder = write_parallel_folder(tmp_path / "own", languages=("de",))
    (folder / "deu.jsonl").write_bytes((folder / "de.jsonl").read_bytes())
    with pytest.raises(ValueError, match="which are both de"):
        open_corpus(folder)


def test_a_question_twice_is_an_error():
    query = ParallelQuery("q", "0", "de", "text")
    with pytest.raises(ValueError, match="query q twice"):
        ParallelCorpus("odd", {"de": {"0": "a"}}, {"de": [query, query]})


def test_data_beside_a_folder_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="leave data out"):
        open_corpus(write_parallel_folder(tmp_path / "own"), tmp_path)
