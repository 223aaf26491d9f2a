"""The model that is trained: a cross-encoder made of an encoder's weights."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from lamar_rag.extras import require
from lamar_rag.hub import resolve_model

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder
    from transformers import PreTrainedModel

    from lamar_trainers.training_config import ModelConfig


def new_student(config: ModelConfig, *, seed: int) -> CrossEncoder:
    """Return a cross-encoder with one label on the base's lowest layers.

    Where the base has a pooler without weights (embedders that average tokens have none), it begins as the identity:
    zeros would pass no gradient on.

    Args:
        config: of the model.
        seed: of the head's first weights.

    Raises:
        ValueError: a base with fewer layers.
    """
    torch.manual_seed(seed)
    model = load_student(resolve_model(config.base), config)
    pooler = getattr(getattr(encoder(model).base_model, "pooler", None), "dense", None)
    if pooler is not None and not pooler.weight.any():
        torch.nn.init.eye_(pooler.weight)
    return model


def load_student(folder: str | Path, config: ModelConfig) -> CrossEncoder:
    """Return the cross-encoder of a folder, with what the configuration freezes frozen.

    Raises:
        ValueError: a model with fewer layers than the configuration keeps or freezes.
    """
    st: Any = require("sentence_transformers", extra="train", purpose="training")
    changes: dict[str, Any] = {} if config.layers is None else {"num_hidden_layers": config.layers}
    if config.dropout is not None:
        changes |= {"hidden_dropout_prob": config.dropout, "attention_probs_dropout_prob": config.dropout}
    model: CrossEncoder = st.CrossEncoder(
        str(folder), num_labels=1, max_length=config.max_length, config_kwargs=changes, device=None
    )
    freeze(model, config)
    return model


def encoder(model: CrossEncoder) -> PreTrainedModel:
    """Return the transformers model of a cross-encoder.

    Raises:
        ValueError: a cross-encoder without one.
    """
    inner = model.model
    if inner is None:
        raise ValueError("got a cross-encoder without a transformers model, expected a sequence classifier")
    return inner


def freeze(model: CrossEncoder, config: ModelConfig) -> None:
    """Take the embeddings and the lowest layers out of training, as the configuration says.

    Raises:
        ValueError: more frozen layers than there are.
    """
    base: Any = encoder(model).base_model
    layers = base.encoder.layer
    if config.frozen_layers > len(layers):
        raise ValueError(
            f"got frozen_layers={config.frozen_layers} for a model of {len(layers)} layers, expected at most as many"
        )
    if config.frozen_embeddings:
        base.embeddings.requires_grad_(False)
    for layer in layers[: config.frozen_layers]:
        layer.requires_grad_(False)
