"""8-bit integers on a CPU: the linear layers' weights, and their inputs as they come."""

from __future__ import annotations

import warnings
from typing import Any


def quantize_int8(model: Any) -> None:
    """Replace, in place, the linear layers of a model's body by 8-bit ones; the head stays in float32.

    Weights are quantised per output channel, activations per batch, by torch's dynamic quantisation.
    """
    import torch
    from torch.ao.quantization import per_channel_dynamic_qconfig, quantize_dynamic

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        quantize: Any = quantize_dynamic
        quantize(model.base_model, {torch.nn.Linear: per_channel_dynamic_qconfig}, inplace=True)
