"""LoRA: what is trained, what is written, and that a stopped run goes on."""

from __future__ import annotations

import shutil

import numpy as np
from lamar_trainers.low_rank import add_low_rank
from lamar_trainers.stage_run import run_stage
from lamar_trainers.student import encoder, new_student
from lamar_trainers.training_config import LoraSettings
from safetensors.torch import load_file
from training_parts import config, losses, model_scores

LORA = {"lora": {"rank": 2, "alpha": 4}, "dropout": 0.0}


def test_only_the_matrices_and_the_head_are_trained(work):
    made = config(work / "tiny")
    model = new_student(made.model, seed=5)
    before = model.predict([("cat", "the mat")])
    tuner = add_low_rank(model, LoraSettings(rank=2, alpha=4), frozen_layers=1)
    trained = {name for name, value in encoder(model).named_parameters() if value.requires_grad}
    matrices = {name for name in trained if ".lora_" in name}
    assert matrices
    assert all(".layer.1." in name for name in matrices)
    assert all(name.startswith("classifier.") for name in trained - matrices)
    np.testing.assert_array_equal(model.predict([("cat", "the mat")]), before)  # they begin as zero
    tuner.merge_and_unload()
    assert encoder(model).state_dict().keys() == new_student(made.model, seed=5).model.state_dict().keys()


def test_what_is_written_is_an_ordinary_model_with_changes_of_low_rank(work):
    made = config(work / "tiny", **LORA)
    before = new_student(made.model, seed=5).model.state_dict()
    output = run_stage(made, "distill", work)
    assert losses(output)[-1] < 0.8 * losses(output)[0]
    after = load_file(output / "model.safetensors")
    assert after.keys() == before.keys()
    for name, value in after.items():
        difference = value - before[name]
        if ".layer." in name and name.endswith(".weight") and difference.ndim == 2:
            assert 1 <= np.linalg.matrix_rank(difference.numpy(), tol=1e-4) <= 2
        elif not name.startswith("classifier."):
            assert not difference.any(), name


def test_a_stopped_run_goes_on_from_its_checkpoint(work):
    made = config(work / "tiny", **LORA)
    output = run_stage(made, "distill", work)
    whole, scores = losses(output), model_scores(output)
    shutil.rmtree(output)
    shutil.rmtree(work / "checkpoints" / "distill" / "checkpoint-120")
    output = run_stage(made, "distill", work)
    np.testing.assert_allclose(losses(output), whole, rtol=1e-4)
    np.testing.assert_allclose(model_scores(output), scores, atol=1e-2)
