"""The contrastive first stage: its loss by hand, and over a real, tiny cross-encoder."""

from __future__ import annotations

import math

import pytest
import torch
from lamar_trainers.contrastive_objective import ContrastiveObjective
from lamar_trainers.losses import contrastive_loss
from sentence_transformers import CrossEncoder
from tiny_models import tiny_cross_encoder

COLUMNS = [
    ["the cat", "a dog"],
    ["the cat sat", "a dog barked"],
    ["cat on mat", "dog at night"],
    ["the mat", "a night"],
]


@pytest.fixture
def model(tmp_path):
    model = CrossEncoder(str(tiny_cross_encoder(tmp_path / "tiny")), device="cpu")
    model.eval()
    return model


def scores(model):
    pairs = [[(q, d) for q, d in zip(COLUMNS[0], column, strict=True)] for column in COLUMNS[1:]]
    columns = [
        model.predict(column, activation_fn=torch.nn.Identity(), convert_to_tensor=True) for column in pairs
    ]
    return torch.stack(columns, dim=1)


def test_the_loss_by_hand():
    # softmax: exp(0) / (exp(0) + exp(log 3)) = 1/4; sigmoids: 1/2 for the positive, 3/4 for the negative
    found = contrastive_loss(torch.tensor([[0.0, math.log(3.0)]]), binary_weight=0.5)
    binary = (-math.log(1 / 2) - math.log(1 / 4)) / 2
    assert found.item() == pytest.approx(math.log(4) + 0.5 * binary)


def test_the_loss_falls_with_the_positive_s_score_and_with_the_negatives():
    values = torch.tensor([[0.3, -0.2, 1.0]], dtype=torch.float64, requires_grad=True)
    contrastive_loss(values).backward()
    assert values.grad[0, 0] < 0 < min(values.grad[0, 1:])
    assert torch.autograd.gradcheck(contrastive_loss, (values,))


@pytest.mark.parametrize("weight", [0.0, 0.3])
def test_the_objective_is_the_loss_of_predicted_scores_and_the_distance_to_the_teacher(model, weight):
    teacher = torch.tensor([[2.0, -1.0, -3.0], [4.0, 0.0, -2.0]])
    plain = scores(model)
    expected = contrastive_loss(plain, binary_weight=0.7) + weight * ((plain - teacher) ** 2).mean()
    objective = ContrastiveObjective(model, binary_weight=0.7, teacher_weight=weight)
    for labels in (teacher, list(teacher.double())):
        assert objective(COLUMNS, labels).item() == pytest.approx(expected.item(), abs=1e-5)
    assert objective.get_config_dict() == {"binary_weight": 0.7, "teacher_weight": weight}


def test_mistakes_are_named(model):
    with pytest.raises(ValueError, match="got 2 columns, expected a query and at least 2 documents"):
        ContrastiveObjective(model)(COLUMNS[:2])
    with pytest.raises(ValueError, match="got no teacher's scores and teacher_weight=1"):
        ContrastiveObjective(model, teacher_weight=1.0)(COLUMNS)
    with pytest.raises(ValueError, match=r"expected \(B, N\)"):
        contrastive_loss(torch.zeros(3))
