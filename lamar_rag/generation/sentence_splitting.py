"""Cut a text into sentences, in any script.

`sentencex` (MIT, rules for about 300 languages) finds the ends of sentences. Over NTREX-128 it split fewer
abbreviations and dates apart than ICU's rules in most languages (precision of the ends 0.98 against 0.94
in English, 0.97 and 0.91 in Spanish, 0.96 and 0.89 in Hindi, 0.95 and 0.85 in Chinese), pysbd knows only 22
languages, and its marks (。 । ؟ and the Greek ;) need no language to be known. It keeps quotations whole, so
it finds fewer ends (0.77 to 0.99); what it leaves long is cut further here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from lamar_rag.extras import require
from lamar_rag.text import replace_surrogates

MAX_CHARACTERS = 400  # of a piece; an ordinary sentence has 100 to 200
UNPUNCTUATED_CHARACTERS = 160  # Thai, Lao and Khmer mark phrases with spaces, and sentences not at all
LEAST_WORDS = 3  # what has fewer is a heading or an abbreviation's rest, and joins what follows

_LONGEST_CHARACTER = 8  # a letter with its accents and vowel signs, which a cut keeps together
_QUOTES = str.maketrans(dict.fromkeys("\"'«»‘’“”„‟‹›「」『』＂", " "))
_UNPUNCTUATED = re.compile(r"[\u0e00-\u0eff\u1780-\u17ff]")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")

Span = tuple[int, int]


def split_sentences(text: str, language: str = "und") -> list[str]:
    """Return the sentences of `text` in order, word for word, without surrounding whitespace.

    A sentence has at most `MAX_CHARACTERS`; one of an unpunctuated script `UNPUNCTUATED_CHARACTERS`. Very
    short ones (a heading, "Yes.") are joined to their neighbour, up to the first bound. Pieces without a
    letter or digit are left out. Lone surrogates become U+FFFD.

    Args:
        text: any length; a text without punctuation is cut at spaces, one without spaces anywhere.
        language: ISO 639-1 code, for its abbreviations; "und" where it is not known.

    Raises:
        MissingExtraError: the package `sentencex` is not installed.
    """
    text = replace_surrogates(text)
    spans = [piece for span in _sentence_spans(text, language) for piece in _bounded(text, span, language)]
    spans = [(start, end) for start, end in spans if any(map(str.isalnum, text[start:end]))]
    return [text[start:end] for start, end in _joined(text, spans)]


def _sentence_spans(text: str, language: str, offset: int = 0) -> Iterator[Span]:
    sentencex = require("sentencex", extra="rag", purpose="splitting texts into sentences")
    for boundary in sentencex.get_sentence_boundaries(language, text):
        yield offset + boundary["start_index"], offset + boundary["end_index"]


def _bounded(text: str, span: Span, language: str) -> Iterator[Span]:
    """Yield the span, stripped, or its parts where it is too long."""
    start, end = _stripped(text, span)
    piece = text[start:end]
    limit = _limit(piece)
    if len(piece) <= limit:
        yield from [(start, end)] if piece else []
        return
    # The rules keep quotations whole; an unbalanced quotation mark then joins many sentences.
    unquoted = piece.translate(_QUOTES)
    for part in _sentence_spans(unquoted, language, start):
        for cut in _cut(text, _stripped(text, part), limit):
            yield _stripped(text, cut)


def _limit(piece: str) -> int:
    sample = piece[:1000]
    unpunctuated = 2 * len(_UNPUNCTUATED.findall(sample)) > len(sample)
    return UNPUNCTUATED_CHARACTERS if unpunctuated else MAX_CHARACTERS


def _cut(text: str, span: Span, limit: int) -> Iterator[Span]:
    """Cut a span into about equal parts of at most `limit` characters, at whitespace where there is some."""
    start, end = span
    while end - start > limit:
        parts = -(-(end - start) // limit)
        target = start + -(-(end - start) // parts)
        cut = _last_space(text, start + 1, target)
        if cut is None:
            back = range(target, max(start, target - _LONGEST_CHARACTER), -1)
            cut = next((i for i in back if unicodedata.category(text[i])[0] != "M"), target)
        yield start, cut
        start = _stripped(text, (cut, end))[0]
    if start < end:
        yield start, end


def _last_space(text: str, start: int, end: int) -> int | None:
    return next((i for i in range(end, start, -1) if text[i].isspace()), None)


def _stripped(text: str, span: Span) -> Span:
    start, end = span
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _joined(text: str, spans: list[Span]) -> list[Span]:
    """Join each span of too few words to the next one, or to the one before where its paragraph ends."""
    joined: list[Span] = []
    is_open = False  # the last one is too short, and waits for the next
    for position, (start, end) in enumerate(spans):
        if joined and is_open and end - joined[-1][0] <= MAX_CHARACTERS:
            start = joined.pop()[0]
        is_open = _words(text[start:end]) < LEAST_WORDS
        is_last = position + 1 == len(spans)
        if is_open and joined and (is_last or "\n" in text[end : spans[position + 1][0]]):
            before, gap = joined[-1], text[joined[-1][1] : start]
            if (is_last or "\n" not in gap) and end - before[0] <= MAX_CHARACTERS:
                start = joined.pop()[0]
                is_open = False
        joined.append((start, end))
    return joined


def _words(piece: str) -> int:
    """Count words; two letters count as one where a script writes no spaces."""
    return len(piece.split()) + len(_UNSPACED.findall(piece)) // 2
