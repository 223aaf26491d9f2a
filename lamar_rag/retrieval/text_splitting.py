"""Cut long texts into chunks of about n model tokens, in any script."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, cast

from lamar_rag.extras import require

if TYPE_CHECKING:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

CHUNK_TOKENS = 256

# Lengths are summed over pieces as short as one character, so they are kept in twelfths of a token:
# rounding each piece to whole tokens would make chunks without spaces (Thai, Chinese) far too short.
_UNITS = 12

# (first code point after the block, twelfths of a token a character takes in it). Measured with an
# XLM-R vocabulary on technical prose in 26 languages; see `estimate_tokens`.
_BLOCKS = (
    (0x0590, 3),  # Latin, Greek, Cyrillic, Armenian
    (0x1100, 4),  # Hebrew, Arabic, the Indic scripts, Thai, Lao, Burmese, Georgian
    (0x1200, 7),  # Hangul letters
    (0x2000, 4),  # Ethiopic, Khmer, Mongolian
    (0x2E80, 6),  # punctuation, symbols
    (0x3400, 6),  # Japanese kana, East Asian punctuation
    (0xA000, 9),  # Han
    (0xAC00, 4),
    (0xD7B0, 7),  # Hangul syllables
    (0xFB00, 9),  # Han, compatibility forms
    (0xFF00, 4),  # Arabic presentation forms
    (0x10000, 6),  # full-width forms
    (0x110000, 12),  # emoji and rare scripts
)


@lru_cache(maxsize=65536)
def _character_units(character: str) -> int:
    code = ord(character)
    return next(units for end, units in _BLOCKS if code < end)


def _units(text: str) -> int:
    if text.isascii():
        return _BLOCKS[0][1] * len(text)
    return sum(map(_character_units, text))


def estimate_tokens(text: str) -> int:
    """Estimate how many tokens a multilingual (XLM-R) tokenizer makes of `text`, rounded up.

    A character counts by its script: 1/4 token for Latin, Greek and Cyrillic, 1/3 for Arabic, Hebrew,
    the Indic scripts and Thai, 1/2 for kana, 7/12 for Hangul, 3/4 for Han. On average within about a
    fifth of the real count for prose; names, numbers and code can take half as many tokens again.
    """
    return -(-_units(text) // _UNITS)


@cache
def _combining_marks() -> str:
    """Return a regex class body of the characters that may not start a chunk: marks and joiners."""
    codes = [c for c in range(0x300, 0x10000) if unicodedata.category(chr(c)).startswith("M")]
    codes += [0x200D, *range(0x1F3FB, 0x1F400)]  # zero-width joiner; skin tones
    runs = [list(run) for _, run in groupby(enumerate(codes), lambda pair: pair[1] - pair[0])]
    return "".join(f"{chr(run[0][1])}-{chr(run[-1][1])}" for run in runs)


@cache
def _separators() -> list[str]:
    """Return regular expressions from the best place to cut to the worst; each stays with what it ends."""
    return [
        r"\n\s*\n",  # a paragraph
        r"\n",
        r"[.!?…]+[\"'»”’)\]]*\s+|[。！？．｡]+[」』”’）]*|[।॥۔؟։።။]+[\"'»”’)]*\s*",  # a sentence
        r"[,;:–—]\s|[，；：、､،؛፣၊]\s*",  # a clause
        r"\s+|\u200b+",  # a word; Thai, Lao and Khmer may mark word ends with a zero-width space
        f"(?<=.)(?![{_combining_marks()}])(?<!\u200d)",  # a character with its accents and vowel signs
        "",
    ]


def make_splitter(
    chunk_tokens: int = CHUNK_TOKENS,
    chunk_overlap: int = 0,
    count_tokens: Callable[[str], int] | None = None,
) -> RecursiveCharacterTextSplitter:
    """Make a splitter whose chunks hold at most `chunk_tokens` tokens.

    Args:
        chunk_tokens: most tokens a chunk holds, at least 1.
        chunk_overlap: tokens repeated from the end of one chunk at the start of the next.
        count_tokens: counts a text's tokens without special tokens; the estimate by script when None.

    Raises:
        ValueError: if the sizes are impossible.
        MissingExtraError: if langchain-text-splitters is not installed.
    """
    if chunk_tokens < 1:
        raise ValueError(
            f"got chunk_tokens={chunk_tokens}, expected at least 1 (the default is {CHUNK_TOKENS})"
        )
    if not 0 <= chunk_overlap < chunk_tokens:
        raise ValueError(
            f"got chunk_overlap={chunk_overlap}, expected 0 or more and less than chunk_tokens={chunk_tokens}"
        )
    module = require("langchain_text_splitters", extra="rag", purpose="cutting texts into chunks")
    units = 1 if count_tokens else _UNITS
    splitter = module.RecursiveCharacterTextSplitter(
        separators=_separators(),
        is_separator_regex=True,
        keep_separator="end",
        chunk_size=chunk_tokens * units,
        chunk_overlap=chunk_overlap * units,
        length_function=count_tokens or _units,
    )
    return cast("RecursiveCharacterTextSplitter", splitter)


def split_text(
    text: str,
    chunk_tokens: int = CHUNK_TOKENS,
    chunk_overlap: int = 0,
    count_tokens: Callable[[str], int] | None = None,
) -> list[str]:
    """Cut `text` into chunks, at the ends of paragraphs, sentences, clauses or words where possible.

    Arguments and errors are those of `make_splitter`. Blank text gives no chunks.
    """
    return make_splitter(chunk_tokens, chunk_overlap, count_tokens).split_text(text)
