"""Where a figure comes from: machine, versions, and the command that repeats it."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from lamar_rag.torch_options import torch_device

_PACKAGES = (
    "lamar-rag",
    "torch",
    "transformers",
    "tokenizers",
    "sentence-transformers",
    "numpy",
    "scipy",
    "ir-measures",
    "mteb",
)


def evaluation_origin(command: Sequence[str], device: str | None = None) -> dict[str, Any]:
    """Return command, versions and machine as JSON values.

    Args:
        command: its words; a folder of this machine should be a name such as DATA.
        device: what was computed on; by default the best there is.
    """
    return {
        "command": " ".join(command),
        "versions": {name: found for name in _PACKAGES if (found := _version(name))},
        "python": platform.python_version(),
        "machine": {"cpu": _cpu(), "cpus": os.cpu_count(), "device": _device(device)},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _cpu() -> str:
    information = Path("/proc/cpuinfo")
    if information.is_file():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _device(name: str | None) -> str:
    import torch

    device = torch_device(name)
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device.type)
