"""The second stage's loss on a real, tiny cross-encoder, and in sentence-transformers' own trainer."""

from __future__ import annotations

import pytest
import torch
from datasets import Dataset
from lamar_trainers.alignment_objective import AlignmentObjective
from lamar_trainers.losses import alignment_loss
from sentence_transformers import CrossEncoder
from sentence_transformers.cross_encoder import CrossEncoderTrainer, CrossEncoderTrainingArguments
from tiny_models import tiny_cross_encoder

COLUMNS = ("query", "positive_source", "positive_target", "negative_source", "negative_target")
GROUPS = {
    "query": ["the cat", "a dog"],
    "positive_source": ["the cat sat", "a dog barked"],
    "positive_target": ["cat on mat", "dog at night"],
    "negative_source": ["the mat", "a night"],
    "negative_target": ["on the", "at a"],
}


@pytest.fixture
def model(tmp_path):
    return CrossEncoder(str(tiny_cross_encoder(tmp_path / "tiny")), device="cpu")


def scores(model):
    pairs = [[(q, d) for q, d in zip(GROUPS["query"], GROUPS[name], strict=True)] for name in COLUMNS[1:]]
    columns = [
        model.predict(column, activation_fn=torch.nn.Identity(), convert_to_tensor=True) for column in pairs
    ]
    return torch.stack(columns, dim=1)


@pytest.mark.parametrize("weights", [{}, {"rank_weight": 0.0}, {"coherence_weight": 0.0}])
def test_the_loss_is_that_of_the_scores_that_the_model_predicts(model, weights):
    model.eval()
    found = AlignmentObjective(model, **weights)([GROUPS[name] for name in COLUMNS])
    assert found.item() == pytest.approx(alignment_loss(scores(model), **weights).item(), abs=1e-5)


@pytest.mark.slow
def test_training_prefers_relevance_first_and_the_query_s_language_second(model, tmp_path):
    weights = {"coherence_weight": 0.2}
    before = alignment_loss(scores(model), **weights).item()
    arguments = CrossEncoderTrainingArguments(
        output_dir=str(tmp_path / "out"),
        max_steps=60,
        per_device_train_batch_size=2,
        learning_rate=5e-3,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
        use_cpu=True,
        seed=1,
    )
    CrossEncoderTrainer(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_dict(GROUPS),
        loss=AlignmentObjective(model, **weights),
    ).train()
    model.eval()
    after = scores(model)
    assert alignment_loss(after, **weights).item() < 0.7 * before
    positive_source, positive_target, negative_source, negative_target = after.unbind(dim=1)
    assert (
        torch.minimum(positive_source, positive_target) > torch.maximum(negative_source, negative_target)
    ).all()
    assert (positive_source > positive_target).all()
    assert (negative_source > negative_target).all()


def test_mistakes_are_named(model, tmp_path):
    with pytest.raises(ValueError, match="got 3 columns, expected 5"):
        AlignmentObjective(model)([["q"], ["a"], ["b"]])
    three = CrossEncoder(str(tiny_cross_encoder(tmp_path / "three", labels=3)), device="cpu")
    with pytest.raises(ValueError, match="got a model with 3 labels, expected 1"):
        AlignmentObjective(three)
