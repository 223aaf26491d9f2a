"""How much the peak of the process grows while one call scores many long pairs; in a process of its own."""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from scoring_pools import default_data, long_texts

_KIBIBYTES = 1024
_TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")


def memory_growth(options: argparse.Namespace) -> dict[str, Any]:
    """Return the growth by model: each is measured in a fresh process."""
    result = {}
    for kind in options.memory_models:
        with tempfile.TemporaryDirectory() as name:
            folder = options.model if kind == "real" else write_tiny(Path(name), options.model)
            command = [sys.executable, str(Path(__file__).resolve()), str(folder)]
            command += ["--pairs", str(options.memory_pairs), "--data", str(options.data)]
            command += ["--threads", str(options.threads), "--seed", str(options.seed)]
            environment = {**os.environ, "OMP_NUM_THREADS": str(options.threads)}
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, env=environment)
        result[kind] = json.loads(done.stdout)
    return result


def write_tiny(folder: Path, tokenizer: Path) -> Path:
    """Write a cross-encoder of two layers of 64 with random weights and the tokenizer of another folder."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(AutoTokenizer.from_pretrained(tokenizer)),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=256,
        num_labels=1,
        type_vocab_size=2,
        pad_token_id=1,
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    for name in _TOKENIZER_FILES:
        shutil.copyfile(tokenizer / name, folder / name)
    return folder


def measured(folder: Path, texts: list[str], threads: int) -> dict[str, Any]:
    """Return MiB: resident after the load, its peak until then, and both kinds of growth by the call.

    `growth_of_peak_mib` is that of the whole process' high-water mark; loading may have set it high already.
    `above_loaded_mib` is therefore what counts: the mark is reset after the load (Linux; None elsewhere).
    """
    import torch

    from lamar_rag import Reranker

    torch.set_num_threads(threads)
    reranker = Reranker(folder, device="cpu")
    reranker.score("warm up", ["warm up"])
    loaded_peak, loaded = _peak(), _status("VmRSS")
    resets = _reset_peak()
    scores = reranker.score("What is written here?", texts)
    above = _status("VmHWM") - loaded if resets else None
    return {
        "pairs": len(scores),
        "documents_mib": sum(sys.getsizeof(text) for text in texts) / _KIBIBYTES**2,
        "loaded_mib": loaded,
        "loaded_peak_mib": loaded_peak,
        "growth_of_peak_mib": _peak() - loaded_peak,
        "above_loaded_mib": above,
    }


def _peak() -> float:
    unit = _KIBIBYTES**2 if sys.platform == "darwin" else _KIBIBYTES
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def _reset_peak() -> bool:
    """Set the kernel's VmHWM to what is resident now."""
    path = Path("/proc/self/clear_refs")
    if not path.exists():
        return False
    path.write_text("5", encoding="ascii")
    return True


def _status(name: str) -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / _KIBIBYTES


def main() -> None:
    """Measure one folder and print the JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--data", type=Path, default=default_data())
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=13)
    options = parser.parse_args()
    texts = long_texts(options.data, count=options.pairs, seed=options.seed)
    print(json.dumps(measured(options.folder, texts, options.threads)))


if __name__ == "__main__":
    main()
