"""What a stage's log shows: lines while it runs, and a picture of the losses afterwards."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformers import TrainerCallback

from lamar_rag.extras import require

if TYPE_CHECKING:
    from transformers import TrainerControl, TrainerState, TrainingArguments

logger = logging.getLogger(__name__)


class LoggingCallback(TrainerCallback):
    """The trainer's figures as lines of the logger `lamar_trainers`, instead of printed dictionaries."""

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, Any] | None = None,
        **parts: Any,
    ) -> None:
        """Log the loss, in the first process only."""
        if state.is_world_process_zero and logs and "loss" in logs:
            loss = float(logs["loss"])
            logger.info("step %d of %d: loss %.4f", state.global_step, state.max_steps, loss)


def plot_training(log: Sequence[Mapping[str, Any]], path: str | Path) -> None:
    """Draw the losses of a trainer's log and, where there are any, the development figures, as an SVG or PNG.

    Args:
        log: `state.log_history`.
        path: the picture.
    """
    matplotlib: Any = require("matplotlib", extra="train", purpose="the picture of the losses")
    matplotlib.use("Agg")
    pyplot: Any = require("matplotlib.pyplot", extra="train", purpose="the picture of the losses")
    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    losses = [(entry["step"], float(entry["loss"])) for entry in log if "loss" in entry]
    axes.plot(*zip(*losses, strict=True) if losses else ([], []), color="tab:gray", label="loss")
    axes.set_xlabel("step")
    axes.set_ylabel("loss")
    measured = [entry for entry in log if "development_ndcg@1" in entry]
    if measured:
        right = axes.twinx()
        for name in ("ndcg@1", "rescue@1", "balanced@1"):
            values = [entry[f"development_{name}"] for entry in measured]
            right.plot([entry["step"] for entry in measured], values, marker="o", label=name)
        right.set_ylim(0, 1)
        right.set_ylabel("development set")
        right.legend(loc="lower right")
    axes.legend(loc="upper right")
    figure.savefig(path)
    pyplot.close(figure)
