"""The one activation there is: from a raw logit to a probability."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lamar_rag.types import FloatArray


def logit_probability(scores: FloatArray, scale: float = 1.0) -> FloatArray:
    """Return sigmoid(score / scale), shape (n,).

    The logits are float32 when they come here: a sigmoid in bfloat16 would make all good documents equal.
    """
    half = np.asarray(scores, dtype=np.float64) / (2.0 * scale)
    return np.asarray(0.5 * (1.0 + np.tanh(half)), dtype=np.float32)  # no overflow at either end
