"""Cuts a text so that it has at most so many tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lamar_rag.text import CHARACTERS_PER_TOKEN, replace_surrogates

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class CutText(NamedTuple):
    """The beginning of a text, its tokens, and whether something was cut off."""

    text: str
    tokens: int
    cut: bool


def cut_text(tokenizer: Tokenizer, text: str, limit: int) -> CutText:
    """Return the longest beginning of a text, in whole characters, that has at most `limit` tokens (at least 1)."""
    kept = replace_surrogates(text[: CHARACTERS_PER_TOKEN * limit])
    too_long = len(text) > len(kept)
    while True:
        encoding = tokenizer.encode(kept, add_special_tokens=False)
        tokens, offsets = len(encoding.ids), encoding.offsets
        if tokens <= limit:
            return CutText(kept, tokens, too_long)
        # a character of several tokens goes as a whole, and the rest may be tokenized in another way
        end = offsets[limit][0]
        kept, too_long = kept[: min(end, len(kept) - 1)], True
