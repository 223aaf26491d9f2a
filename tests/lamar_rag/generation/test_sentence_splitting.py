from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamar_rag.generation.sentence_splitting import MAX_CHARACTERS, UNPUNCTUATED_CHARACTERS, split_sentences


@pytest.mark.parametrize(
    ("language", "sentences", "joint"),
    [
        (
            "en",
            ["Dr. Smith went to Washington in Jan. 2020.", "He paid $3.50 for it!", "Did you see that?"],
            " ",
        ),
        ("de", ["Am 3. Oktober 1990 wurde gefeiert.", "Die Stadt heißt z. B. Bonn.", "Wer war dabei?"], " "),
        ("es", ["El faro es muy alto.", "¿Quién lo diseñó?", "¡Lo hizo Ana Ferrer!"], " "),
        ("ru", ["А. С. Пушкин родился в Москве.", "В 1812 г. город сгорел.", "Кто это сказал?"], " "),
        ("tr", ["Prof. Dr. Ali Bey geldi.", "Ankara ne zaman kuruldu?", "Hava çok güzel oldu!"], " "),
        ("el", ["Η Αθήνα είναι παλιά.", "Εσύ το ξέρεις αυτό;", "Ναι, το ξέρω."], " "),
        (
            "ar",
            ["القاهرة عاصمة مصر القديمة.", "هل تعلم ذلك اليوم؟", "نعم، عدد سكانها عشرون مليون نسمة!"],
            " ",
        ),
        ("hi", ["दिल्ली भारत की राजधानी है।", "क्या आप जानते हैं?", "इसकी आबादी दो करोड़ है।"], " "),
        ("zh", ["北京是中国的首都。", "人口有两千万。", "你知道这件事吗？", "它非常古老！"], ""),
        ("ja", ["東京は日本の首都です。", "人口は約1400万人です。", "知っていますか？"], ""),
        ("vi", ["Hà Nội là thủ đô.", "Dân số là bao nhiêu?", "Thành phố rất cổ kính."], " "),
        ("ro", ["Podul este foarte vechi.", "Cine l-a construit?", "Inginerul Ion Popa."], " "),
    ],
)
def test_sentences_by_hand(language, sentences, joint):
    assert split_sentences(joint.join(sentences), language) == sentences


@pytest.mark.parametrize("language", ["und", "sw", "xx"])
def test_the_marks_of_scripts_need_no_language(language):
    sentences = [
        "This is it here.",
        "北京是中国的首都。",
        "दिल्ली भारत की राजधानी है।",
        "هل تعلم ذلك اليوم؟",
        "It ends right here.",
    ]
    assert split_sentences(" ".join(sentences), language) == sentences


def test_thai_is_cut_at_spaces_into_pieces_of_bounded_size():
    phrases = [f"กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย{i}" for i in range(20)]  # 39 or 40 characters each
    pieces = split_sentences(" ".join(phrases), "th")
    assert " ".join(pieces) == " ".join(phrases)
    assert all(80 <= len(piece) <= UNPUNCTUATED_CHARACTERS for piece in pieces)
    short = "สะพานนี้ทำจากหินสีแดง และสร้างในปี 1897"
    assert split_sentences(short, "th") == [short]


def test_short_ones_join_their_neighbours():
    text = "Geography\n\nParis is the capital.\n\nHeight\n\n42 km\n\nDid you see it? Yes.\n\nThe end is near."
    assert split_sentences(text, "en") == [
        "Geography\n\nParis is the capital.",
        "Height\n\n42 km",
        "Did you see it? Yes.",
        "The end is near.",
    ]
    assert split_sentences("Who won it all? Brazil.", "en") == ["Who won it all? Brazil."]
    assert split_sentences("Paris", "en") == ["Paris"]
    assert split_sentences("是的。北京是中国的首都。", "zh") == ["是的。北京是中国的首都。"]


@pytest.mark.parametrize("text", ["", " \n\t", "...", "\n\n!?\n\n"])
def test_nothing_to_say(text):
    assert split_sentences(text, "en") == []


def test_lone_surrogates_are_replaced():
    assert split_sentences("One \ud800 is here. Two is there.", "en") == [
        "One \ufffd is here.",
        "Two is there.",
    ]


def test_an_unbalanced_quotation_mark_does_not_join_everything():
    sentences = [
        'He said "it is fine.',
        *(f"We go home on day {i}." for i in range(60)),
        'That was "all of it.',
    ]
    assert split_sentences(" ".join(sentences), "en") == sentences


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "word ",
        "กรุงเทพมหานคร",
        "中",
        '"a b c." ',
        "\u0301",
        "e.g. ",
        "a\n\n",
        "This is one sentence. ",
        " ",
    ],
)
def test_a_megabyte_is_cut_in_bounded_pieces_in_little_time(unit):
    text = unit * (1_000_000 // len(unit))
    started = time.perf_counter()
    pieces = split_sentences(text, "en")
    assert time.perf_counter() - started < 30  # seconds; quadratic work takes minutes
    assert max(map(len, pieces), default=0) <= MAX_CHARACTERS
    kept = "".join("".join(piece.split()) for piece in pieces)
    assert len(kept) >= 0.99 * len("".join(text.split())) or not any(map(str.isalnum, text))


def test_accents_stay_with_their_letters():
    letter = "e\u0301\u0323"
    pieces = split_sentences(letter * 1000, "vi")
    assert "".join(pieces) == letter * 1000
    assert all(piece[0] == "e" for piece in pieces)


@settings(deadline=None)
@given(st.text(alphabet='ab.?! \n"(。।ก中é', max_size=1500))
def test_pieces_are_in_the_text_in_order_and_lose_no_letter(text):
    position = 0
    pieces = split_sentences(text, "en")
    for piece in pieces:
        assert piece == piece.strip() != ""
        assert len(piece) <= MAX_CHARACTERS
        position = text.index(piece, position) + len(piece)
    kept = [char for char in "".join(pieces) if char.isalnum()]
    assert kept == [char for char in text if char.isalnum()]


CODES = {
    "ar": "arb", "de": "deu", "el": "ell", "en": "eng", "es": "spa", "hi": "hin", "ro": "ron", "ru": "rus",
    "tr": "tur", "vi": "vie", "zh": "zho-CN",
}  # fmt: skip


@pytest.mark.parametrize("language", CODES)
def test_real_sentences_are_found_again(data_dir, language):
    """NTREX-128 has one sentence a line: most of their ends must be found in the running text."""
    folder = data_dir / "ntrex128" / "NTREX-128"
    (path,) = (file for file in folder.iterdir() if f".{CODES[language]}." in file.name)
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()[:400]]
    quotes = set("\"'«»“”„‘’「」")  # what is said inside quotations is split by other conventions
    lines = [
        line
        for line in lines
        if line[-1:] in ".!?。！？।؟;" and len(line) < MAX_CHARACTERS and not quotes & set(line)
    ]
    assert len(lines) > 40
    joint = "" if language == "zh" else " "
    found = split_sentences(joint.join(lines), language)
    right = len(set(found) & set(lines))
    assert right / len(lines) > 0.85
