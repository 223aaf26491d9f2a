"""Pairs a second of `Reranker.score` on a CPU beside other libraries: same model, pairs, machine and run.

    python benchmarks/scoring_throughput.py [--peer-python rerankers=PATH] [--peer-python flag=PATH]
    python benchmarks/scoring_throughput.py --scaling      # seconds a pair for 100, 1,000 and 10,000 pairs
    python benchmarks/scoring_throughput.py --memory       # growth of the peak at 10,000 pairs of 512 tokens

The model is the folder that `cross_encoder_checkpoint.py` writes, the pairs are XQuAD's, mixed over 12 languages.
Each system runs in a process of its own (`scoring_peers.py`) and they take turns pool by pool, so that a machine
that slows down slows all of them. sentence-transformers is what the others are compared with. Between the rounds
the matrix products of the model's own shapes are timed, which says what share of the machine ours reaches.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scoring_machine import Rates, machine, model_flops
from scoring_memory import memory_growth
from scoring_peers import SYSTEMS, Worker
from scoring_pools import Pool, default_data, short_texts, xquad_pools

from lamar_rag.cache import cache_dir

REPOSITORY = Path(__file__).resolve().parent.parent
BASELINE = "sentence-transformers"
SCALES = {100: 5, 1000: 3, 10_000: 1}  # pairs -> repetitions, of which the median counts


class Race:
    """The times and scores of several systems over the same pools, taken in turns."""

    def __init__(self, workers: list[Worker], pools: list[Pool]) -> None:
        self._workers, self._pools = workers, pools
        self.seconds: dict[str, list[list[float]]] = {w.system: [[] for _ in pools] for w in workers}
        self.scores: dict[str, list[list[float]]] = {w.system: [[] for _ in pools] for w in workers}

    def run(self, round_: int) -> None:
        """Have every system score every pool once; another one begins at each pool."""
        for number, pool in enumerate(self._pools):
            first = (round_ + number) % len(self._workers)
            for worker in self._workers[first:] + self._workers[:first]:
                seconds, scores = worker.score(pool.query, list(pool.documents))
                self.seconds[worker.system][number].append(seconds)
                self.scores[worker.system][number] = scores

    def figures(self) -> dict[str, dict[str, Any]]:
        """Return each system's figures; a pool's time is the median of its rounds."""
        times = {name: [median(rounds) for rounds in pools] for name, pools in self.seconds.items()}
        return {name: self._figures(name, times) for name in times}

    def _figures(self, name: str, times: dict[str, list[float]]) -> dict[str, Any]:
        pairs = sum(len(pool.documents) for pool in self._pools)
        result: dict[str, Any] = {
            "median_seconds_a_query": median(times[name]),
            "pairs_per_second": pairs / sum(times[name]),
            "seconds": [[round(value, 4) for value in rounds] for rounds in self.seconds[name]],
        }
        if BASELINE in times:
            ratios = [base / mine for base, mine in zip(times[BASELINE], times[name], strict=True)]
            result["speed_ratio"] = median(times[BASELINE]) / median(times[name])
            result["median_ratio_a_pool"] = median(ratios)
            result["largest_score_difference"] = max(
                float(np.abs(np.subtract(mine, base)).max())
                for mine, base in zip(self.scores[name], self.scores[BASELINE], strict=True)
            )
        gold = [int(np.argmax(s)) == p.gold for s, p in zip(self.scores[name], self._pools, strict=True)]
        result["gold_first"] = sum(gold) / len(gold)
        return result


def throughput(options: argparse.Namespace) -> dict[str, Any]:
    """Return the JSON document of the comparison."""
    pythons = dict(peer.split("=", 1) for peer in options.peer_python)
    systems = list(dict.fromkeys([*options.systems, *pythons]))
    workers = [
        Worker(system, options.model, python=pythons.get(system, sys.executable), threads=options.threads)
        for system in systems
    ]
    rates = Rates(options.threads)
    sizes: dict[str, dict[str, Any]] = {}
    try:
        for size in options.sizes:
            pools = xquad_pools(options.data, count=options.queries, size=size, seed=options.seed)
            race = Race(workers, pools)
            for round_ in range(options.rounds):
                rates.measure()
                race.run(round_)
            sizes[str(size)] = {"systems": race.figures(), **reached(race, pools, options.model)}
        rates.measure()
    finally:
        for worker in workers:
            worker.close()
    for entry in sizes.values():
        entry["share_of_products"] = {
            name: entry["gflops_of_ours"] / rate for name, rate in rates.medians().items()
        }
    return {
        "sizes": sizes,
        "products_gflops": rates.medians(),
        "loaded": {worker.system: worker.loaded for worker in workers},
    }


def reached(race: Race, pools: list[Pool], folder: Path) -> dict[str, float]:
    """Return the model's floating point operations and how many of them ours does a second."""
    flops, tokens = model_flops(folder, [(pool.query, pool.documents) for pool in pools])
    seconds = sum(median(rounds) for rounds in race.seconds["lamar"]) if "lamar" in race.seconds else 0.0
    pairs = sum(len(pool.documents) for pool in pools)
    return {
        "tokens_a_pair": tokens / pairs,
        "gflop_a_pair": flops / pairs / 1e9,
        "gflops_of_ours": flops / seconds / 1e9 if seconds else float("nan"),
    }


def scaling(options: argparse.Namespace) -> dict[str, Any]:
    """Return our seconds a pair for growing numbers of pairs of random lengths."""
    texts = short_texts(options.data, count=max(options.scales), seed=options.seed)
    query = xquad_pools(options.data, count=1, size=1, seed=options.seed)[0].query
    worker = Worker("lamar", options.model, threads=options.threads)
    result = {}
    try:
        for count in options.scales:
            repeated = [worker.score(query, texts[:count])[0] for _ in range(SCALES.get(count, 1))]
            result[str(count)] = {"seconds": repeated, "milliseconds_a_pair": 1e3 * median(repeated) / count}
    finally:
        worker.close()
    return {"scaling": result, "longest_text": 160, "loaded": worker.loaded}


def parsed() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--scaling", action="store_true")
    mode.add_argument("--memory", action="store_true")
    parser.add_argument("--data", type=Path, default=default_data(), help="folder that holds xquad/")
    parser.add_argument(
        "--model", type=Path, default=cache_dir() / "benchmark-models" / "e5-small-cross-encoder"
    )
    parser.add_argument("--systems", nargs="+", choices=list(SYSTEMS), default=list(SYSTEMS)[:3])
    parser.add_argument("--peer-python", action="append", default=[], metavar="SYSTEM=PATH")
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 100], help="documents a query")
    parser.add_argument("--scales", type=int, nargs="+", default=list(SCALES), help="pairs, for --scaling")
    parser.add_argument("--queries", type=int, default=4, help="pools of each size")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--memory-pairs", type=int, default=10_000)
    parser.add_argument("--memory-models", nargs="+", choices=["tiny", "real"], default=["tiny"])
    parser.add_argument("--output", type=Path, help="by default docs/results/scoring-MODE.json")
    return parser.parse_args()


def main() -> None:
    """Measure and write the JSON."""
    options = parsed()
    for peer in options.peer_python:
        if peer.split("=", 1)[0] not in SYSTEMS or "=" not in peer:
            sys.exit(f"got --peer-python {peer}, expected SYSTEM=PATH with one of {', '.join(SYSTEMS)}")
    if options.scaling:
        name, result = "scaling", scaling(options)
    elif options.memory:
        name, result = "memory", {"memory": memory_growth(options)}
    else:
        name, result = "throughput", throughput(options)
    shown = ("threads", "seed", *(("queries", "rounds") if name == "throughput" else ()))
    settings = {key: vars(options)[key] for key in shown}
    text = json.dumps({**settings, "machine": machine(), **result}, indent=1, ensure_ascii=False) + "\n"
    output = options.output or REPOSITORY / "docs" / "results" / f"scoring-{name}.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
