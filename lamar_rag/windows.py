"""Cuts a long text into overlapping windows of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Encoding


def window_spans(tokens: int, size: int, overlap: int) -> list[tuple[int, int]]:
    """Return [start, end) spans of at most `size` tokens that cover `tokens` tokens.

    Neighbours share `overlap` tokens; the last window is moved back so that it is as long as the others.

    Raises:
        ValueError: unless 0 <= overlap < size.
    """
    if not 0 <= overlap < size:
        raise ValueError(
            f"got windows of {size} tokens that overlap by {overlap}, expected 0 <= overlap < size"
        )
    if tokens <= size:
        return [(0, tokens)]
    starts = list(range(0, tokens - size, size - overlap))
    return [(start, start + size) for start in [*starts, tokens - size]]


def text_windows(text: str, encoding: Encoding, size: int, overlap: int) -> list[str]:
    """Return the windows of a text as pieces of it; `encoding` is the text's own, without special tokens."""
    offsets = encoding.offsets
    if len(offsets) <= size:
        return [text]
    return [
        text[offsets[start][0] : offsets[end - 1][1]]
        for start, end in window_spans(len(offsets), size, overlap)
    ]
