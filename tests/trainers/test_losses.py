"""The losses against values worked out by hand, sentence-transformers, and numerical gradients."""

from __future__ import annotations

import math

import pytest
import torch
from lamar_trainers.losses import (
    GROUP_LABELS,
    alignment_loss,
    approximate_ranks,
    average_ranks,
    distillation_loss,
    group_ranking_loss,
    language_coherence_loss,
)
from sentence_transformers.cross_encoder.losses import ADRMSELoss

LABELS = torch.tensor([GROUP_LABELS])
SIGMOID = {x: 1 / (1 + math.exp(-x)) for x in (-3, -2, -1, 1, 2, 3)}


class GivenScores:
    """A model of sentence-transformers whose scores are given."""

    num_labels, device = 1, torch.device("cpu")

    def __init__(self, scores):
        self.scores = scores

    def preprocess(self, pairs, **_):
        return {"row": torch.tensor([[int(document)] for _, document in pairs])}

    def __call__(self, features):
        return {"scores": self.scores[features["row"]]}


def reference(scores, labels):
    """ADRMSELoss on scores (B, N)."""
    flat = scores.flatten()
    loss = ADRMSELoss.__new__(ADRMSELoss)
    torch.nn.Module.__init__(loss)
    loss.model, loss.alpha, loss.activation_fn, loss.mini_batch_size = (
        GivenScores(flat),
        1.0,
        torch.nn.Identity(),
        None,
    )
    rows = torch.arange(flat.numel()).reshape(scores.shape)
    documents = [[str(int(i)) for i in row] for row in rows]
    return loss([["q"] * len(scores), documents], list(labels))


def test_distillation_is_the_mean_squared_difference():
    scores, teacher = torch.tensor([1.0, -2.0, 0.5]), torch.tensor([0.0, 1.0, 0.5])
    assert distillation_loss(scores, teacher).item() == pytest.approx((1 + 9 + 0) / 3)


def test_approximate_ranks_by_hand():
    ranks = approximate_ranks(torch.tensor([[2.0, 1.0, -1.0]]))
    expected = [
        1 + SIGMOID[-1] + SIGMOID[-3],
        1 + SIGMOID[1] + SIGMOID[-2],
        1 + SIGMOID[3] + SIGMOID[2],
    ]
    assert ranks[0].tolist() == pytest.approx(expected, abs=1e-6)
    assert approximate_ranks(torch.tensor([[300.0, 200.0, 100.0]]))[0].tolist() == [1.0, 2.0, 3.0]
    assert approximate_ranks(torch.zeros(1, 4))[0].tolist() == [2.5] * 4


@pytest.mark.parametrize(
    ("labels", "ranks"),
    [
        ([1, 1, 0, 0], [1.5, 1.5, 3.5, 3.5]),
        ([0, 1, 2], [3, 2, 1]),
        ([5, 5, 5], [2, 2, 2]),
        ([0.5, 1, 0.5, 0.5], [3, 1, 3, 3]),
    ],
)
def test_average_ranks_share_ties(labels, ranks):
    assert average_ranks(torch.tensor([labels], dtype=torch.float32))[0].tolist() == ranks


def test_group_ranking_by_hand():
    """All scores equal: every rank is 2.5, one away from 1.5 and from 3.5."""
    weights = [1 / math.log2(2.5)] * 2 + [1 / math.log2(4.5)] * 2
    expected = sum(weights) / 4
    assert group_ranking_loss(torch.zeros(3, 4), LABELS.expand(3, 4)).item() == pytest.approx(expected)
    apart = torch.tensor([[100.0, 100.0, 0.0, 0.0]])
    assert group_ranking_loss(apart, LABELS).item() == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("size", [2, 4, 7])
def test_group_ranking_equals_sentence_transformers(size):
    generator = torch.Generator().manual_seed(size)
    scores = torch.randn(5, size, generator=generator) * 3
    labels = torch.randint(0, 3, (5, size), generator=generator).float()
    assert group_ranking_loss(scores, labels).item() == pytest.approx(
        reference(scores, labels).item(), rel=1e-6
    )


def test_coherence_by_hand():
    scores = torch.tensor([[2.0, 1.0, -1.0, 2.0], [0.0, 0.0, 0.0, 0.0]])
    first = 0.5 * (math.log1p(math.exp(-1)) + math.log1p(math.exp(3)))
    assert language_coherence_loss(scores).item() == pytest.approx((first + math.log(2)) / 2, rel=1e-6)


def test_equal_languages_are_not_skipped():
    """The same text twice has the same score, and both terms are softplus(0)."""
    assert language_coherence_loss(torch.tensor([[3.0, 3.0, -1.0, -1.0]])).item() == pytest.approx(
        math.log(2)
    )


def test_alignment_is_the_weighted_sum():
    scores = torch.randn(6, 4, generator=torch.Generator().manual_seed(1))
    rank, coherence = group_ranking_loss(scores, LABELS.expand(6, 4)), language_coherence_loss(scores)
    assert alignment_loss(scores).item() == pytest.approx((rank + 2 * coherence).item())
    assert alignment_loss(scores, coherence_weight=0).item() == pytest.approx(rank.item())
    assert alignment_loss(scores, rank_weight=0, coherence_weight=1).item() == pytest.approx(coherence.item())


@pytest.mark.parametrize("loss", [alignment_loss, language_coherence_loss])
def test_gradients_of_group_losses(loss):
    scores = torch.randn(
        3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(2), requires_grad=True
    )
    assert torch.autograd.gradcheck(loss, scores)


def test_gradients_of_the_ranking_and_distillation_losses():
    generator = torch.Generator().manual_seed(3)
    scores = torch.randn(2, 5, dtype=torch.float64, generator=generator, requires_grad=True)
    labels = torch.tensor([[1, 0, 2, 0, 1], [0, 0, 1, 1, 1]], dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda s: group_ranking_loss(s, labels), scores)
    teacher = torch.randn(10, dtype=torch.float64, generator=generator)
    assert torch.autograd.gradcheck(lambda s: distillation_loss(s.flatten(), teacher), scores)


def test_a_step_along_the_gradient_prefers_the_source_language():
    scores = torch.zeros(1, 4, requires_grad=True)
    alignment_loss(scores).backward()
    positive_source, positive_target, negative_source, negative_target = (-scores.grad[0]).tolist()
    assert positive_source > positive_target > negative_target
    assert positive_source > negative_source > negative_target


@pytest.mark.parametrize(
    ("loss", "arguments"),
    [
        (distillation_loss, (torch.zeros(3), torch.zeros(3, 1))),
        (distillation_loss, (torch.zeros(3, 1), torch.zeros(3, 1))),
        (group_ranking_loss, (torch.zeros(2, 4), torch.zeros(4))),
        (group_ranking_loss, (torch.zeros(4), torch.zeros(4))),
        (language_coherence_loss, (torch.zeros(2, 3),)),
        (alignment_loss, (torch.zeros(4),)),
    ],
)
def test_other_shapes_are_named(loss, arguments):
    with pytest.raises(ValueError, match=r"got .*scores of shape .*, expected \(B"):
        loss(*arguments)
