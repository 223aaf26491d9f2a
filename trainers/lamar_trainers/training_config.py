"""What a training run is made of, as a YAML file says it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError


class Section(BaseModel):
    """A part of the file: unknown keys are mistakes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SourceConfig(Section):
    """A corpus.

    `path` is relative to the data folder; a pattern where the corpus is of several files. `window` is the sentences
    of a positive document that is made of lines; sources of the same kind hold out the same documents, so that one
    may have another window than the other. Without `development` none of its held-out documents are asked for.
    """

    kind: Literal[
        "ntrex", "tico19", "sections", "questions", "parallel", "labelled", "mmarco", "miracl", "rlhn"
    ]
    path: str
    languages: list[str] | None = None
    select: Literal["own_and_sampled", "triplet_rounds", "contrastive"] = "contrastive"
    repetitions: int = Field(1, ge=1)
    passages: int | None = Field(None, ge=2)
    questions: int = Field(2, ge=1)
    window: int = Field(4, ge=1)
    align: bool = False
    development: bool = True


class LoraSettings(Section):
    """Low-rank matrices beside the encoder's, instead of training it whole."""

    rank: int = Field(16, ge=1)
    alpha: int = Field(32, ge=1)
    dropout: float = Field(0.0, ge=0, lt=1)


class ModelConfig(Section):
    """The student: `layers` keeps the lowest so many, `frozen_layers` of them (and the embeddings) are not trained.

    `dropout` replaces the base's; none is much faster on a CPU, and enough for less than an epoch. With `lora` only
    low-rank matrices and the head are trained; what is written is the merged model.
    """

    base: str
    layers: int | None = Field(None, ge=1)
    frozen_embeddings: bool = False
    frozen_layers: int = Field(0, ge=0)
    dropout: float | None = Field(None, ge=0, lt=1)
    max_length: int = Field(8192, ge=8)
    lora: LoraSettings | None = None


class TeacherConfig(Section):
    """The scorers whose scores of the English pairs the student learns; several are fused by calibration."""

    scorers: list[str] = Field(min_length=1)
    fusion: Literal["none", "calibrated"] = "none"


class StageConfig(Section):
    """One stage of training."""

    loss: Literal["distillation", "contrastive", "alignment"]
    learning_rate: float = Field(gt=0)
    batch_size: int = Field(ge=1)
    gradient_accumulation: int = Field(1, ge=1)
    gradient_checkpointing: bool = False
    warmup: float = Field(0.1, ge=0, lt=1)
    epochs: float = Field(1.0, gt=0)
    max_steps: int | None = Field(None, ge=1)
    bf16: bool = False
    weight_decay: float = Field(0.0, ge=0)
    weights: dict[str, float] = {}
    checkpoint_steps: int = Field(200, ge=1)
    evaluation_steps: int | None = Field(None, ge=1)


class SynthesisConfig(Section):
    """Which instances are made of the corpora.

    With `near_negatives` a stage-2 group's negative is one of the embedder's nearest, not its triplet's own.
    `embedder_dtype` is the embedder's number format; "bfloat16" is much faster on devices that have it.
    """

    sources: dict[str, SourceConfig]
    negatives: int = Field(3, ge=1)
    nearest: int = Field(10, ge=1)
    repetitions: int = Field(3, ge=1)
    development_share: float = Field(0.0, ge=0, lt=1)
    development_languages: list[str] = []
    embedder: str | None = None
    embedder_dtype: Literal["float32", "bfloat16", "float16"] | None = None
    near_negatives: bool = False


class TrainingConfig(Section):
    """A whole run."""

    name: str
    seed: int
    model: ModelConfig
    synthesis: SynthesisConfig
    teacher: TeacherConfig
    distill: StageConfig
    align: StageConfig
    report_to: list[str] = []


def load_config(source: str | Path, **changes: Any) -> TrainingConfig:
    """Return the configuration of a file, or of a shipped one by its name ("paper", "mini", "smoke").

    A file that says `extends: NAME` (a shipped one's name, or a file) changes what it names of that one.

    Raises:
        ValueError: no such file, or one that says something else than a configuration.
    """
    path, content = _content(source)
    try:
        return TrainingConfig.model_validate({**content, **changes} if isinstance(content, dict) else content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole file"
        raise ValueError(
            f"got {first['input']!r:.80} for {place} in {path}, expected: {first['msg']}"
        ) from error


def _content(source: str | Path, seen: tuple[Path, ...] = ()) -> tuple[Path, Any]:
    """Return a configuration's file and what it says, with what it extends; `seen` extend it."""
    folder = Path(__file__).parent / "configs"
    shipped = folder / f"{source}.yaml"
    path = shipped if shipped.is_file() else Path(source)
    if not path.is_file():
        names = ", ".join(sorted(file.stem for file in folder.glob("*.yaml")))
        raise ValueError(f"got configuration {source}, expected a YAML file or one of {names}")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ValueError(f"got no YAML in {path}: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict) or "extends" not in content:
        return path, content
    if path in seen:
        raise ValueError(f"got {path}, which extends itself, expected another configuration's name or file")
    base = _content(content.pop("extends"), (*seen, path))[1]
    return path, _merged(base, content)


def _merged(base: Any, changes: Any) -> Any:
    if not (isinstance(base, dict) and isinstance(changes, dict)):
        return changes
    return {**base, **{key: _merged(base.get(key), value) for key, value in changes.items()}}
