"""The tests of this folder with the oldest frameworks that are supported (requirements-oldest.txt)."""

from __future__ import annotations

import os
import subprocess
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from conftest import REPOSITORY
from packaging.requirements import Requirement
from packaging.version import Version

PYTHON = REPOSITORY / ".venv-oldest" / "bin" / "python"
FRAMEWORKS = ("langchain-core", "llama-index-core")


def requirements(name: str) -> dict[str, Requirement]:
    lines = (REPOSITORY / name).read_text(encoding="utf-8").splitlines()
    found = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {requirement.name: requirement for requirement in found}


def supported() -> dict[str, Requirement]:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    found = [Requirement(line) for name in ("langchain", "llama-index") for line in extras[name]]
    return {requirement.name: requirement for requirement in found}


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_tested_versions_are_the_ends_of_what_is_supported(framework: str) -> None:
    (oldest,) = requirements("requirements-oldest.txt")[framework].specifier
    lowest = [bound.version for bound in supported()[framework].specifier if bound.operator == ">="]
    assert [Version(bound) for bound in lowest] == [Version(oldest.version)]
    (newest,) = requirements("constraints.txt")[framework].specifier
    assert newest.version in supported()[framework].specifier
    assert Version(newest.version) > Version(oldest.version)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_oldest_frameworks_pass_the_same_tests() -> None:
    if "OLDEST" in os.environ:
        pytest.skip("this is the run with the oldest frameworks")
    if not PYTHON.is_file():
        if os.environ.get("CI"):
            pytest.fail(f"no environment with the oldest frameworks: {PYTHON}")
        pytest.skip("no environment with the oldest frameworks: make .venv-oldest/.installed")
    shown = subprocess.run(
        [PYTHON, "-c", f"from importlib.metadata import version; print([version(n) for n in {FRAMEWORKS}])"],
        capture_output=True,
        text=True,
        check=True,
    )
    pinned = [str(requirements("requirements-oldest.txt")[name].specifier)[2:] for name in FRAMEWORKS]
    assert shown.stdout.strip() == str(pinned)
    assert [version(name) for name in FRAMEWORKS] != pinned
    run = subprocess.run(
        [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(Path(__file__).parent)],
        cwd=REPOSITORY,
        env={**os.environ, "OLDEST": "1"},
        capture_output=True,
        text=True,
        timeout=850,
    )
    assert run.returncode == 0, run.stdout[-8000:]
    assert " passed" in run.stdout
