from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamar_rag.generation.replies import ReplyStream, read_reply, reply_is_complete, trimmed_reply
from lamar_rag.types import Document, GeneratedText, RankedDocument


def context(text):
    return RankedDocument(Document(text), 1.0, 1, 0, "en", False, 1.0)


@pytest.mark.parametrize(
    ("text", "one_line", "expected"),
    [
        (" Red stone\nQuestion: x", True, "Red stone"),
        ("\n\n Red stone \n", True, "Red stone"),
        (' "Red" ', True, '"Red"'),
        (" a\n\nb ", False, "a\n\nb"),
        (" \n ", True, ""),
    ],
)
def test_trimmed(text, one_line, expected):
    assert trimmed_reply(text, one_line=one_line) == expected


def test_a_leading_newline_does_not_complete_a_reply():
    assert not reply_is_complete("\n \n")
    assert not reply_is_complete("\nRed")
    assert reply_is_complete("\nRed\n")


def test_source_is_the_first_context_with_the_words():
    contexts = [context("Blue wood."), context("It is of RED stone."), context("red stone")]
    assert read_reply("red Stone", contexts, "en") == GeneratedText("red Stone", found=True, source=1)
    assert read_reply("green", contexts, "en") == GeneratedText("green", found=True, source=None)
    assert read_reply("No answer in the context.", contexts, "en") == GeneratedText(
        "No answer in the context.", found=False, source=None
    )


def decode(tokens):
    return bytes(tokens).decode("utf-8", errors="replace")


def test_pieces_by_hand():
    stream = ReplyStream(decode, one_line=True)
    text = "  a é\nrest".encode()
    pieces = [stream.push([byte]) for byte in text]
    # the space waits for the é, the first byte of é for its second; after the newline nothing follows
    assert pieces == ["", "", "a", "", "", " é", "", "", "", "", ""]
    assert stream.is_complete
    assert stream.finish() == ""
    assert stream.count == len(text)


def test_an_unfinished_character_is_shown_at_the_end():
    stream = ReplyStream(decode, one_line=False)
    assert stream.push([ord("a"), 0xC3]) == "a"
    assert stream.finish() == "\ufffd"


@settings(deadline=None)
@given(st.binary(max_size=30), st.booleans())
def test_pieces_add_up_to_the_trimmed_reply(data, one_line):
    stream = ReplyStream(decode, one_line=one_line)
    pieces = [stream.push([byte]) for byte in data] + [stream.finish()]
    assert "".join(pieces) == trimmed_reply(decode(data), one_line=one_line)


@settings(deadline=None)
@given(st.text(alphabet="aé日\n ", max_size=30), st.booleans())
def test_pieces_of_text_add_up(text, one_line):
    stream = ReplyStream(decode, one_line=one_line)
    pieces = [stream.push([byte]) for byte in text.encode()] + [stream.finish()]
    assert "".join(pieces) == trimmed_reply(text, one_line=one_line)
