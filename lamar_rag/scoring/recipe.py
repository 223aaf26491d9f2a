"""How a model wants its input and where its score is read: what one row of the registry says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from lamar_rag.checks import check_count, is_finite
from lamar_rag.text import replace_surrogates

SHORTEST = 16  # tokens of a pair; below it no document would be read
ScoringWay = Literal["cross_encoder", "single_string", "causal_lm", "listwise"]
_FIELD = re.compile(r"\{([^{}]*)\}")

DEFAULT_INSTRUCTION = "Given a web search query, retrieve relevant passages that answer the query"


@dataclass(frozen=True, slots=True)
class PromptFrame:
    """The text around a document, in pieces that are tokenized one by one and joined as tokens.

    The pieces are cut where the model's tokenizer never joins two characters into one token, so that the
    tokens are those of the whole prompt. `{query}` and `{instruction}` are filled in. A document that is
    too long loses its end; head, lead, tail and foot always survive.

    Args:
        head: pieces before the document.
        lead: tokenized as one text with the document, in front of it.
        tail: tokenized as one text with the document, behind it.
        foot: pieces after the document.
        begin_token: the tokenizer's own bos goes before everything.

    Raises:
        ValueError: pieces that are no strings, no `{query}`, or a field that does not exist.
    """

    head: tuple[str, ...]
    lead: str = ""
    tail: str = ""
    foot: tuple[str, ...] = ()
    begin_token: bool = False

    def __post_init__(self) -> None:
        for name, pieces in (("head", self.head), ("foot", self.foot)):
            if not isinstance(pieces, tuple) or not all(isinstance(piece, str) for piece in pieces):
                raise ValueError(
                    f"got {name}={pieces!r} of a frame, expected a tuple of strings: {name}=('...',)"
                )
        for text in (self.lead, self.tail, *self.head, *self.foot):
            if not isinstance(text, str) or _is_broken(text):
                raise ValueError(f"got {text!r} in a frame, expected text without lone surrogates")
        fields = {field for piece in (*self.head, *self.foot) for field in _FIELD.findall(piece)}
        unknown = fields - {"query", "instruction", "spaced_instruction"}
        if "query" not in fields or unknown:
            raise ValueError(
                f"got a frame with the fields {sorted(fields)}, expected {{query}} and, where the model takes one, "
                "{instruction}; the document stands between head and foot"
            )


@dataclass(frozen=True, slots=True)
class Recipe:
    """One reranker: which way of scoring, with which input, read where.

    Args:
        model: hub id, or a folder.
        scoring: the way of scoring.
        short_name: what a user may type instead.
        licence: SPDX name, or what the card states.
        parameters_millions: nominal size of the model, 0 where it is not known.
        source: where the recipe comes from.
        max_length: tokens of the whole input by default; None is what the model's files say.
        frame: the prompt, for single strings and causal language models.
        positive, negative: the answers whose logits are read by a causal language model; without
            `negative` the score is the positive's logit, else the margin positive - negative.
        vocabulary_id: the logit is read at this id, instead of by `positive`.
        foot_is_extra: `max_length` does not count the foot.
        instruction: what `{instruction}` stands for by default.
        probability_scale: probability = sigmoid(score / scale); None where the authors give no mapping.
        remote_code: the hub's repository brings code of its own.
        note: what a user should know.

    Raises:
        ValueError: a way of scoring that does not exist, or what it needs is missing.
    """

    model: str
    scoring: ScoringWay
    short_name: str = ""
    licence: str = "unknown"
    parameters_millions: int = 0
    source: str = "user"
    max_length: int | None = None
    frame: PromptFrame | None = None
    positive: str | None = None
    negative: str | None = None
    vocabulary_id: int | None = None
    foot_is_extra: bool = False
    instruction: str | None = None
    probability_scale: float | None = 1.0
    remote_code: bool = False
    note: str = ""

    def __post_init__(self) -> None:
        self._check_texts()
        if self.scoring not in get_args(ScoringWay):
            raise ValueError(
                f"got scoring={self.scoring!r}, expected one of {', '.join(get_args(ScoringWay))}"
            )
        if self.scoring in ("single_string", "causal_lm") and not isinstance(self.frame, PromptFrame):
            raise ValueError(f"got scoring='{self.scoring}' without a frame, expected frame=PromptFrame(...)")
        if self.scoring == "causal_lm" and not self.positive and self.vocabulary_id is None:
            raise ValueError(
                "got a causal_lm recipe without an answer, expected positive='yes' or a vocabulary_id"
            )
        if self.positive is not None and self.positive == self.negative:
            raise ValueError(
                f"got {self.positive!r} as positive and as negative answer, expected two answers"
            )
        check_count("max_length", self.max_length, optional=True)
        if self.max_length is not None and self.max_length < SHORTEST:
            raise ValueError(
                f"got max_length={self.max_length}, expected at least {SHORTEST} tokens (or None)"
            )
        number = self.vocabulary_id
        if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 0):
            raise ValueError(f"got vocabulary_id={number!r}, expected a token id of at least 0")
        scale = self.probability_scale
        if scale is not None and not (is_finite(scale) and scale > 0):
            raise ValueError(f"got probability_scale={scale!r}, expected a positive number or None")

    def _check_texts(self) -> None:
        if not isinstance(self.model, str) or not self.model.strip():
            raise ValueError(f"got model={self.model!r} for a recipe, expected a hub id or a folder as text")
        for name in ("short_name", "positive", "negative", "instruction"):
            value = getattr(self, name)
            if not (value is None or isinstance(value, str)) or _is_broken(value):
                raise ValueError(f"got {name}={value!r} for a recipe, expected text without lone surrogates")


def _is_broken(text: str | None) -> bool:
    return text is not None and replace_surrogates(text) != text


# Qwen3-Reranker's question in plain text, for a model without a chat form of its own.
GENERIC_FRAME = PromptFrame(
    head=(
        "Judge whether the Document meets the requirements based on the Query and the Instruct provided. "
        'Note that the answer can only be "yes" or "no".\n\n<Instruct>: {instruction}\n<Query>: {query}\n<Document>:',
    ),
    lead=" ",
    foot=("\n\nAnswer with yes or no:\n",),
)


def generic_recipe(model: str, scoring: ScoringWay) -> Recipe:
    """Return the recipe of a model that nobody registered: its family's most common form."""
    if scoring == "causal_lm":
        return Recipe(model, scoring, source="generic", frame=GENERIC_FRAME, positive="yes", negative="no")
    return Recipe(model, scoring, source="generic")
