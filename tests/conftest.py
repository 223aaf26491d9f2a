"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# No test may touch the network: the hub libraries read this when they are imported.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of the real corpora: $LAMAR_DATA, else shared/data beside the checkout."""
    folder = Path(os.environ.get("LAMAR_DATA", REPOSITORY.parent / "shared" / "data"))
    if not folder.is_dir():
        if os.environ.get("LAMAR_REQUIRE_DATA"):
            pytest.fail(f"real corpora are missing where they are required: {folder}")
        pytest.skip(f"real corpora not found: {folder} (set LAMAR_DATA to their folder)")
    return folder
