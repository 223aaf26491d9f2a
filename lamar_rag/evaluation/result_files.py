"""Results as JSON files of a folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lamar_rag.evaluation.evaluation_result import result_json, rounded
from lamar_rag.whole_file import write_whole

_NEEDED = frozenset({"task", "dataset", "model", "setting", "questions"})
_SETTING = frozenset({"languages", "subset", "weight"})


def write_result(path: str | Path, result: Mapping[str, Any]) -> None:
    """Write a result whole or not at all; equal results give equal bytes."""
    write_whole(path, result_json(result))


def check_setting(path: Path, setting: Mapping[str, Any]) -> None:
    """Raise ValueError where the file has a result of another setting, which would be lost."""
    if not path.is_file():
        return
    known = _read(path).get("setting")
    wanted = json.loads(json.dumps(rounded(setting)))
    if known is not None and known != wanted:
        differing = sorted(name for name in {*known, *wanted} if known.get(name) != wanted.get(name))
        raise ValueError(
            f"{path} is a result of another setting ({', '.join(differing)} differ): give another --output or label, "
            "or delete the file"
        )


def read_results(folder: str | Path) -> list[dict[str, Any]]:
    """Return the results of a folder, by file name; other JSON files there are left alone.

    Raises:
        ValueError: no result in the folder, or a file that is no JSON.
    """
    results = []
    for path in sorted(Path(folder).glob("*.json")):
        value = _read(path)
        if value.keys() >= _NEEDED and dict(value["setting"]).keys() >= _SETTING:
            results.append(value)
    if not results:
        raise ValueError(f"got no result in {folder}, expected the --output folder of lamar eval")
    return results


def _read(path: Path) -> dict[str, Any]:
    """Return a file's object; another JSON value counts as an empty one."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: no JSON ({error}): delete the file, or measure again") from error
    return value if isinstance(value, dict) else {}
