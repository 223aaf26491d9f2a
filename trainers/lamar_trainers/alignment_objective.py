"""The second stage's loss as sentence-transformers' CrossEncoderTrainer takes it: over groups of texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor, nn

from lamar_trainers.group_scores import check_single_label, group_scores
from lamar_trainers.losses import GROUP_LABELS, alignment_loss

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder


class AlignmentObjective(nn.Module):
    """`alignment_loss` of a cross-encoder's scores for groups (LAMAR, equation 2).

    | columns of the dataset, in this order                                                 | label |
    | ------------------------------------------------------------------------------------- | ----- |
    | query, positive_source, positive_target, negative_source, negative_target (all texts) | none  |

    For the first stage sentence-transformers' `MSELoss` is equation 1, with the teacher's scores as labels.

    Args:
        model: with one label.
        rank_weight: of the ranking loss.
        coherence_weight: of the coherence loss, lambda in the paper.

    Raises:
        ValueError: a model with another number of labels.

    Example:
        >>> CrossEncoderTrainer(model=model, train_dataset=groups, loss=AlignmentObjective(model)).train()
    """

    def __init__(
        self, model: CrossEncoder, *, rank_weight: float = 1.0, coherence_weight: float = 2.0
    ) -> None:
        super().__init__()
        check_single_label(model)
        self.model = model
        self.rank_weight, self.coherence_weight = rank_weight, coherence_weight

    def forward(
        self,
        inputs: list[list[str]],
        labels: Tensor | None = None,
        prompt: str | None = None,
        task: str | None = None,
    ) -> Tensor:
        """Return the loss of a batch of groups.

        Args:
            inputs: the columns, each with B texts.
            labels: none are needed; the order of the columns says what is relevant.
            prompt: passed on to the model.
            task: passed on to the model.

        Raises:
            ValueError: another number of columns.
        """
        if len(inputs) != 1 + len(GROUP_LABELS):
            raise ValueError(
                f"got {len(inputs)} columns, expected 5: query, positive_source, positive_target, negative_source, "
                "negative_target"
            )
        scores = group_scores(self.model, inputs, prompt=prompt, task=task)
        return alignment_loss(scores, rank_weight=self.rank_weight, coherence_weight=self.coherence_weight)

    def get_config_dict(self) -> dict[str, float]:
        """Return what a model card says of the loss."""
        return {"rank_weight": self.rank_weight, "coherence_weight": self.coherence_weight}
