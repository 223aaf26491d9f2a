"""`lamar train`: its four commands on real text in some minutes, and its mistakes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from lamar_trainers.raw_corpora import read_ntrex
from safetensors.numpy import load_file
from typer.testing import CliRunner

from lamar_rag.cli.main import app


def run(*arguments, environment=None):
    command = [sys.executable, "-m", "lamar_rag.cli.main", "train", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=560, env=environment)


def done(*arguments):
    result = run(*arguments, "--json")
    assert result.returncode == 0, result.stderr[-2000:]
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def some_ntrex(data_dir, tmp_path_factory):
    """The first documents of NTREX-128, as its folder has them."""
    folder = tmp_path_factory.mktemp("data") / "ntrex"
    ids, lines = read_ntrex(data_dir / "ntrex128", ["en", "de"])
    (folder / "NTREX-128").mkdir(parents=True)
    (folder / "DOCUMENT_IDS.tsv").write_text("\n".join(ids[:420]) + "\n")
    for language, name in (("en", "src.eng"), ("de", "ref.deu")):
        text = "\n".join(lines[language][:420]) + "\n"
        (folder / "NTREX-128" / f"newstest2019-{name}.txt").write_text(text, encoding="utf-8")
    return folder.parent


@pytest.mark.slow
def test_four_commands_from_raw_text_to_a_model_that_is_better_than_at_first(some_ntrex, tmp_path):
    work = ("--config", "smoke", "--work", str(tmp_path))
    counts = done("synthesize", *work, "--data", str(some_ntrex))
    assert counts["pairs"] > 200
    assert counts["development"] > 20
    assert done("teacher", *work)["pairs"] == counts["pairs"]
    distilled = done("distill", *work)["model"]
    aligned = done("align", *work)["model"]
    log = json.loads((tmp_path / "distilled" / "training.json").read_text())["log"]
    before, after = (entry for entry in log if "development_ndcg@1" in entry)
    for name in ("ndcg@1", "balanced@1"):
        assert after[f"development_{name}"] > 1.5 * before[f"development_{name}"]
    assert "training data" in (tmp_path / "aligned" / "README.md").read_text().lower()
    assert (
        load_file(f"{aligned}/model.safetensors").keys() == load_file(f"{distilled}/model.safetensors").keys()
    )
    figures = done("ablate", *work, "--limit", "20")
    assert set(figures) == {"stage 1", "without L_LC", "without L_rank", "stage 1+2"}
    assert (tmp_path / "ablation.svg").read_text().lstrip().startswith("<?xml")
    for variant, row in (("without-L_LC", "rank 1, coherence 0"), ("without-L_rank", "rank 0, coherence 2")):
        assert row in (tmp_path / f"ablation-{variant}" / "README.md").read_text()


def test_a_user_s_mistakes_exit_with_two_and_one_line(tmp_path):
    result = run("distill", "--config", "smoke", "--work", str(tmp_path))
    assert (result.returncode, len(result.stderr.strip().splitlines())) == (2, 1)
    assert "expected the file of an earlier step" in result.stderr
    result = run("synthesize", "--config", "nothing", "--work", str(tmp_path), "--data", str(tmp_path))
    assert result.returncode == 2
    assert "expected a YAML file or one of mini, paper, smoke" in result.stderr


def test_help_names_the_commands():
    result = CliRunner().invoke(app, ["train", "--help"])
    assert result.exit_code == 0
    for name in ("synthesize", "teacher", "distill", "align", "ablate"):
        assert name in result.output
