"""`lamar train ablate`: what each part of the second stage's loss is for (LAMAR, section 5.4 and figure 4)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamar_rag.extras import require
from lamar_trainers.development_callback import candidate_scores, read_development
from lamar_trainers.development_figures import development_figures
from lamar_trainers.stage_run import run_stage
from lamar_trainers.student import load_student

if TYPE_CHECKING:
    from lamar_trainers.training_config import TrainingConfig

STAGE_1, FULL = "stage 1", "stage 1+2"
_WITHOUT = {"without L_LC": "coherence", "without L_rank": "rank"}
_FIGURES = ("coherence@1", "ndcg@1", "rescue@1")


def run_ablation(
    config: TrainingConfig, work: str | Path, *, limit: int | None = None
) -> dict[str, dict[str, float]]:
    """Train the second stage without either loss, and return the development figures of all variants, without a dial.

    ablation.json, ablation.md and ablation.svg in `work` hold them too. Variants that are trained already stay.

    Args:
        config: of the run, both stages of which are done.
        work: the folder of the run.
        limit: development queries to measure on; None: all.

    Raises:
        ValueError: no development set, or a stage that is not done.
    """
    work = Path(work)
    folders = {STAGE_1: work / "distilled", FULL: work / "aligned"}
    for path in (work / "development.parquet", *(folder / "config.json" for folder in folders.values())):
        if not path.is_file():
            raise ValueError(f"got no {path}, expected a run with both stages done and a development set")
    for variant, loss in _WITHOUT.items():
        weights = {**config.align.weights, loss: 0.0}
        changed = config.model_copy(update={"align": config.align.model_copy(update={"weights": weights})})
        name = "ablation-" + variant.replace(" ", "-")
        folders[variant] = work / name
        if not (work / name / "training.json").is_file():
            run_stage(changed, "align", work, name=name)
    queries = read_development(work / "development.parquet", limit=limit)
    order = (STAGE_1, *_WITHOUT, FULL)
    figures = {
        variant: development_figures(
            queries, candidate_scores(load_student(folders[variant], config.model), queries)
        )
        for variant in order
    }
    (work / "ablation.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    (work / "ablation.md").write_text(ablation_table(figures), encoding="utf-8")
    plot_ablation(figures, work / "ablation.svg")
    return figures


def ablation_table(figures: Mapping[str, Mapping[str, float]]) -> str:
    """Return the figures as a Markdown table, a row a variant."""
    names = (*_FIGURES, "balanced@1")
    lines = [f"| variant | {' | '.join(names)} |", "| --- |" + " --- |" * len(names)]
    lines += [
        f"| {variant} | {' | '.join(f'{row[name]:.3f}' for name in names)} |"
        for variant, row in figures.items()
    ]
    return "\n".join(lines) + "\n"


def plot_ablation(figures: Mapping[str, Mapping[str, float]], path: str | Path) -> None:
    """Draw the figures as bars, with dashed lines at the full model's and the differences to it (figure 4's form)."""
    matplotlib: Any = require("matplotlib", extra="train", purpose="the picture of the ablation")
    matplotlib.use("Agg")
    pyplot: Any = require("matplotlib.pyplot", extra="train", purpose="the picture of the ablation")
    figure, panels = pyplot.subplots(1, len(_FIGURES), figsize=(3.2 * len(_FIGURES), 3), layout="constrained")
    for axes, name in zip(panels, _FIGURES, strict=True):
        values = [row[name] for row in figures.values()]
        _bars(axes, list(figures), values, figures[FULL][name])
        axes.set_title(name)
    figure.savefig(path)
    pyplot.close(figure)


def _bars(axes: Any, names: Sequence[str], values: Sequence[float], full: float) -> None:
    axes.barh(names, values, color="tab:blue", alpha=0.7)
    axes.axvline(full, linestyle="--", color="black", linewidth=1)
    for place, value in enumerate(values):
        axes.text(value, place, f" {value:.3f} ({value - full:+.3f})", va="center", fontsize=7)
    axes.set_xlim(0, 1.35)
    axes.invert_yaxis()
