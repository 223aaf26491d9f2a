"""Small repairs that text needs before a tokenizer sees it."""

from __future__ import annotations

import re

# No tokenizer here makes fewer than one token of this many characters, save of blanks: a longer text is
# cut before it is tokenized, so that a megabyte costs no more than a page.
CHARACTERS_PER_TOKEN = 32
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
REPLACEMENT = "\ufffd"


def replace_surrogates(text: str) -> str:
    """Return `text` with every lone surrogate replaced by U+FFFD.

    Python strings can hold them (from JSON escapes or `surrogateescape`), UTF-8 and tokenizers cannot.
    """
    return _LONE_SURROGATE.sub(REPLACEMENT, text) if not text.isascii() else text
