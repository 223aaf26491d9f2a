"""What the machine can do, and what a BERT-like model asks of it."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median

import torch

_FLAGS = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8", "amx_bf16")
_REPETITIONS = 20  # of each product a measurement


class Rates:
    """The rates of float32 matrix products as torch does them, measured again and again.

    Shapes are (rows, inner) @ (inner, columns): those of a layer of multilingual-e5-small over 2,048 tokens, and
    a square one.
    """

    SHAPES = ((2048, 384, 384), (2048, 384, 1536), (2048, 1536, 384), (1024, 1024, 1024))

    def __init__(self, threads: int) -> None:
        torch.set_num_threads(threads)
        self._seconds: dict[tuple[int, int, int], list[float]] = {shape: [] for shape in self.SHAPES}

    def measure(self) -> None:
        """Time every product."""
        generator = torch.Generator().manual_seed(0)
        for shape in self.SHAPES:
            rows, inner, columns = shape
            x = torch.randn(rows, inner, generator=generator)
            weight = torch.randn(columns, inner, generator=generator)
            with torch.inference_mode():
                for repetition in range(_REPETITIONS + 3):
                    start = time.perf_counter()
                    torch.nn.functional.linear(x, weight)
                    if repetition >= 3:  # the first ones warm up
                        self._seconds[shape].append(time.perf_counter() - start)

    def medians(self) -> dict[str, float]:
        """Return GFLOP/s by shape; "layer" is the mixture of shapes that one layer runs (4 : 1 : 1)."""
        seconds = {shape: median(times) for shape, times in self._seconds.items()}
        result = {_label(shape): _flops(shape) / seconds[shape] / 1e9 for shape in self.SHAPES}
        mixture = dict(zip(self.SHAPES[:3], (4, 1, 1), strict=True))
        flops = sum(count * _flops(shape) for shape, count in mixture.items())
        result["layer"] = flops / sum(count * seconds[shape] for shape, count in mixture.items()) / 1e9
        return result


def model_flops(folder: Path, queries: Sequence[tuple[str, Sequence[str]]]) -> tuple[float, int]:
    """Return the floating point operations over (query, documents) and the tokens, padding left out.

    A token takes 2 (4 H^2 + 2 H F) a layer, a pair of n tokens 4 n^2 H a layer; embeddings and head are not counted.
    """
    from transformers import AutoTokenizer

    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    hidden, wide, layers = config["hidden_size"], config["intermediate_size"], config["num_hidden_layers"]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    lengths = [
        len(ids)
        for query, documents in queries
        for ids in tokenizer([query] * len(documents), list(documents), truncation=True)["input_ids"]
    ]
    a_token = 2 * (4 * hidden**2 + 2 * hidden * wide)
    flops = layers * sum(n * a_token + 4 * n**2 * hidden for n in lengths)
    return float(flops), sum(lengths)


def machine() -> dict[str, object]:
    """Return what the figures depend on."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:  # not Linux
        lines = []
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    fields = {name.strip(): value.strip() for name, value in fields.items()}
    flags = fields.get("flags", "").split()
    return {
        "cpu": fields.get("model name", platform.processor()),
        "cpus": os.cpu_count(),
        "flags": {flag: flag in flags for flag in _FLAGS},
        "torch_capability": torch.backends.cpu.get_cpu_capability(),
        "versions": {name: version(name) for name in ("torch", "transformers", "tokenizers", "numpy")},
        "python": platform.python_version(),
    }


def _flops(shape: tuple[int, int, int]) -> float:
    rows, inner, columns = shape
    return 2.0 * rows * inner * columns


def _label(shape: tuple[int, int, int]) -> str:
    rows, inner, columns = shape
    return f"{rows}x{inner} @ {inner}x{columns}"
