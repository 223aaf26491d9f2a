"""`lamar train`: the trainers on the command line."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from lamar_rag.extras import require

if TYPE_CHECKING:
    from lamar_trainers.training_config import TrainingConfig

app = typer.Typer(
    help="Train a reranker in the paper's two stages: synthesize, teacher, distill, align.",
    no_args_is_help=True,
)
_CONFIG = typer.Option(
    "mini", "--config", help="A YAML file, or a shipped configuration: paper, mini, smoke."
)
_DATA = typer.Option(..., "--data", help="The folder that the configuration's sources start from.")
_WORK = typer.Option(..., "--work", help="The folder of the run: all that it makes, so that it can go on.")
_JSON = typer.Option(False, "--json", help="Print one JSON object.")


@app.command()
def synthesize(config: str = _CONFIG, data: Path = _DATA, work: Path = _WORK, as_json: bool = _JSON) -> None:
    """Make the instances of both stages, and a development set, from corpora."""
    loaded = _loaded(config)
    from lamar_trainers.synthesis_run import Synthesis

    _show(Synthesis(loaded, data, work).run(), as_json)


@app.command()
def teacher(
    config: str = _CONFIG,
    work: Path = _WORK,
    workers: int = typer.Option(
        1, "--workers", min=1, help="Threads that score, for a teacher behind a URL."
    ),
    as_json: bool = _JSON,
) -> None:
    """Score the English pairs with the teacher; what is scored already stays."""
    loaded = _loaded(config)
    from lamar_trainers.teacher import run_teacher

    _show(run_teacher(loaded, work, workers=workers), as_json)


@app.command()
def distill(config: str = _CONFIG, work: Path = _WORK, as_json: bool = _JSON) -> None:
    """Train the first stage; a run that was stopped goes on from its last checkpoint."""
    _train("distill", config, work, as_json)


@app.command()
def align(config: str = _CONFIG, work: Path = _WORK, as_json: bool = _JSON) -> None:
    """Train the second stage on the first one's model, and write what is shipped."""
    _train("align", config, work, as_json)


@app.command()
def ablate(
    config: str = _CONFIG,
    work: Path = _WORK,
    limit: int | None = typer.Option(None, "--limit", min=1, help="Development queries to measure on."),
    as_json: bool = _JSON,
) -> None:
    """Train the second stage without either of its losses, and compare all on the development set."""
    loaded = _loaded(config)
    from lamar_trainers.ablation import ablation_table, run_ablation

    figures = run_ablation(loaded, work, limit=limit)
    typer.echo(json.dumps(figures) if as_json else ablation_table(figures))


def _train(stage: Any, config: str, work: Path, as_json: bool) -> None:
    loaded = _loaded(config)
    from lamar_trainers.stage_run import run_stage

    _show({"model": str(run_stage(loaded, stage, work))}, as_json)


def _loaded(config: str) -> TrainingConfig:
    """Return the configuration; a missing extra is named before anything else, and the progress is shown."""
    for module in ("pydantic", "yaml", "datasets", "sentence_transformers", "matplotlib"):
        require(module, extra="train", purpose="lamar train")
    from lamar_trainers.training_config import load_config

    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    logger = logging.getLogger("lamar_trainers")
    if not logger.handlers:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    return load_config(config)


def _show(result: dict[str, Any], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(result, ensure_ascii=False))
        return
    for name, value in result.items():
        typer.echo(f"{name}: {value}")
