"""`lamar train distill` and `align`: one stage on sentence-transformers' trainer, resumed where it stopped."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from transformers import PrinterCallback

from lamar_rag.extras import require
from lamar_trainers.alignment_objective import AlignmentObjective
from lamar_trainers.contrastive_objective import ContrastiveObjective
from lamar_trainers.development_callback import DevelopmentCallback, read_development
from lamar_trainers.length_sampler import LengthBatchSampler
from lamar_trainers.low_rank import add_low_rank
from lamar_trainers.model_card import write_model_card
from lamar_trainers.stage_data import stage_dataset
from lamar_trainers.stage_trainer import StageTrainer
from lamar_trainers.student import encoder, load_student, new_student
from lamar_trainers.training_log import LoggingCallback, plot_training

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder, CrossEncoderTrainingArguments
    from torch import nn

    from lamar_trainers.training_config import StageConfig, TrainingConfig

logger = logging.getLogger(__name__)
Stage = Literal["distill", "align"]
_EVALUATION_QUERIES = 100  # while training; a checkpoint's figures are measured on all
_FILES = {"distillation": "scored.parquet", "contrastive": "scored.parquet", "alignment": "groups.parquet"}


def run_stage(config: TrainingConfig, stage: Stage, work: str | Path, *, name: str | None = None) -> Path:
    """Train a stage to the end and return the folder of the model: `work`/distilled, `work`/aligned or `work`/`name`.

    A run that was stopped goes on from its last checkpoint, with the same batches and the same losses as if it had
    not been.

    Args:
        config: of the run.
        stage: the second begins with the first one's model.
        work: the folder of the run.
        name: of the model's folder and of its checkpoints' folder, for variants of a stage.

    Raises:
        ValueError: an earlier step's files are missing.
    """
    work = Path(work)
    output = work / (name or ("distilled" if stage == "distill" else "aligned"))
    checkpoints = work / "checkpoints" / (name or stage)
    trainer = stage_trainer(config, stage, work, checkpoints)
    checkpoint = last_checkpoint(checkpoints)
    logger.info("%s: %s", stage, "from the start" if checkpoint is None else f"from {checkpoint.name}")
    trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    if trainer.is_world_process_zero():
        _write_model(config, stage, trainer, output)
    return output


def stage_trainer(config: TrainingConfig, stage: Stage, work: Path, checkpoints: Path) -> StageTrainer:
    """Return the trainer of a stage, not yet started."""
    settings: StageConfig = getattr(config, stage)
    # before the model, which takes long to load where a file is missing
    rows = stage_dataset(settings.loss, work / _FILES[settings.loss], cache=work / "cache")
    if stage == "distill":
        model = new_student(config.model, seed=config.seed)
    else:
        start = work / "distilled"
        if not (start / "config.json").is_file():
            raise ValueError(
                f"got no model in {start}, expected that of the first stage: run `lamar train distill`"
            )
        model = load_student(start, config.model)
    if settings.gradient_checkpointing:
        encoder(model).gradient_checkpointing_enable()
    lora, frozen = config.model.lora, config.model.frozen_layers
    low_rank = None if lora is None else add_low_rank(model, lora, frozen_layers=frozen)
    trainer = StageTrainer(
        model=model,
        args=_arguments(config, settings, checkpoints),
        train_dataset=rows,
        loss=stage_objective(model, settings),
    )
    trainer.low_rank = low_rank
    trainer.remove_callback(PrinterCallback)  # it prints dictionaries
    trainer.add_callback(LoggingCallback())
    development = work / "development.parquet"
    if settings.evaluation_steps is not None and development.is_file():
        queries = read_development(development, limit=_EVALUATION_QUERIES)
        trainer.add_callback(DevelopmentCallback(queries, settings.evaluation_steps))
    return trainer


def stage_objective(model: CrossEncoder, settings: StageConfig) -> nn.Module:
    """Return the loss of a stage; its `weights` are rank and coherence, or binary and teacher."""
    weights = settings.weights
    if settings.loss == "alignment":
        return AlignmentObjective(
            model, rank_weight=weights.get("rank", 1.0), coherence_weight=weights.get("coherence", 2.0)
        )
    if settings.loss == "contrastive":
        return ContrastiveObjective(
            model, binary_weight=weights.get("binary", 0.5), teacher_weight=weights.get("teacher", 0.0)
        )
    losses: Any = require("sentence_transformers.cross_encoder.losses", extra="train", purpose="training")
    objective: nn.Module = losses.MSELoss(model)
    return objective


def last_checkpoint(folder: str | Path) -> Path | None:
    """Return the latest whole checkpoint of a folder, None where there is none.

    The trainer's state is written last, so that a checkpoint without it is one that a stop cut short.
    """
    whole = [path.parent for path in Path(folder).glob("checkpoint-*/trainer_state.json")]
    return max(whole, key=lambda path: int(path.name.rpartition("-")[2]), default=None)


def _write_model(config: TrainingConfig, stage: Stage, trainer: StageTrainer, output: Path) -> None:
    settings: StageConfig = getattr(config, stage)
    log = trainer.state.log_history
    trainer.merge()
    trainer.model.save_pretrained(str(output))
    history = {"stage": stage, "settings": settings.model_dump(), "log": log}
    (output / "training.json").write_text(json.dumps(history, indent=1) + "\n", encoding="utf-8")
    plot_training(log, output / "training.svg")
    measured = [entry for entry in log if "development_ndcg@1" in entry]
    figures = {name: value for name, value in measured[-1].items() if name != "step"} if measured else None
    write_model_card(output, config, figures)


def _arguments(config: TrainingConfig, settings: StageConfig, folder: Path) -> CrossEncoderTrainingArguments:
    st: Any = require("sentence_transformers", extra="train", purpose="training")
    arguments: CrossEncoderTrainingArguments = st.CrossEncoderTrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=settings.batch_size,
        gradient_accumulation_steps=settings.gradient_accumulation,
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
        lr_scheduler_type="linear",
        warmup_steps=settings.warmup,
        num_train_epochs=settings.epochs,
        max_steps=settings.max_steps or -1,
        bf16=settings.bf16,
        use_cpu=not torch.accelerator.is_available(),  # said aloud, for bf16 on a CPU is refused otherwise
        seed=config.seed,
        data_seed=config.seed,
        batch_sampler=LengthBatchSampler,
        save_steps=settings.checkpoint_steps,
        save_total_limit=2,
        logging_steps=10,
        report_to=config.report_to or "none",
        disable_tqdm=True,
    )
    return arguments
