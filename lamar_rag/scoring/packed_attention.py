"""Attention over texts that lie end to end in one row, each seeing itself alone: no padding is computed.

On a CPU the linear layers take most of the time and cost the same a token however texts are cut, so that
leaving the padding out saves all that it cost. On a GPU one short kernel a text would cost more than the
padding of texts sorted by length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

PACKED = "lamar_packed"

ROBERTA = frozenset({"xlm-roberta", "roberta", "camembert"})  # these count positions from the padding id on
# Architectures whose packed scores are tested against one text at a time. Others are padded.
ENCODERS = ROBERTA | {"bert", "gte"}
DECODERS = frozenset({"qwen3", "llama", "gemma"})


def can_pack(model: Any, architectures: frozenset[str]) -> bool:
    """Say whether a model's attention can run packed: one of these architectures, without a sliding window.

    A repository's own code is never packed, whatever it calls itself: it need not ask for the attention.
    """
    layers = getattr(model.config, "layer_types", None) or ["full_attention"]
    is_known = model.config.model_type in architectures and set(layers) == {"full_attention"}
    return is_known and type(model).__module__.startswith("transformers.models.")


def use_packed_attention(model: Any) -> None:
    """Make a model's attention expect packed rows."""
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface

    AttentionInterface.register(PACKED, _packed_attention)
    AttentionMaskInterface.register(PACKED, _no_mask)
    model.set_attn_implementation(PACKED)


def _no_mask(*_: object, **__: object) -> None:
    """Each text sees itself alone by the way attention is called."""


def _packed_attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    packed_lengths: Sequence[int],
    scaling: float | None = None,
    **_: object,
) -> tuple[torch.Tensor, None]:
    """Return the attention's output, shape (1, T, H, D), for a query of shape (1, H, T, D)."""
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    output = torch.empty_like(query.transpose(1, 2), memory_format=torch.contiguous_format)
    causal = bool(getattr(module, "is_causal", False))
    grouped = key.shape[1] != query.shape[1]
    start = 0
    for length in packed_lengths:
        span = slice(start, start + length)
        attended = scaled_dot_product_attention(
            query[:, :, span],
            key[:, :, span],
            value[:, :, span],
            is_causal=causal and length > 1,
            scale=scaling,
            enable_gqa=grouped,
        )
        output[:, span] = attended.transpose(1, 2)
        start += length
    return output, None
