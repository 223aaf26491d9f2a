from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lamar_rag.cache import MANIFEST, cache_dir, materialize, verify

SOURCE = {"package": "example", "version": "1"}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LAMAR_CACHE", str(tmp_path / "cache"))


def write_two_files(folder: Path) -> None:
    (folder / "a.txt").write_text("alpha")
    (folder / "sub").mkdir()
    (folder / "sub" / "b.txt").write_text("beta")


def test_environment_names_the_folder(tmp_path):
    assert cache_dir() == tmp_path / "cache"


def test_builds_once_and_describes_the_files():
    calls = []

    def build(folder: Path) -> None:
        calls.append(folder)
        write_two_files(folder)

    first = materialize("model", build, source=SOURCE)
    second = materialize("model", build, source=SOURCE)
    assert first == second == cache_dir() / "models" / "model"
    assert len(calls) == 1
    manifest = json.loads((first / MANIFEST).read_text())
    # sha256 of "alpha", as `printf alpha | sha256sum` prints it
    digest = "8ed3f6ad685b959ead7022518e1af76cd816f8e8ec7ccdda1ed4018e8f2223f8"
    assert manifest["files"]["a.txt"] == {"bytes": 5, "sha256": digest}
    assert set(manifest["files"]) == {"a.txt", "sub/b.txt"}
    assert verify(first) == []


def test_another_source_builds_anew():
    folder = materialize("model", write_two_files, source=SOURCE)
    (folder / "marker").write_text("old")
    materialize("model", write_two_files, source={**SOURCE, "version": "2"})
    assert not (folder / "marker").exists()


def test_a_truncated_file_is_built_anew():
    folder = materialize("model", write_two_files, source=SOURCE)
    (folder / "a.txt").write_text("al")
    assert (materialize("model", write_two_files, source=SOURCE) / "a.txt").read_text() == "alpha"


def test_verify_names_an_altered_and_a_missing_file():
    folder = materialize("model", write_two_files, source=SOURCE)
    (folder / "a.txt").write_text("alphA")
    (folder / "sub" / "b.txt").unlink()
    altered, missing = verify(folder)
    assert "a.txt: checksum differs" in altered
    assert "b.txt: missing" in missing


def test_a_failed_build_leaves_nothing():
    def fail(folder: Path) -> None:
        write_two_files(folder)
        raise RuntimeError("no disk")

    with pytest.raises(RuntimeError, match="no disk"):
        materialize("model", fail, source=SOURCE)
    assert [path.name for path in (cache_dir() / "models").iterdir()] == [".model.lock"]


BUILDER = """
import sys, time
from pathlib import Path
from lamar_rag.cache import materialize

def build(folder):
    with Path(sys.argv[1]).open("a") as log:
        log.write("built\\n")
    for i in range(20):
        (folder / f"{i}.txt").write_text(str(i))
        time.sleep(0.02)

folder = materialize("model", build, source={"package": "example", "version": "1"})
assert sorted(int(p.stem) for p in folder.glob("*.txt")) == list(range(20))
print("ready")
"""


def start(log: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", BUILDER, str(log)], stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    )


@pytest.mark.slow
def test_processes_that_start_at_once_build_once(tmp_path):
    processes = [start(tmp_path / "log") for _ in range(4)]
    assert [process.communicate(timeout=60)[0].strip() for process in processes] == ["ready"] * 4
    assert (tmp_path / "log").read_text() == "built\n"


@pytest.mark.slow
@pytest.mark.parametrize("files_before_the_kill", [1, 6, 12, 18])
def test_a_kill_leaves_no_half_folder(tmp_path, files_before_the_kill):
    process = start(tmp_path / "log")
    models = cache_dir() / "models"
    deadline = time.monotonic() + 30
    while len(list(models.glob(".building-*/*.txt"))) < files_before_the_kill:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)
    assert not (models / "model").exists()
    assert start(tmp_path / "log").communicate(timeout=60)[0].strip() == "ready"
    assert sorted(path.name for path in models.iterdir()) == [".model.lock", "model"]
