"""The examples run as a user runs them: offline, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from conftest import REPOSITORY

pytestmark = pytest.mark.slow
EXAMPLES = REPOSITORY / "examples"


@pytest.mark.parametrize("name", ["langchain_qa.py", "llama_index_qa.py"])
def test_an_example_answers_from_the_right_passage(name: str) -> None:
    questions = {
        "Wie tief ist das Salzbergwerk Wieliczka?": ("327", "salt-de"),
        "¿Dónde se observa la mayor diferencia del planeta entre marea alta y marea baja?": (
            "Fundy",
            "tides-es",
        ),
        "How deep is Lake Baikal?": ("1642", "baikal-depth-ru"),  # the corpus says it in Russian only
    }
    run = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *questions],
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=500,
    )
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert lines[::2] == list(questions)
    for answer, (gold, source) in zip(lines[1::2], questions.values(), strict=True):
        assert gold in answer
        assert f"[{source}" in answer


@pytest.mark.parametrize("name", ["langchain_qa.py", "llama_index_qa.py"])
def test_an_example_is_short(name: str) -> None:
    assert len((EXAMPLES / name).read_text(encoding="utf-8").splitlines()) < 60
