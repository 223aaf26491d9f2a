"""The README of a trained model: what it is, what it was trained on, and what it showed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lamar_trainers.training_config import StageConfig, TrainingConfig

_DATA = {
    "ntrex": ("NTREX-128", "CC BY-SA 4.0"),
    "tico19": ("TICO-19", "CC0 1.0"),
    "mmarco": ("unicamp-dl/mmarco", "see its card"),
    "miracl": ("nlpai-lab/miracl-multilingual-triplets", "see its card"),
    "rlhn": ("rlhn/rlhn-250K", "CC BY-SA 4.0"),
}


def write_model_card(folder: str | Path, config: TrainingConfig, figures: Mapping[str, float] | None) -> None:
    """Write README.md into a model's folder.

    Args:
        folder: of the model.
        config: of the run.
        figures: of the development set, if they were measured.
    """
    (Path(folder) / "README.md").write_text(_text(config, figures), encoding="utf-8")


def _text(config: TrainingConfig, figures: Mapping[str, float] | None) -> str:
    model = config.model
    kept = "all layers" if model.layers is None else f"its lowest {model.layers} layers"
    lines = [
        "---",
        "library_name: sentence-transformers",
        "pipeline_tag: text-ranking",
        f"base_model: {model.base}",
        "---",
        "",
        f"# {config.name}",
        "",
        f"A multilingual cross-encoder reranker on {model.base} ({kept}), trained with lamar-rag in two stages: "
        f"{config.distill.loss}, then {config.align.loss}. It reads {model.max_length} tokens and returns one logit.",
        "",
        "## Training data",
        "",
        *(f"- {_source(name, source)}" for name, source in config.synthesis.sources.items()),
        "",
        "## Recipe",
        "",
        "| stage | loss | learning rate | batch | warmup | weights |",
        "| --- | --- | --- | --- | --- | --- |",
        _stage("distill", config.distill),
        _stage("align", config.align),
        "",
        f"Teacher: {', '.join(config.teacher.scorers)} (fusion: {config.teacher.fusion}). Seed {config.seed}.",
    ]
    if figures:
        lines += ["", "## Development set", "", "| figure | value |", "| --- | --- |"]
        lines += [f"| {name} | {value:.3f} |" for name, value in figures.items()]
    return "\n".join(lines) + "\n"


def _source(name: str, source: Any) -> str:
    title, licence = _DATA.get(source.kind, (name, "as its own SOURCE says"))
    return f"{title} ({source.path}), licence: {licence}"


def _stage(name: str, stage: StageConfig) -> str:
    weights = ", ".join(f"{key} {value:g}" for key, value in stage.weights.items()) or "-"
    batch = stage.batch_size * stage.gradient_accumulation
    return f"| {name} | {stage.loss} | {stage.learning_rate:g} | {batch} | {stage.warmup:g} | {weights} |"
