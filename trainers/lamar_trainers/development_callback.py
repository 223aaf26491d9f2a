"""The development figures while a model is trained."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from transformers import TrainerCallback

from lamar_rag.extras import require
from lamar_trainers.development_figures import development_figures
from lamar_trainers.development_set import DevelopmentQuery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from transformers import TrainerControl, TrainerState, TrainingArguments

    from lamar_rag.types import FloatArray

logger = logging.getLogger(__name__)
# shares of the scores' standard deviation over all candidates
_BONUSES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0)


class DevelopmentCallback(TrainerCallback):
    """Measures the model before the first step, every so many steps and after the last.

    The figures stand in the trainer's log.

    Args:
        queries: with their candidates.
        steps: between two measurements.
    """

    def __init__(self, queries: Sequence[DevelopmentQuery], steps: int) -> None:
        self._queries, self._steps = list(queries), steps

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **parts: Any
    ) -> None:
        """Measure what training starts from; a run that goes on has it in its log."""
        if state.global_step == 0:
            self._measure(state, parts["model"])

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **parts: Any
    ) -> None:
        """Measure when it is time."""
        if state.global_step == state.max_steps or state.global_step % self._steps == 0:
            self._measure(state, parts["model"])

    def _measure(self, state: TrainerState, model: Any) -> None:
        if not state.is_world_process_zero:  # one process is enough
            return
        figures = best_figures(self._queries, candidate_scores(model, self._queries))
        logger.info("step %d: %s", state.global_step, ", ".join(f"{k} {v:.3f}" for k, v in figures.items()))
        named = {f"development_{name}": value for name, value in figures.items()}
        state.log_history.append({**named, "step": state.global_step})


def candidate_scores(model: Any, queries: Sequence[DevelopmentQuery]) -> list[FloatArray]:
    """Return a `CrossEncoder`'s raw scores of every query's candidates, an array a query."""
    torch = require("torch", extra="train", purpose="training")
    pairs = [(query.query, text) for query in queries for text in query.documents]
    scores = model.predict(pairs, batch_size=32, show_progress_bar=False, activation_fn=torch.nn.Identity())
    ends = np.cumsum([len(query.documents) for query in queries])
    return list(np.split(np.asarray(scores, dtype=np.float32), ends[:-1]))


def best_figures(queries: Sequence[DevelopmentQuery], scores: Sequence[FloatArray]) -> dict[str, float]:
    """Return the figures with the bonus of the best balanced@1, and the bonus."""
    unit = float(np.concatenate(scores).std())
    tried = [{**development_figures(queries, scores, bonus=b * unit), "bonus": b * unit} for b in _BONUSES]
    return max(tried, key=lambda figures: figures["balanced@1"])


def read_development(path: str | Path, *, limit: int | None = None) -> list[DevelopmentQuery]:
    """Return the queries of a development.parquet; with `limit` so many of them, spread evenly over the file."""
    parquet: Any = require("pyarrow.parquet", extra="train", purpose="a development set")
    rows = parquet.read_table(path).to_pylist()
    if limit is not None and limit < len(rows):
        rows = [rows[place * len(rows) // limit] for place in range(limit)]
    lists = ("documents", "groups", "languages", "similarities")
    return [DevelopmentQuery(**{**row, **{name: tuple(row[name]) for name in lists}}) for row in rows]
