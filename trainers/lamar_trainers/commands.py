"""`lamar train`: the trainers on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

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
    from lamar_trainers.synthesis_run import Synthesis
    from lamar_trainers.training_config import load_config

    _show(Synthesis(load_config(config), data, work).run(), as_json)


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
    from lamar_trainers.teacher import run_teacher
    from lamar_trainers.training_config import load_config

    _show(run_teacher(load_config(config), work, workers=workers), as_json)


@app.command()
def distill(config: str = _CONFIG, work: Path = _WORK, as_json: bool = _JSON) -> None:
    """Train the first stage; a run that was stopped goes on from its last checkpoint."""
    _train("distill", config, work, as_json)


@app.command()
def align(config: str = _CONFIG, work: Path = _WORK, as_json: bool = _JSON) -> None:
    """Train the second stage on the first one's model, and write what is shipped."""
    _train("align", config, work, as_json)


def _train(stage: Any, config: str, work: Path, as_json: bool) -> None:
    from lamar_trainers.stage_run import run_stage
    from lamar_trainers.training_config import load_config

    _show({"model": str(run_stage(load_config(config), stage, work))}, as_json)


def _show(result: dict[str, Any], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(result, ensure_ascii=False))
        return
    for name, value in result.items():
        typer.echo(f"{name}: {value}")
