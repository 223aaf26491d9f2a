"""8-bit integers on a CPU: the linear layers of a model's body.

Weights have one scale an output channel, inputs one a token. One scale for all inputs, which other dynamic
quantisations use, loses what is small: a few features of XLM-R's feed-forward layers are
twenty times as large as the others (docs/rerankers.md has the figures).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

_LARGEST = 127.0
_HEADS = frozenset(
    {"classifier", "score", "lm_head", "pooler"}
)  # where a repository's class has no body of its own


class Int8Linear(nn.Module):
    """A linear layer whose product is one of 8-bit integers, summed in 32 bits.

    Args:
        linear: the layer that it stands for; its weights are copied.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight = linear.weight.detach().float()  # (N, K)
        scale = _scale(weight)
        self.weight = nn.Buffer((weight / scale).round().to(torch.int8).t().contiguous())  # (K, N)
        self.scale = nn.Buffer(scale[:, 0].clone())  # (N,)
        self.bias = None if linear.bias is None else nn.Buffer(linear.bias.detach().float().clone())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the layer's output, shape (..., N), for inputs of shape (..., K)."""
        tokens = x.reshape(-1, x.shape[-1])
        scale = _scale(tokens)
        product = torch._int_mm((tokens / scale).round_().to(torch.int8), self.weight).float().mul_(scale)
        output = product.mul_(self.scale)
        if self.bias is not None:
            output.add_(self.bias)
        return output.reshape(*x.shape[:-1], -1)


def quantize_int8(model: Any) -> None:
    """Replace, in place, the linear layers of a model's body by 8-bit ones; heads stay in float32."""
    body = model.base_model
    for name, module in list(body.named_modules()):
        if isinstance(module, nn.Linear) and name.split(".")[0] not in _HEADS:
            owner, _, attribute = name.rpartition(".")
            setattr(body.get_submodule(owner), attribute, Int8Linear(module))


def _scale(rows: torch.Tensor) -> torch.Tensor:
    """Return each row's unit, shape (n, 1): its largest magnitude is 127 of them."""
    return rows.abs().amax(dim=1, keepdim=True).clamp_min_(1e-12) / _LARGEST
