from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

import pytest

from lamar_rag.retrieval.text_splitting import estimate_tokens, split_text

SENTENCES = {
    "en": "The river runs through the town. ",
    "zh": "这条河流过城市。",
    "ja": "川は町を流れる。",
    "hi": "नदी शहर से होकर बहती है। ",
    "ur": "دریا شہر سے گزرتا ہے۔ ",
    "ar": "هل يمر النهر عبر المدينة؟ ",
    "am": "ወንዙ በከተማው ውስጥ ያልፋል። ",
}
THAI = "แม่น้ำไหลผ่านเมืองใหญ่ที่มีผู้คนอาศัยอยู่มากมาย"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("abcd", 1),
        ("abcde", 2),
        ("жжжж", 1),
        ("ไทย", 1),
        ("中文中文", 3),
        ("😀", 1),
        ("かかかか", 2),
    ],
)
def test_estimate(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@pytest.mark.parametrize("language", SENTENCES)
def test_cuts_at_sentence_ends(language: str) -> None:
    sentence = SENTENCES[language]
    chunks = split_text(sentence * 40, chunk_tokens=40)
    assert len(chunks) > 3
    for chunk in chunks:
        assert chunk.endswith(sentence.strip()[-1])
        assert estimate_tokens(chunk) <= 40
    assert "".join(chunks).replace(" ", "") == (sentence * 40).replace(" ", "")


def test_text_without_spaces_keeps_vowel_signs_with_their_letters() -> None:
    text = THAI * 30
    chunks = split_text(text, chunk_tokens=50)
    assert "".join(chunks) == text
    assert all(estimate_tokens(chunk) <= 50 for chunk in chunks)
    assert len(chunks) <= 1.2 * estimate_tokens(text) / 50  # pieces of one character must not round up
    assert not any(unicodedata.category(chunk[0]).startswith("M") for chunk in chunks)


def test_zero_width_spaces_are_word_ends() -> None:
    chunks = split_text("แม่น้ำ\u200bไหล\u200bผ่าน\u200b" * 20, chunk_tokens=20)
    assert {re.split("\u200b", chunk.strip("\u200b"))[-1] for chunk in chunks} <= {"แม่น้ำ", "ไหล", "ผ่าน"}


def test_emoji_families_stay_whole() -> None:
    family = "👩‍👩‍👧"
    assert set("".join(split_text(family * 50, chunk_tokens=12)).split(family)) == {""}
    assert all(chunk.startswith("👩") and chunk.endswith("👧") for chunk in split_text(family * 50, 12))


def test_paragraphs_come_before_sentences() -> None:
    assert split_text("One. Two.\n\nThree. Four.", chunk_tokens=4) == ["One. Two.", "Three. Four."]


def test_overlap_repeats_the_end() -> None:
    chunks = split_text(" ".join(f"w{i:03}" for i in range(100)), chunk_tokens=25, chunk_overlap=5)
    for left, right in pairwise(chunks):
        shared = [word for word in right.split() if word in left.split()]
        assert 1 <= len(shared) <= 4
        assert left.split()[-len(shared) :] == shared == right.split()[: len(shared)]


def test_own_token_counter() -> None:
    chunks = split_text("a b c d e f g", chunk_tokens=3, count_tokens=lambda text: len(text.split()))
    assert chunks == ["a b c", "d e f", "g"]


def test_blank_and_long() -> None:
    assert split_text(" \n ") == []
    pieces = split_text("é" * 200_000)
    assert "".join(pieces) == "é" * 200_000
    marks = "e" + "\u0301" * 5000
    assert "".join(split_text(marks)) == marks


@pytest.mark.parametrize(("tokens", "overlap"), [(0, 0), (-1, 0), (10, 10), (10, -1)])
def test_impossible_sizes(tokens: int, overlap: int) -> None:
    with pytest.raises(ValueError, match=r"got chunk_(tokens|overlap)="):
        split_text("x", tokens, overlap)
