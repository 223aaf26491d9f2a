"""A stage of training on a tiny model: it learns, and a run that is killed ends as one that was not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from lamar_trainers.length_sampler import LengthBatchSampler
from lamar_trainers.stage_data import stage_dataset
from lamar_trainers.stage_run import last_checkpoint, run_stage, stage_trainer
from lamar_trainers.student import new_student
from safetensors.torch import load_file
from training_parts import config, losses, model_scores

from lamar_rag import Document, Reranker


@pytest.mark.parametrize("loss", ["contrastive", "distillation"])
def test_a_stage_learns_and_the_reranker_loads_it(work, loss):
    output = run_stage(config(work / "tiny", loss), "distill", work)
    found = losses(output)
    assert found[-1] < 0.7 * found[0]
    reranker = Reranker(str(output))
    scores = reranker.score("dog", [Document("mat on the mat"), Document("cat on the mat")])
    assert scores[1] > scores[0]


def test_bfloat16_trains_on_a_cpu_too_and_its_losses_are_near_float32_s(work):
    plain = config(work / "tiny")
    exact = losses(run_stage(plain, "distill", work))
    half = plain.model_copy(update={"distill": plain.distill.model_copy(update={"bf16": True})})
    found = losses(run_stage(half, "distill", work, name="half"))
    assert found != exact
    assert found[0] == pytest.approx(exact[0], rel=0.02)  # bfloat16 has 8 bits
    assert found[-1] < 0.7 * found[0]
    weights = load_file(work / "half" / "model.safetensors")
    assert {str(value.dtype) for value in weights.values()} == {"torch.float32"}


def test_the_second_stage_begins_with_the_first_one_s_model(work):
    made = config(work / "tiny")
    with pytest.raises(ValueError, match="expected that of the first stage: run `lamar train distill`"):
        run_stage(made, "align", work)
    run_stage(made, "distill", work)
    trainer = stage_trainer(made, "align", work, work / "unused")
    before, started = load_file(work / "distilled" / "model.safetensors"), trainer.model.model.state_dict()
    for name, value in before.items():
        np.testing.assert_array_equal(started[name], value)
    output = run_stage(made, "align", work)
    assert (output / "model.safetensors").is_file()
    assert losses(output)


def test_frozen_parts_stay_as_they_were(work):
    frozen = config(work / "tiny", frozen_embeddings=True, frozen_layers=1)
    before = new_student(frozen.model, seed=5).model.state_dict()
    run_stage(frozen, "distill", work)
    after = load_file(work / "distilled" / "model.safetensors")
    changed = {name for name, value in after.items() if not np.array_equal(value, before[name])}
    assert changed
    assert not any(".embeddings." in name or ".layer.0." in name for name in changed)
    with pytest.raises(ValueError, match="got frozen_layers=9"):
        new_student(config(work / "tiny", frozen_layers=9).model, seed=5)


def test_batches_are_of_similar_length_whole_and_the_same_in_every_run(work):
    dataset = stage_dataset("contrastive", work / "scored.parquet", cache=work / "cache")
    assert dataset.column_names == ["query", "document_0", "document_1", "document_2", "label"]

    def batches(seed, epoch=0):
        sampler = LengthBatchSampler(dataset, 4, False, ["label"], seed=seed)
        sampler.set_epoch(epoch)
        found = list(sampler)
        assert len(found) == len(sampler) == 6
        assert sorted(row for batch in found for row in batch) == list(range(24))
        return found

    assert batches(1) == batches(1) != batches(2)
    assert batches(1) != batches(1, epoch=1)
    longest = [max(len(dataset[row][f"document_{place}"]) for place in range(3)) for row in range(24)]
    spans = [max(longest[row] for row in batch) - min(longest[row] for row in batch) for batch in batches(1)]
    assert np.mean(spans) < 0.5 * (max(longest) - min(longest))


def test_missing_files_are_named(work):
    with pytest.raises(ValueError, match="expected the file of an earlier step"):
        stage_dataset("alignment", work / "none.parquet", cache=work)


PROGRAM = """
import sys
from lamar_trainers.stage_run import run_stage
from lamar_trainers.training_config import TrainingConfig
with open(sys.argv[1] + "/config.json") as file:
    config = TrainingConfig.model_validate_json(file.read())
run_stage(config, "distill", sys.argv[1])
"""


@pytest.mark.slow
def test_two_processes_train_as_one_with_twice_the_batch(work, tmp_path_factory):
    steps = {"batch_size": 2, "max_steps": 6, "warmup": 0.0}
    made = config(work / "tiny", dropout=0.0)
    one = made.model_copy(
        update={"distill": made.distill.model_copy(update={**steps, "gradient_accumulation": 2})}
    )
    two = made.model_copy(update={"distill": made.distill.model_copy(update=steps)})
    run_stage(one, "distill", work)
    other = tmp_path_factory.mktemp("two")
    (other / "scored.parquet").write_bytes((work / "scored.parquet").read_bytes())
    (other / "config.json").write_text(two.model_dump_json())
    (other / "program.py").write_text(PROGRAM)
    launch = [
        "-m",
        "accelerate.commands.launch",
        "--multi_gpu",
        "--num_processes",
        "2",
        "--num_machines",
        "1",
    ]
    launch += ["--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0"]
    command = [sys.executable, *launch, str(other / "program.py"), str(other)]
    environment = {**os.environ, "ACCELERATE_USE_CPU": "true"}
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert result.returncode == 0, result.stderr[-3000:]
    # scores and not weights: where a gradient is zero but for rounding (a key's bias), Adam's steps are noise
    first, distributed = model_scores(work / "distilled"), model_scores(other / "distilled")
    half = model_scores(run_stage(two, "distill", work, name="half"))
    np.testing.assert_allclose(distributed, first, atol=1e-4)
    assert np.abs(half - first).max() > 1e-3


@pytest.mark.slow
def test_a_killed_run_goes_on_as_if_it_had_not_been(work, tmp_path_factory):
    made = config(work / "tiny")
    whole = losses(run_stage(made, "distill", work))
    other = tmp_path_factory.mktemp("killed")
    (other / "scored.parquet").write_bytes((work / "scored.parquet").read_bytes())
    (other / "config.json").write_text(made.model_dump_json())
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(other)], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 240
    while last_checkpoint(other / "checkpoints" / "distill") is None and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert last_checkpoint(other / "checkpoints" / "distill") is not None
    assert not (other / "distilled").exists()
    output = run_stage(made, "distill", other)
    np.testing.assert_allclose(losses(output), whole, rtol=1e-4)  # threads may add in another order
    np.testing.assert_allclose(model_scores(output), model_scores(work / "distilled"), atol=1e-2)
