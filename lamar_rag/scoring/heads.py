"""Where a model's score is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from lamar_rag.scoring.first_token_layer import first_tokens, is_trimmed
from lamar_rag.scoring.packed_attention import DECODERS, ENCODERS

if TYPE_CHECKING:
    import torch


Side = Literal["left", "right"]


class ClassifierHead:
    """The one label of a sequence classifier."""

    packable = ENCODERS  # those that read the first token; others read the last, and are padded

    def padded(self, model: Any, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return logits, shape (b,)."""
        logits: torch.Tensor = model(**inputs).logits[:, 0]
        return logits

    def packed(self, model: Any, inputs: dict[str, Any], lengths: Sequence[int]) -> torch.Tensor:
        """Return logits, shape (b,): the model's own pooler and classifier over the first token of each text."""
        import torch

        body = model.base_model
        starts = torch.tensor([0, *accumulate(lengths[:-1])], device=model.device)
        with first_tokens(starts):
            hidden = body(**inputs).last_hidden_state[0]  # (T, H), trimmed (b, H)
        first = (hidden if is_trimmed(model) else hidden[starts])[:, None]  # (b, 1, H)
        pooler = getattr(body, "pooler", None)
        logits: torch.Tensor = model.classifier(first if pooler is None else pooler(first))
        return logits[:, 0]


@dataclass(frozen=True)
class AnswerHead:
    """The logit of one token at the last position; less that of another where there is one.

    No logits are computed for the other positions.

    Args:
        positive, negative: token ids.
        padding: where batches are padded. On the left texts end together. Linear attention works in chunks
            from the first position on, so that only padding on the right leaves its scores as they are.
    """

    packable: ClassVar[frozenset[str]] = DECODERS

    positive: int
    negative: int | None = None
    padding: Side = "left"

    def padded(self, model: Any, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return logits, shape (b,)."""
        if self.padding == "left":
            return self._read(model(**inputs, logits_to_keep=1, use_cache=False).logits[:, -1])
        import torch

        hidden = model.base_model(**inputs, use_cache=False).last_hidden_state  # (b, t, H)
        last = inputs["attention_mask"].sum(1) - 1
        rows = torch.arange(len(last), device=hidden.device)
        return self._read(model.get_output_embeddings()(hidden[rows, last]))

    def packed(self, model: Any, inputs: dict[str, Any], lengths: Sequence[int]) -> torch.Tensor:
        """Return logits, shape (b,)."""
        import torch

        last = torch.tensor(list(accumulate(lengths)), device=inputs["input_ids"].device) - 1
        return self._read(model(**inputs, logits_to_keep=last, use_cache=False).logits[0])

    def _read(self, logits: torch.Tensor) -> torch.Tensor:
        score = logits[:, self.positive].float()
        return score if self.negative is None else score - logits[:, self.negative].float()
