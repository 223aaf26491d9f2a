"""One batch through a model: padded to its longest text, or packed end to end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from lamar_rag.scoring.encoding import TokenSequence
from lamar_rag.scoring.heads import Side
from lamar_rag.scoring.packed_attention import DECODERS, ROBERTA

if TYPE_CHECKING:
    import torch


class Head(Protocol):
    """Reads the score of each text off a model; `packable` are the architectures that it can read packed."""

    @property
    def packable(self) -> frozenset[str]:
        """Values of `config.model_type`."""
        ...

    def padded(self, model: Any, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return logits, shape (b,), of inputs of shape (b, t)."""
        ...

    def packed(self, model: Any, inputs: dict[str, Any], lengths: Sequence[int]) -> torch.Tensor:
        """Return logits, shape (b,), of inputs of shape (1, T), T the sum of the lengths."""
        ...


@dataclass(frozen=True)
class BatchForward:
    """Runs batches of token sequences; the logits are float32 before anything else sees them."""

    model: Any
    head: Head
    pad_id: int
    side: Side = "right"
    is_packed: bool = False

    def __call__(self, batch: Sequence[TokenSequence]) -> torch.Tensor:
        """Return one logit a text, float32 of shape (b,), on the CPU."""
        if self.is_packed:
            lengths = [len(text.ids) for text in batch]
            logits = self.head.packed(self.model, self._packed_inputs(batch, lengths), lengths)
        else:
            logits = self.head.padded(self.model, self._padded_inputs(batch))
        return logits.float().cpu()

    def _padded_inputs(self, batch: Sequence[TokenSequence]) -> dict[str, torch.Tensor]:
        import torch
        from torch.nn.utils.rnn import pad_sequence

        def padded(rows: list[torch.Tensor], value: int) -> torch.Tensor:
            joined = pad_sequence(rows, batch_first=True, padding_value=value, padding_side=self.side)
            return joined.to(self.model.device)

        inputs = {
            "input_ids": padded([_long(text.ids) for text in batch], self.pad_id),
            "attention_mask": padded([torch.ones(len(text.ids), dtype=torch.long) for text in batch], 0),
        }
        if batch[0].types is not None:
            inputs["token_type_ids"] = padded([_long(text.types) for text in batch], 0)
        if self.side == "left":  # a text's first token is at position 0, however much padding is before it
            inputs["position_ids"] = (inputs["attention_mask"].cumsum(1) - 1).clamp(min=0)
        return inputs

    def _packed_inputs(self, batch: Sequence[TokenSequence], lengths: Sequence[int]) -> dict[str, Any]:
        import torch

        device, config = self.model.device, self.model.config
        rows = [_long(text.ids) for text in batch]
        positions = torch.cat([_positions(row, config) for row in rows])
        ids = torch.cat(rows)
        inputs: dict[str, Any] = {
            "input_ids": ids[None].to(device),
            "position_ids": positions[None].to(device),
        }
        if config.model_type not in DECODERS:
            types = [text.types for text in batch]
            joined = torch.zeros_like(ids) if types[0] is None else torch.cat([_long(row) for row in types])
            inputs["token_type_ids"] = joined[None].to(device)
        return {**inputs, "packed_lengths": lengths}


def _positions(ids: torch.Tensor, config: Any) -> torch.Tensor:
    """Return the positions that the model gives the tokens of one text, shape (t,)."""
    import torch

    if config.model_type not in ROBERTA:
        return torch.arange(len(ids))
    # these count from the padding id on, and leave out a "<pad>" that the text itself holds
    counted = (ids != config.pad_token_id).long()
    positions: torch.Tensor = counted.cumsum(0) * counted + config.pad_token_id
    return positions


def _long(values: Any) -> torch.Tensor:
    import torch

    return torch.from_numpy(values).long()
