"""What training changed in an encoder, small enough to ship: 4-bit differences of its matrices, and the head."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lamar_rag.embedded.q4_blocks import BLOCK_WEIGHTS, dequantize_q4, quantize_q4

if TYPE_CHECKING:
    from lamar_rag.types import FloatArray

_Q4, _F16 = "q4:", "f16:"  # what a tensor's name begins with in the file


@dataclass(frozen=True)
class Adapter:
    """Differences to a base's tensors, and tensors that the base has not, by the names of the checkpoint.

    `about` is text by name: the base, its layers, where the adapter comes from.
    """

    differences: Mapping[str, FloatArray]
    about: Mapping[str, str]

    def apply(self, base: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return the base's tensors with the differences added; a tensor that the base has not is the difference."""
        changed = {name: base[name] + value for name, value in self.differences.items() if name in base}
        added = {name: value for name, value in self.differences.items() if name not in base}
        return {**base, **changed, **added}

    def save(self, path: str | Path) -> int:
        """Write a safetensors file and return its size in bytes."""
        from safetensors.numpy import save_file

        tensors = {}
        for name, value in self.differences.items():
            if value.ndim == 2 and value.shape[1] % BLOCK_WEIGHTS == 0 and value.shape[0] > 1:
                packed = np.frombuffer(quantize_q4(value), dtype=np.uint8)
                tensors[_Q4 + name] = packed.reshape(value.shape[0], -1)
            else:
                tensors[_F16 + name] = value.astype(np.float16)
        save_file(tensors, path, metadata=dict(self.about))
        return Path(path).stat().st_size


def read_adapter(path: str | Path) -> Adapter:
    """Return an adapter that `Adapter.save` wrote.

    Raises:
        ValueError: another file.
    """
    from safetensors import SafetensorError, safe_open

    differences: dict[str, FloatArray] = {}
    try:
        with safe_open(path, framework="numpy") as file:
            for name in file.keys():  # noqa: SIM118 (no mapping)
                value = file.get_tensor(name)
                if name.startswith(_Q4):
                    differences[name.removeprefix(_Q4)] = dequantize_q4(value.tobytes()).reshape(
                        len(value), -1
                    )
                else:
                    differences[name.removeprefix(_F16)] = value.astype(np.float32)
            about = dict(file.metadata() or {})
    except (SafetensorError, json.JSONDecodeError) as error:
        raise ValueError(f"got {path}, which is no adapter ({error}): reinstall lamar-rag") from error
    return Adapter(differences, about)
