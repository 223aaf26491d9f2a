"""The losses of both training stages (LAMAR, section 3): pure functions of score tensors.

In a group the documents stand in the order of equation 3: positive in the query's language (source), positive in the
target language, negative in the source language, negative in the target language.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, mse_loss, softplus

GROUP_LABELS = (1.0, 1.0, 0.0, 0.0)


def distillation_loss(scores: Tensor, teacher_scores: Tensor) -> Tensor:
    """Return the mean squared difference to the teacher's scores (equation 1).

    Args:
        scores: the student's, of the multilingual pairs, shape (B,).
        teacher_scores: the teacher's, of the English pairs that they correspond to, shape (B,).

    Raises:
        ValueError: other shapes.
    """
    if scores.ndim != 1 or scores.shape != teacher_scores.shape:
        raise ValueError(
            f"got scores of shape {tuple(scores.shape)} and teacher_scores of shape "
            f"{tuple(teacher_scores.shape)}, expected (B,) for both"
        )
    return mse_loss(scores, teacher_scores.to(scores.dtype))


def approximate_ranks(scores: Tensor) -> Tensor:
    """Return differentiable ranks, 1 for the best, shape (B, N) as the scores (equation 4)."""
    beaten_by = torch.sigmoid(
        scores.unsqueeze(1) - scores.unsqueeze(2)
    )  # (B, N, N): by how much j is above i
    return 1.0 + beaten_by.sum(dim=2) - 0.5  # a document's comparison with itself is sigmoid(0)


def average_ranks(labels: Tensor) -> Tensor:
    """Return the ranks that labels induce, ties sharing their mean, shape (B, N) as the labels."""
    above = (labels.unsqueeze(1) > labels.unsqueeze(2)).sum(dim=2)
    equal = (labels.unsqueeze(1) == labels.unsqueeze(2)).sum(dim=2)
    return above + (equal + 1.0) / 2.0


def group_ranking_loss(scores: Tensor, labels: Tensor) -> Tensor:
    """Return ADR-MSE: the squared rank differences, weighted by 1 / log2(rank + 1), their mean (equation 5).

    The ranks are those of the labels, the mean is taken over the documents of a group and over the groups.
    Equals sentence-transformers' `ADRMSELoss` (Schlatt et al. 2025).

    Args:
        scores: shape (B, N).
        labels: relevance of the documents, shape (B, N); the higher the more relevant.

    Raises:
        ValueError: other shapes.
    """
    _check_groups(scores)
    if scores.shape != labels.shape:
        raise ValueError(
            f"got scores of shape {tuple(scores.shape)} and labels of shape {tuple(labels.shape)}, "
            "expected (B, N) for both"
        )
    ranks = average_ranks(labels).to(scores.dtype)
    weights = 1.0 / torch.log2(ranks + 1.0)
    return (weights * (ranks - approximate_ranks(scores)).square()).mean()


def language_coherence_loss(scores: Tensor) -> Tensor:
    """Return the mean softplus by which documents in the target language exceed those in the source language.

    Equation 6. Where both languages are the same, the two texts of a pair are one, and each term is softplus(0).

    Args:
        scores: shape (B, 4), in the order of a group.

    Raises:
        ValueError: another shape.
    """
    _check_groups(scores, size=len(GROUP_LABELS))
    positive_source, positive_target, negative_source, negative_target = scores.unbind(dim=1)
    terms = softplus(positive_target - positive_source) + softplus(negative_target - negative_source)
    return 0.5 * terms.mean()


def alignment_loss(scores: Tensor, *, rank_weight: float = 1.0, coherence_weight: float = 2.0) -> Tensor:
    """Return the ranking loss of groups plus `coherence_weight` (lambda) times the coherence loss (equation 2).

    Args:
        scores: shape (B, 4), in the order of a group.
        rank_weight: 1 in the paper; 0 leaves the ranking loss out (its ablation).
        coherence_weight: 2 in the paper (section 4.2); 0 leaves the coherence loss out.

    Raises:
        ValueError: another shape.
    """
    _check_groups(scores, size=len(GROUP_LABELS))
    labels = scores.new_tensor(GROUP_LABELS).expand_as(scores)
    loss = scores.new_zeros(())
    if rank_weight:
        loss = loss + rank_weight * group_ranking_loss(scores, labels)
    if coherence_weight:
        loss = loss + coherence_weight * language_coherence_loss(scores)
    return loss


def contrastive_loss(scores: Tensor, *, binary_weight: float = 0.5) -> Tensor:
    """Return the softmax cross-entropy of the first document plus `binary_weight` times the binary one of all.

    Not in the paper. The first term orders a group, the second keeps scores of different groups comparable.

    Args:
        scores: shape (B, N), the positive document first.
        binary_weight: of the binary cross-entropy.

    Raises:
        ValueError: another shape.
    """
    _check_groups(scores)
    ordered = cross_entropy(scores, torch.zeros(len(scores), dtype=torch.long, device=scores.device))
    relevant = torch.zeros_like(scores)
    relevant[:, 0] = 1.0
    return ordered + binary_weight * binary_cross_entropy_with_logits(scores, relevant)


def _check_groups(scores: Tensor, size: int | None = None) -> None:
    if scores.ndim != 2 or (size is not None and scores.shape[1] != size):
        raise ValueError(f"got scores of shape {tuple(scores.shape)}, expected (B, {size or 'N'})")
