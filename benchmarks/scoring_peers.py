"""One scoring system a process, for `scoring_throughput.py`: JSON lines on stdin, JSON lines on stdout.

    python benchmarks/scoring_peers.py SYSTEM FOLDER --threads 2

Each system runs in its own interpreter, for not all of them agree on a version of transformers; this file
therefore imports nothing but the standard library until a system is loaded. The first line that a worker writes
says what was loaded; then {"query": ..., "texts": [...]} is answered by {"seconds": ..., "scores": [...]}. The
time is that of the system's own call alone.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

Score = Callable[[str, list[str]], list[float]]
_PACKAGES = ("torch", "transformers", "tokenizers", "sentence-transformers", "rerankers", "FlagEmbedding")


def load_lamar(folder: Path, dtype: str | None = None) -> Score:
    """Return `Reranker.score` with its defaults."""
    from lamar_rag import Reranker

    reranker = Reranker(folder, device="cpu", dtype=dtype)
    return lambda query, texts: reranker.score(query, texts).tolist()


def load_sentence_transformers(folder: Path) -> Score:
    """Return `CrossEncoder.predict` with its defaults, but raw logits."""
    import torch
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(folder), device="cpu")
    identity = torch.nn.Identity()
    return lambda query, texts: model.predict(
        [(query, text) for text in texts], activation_fn=identity
    ).tolist()


def load_rerankers(folder: Path) -> Score:
    """Return `Reranker.rank` with its defaults; it answers in its own order, so the order is undone."""
    from rerankers import Reranker

    model = Reranker(str(folder), model_type="cross-encoder", device="cpu", verbose=0)

    def score(query: str, texts: list[str]) -> list[float]:
        ranked = model.rank(query, texts, doc_ids=list(range(len(texts))))
        return [float(r.score) for r in sorted(ranked.results, key=lambda r: r.document.doc_id)]

    return score


def load_flag(folder: Path) -> Score:
    """Return `FlagReranker.compute_score` in float32 with its other defaults.

    It has the tokenizer's class put a pair's tokens together, and that of the folder, being the generic one, adds
    no special tokens; the same tokenizer.json under XLM-R's own class does.
    """
    from FlagEmbedding import FlagReranker

    with tempfile.TemporaryDirectory(prefix="flag-reranker-") as name:
        view = Path(name)
        for path in folder.iterdir():
            if path.name != "tokenizer_config.json":
                (view / path.name).symlink_to(path.resolve())
        config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
        text = json.dumps({**config, "tokenizer_class": "XLMRobertaTokenizer"})
        (view / "tokenizer_config.json").write_text(text, encoding="utf-8")
        model = FlagReranker(str(view), use_fp16=False, devices="cpu")
    return lambda query, texts: [float(s) for s in model.compute_score([(query, text) for text in texts])]


SYSTEMS: dict[str, Callable[[Path], Score]] = {
    "lamar": load_lamar,
    "lamar-int8": lambda folder: load_lamar(folder, "int8"),
    "sentence-transformers": load_sentence_transformers,
    "rerankers": load_rerankers,
    "flag": load_flag,
}


class Worker:
    """A system in a process of its own.

    Args:
        python: the interpreter whose environment has the system's packages.

    Raises:
        RuntimeError: the process ended before it had answered; its stderr says why.
    """

    def __init__(self, system: str, folder: Path, *, python: str = sys.executable, threads: int = 2) -> None:
        self.system = system
        settings = {"OMP_NUM_THREADS": str(threads), "RAYON_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1"}
        self._process = subprocess.Popen(
            [python, str(Path(__file__).resolve()), system, str(folder), "--threads", str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **settings, "TRANSFORMERS_VERBOSITY": "error"},
            text=True,
            encoding="utf-8",
        )
        self.loaded = self._answer()

    def score(self, query: str, texts: list[str]) -> tuple[float, list[float]]:
        """Return the seconds and the scores."""
        stdin = self._pipe(self._process.stdin)
        stdin.write(json.dumps({"query": query, "texts": texts}) + "\n")
        stdin.flush()
        answer = self._answer()
        return answer["seconds"], answer["scores"]

    def close(self) -> None:
        """End the process."""
        self._pipe(self._process.stdin).close()
        self._process.wait(timeout=60)

    def _answer(self) -> dict[str, Any]:
        line = self._pipe(self._process.stdout).readline()
        if not line:
            raise RuntimeError(f"{self.system} ended with {self._process.wait()}: see stderr for the reason")
        answer: dict[str, Any] = json.loads(line)
        return answer

    @staticmethod
    def _pipe(pipe: IO[str] | None) -> IO[str]:
        if pipe is None:
            raise RuntimeError("the worker has no pipe")
        return pipe


def serve(system: str, folder: Path, threads: int, answers: IO[str]) -> None:
    """Load the system and answer until stdin ends."""
    import torch

    torch.set_num_threads(threads)
    start = time.perf_counter()
    score = SYSTEMS[system](folder)
    score("warm up", ["warm up"])
    write(answers, {"load_seconds": time.perf_counter() - start, "versions": versions()})
    for line in sys.stdin:
        request = json.loads(line)
        start = time.perf_counter()
        scores = score(request["query"], request["texts"])
        write(answers, {"seconds": time.perf_counter() - start, "scores": scores})


def versions() -> dict[str, str]:
    """Return the versions of what this environment has."""
    found = {"python": sys.version.split()[0]}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def write(answers: IO[str], value: dict[str, Any]) -> None:
    answers.write(json.dumps(value) + "\n")
    answers.flush()


def main() -> None:
    """Serve one system; whatever it prints goes to stderr, for stdout is the answers' own."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("system", choices=list(SYSTEMS))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        serve(options.system, options.folder, options.threads, answers)


if __name__ == "__main__":
    main()
