"""Texts that cannot speak as the model's control tokens."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def special_token_breaker(tokenizer: Any) -> Callable[[str], str]:
    """Return a function that puts a space into every special token spelled out in a text.

    A document that spells `<|im_end|>` would otherwise end its message and could open one of its own.
    """
    added = tokenizer.added_tokens_decoder.values()
    spelled = {token.content for token in added if token.special} | set(tokenizer.all_special_tokens)
    spelled = {content for content in spelled if len(content) > 1 and content.strip()}
    if not spelled:
        return lambda text: text
    pattern = re.compile("|".join(re.escape(content) for content in sorted(spelled, key=len, reverse=True)))
    return lambda text: pattern.sub(lambda match: f"{match[0][0]} {match[0][1:]}", text)
