"""The last layer of an encoder whose score is read off each text's first token: no more of it is computed.

After the last attention no token sees another, so that its output projection and feed-forward, three quarters of the
layer's products, need run for the first tokens alone. The other tokens' hidden states would be thrown away.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from lamar_rag.scoring.packed_attention import ROBERTA

if TYPE_CHECKING:
    import torch

# their layers are alike: attention (self, output), intermediate, output
_BERT_LIKE = ROBERTA | {"bert"}
_places: ContextVar[torch.Tensor | None] = ContextVar("places of the first tokens", default=None)


def trim_last_layer(model: Any) -> None:
    """Make a packed model's last layer end early wherever `first_tokens` says for which tokens."""
    if model.config.model_type in _BERT_LIKE and not is_trimmed(model):
        model.base_model.encoder.layer[-1].attention.output.register_forward_pre_hook(_select)
        model.base_model.lamar_trimmed = True


def is_trimmed(model: Any) -> bool:
    """Say whether the last layer returns the first tokens alone."""
    return bool(getattr(model.base_model, "lamar_trimmed", False))


@contextmanager
def first_tokens(places: torch.Tensor) -> Iterator[None]:
    """Tell trimmed models, while the block runs in this thread, where each text's first token is.

    Args:
        places: shape (b,).
    """
    token = _places.set(places)
    try:
        yield
    finally:
        _places.reset(token)


def _select(_: Any, states: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...] | None:
    """Return the attention's output and its input, shape (1, T, H), at the first tokens: (1, b, H)."""
    places = _places.get()
    return None if places is None else tuple(state[:, places] for state in states)
