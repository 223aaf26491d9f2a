"""Triplets from parallel sections."""

from __future__ import annotations

import pytest
from lamar_trainers.section_triplets import read_sections, write_section_triplets
from lamar_trainers.table_corpus import folder_corpus


def section(name, title, heading, text):
    return {"id": name, "title": title, "heading": heading, "text": text}


ENGLISH = {
    "a.md#1": section("a.md#1", "Boards", "Boards", "A board has pins."),
    "a.md#2": section("a.md#2", "Boards", "Set up", "Connect the board to the pins."),
    "b.md#1": section("b.md#1", "Passwords", "Why", "A password is secret."),
    "c.md#1": section("c.md#1", "Pins", "How to connect", "Set up each pin of a board first."),
}
GERMAN = {
    name: {**row, "text": f"DE {row['text']}", "heading": f"DE {row['heading']}"}
    for name, row in ENGLISH.items()
}


def test_rows_are_those_of_all_languages_and_negatives_of_other_files(tmp_path):
    german = {name: row for name, row in GERMAN.items() if name != "b.md#1"}
    assert write_section_triplets(tmp_path / "c", {"en": ENGLISH, "de": german}) == 3
    corpus = folder_corpus(tmp_path / "c", cache=tmp_path / "cache")
    assert [corpus.text("query", row, "en") for row in range(3)] == [
        "Boards",
        "Boards: Set up",
        "Pins: How to connect",
    ]
    assert corpus.text("positive", 1, "de") == "DE Connect the board to the pins."
    assert corpus.text("negative", 1, "en") == ENGLISH["c.md#1"]["text"]
    assert corpus.text("negative", 2, "de") == "DE Connect the board to the pins."


def test_mistakes_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"expected English \('en'\) among them"):
        write_section_triplets(tmp_path, {"de": GERMAN})
    with pytest.raises(ValueError, match="got sections of 1 files in every language"):
        write_section_triplets(tmp_path, {"en": ENGLISH, "de": {"b.md#1": GERMAN["b.md#1"]}})
    with pytest.raises(ValueError, match=r"expected a folder with LANGUAGE.jsonl files"):
        read_sections(tmp_path)


@pytest.mark.slow
def test_real_sections_become_a_corpus(data_dir, tmp_path):
    sections = read_sections(data_dir / "mslearn_parallel")
    assert len(sections) == 26
    chosen = {language: sections[language] for language in ("en", "ar", "zh", "de")}
    count = write_section_triplets(tmp_path / "mslearn", chosen)
    assert 300 < count <= 360
    corpus = folder_corpus(tmp_path / "mslearn", cache=tmp_path / "cache")
    assert len(corpus) == count
    assert all(
        corpus.text("negative", row, "ar") != corpus.text("positive", row, "ar") for row in range(count)
    )
