"""Results as JSON files of a folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lamar_rag.evaluation.evaluation_result import result_json

_NEEDED = ("task", "dataset", "model", "setting", "questions")


def write_result(path: str | Path, result: Mapping[str, Any]) -> None:
    """Write a result whole or not at all; equal results give equal bytes."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.unfinished")
    unfinished.write_text(result_json(result), encoding="utf-8")
    unfinished.replace(target)


def read_results(folder: str | Path) -> list[dict[str, Any]]:
    """Return the results of a folder, by file name; other JSON files there are left alone.

    Raises:
        ValueError: no result in the folder, or a file that is no JSON.
    """
    results = []
    for path in sorted(Path(folder).glob("*.json")):
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path}: no JSON ({error}): delete the file, or measure again") from error
        if isinstance(value, dict) and all(name in value for name in _NEEDED):
            results.append(value)
    if not results:
        raise ValueError(f"got no result in {folder}, expected the --output folder of lamar eval")
    return results
