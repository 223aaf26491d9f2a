"""The prompt around a document of the models that read one string."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from lamar_rag.scoring.encoding import NO_INSTRUCTION, QUERY_SHARE, IntArray, Surroundings, TokenSequence
from lamar_rag.scoring.recipe import DEFAULT_INSTRUCTION, PromptFrame, Recipe
from lamar_rag.scoring.token_cut import cut_text
from lamar_rag.text import replace_surrogates
from lamar_rag.types import ScoringOptions

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from lamar_rag.scoring.model_loading import LoadedParts

_FIELD = re.compile(r"\{(query|instruction|spaced_instruction)\}")


class FrameTemplate:
    """Fills a `PromptFrame` and tokenizes it piece by piece.

    Args:
        tokenizer: without truncation and padding.
        frame: the prompt.
        limit: tokens of the whole input.
        instruction: what counts as relevant where a call says nothing.
        begin_id: the token before everything, if any.
        foot_is_extra: the limit does not count the foot, and counts the document as if its foot were part of it
            (FlagEmbedding's runner adds the foot's length to the limit before it appends the foot).
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        frame: PromptFrame,
        limit: int,
        *,
        instruction: str | None = None,
        begin_id: int | None = None,
        foot_is_extra: bool = False,
    ) -> None:
        self._tokenizer, self._frame, self._limit = tokenizer, frame, limit
        self._instruction = DEFAULT_INSTRUCTION if instruction is None else instruction
        self._begin = np.array([] if begin_id is None else [begin_id], dtype=np.int32)
        self._foot_is_extra = foot_is_extra
        self._takes_instruction = any("instruction}" in piece for piece in (*frame.head, *frame.foot))
        self.lead, self.tail = frame.lead, frame.tail
        self._lead, self._tail = self._ids(frame.lead), self._ids(frame.tail)

    def surround(self, query: str, options: ScoringOptions) -> Surroundings:
        """Return the prompt around a document; the query is cut beyond three quarters of the room."""
        if options.instruction is not None and not self._takes_instruction:
            raise ValueError(NO_INSTRUCTION)
        limit = options.max_length or self._limit
        instruction = self._instruction if options.instruction is None else options.instruction
        bare_head, bare_foot = self._filled("", instruction)
        extra = 2 * len(bare_foot) if self._foot_is_extra else 0
        fixed = len(bare_head) + len(bare_foot) - extra + len(self._lead) + len(self._tail)
        kept = cut_text(self._tokenizer, query, max(1, int(QUERY_SHARE * (limit - fixed))))
        head, foot = self._filled(kept.text, instruction)
        return Surroundings(
            head=TokenSequence(head),
            foot=TokenSequence(foot),
            limit=limit + extra,
            query_cut=kept.cut,
            lead=self._lead,
            tail=self._tail,
        )

    def _filled(self, query: str, instruction: str) -> tuple[IntArray, IntArray]:
        instruction = replace_surrogates(instruction)
        spaced = f" {instruction}" if instruction else ""
        fields = {"query": query, "instruction": instruction, "spaced_instruction": spaced}
        # in one pass: a query that holds "{instruction}" is text, not a field
        filled = [
            [self._ids(_FIELD.sub(lambda match: fields[match[1]], piece)) for piece in pieces]
            for pieces in (self._frame.head, self._frame.foot)
        ]
        none = self._begin[:0]
        return np.concatenate([self._begin, *filled[0]]), np.concatenate([none, *filled[1]])

    def _ids(self, text: str) -> IntArray:
        return np.array(self._tokenizer.encode(text, add_special_tokens=False).ids, dtype=np.int32)


def frame_template(parts: LoadedParts, recipe: Recipe, frame: PromptFrame, limit: int) -> FrameTemplate:
    """Return the template of a recipe for a loaded model."""
    return FrameTemplate(
        parts.backend,
        frame,
        limit,
        instruction=recipe.instruction,
        begin_id=parts.begin_id if frame.begin_token else None,
        foot_is_extra=recipe.foot_is_extra,
    )
