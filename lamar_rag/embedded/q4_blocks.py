"""Weights in 4-bit blocks: 32 in 18 bytes.

A block is an f16 scale d, then 16 bytes whose low nibbles are weights 0-15 and whose high nibbles are weights 16-31;
a weight is d * (nibble - 8). Blocks run along a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lamar_rag.types import FloatArray

BLOCK_WEIGHTS = 32
_BLOCK = np.dtype([("scale", "<f2"), ("nibbles", "u1", 16)])


def dequantize_q4(blob: bytes) -> FloatArray:
    """Return the fp32 weights, shape (32 * blocks,), of a run of 18-byte blocks."""
    if len(blob) % _BLOCK.itemsize:
        raise ValueError(
            f"got {len(blob)} bytes of 4-bit blocks, expected a multiple of {_BLOCK.itemsize}: damaged file"
        )
    blocks = np.frombuffer(blob, dtype=_BLOCK)
    weights = np.empty((len(blocks), BLOCK_WEIGHTS), dtype=np.float32)
    nibbles = blocks["nibbles"]
    weights[:, :16] = (nibbles & 0x0F).astype(np.float32) - 8.0
    weights[:, 16:] = (nibbles >> 4).astype(np.float32) - 8.0
    weights *= blocks["scale"].astype(np.float32)[:, None]
    return weights.reshape(-1)


def quantize_q4(weights: FloatArray) -> bytes:
    """Return the blocks of weights, any shape, of which the last axis is a multiple of 32.

    The scale is an eighth of the weight of the largest size, with its sign, so that this one is exact.

    Raises:
        ValueError: another size.
    """
    if weights.size % BLOCK_WEIGHTS:
        raise ValueError(f"got {weights.size} weights, expected a multiple of {BLOCK_WEIGHTS}")
    rows = np.ascontiguousarray(weights, dtype=np.float32).reshape(-1, BLOCK_WEIGHTS)
    largest = np.take_along_axis(rows, np.abs(rows).argmax(axis=1)[:, None], axis=1)[:, 0]
    blocks = np.empty(len(rows), dtype=_BLOCK)
    blocks["scale"] = largest / -8.0
    scale = blocks["scale"].astype(np.float32)
    safe = np.where(scale == 0.0, 1.0, scale)
    nibbles = np.clip(np.rint(rows / safe[:, None]) + 8.0, 0, 15).astype(np.uint8)
    blocks["nibbles"] = nibbles[:, :16] | (nibbles[:, 16:] << 4)
    return blocks.tobytes()
