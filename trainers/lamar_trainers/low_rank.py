"""LoRA: low-rank matrices beside the encoder's, merged into them when the training is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import nn

from lamar_rag.extras import require
from lamar_trainers.student import encoder

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

    from lamar_trainers.training_config import LoraSettings


def add_low_rank(model: CrossEncoder, settings: LoraSettings, *, frozen_layers: int = 0) -> Any:
    """Put LoRA beside every linear module of the encoder's layers, in place, and return peft's handle on it.

    The head and the pooler are trained whole, all else is frozen.

    Args:
        model: a cross-encoder.
        settings: rank, alpha and dropout.
        frozen_layers: the lowest so many get none.
    """
    peft: Any = require("peft", extra="train", purpose="LoRA")
    inner = encoder(model)
    base: Any = inner.base_model
    targets = [
        f"{inner.base_model_prefix}.encoder.layer.{number}.{name}"
        for number, layer in enumerate(base.encoder.layer)
        for name, module in layer.named_modules()
        if number >= frozen_layers and isinstance(module, nn.Linear)
    ]
    config = peft.LoraConfig(
        r=settings.rank, lora_alpha=settings.alpha, lora_dropout=settings.dropout, target_modules=targets
    )
    tuner = peft.LoraModel(inner, config, "default")
    heads = [module for module in inner.children() if module is not base]
    for module in [*heads, getattr(base, "pooler", None)]:
        if module is not None:
            module.requires_grad_(True)
    return tuner


def merge_low_rank(tuner: Any) -> None:
    """Add the low-rank matrices to the encoder's own, in place: it is the ordinary model again."""
    tuner.merge_and_unload()
