"""Turns a query and its documents into token sequences: what stands around a document, and the document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from lamar_rag.scoring.cancelling import check_cancelled
from lamar_rag.scoring.recipe import SHORTEST
from lamar_rag.text import CHARACTERS_PER_TOKEN, replace_surrogates
from lamar_rag.types import ScoringOptions
from lamar_rag.windows import window_spans

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from lamar_rag.types import BoolArray

IntArray = npt.NDArray[np.int32]

NO_INSTRUCTION = "got an instruction for a model that takes none: leave it out"
QUERY_SHARE = 0.75  # of the room beside the fixed tokens at most; bge's own runner gives the query as much
_CHUNK = 256  # texts tokenized at once: a tokenizer's own objects take some 50 times the tokens' memory


class TokenSequence(NamedTuple):
    """One input of the model: token ids and, for the models that take them, token types; both shape (t,)."""

    ids: IntArray
    types: IntArray | None = None


class Surroundings(NamedTuple):
    """The tokens around every document of one query.

    `limit` is what the whole sequence may have. `tail` closes a document whose own end was cut off, `lead`
    opens a window that does not start with the document. `document_type` is a document's token type.
    """

    head: TokenSequence
    foot: TokenSequence
    limit: int
    query_cut: bool
    lead: IntArray
    tail: IntArray
    document_type: int = 0

    @property
    def room(self) -> int:
        """Tokens left for a document."""
        return self.limit - len(self.head.ids) - len(self.foot.ids)


class Template(Protocol):
    """Knows what a model wants around a document."""

    @property
    def lead(self) -> str:
        """Text in front of a document, tokenized with it."""
        ...

    @property
    def tail(self) -> str:
        """Text behind a document, tokenized with it."""
        ...

    def surround(self, query: str, options: ScoringOptions) -> Surroundings:
        """Return the tokens around the documents of a query."""
        ...


class EncodedRequest(NamedTuple):
    """The inputs of one request; `owners` (n_inputs,) says whose each is, `truncated` (n,) who was cut."""

    inputs: list[TokenSequence]
    owners: IntArray
    truncated: BoolArray


class RequestEncoder:
    """Tokenizes each text once and joins it with the tokens around it; the document alone is cut.

    Args:
        tokenizer: without truncation and padding; it is only read, so threads may share it.
        template: what stands around a document.
        window_overlap: tokens that neighbouring windows share.
    """

    def __init__(self, tokenizer: Tokenizer, template: Template, window_overlap: int) -> None:
        self._tokenizer, self._template, self._overlap = tokenizer, template, window_overlap

    def encode(self, query: str, texts: Sequence[str], options: ScoringOptions) -> EncodedRequest:
        """Return the token sequences of a query with each text.

        Raises:
            ValueError: the prompt leaves no room for a document.
        """
        around = self._template.surround(query, options)
        if around.room < len(around.lead) + len(around.tail) + 1:
            raise ValueError(
                f"got max_length={around.limit}, but the query and the text around a document take "
                f"{len(around.head.ids) + len(around.foot.ids)} tokens: give a larger one"
            )
        in_windows = options.long_documents == "windows"
        inputs: list[TokenSequence] = []
        owners: list[int] = []
        truncated = np.full(len(texts), around.query_cut, dtype=np.bool_)
        limit = None if in_windows else around.limit
        for row, (ids, cut) in enumerate(self._tokenized(texts, limit, options)):
            pieces = [ids]
            if in_windows:
                pieces = self._windows(ids, around)
            elif len(ids) > around.room:
                pieces = [np.concatenate([ids[: around.room - len(around.tail)], around.tail])]
                cut = True
            inputs.extend(_joined(around, piece) for piece in pieces)
            owners.extend([row] * len(pieces))
            truncated[row] |= cut
        return EncodedRequest(inputs, np.array(owners, dtype=np.int32), truncated)

    def _tokenized(
        self, texts: Sequence[str], limit: int | None, options: ScoringOptions
    ) -> Iterator[tuple[IntArray, bool]]:
        """Yield each text's tokens, and whether its characters beyond any use were left out."""
        characters = None if limit is None else CHARACTERS_PER_TOKEN * limit
        lead, tail = self._template.lead, self._template.tail
        for start in range(0, len(texts), _CHUNK):
            check_cancelled(options)
            chunk = texts[start : start + _CHUNK]
            cut = [lead + replace_surrogates(text[:characters]) + tail for text in chunk]
            encodings = self._tokenizer.encode_batch_fast(cut, add_special_tokens=False)
            for text, encoding in zip(chunk, encodings, strict=True):
                too_long = characters is not None and len(text) > characters
                yield np.array(encoding.ids, dtype=np.int32), too_long

    def _windows(self, ids: IntArray, around: Surroundings) -> list[IntArray]:
        if len(ids) <= around.room:
            return [ids]
        size = around.room - len(around.lead) - len(around.tail)
        spans = window_spans(len(ids), size, min(self._overlap, size // 2))
        none = ids[:0]
        return [
            np.concatenate(
                [around.lead if start else none, ids[start:end], around.tail if end < len(ids) else none]
            )
            for start, end in spans
        ]


def _joined(around: Surroundings, document: IntArray) -> TokenSequence:
    ids = np.concatenate([around.head.ids, document, around.foot.ids])
    if around.head.types is None or around.foot.types is None:
        return TokenSequence(ids)
    middle = np.full(len(document), around.document_type, dtype=np.int32)
    return TokenSequence(ids, np.concatenate([around.head.types, middle, around.foot.types]))


def check_limit(options: ScoringOptions, supported: int, model: str) -> None:
    """Check the length limit of a call.

    Raises:
        ValueError: `max_length` is less than 16 tokens or more than the model reads.
    """
    if options.max_length is not None and not SHORTEST <= options.max_length <= supported:
        raise ValueError(
            f"got max_length={options.max_length} for model {model}, which reads {supported} tokens: "
            f"give {SHORTEST} to {supported}, or None"
        )
