"""A run's folder: what it writes, what it does not do twice, and what a kill leaves."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time

import ir_measures
import pytest
from evaluation_parts import write_parallel_folder
from tiny_models import tiny_cross_encoder

from lamar_rag.evaluation import open_corpus
from lamar_rag.evaluation.evaluation_run import EvaluationRun
from lamar_rag.evaluation.result_files import read_results


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny_cross_encoder(
        tmp_path_factory.mktemp("models") / "tiny", words=[*["the", "cat", "die", "katze"]]
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_parallel_folder(tmp_path_factory.mktemp("corpora") / "own")


@pytest.fixture(scope="module")
def output(tmp_path_factory, model, folder):
    """A run of all three tasks at two weights over the embedded embedder."""
    output = tmp_path_factory.mktemp("runs") / "output"
    run = EvaluationRun(open_corpus(folder), output, about={"command": "c"})
    for task in ("coherence", "retrieval", "rescue"):
        list(
            run.measure(
                task, [f"tiny={model}"], weights=(0.0, 1.0), embedder="multilingual-e5-small", candidates=4
            )
        )
    return output


def test_a_result_a_task_and_weight(output):
    found = {(r["task"], r["model"], r["setting"]["weight"]): r for r in read_results(output)}
    assert set(found) == {
        (task, "tiny", weight) for task in ("coherence", "retrieval", "rescue") for weight in (0.0, 1.0)
    }
    retrieval = found["retrieval", "tiny", 0.0]
    assert retrieval["setting"]["first_stage"] == "multilingual-e5-small (ntrex-51)"
    assert retrieval["about"] == {"command": "c"}


def test_others_can_score_the_runs(output):
    """ir-measures reads the run and the judgements from disk, and gets the figures of the JSON."""
    for task, measure, name in (
        ("coherence", ir_measures.nDCG @ 1, "ndcg@1"),
        ("rescue", ir_measures.nDCG @ 10, "ndcg@10"),
    ):
        (result,) = (r for r in read_results(output) if r["task"] == task and r["setting"]["weight"] == 1.0)
        (path,) = output.glob(f"runs/{task}-*-dial-1.run")
        run = list(ir_measures.read_trec_run(str(path)))
        qrels = list(ir_measures.read_trec_qrels(str(output / "qrels" / f"{task}-own.qrels")))
        for language, row in result["languages"].items():
            mine = [q for q in qrels if q.query_id.endswith(f".{language}")]
            value = ir_measures.calc_aggregate([measure], mine, run)[measure]
            assert value == pytest.approx(row[name])


def test_what_is_scored_is_not_scored_again(output, folder, model):
    before = {path: path.stat().st_mtime_ns for path in output.glob("scores/*.jsonl")}
    results = {path: path.read_bytes() for path in output.glob("*.json")}
    run = EvaluationRun(open_corpus(folder), output, about={"command": "c"})
    list(run.measure("coherence", [f"tiny={model}"], weights=(0.0, 1.0)))
    assert {path: path.stat().st_mtime_ns for path in output.glob("scores/*.jsonl")} == before
    assert {path: path.read_bytes() for path in output.glob("*.json")} == results


def test_a_label_stands_for_one_model(output, folder, tmp_path):
    run = EvaluationRun(open_corpus(folder), tmp_path)
    with pytest.raises(ValueError, match="'a' twice"):
        list(run.measure("coherence", ["a=multilingual-e5-small", "a=multilingual-e5-small@plain"]))
    with pytest.raises(ValueError, match="got no model"):
        list(run.measure("coherence", []))
    with pytest.raises(ValueError, match="task 'speed'"):
        list(run.measure("speed", ["multilingual-e5-small"]))
    with pytest.raises(ValueError, match="no embedder for rescue"):
        list(run.measure("rescue", ["multilingual-e5-small"]))


def test_a_label_cannot_hide_another_model(output, folder, tmp_path):
    other = tiny_cross_encoder(tmp_path / "other", seed=1)
    with pytest.raises(ValueError, match="another setting"):
        list(EvaluationRun(open_corpus(folder), output).measure("coherence", [f"tiny={other}"]))


def test_a_result_is_not_lost_to_another_setting(output, folder, model):
    run = EvaluationRun(open_corpus(folder).limited(3), output)
    with pytest.raises(ValueError, match=r"another setting \(subset differ\): give another --output"):
        list(run.measure("coherence", [f"tiny={model}"]))


def test_opposite_weights_and_folders_have_names_of_their_own(folder, model, tmp_path):
    run = EvaluationRun(open_corpus(folder), tmp_path / "out")
    results = list(run.measure("coherence", [str(model)], weights=(0.5, -0.5, 0.5)))
    assert [result.model for result in results] == ["tiny", "tiny"]
    assert sorted(path.name for path in (tmp_path / "out").glob("*.json")) == [
        "coherence-own-tiny-dial-0.5.json",
        "coherence-own-tiny-dial-minus-0.5.json",
    ]
    for path in (tmp_path / "out").rglob("*"):
        if path.suffix in (".json", ".jsonl", ".run"):
            assert str(model.parent) not in path.read_text(encoding="utf-8")


def test_scores_of_another_corpus_are_refused(output, tmp_path, model):
    other = open_corpus(write_parallel_folder(tmp_path / "own", questions=6))
    with pytest.raises(ValueError, match="another setting"):
        list(EvaluationRun(other, output).measure("coherence", [f"tiny={model}"]))


def test_names_with_centring_and_fusion(folder, tmp_path, model):
    """The plain embedder, the centred one, and a cross-encoder plus twice the similarity, whose scores add up."""
    names = [
        "plain=multilingual-e5-small@plain",
        f"tiny={model}",
        f"both={model}+2xmultilingual-e5-small@plain",
    ]
    list(EvaluationRun(open_corpus(folder), tmp_path / "out").measure("coherence", names))
    scores = {}
    for label in ("plain", "tiny", "both"):
        lines = (tmp_path / "out" / "scores" / f"own-{label}.jsonl").read_text(encoding="utf-8").splitlines()
        scores[label] = {
            (query.partition(":")[0], document): score
            for line in lines[1:]
            for query, row in json.loads(line)
            for document, score in row.items()
        }
    for key, score in scores["both"].items():
        assert score == pytest.approx(scores["tiny"][key] + 2 * scores["plain"][key], abs=1e-4)
    with pytest.raises(ValueError, match="expected a cross-encoder before the"):
        list(
            EvaluationRun(open_corpus(folder), tmp_path / "out").measure(
                "coherence", ["multilingual-e5-small+2xmultilingual-e5-small"]
            )
        )


def test_embedders_take_no_format(folder, tmp_path):
    run = EvaluationRun(open_corpus(folder), tmp_path, options={"dtype": "bfloat16"})
    with pytest.raises(ValueError, match="got dtype for the embedder multilingual-e5-small"):
        list(run.measure("coherence", ["multilingual-e5-small"]))


def start(folder, model, output):
    words = [
        "eval",
        "retrieval",
        "--dataset",
        str(folder),
        "--model",
        f"tiny={model}",
        "--output",
        str(output),
    ]
    words += ["--candidates", "6", "--weight", "0.5", "--json"]
    return subprocess.Popen(
        [sys.executable, "-m", "lamar_rag.cli.main", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


@pytest.mark.slow
def test_a_run_that_was_killed_ends_with_the_same_bytes(tmp_path, model):
    folder = write_parallel_folder(tmp_path / "own", questions=600)
    undisturbed = start(folder, model, tmp_path / "whole")
    _, errors = undisturbed.communicate()
    assert undisturbed.returncode == 0, errors.decode()
    chance, kills = random.Random(0), 0
    scores = tmp_path / "killed" / "scores" / "own-tiny.jsonl"
    while True:
        process = start(folder, model, tmp_path / "killed")
        size = scores.stat().st_size if scores.is_file() else 0
        while process.poll() is None and kills < 3:
            time.sleep(0.02)
            grown = scores.stat().st_size if scores.is_file() else 0
            if grown > size and chance.random() < 0.3:
                process.send_signal(signal.SIGKILL)
                kills += 1
                break
        _, errors = process.communicate()
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL, errors.decode()
    assert kills > 0
    files = sorted(p.relative_to(tmp_path / "whole") for p in (tmp_path / "whole").rglob("*") if p.is_file())
    compared = [p for p in files if p.suffix in (".json", ".jsonl", ".run", ".qrels")]
    assert len(compared) == 4
    for path in compared:
        assert (tmp_path / "killed" / path).read_bytes() == (tmp_path / "whole" / path).read_bytes(), path
