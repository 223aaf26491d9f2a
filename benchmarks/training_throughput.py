"""Pairs a second and peak memory of a training stage, beside a plain CrossEncoderTrainer of the same model and batch.

Each measurement is a process of its own; the two take turns. Both train on the same pairs with the squared error to
the teacher, which sentence-transformers has too; ours puts texts of similar length together.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from lamar_trainers.stage_run import stage_trainer
from lamar_trainers.student import new_student
from lamar_trainers.training_config import load_config


def measured(kind: str, work: Path, steps: int, batch: int) -> dict[str, float]:
    """Train some steps and return pairs a second, without the first two steps, and the peak memory."""
    import torch
    from datasets import Dataset
    from sentence_transformers import CrossEncoderTrainer, CrossEncoderTrainingArguments
    from sentence_transformers.cross_encoder.losses import MSELoss
    from transformers import TrainerCallback

    config = load_config("mini")
    stage = config.distill.model_copy(
        update={"loss": "distillation", "batch_size": batch, "max_steps": steps, "evaluation_steps": None}
    )
    config = config.model_copy(update={"distill": stage})

    class Clock(TrainerCallback):
        """When each step ended."""

        times: list[float] = []  # noqa: RUF012

        def on_step_end(self, *_: Any, **__: Any) -> None:
            self.times.append(time.perf_counter())

    if kind == "ours":
        trainer: Any = stage_trainer(config, "distill", work, work / "throughput")
    else:
        rows = Dataset.from_parquet(
            str(work / "scored.parquet"),
            columns=["query", "document", "label"],
            cache_dir=str(work / "cache"),
        )
        model = new_student(config.model, seed=config.seed)
        arguments = CrossEncoderTrainingArguments(
            output_dir=str(work / "throughput"),
            per_device_train_batch_size=batch,
            learning_rate=stage.learning_rate,
            max_steps=steps,
            seed=config.seed,
            report_to="none",
            disable_tqdm=True,
        )
        trainer = CrossEncoderTrainer(model=model, args=arguments, train_dataset=rows, loss=MSELoss(model))
    trainer.args.save_strategy = "no"
    trainer.add_callback(Clock())
    trainer.train()
    taken = Clock.times[-1] - Clock.times[1]
    return {
        "pairs_per_second": (len(Clock.times) - 2) * batch / taken,
        "peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "threads": torch.get_num_threads(),
    }


def main() -> None:
    """Measure and write the JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--work", type=Path, required=True, help="folder of a run that has its teacher's scores"
    )
    parser.add_argument("--steps", type=int, default=22)
    parser.add_argument("--batch", type=int, default=32, help="pairs")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=["ours", "plain"], help="measure this in this process")
    parser.add_argument("--output", type=Path, help="file for the JSON; stdout by default")
    options = parser.parse_args()
    if options.only:
        found = measured(options.only, options.work, options.steps, options.batch)
        sys.stdout.write("\n" + json.dumps(found) + "\n")
        return
    rounds: dict[str, list[dict[str, float]]] = {"ours": [], "plain": []}
    for _ in range(options.rounds):
        for kind, rows in rounds.items():
            command = [sys.executable, __file__, "--only", kind, "--work", str(options.work)]
            command += ["--steps", str(options.steps), "--batch", str(options.batch)]
            printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            rows.append(json.loads(printed.strip().splitlines()[-1]))
    result = {
        "batch": options.batch,
        "steps": options.steps,
        "rounds": rounds,
        "median_pairs_per_second": {
            k: median(row["pairs_per_second"] for row in v) for k, v in rounds.items()
        },
        "versions": {n: version(n) for n in ("torch", "transformers", "sentence-transformers", "accelerate")},
        "python": platform.python_version(),
    }
    text = json.dumps(result, indent=1) + "\n"
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
