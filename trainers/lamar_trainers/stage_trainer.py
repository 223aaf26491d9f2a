"""sentence-transformers' trainer, which also goes on from checkpoints of models with LoRA."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from safetensors.torch import load_model
from sentence_transformers import CrossEncoderTrainer
from torch import nn

from lamar_trainers.low_rank import merge_low_rank
from lamar_trainers.student import encoder


class StageTrainer(CrossEncoderTrainer):
    """A `CrossEncoderTrainer`.

    Attributes:
        low_rank: peft's handle on the model's low-rank matrices; None: all of the model is trained.
    """

    low_rank: Any = None

    def merge(self) -> None:
        """Make the trained model an ordinary one."""
        if self.low_rank is not None:
            merge_low_rank(self.low_rank)
            self.low_rank = None

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: nn.Module | None = None) -> None:
        if self.low_rank is None:
            super()._load_from_checkpoint(resume_from_checkpoint)
        else:  # a plain model has no place for the matrices
            load_model(encoder(self.model), Path(resume_from_checkpoint) / "model.safetensors")
