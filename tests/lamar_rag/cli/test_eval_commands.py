from __future__ import annotations

import json
import sys

import pytest
from evaluation_parts import write_parallel_folder
from tiny_models import tiny_cross_encoder

from lamar_rag.cli.main import main


@pytest.fixture
def lamar(monkeypatch, capsys):
    """Run the command line in this process; returns exit code, stdout and stderr."""

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["lamar", *words])
        with pytest.raises(SystemExit) as exit_:
            main()
        printed = capsys.readouterr()
        return int(exit_.value.code or 0), printed.out, printed.err

    return run


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(tiny_cross_encoder(tmp_path_factory.mktemp("models") / "tiny"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(write_parallel_folder(tmp_path_factory.mktemp("corpora") / "own", questions=8))


def test_three_tasks_and_their_report(lamar, tmp_path, folder, model):
    out = str(tmp_path / "out")
    common = ["--dataset", folder, "-m", f"tiny={model}", "-m", "e5=multilingual-e5-small@plain", "-o", out]
    for task in ("coherence", "retrieval", "rescue"):
        code, printed, _ = lamar("eval", task, *common, "--weight", "0", "--weight", "1", "--json")
        assert code == 0
        results = json.loads(printed)
        assert [(r["task"], r["setting"]["weight"]) for r in results] == [(task, 0.0), (task, 1.0)] * 2
    for path in (tmp_path / "out").glob("*.json"):
        about = json.loads(path.read_text(encoding="utf-8"))["about"]
        # nothing of this machine's folders is in a result
        assert str(tmp_path) not in path.read_text(encoding="utf-8")
        assert about["command"].startswith("lamar eval ")
        assert "--model tiny --model e5=multilingual-e5-small@plain" in about["command"]
        assert "--output OUT" in about["command"]
    code, printed, _ = lamar("eval", "report", out, "--reference", "e5")
    assert code == 0
    assert printed.split() == [f"{out}/report.md", f"{out}/report.html"]
    assert "difference to e5" in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")


def test_a_table_for_people(lamar, tmp_path, folder, model):
    words = ["--dataset", folder, "-m", model, "-o", str(tmp_path), "--languages", "de,en", "--limit", "3"]
    code, printed, _ = lamar("eval", "coherence", *words)
    assert code == 0
    assert "3 of 8 questions a language, seed 0" in " ".join(printed.split())
    assert "avg" in printed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["coherence", "--dataset", "squad", "-m", "x"], "expected xquad, belebele, or a folder"),
        (
            ["coherence", "--dataset", "FOLDER", "-m", "x", "--embedder", "y"],
            "got --embedder or --candidates for coherence",
        ),
        (["rescue", "--dataset", "FOLDER", "-m", "e5", "--languages", "de"], "model 'e5'"),
        (["coherence", "--dataset", "FOLDER", "-m", "a=multilingual-e5-small", "-m", "a=x"], "'a' twice"),
        (["retrieval", "--dataset", "FOLDER", "-m", "x", "--languages", "fr"], r"no fr.jsonl"),
    ],
)
def test_mistakes_exit_with_one_line(lamar, tmp_path, folder, words, message):
    given = [folder if word == "FOLDER" else word for word in words]
    code, printed, errors = lamar("eval", *given, "-o", str(tmp_path / "out"))
    assert code == 2
    assert printed == ""
    assert message in errors
    assert len(errors.strip().splitlines()) == 1


def test_a_report_of_nothing(lamar, tmp_path):
    code, _, errors = lamar("eval", "report", str(tmp_path))
    assert code == 2
    assert "got no result in" in errors
