"""The pair input of a sequence classifier: the tokenizer's own special tokens around query and document."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lamar_rag.scoring.encoding import NO_INSTRUCTION, QUERY_SHARE, IntArray, Surroundings, TokenSequence
from lamar_rag.text import CHARACTERS_PER_TOKEN, replace_surrogates
from lamar_rag.types import ScoringOptions

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

_NONE = np.zeros(0, dtype=np.int32)


class PairTemplate:
    """Takes the form of a pair, `<s> query </s> </s> document </s>` or another, from the tokenizer.

    Args:
        tokenizer: without truncation and padding.
        limit: tokens that the model reads.
        takes_types: the model takes token types.

    Raises:
        ValueError: the tokenizer's pairs are no query and document between fixed tokens.
    """

    lead = tail = ""

    def __init__(self, tokenizer: Tokenizer, limit: int, *, takes_types: bool) -> None:
        self._tokenizer, self._limit = tokenizer, limit
        one = tokenizer.encode("a", add_special_tokens=False)
        pair = tokenizer.encode("a", "a")
        positions = [_positions(pair, side) for side in (0, 1)]
        size = len(one.ids)
        in_order = [*positions[0], *positions[1]] == sorted([*positions[0], *positions[1]])
        if not in_order or [len(span) for span in positions] != [size, size] or size == 0:
            raise ValueError(
                "got a tokenizer whose pairs are no query and document in order: give the model a prompt "
                "by register_recipe"
            )
        first, second = positions[0][0], positions[1][0]
        ids, types = np.array(pair.ids, dtype=np.int32), np.array(pair.type_ids, dtype=np.int32)
        spans = (slice(0, first), slice(first + size, second), slice(second + size, None))
        self._ids = [ids[span] for span in spans]
        self._types = [types[span] for span in spans] if takes_types else None
        self._query_type, self._document_type = int(types[first]), int(types[second])

    def surround(self, query: str, options: ScoringOptions) -> Surroundings:
        """Return the query between the special tokens, at most three quarters of the room of it."""
        if options.instruction is not None:
            raise ValueError(NO_INSTRUCTION)
        limit = options.max_length or self._limit
        share = int(QUERY_SHARE * (limit - sum(map(len, self._ids))))
        characters = CHARACTERS_PER_TOKEN * limit
        tokens = self._tokenizer.encode(replace_surrogates(query[:characters]), add_special_tokens=False)
        ids = np.array(tokens.ids[:share], dtype=np.int32)
        return Surroundings(
            head=self._sequence(self._ids[0], ids, self._ids[1]),
            foot=TokenSequence(self._ids[2], self._types[2] if self._types else None),
            limit=limit,
            query_cut=len(tokens.ids) > share or len(query) > characters,
            lead=_NONE,
            tail=_NONE,
            document_type=self._document_type,
        )

    def _sequence(self, before: IntArray, query: IntArray, behind: IntArray) -> TokenSequence:
        ids = np.concatenate([before, query, behind])
        if self._types is None:
            return TokenSequence(ids)
        middle = np.full(len(query), self._query_type, dtype=np.int32)
        return TokenSequence(ids, np.concatenate([self._types[0], middle, self._types[1]]))


def _positions(pair: Encoding, side: int) -> list[int]:
    return [i for i, sequence in enumerate(pair.sequence_ids) if sequence == side]
