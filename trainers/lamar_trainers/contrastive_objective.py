"""A contrastive first stage's loss as sentence-transformers' CrossEncoderTrainer takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from lamar_trainers.group_scores import check_single_label, group_scores
from lamar_trainers.losses import contrastive_loss

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder


class ContrastiveObjective(nn.Module):
    """`contrastive_loss` of groups, plus the squared distance to a teacher's scores (equation 1) with a weight.

    | columns of the dataset, in this order                    | label                                       |
    | -------------------------------------------------------- | ------------------------------------------- |
    | query, document_0 (the positive), document_1, ... (texts) | the teacher's scores of the documents (list) |

    Args:
        model: with one label.
        binary_weight: of the binary cross-entropy.
        teacher_weight: of the distance to the teacher; with 0 labels are not needed.

    Raises:
        ValueError: a model with another number of labels.
    """

    def __init__(
        self, model: CrossEncoder, *, binary_weight: float = 0.5, teacher_weight: float = 0.0
    ) -> None:
        super().__init__()
        check_single_label(model)
        self.model = model
        self.binary_weight, self.teacher_weight = binary_weight, teacher_weight

    def forward(
        self,
        inputs: list[list[str]],
        labels: list[Tensor] | Tensor | None = None,
        prompt: str | None = None,
        task: str | None = None,
    ) -> Tensor:
        """Return the loss of a batch of groups.

        Raises:
            ValueError: fewer than two documents, or no teacher's scores where they have a weight.
        """
        if len(inputs) < 3:
            raise ValueError(f"got {len(inputs)} columns, expected a query and at least 2 documents")
        scores = group_scores(self.model, inputs, prompt=prompt, task=task)
        loss = contrastive_loss(scores, binary_weight=self.binary_weight)
        if not self.teacher_weight:
            return loss
        if labels is None:
            raise ValueError(
                f"got no teacher's scores and teacher_weight={self.teacher_weight}, expected a column of labels"
            )
        teacher = labels if isinstance(labels, Tensor) else torch.stack(labels)
        return loss + self.teacher_weight * mse_loss(scores, teacher.to(scores))

    def get_config_dict(self) -> dict[str, float]:
        """Return what a model card says of the loss."""
        return {"binary_weight": self.binary_weight, "teacher_weight": self.teacher_weight}
