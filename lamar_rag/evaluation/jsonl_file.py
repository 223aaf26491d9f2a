"""JSON lines of an evaluation corpus."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def read_jsonl(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each object and where it stands, such as "data/en.jsonl:3"; empty lines are left out.

    Raises:
        ValueError: a file that is not UTF-8, or a line that is no JSON object.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 at byte {error.start}: save the file as UTF-8") from error
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        place = f"{path}:{number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{place}: not JSON ({error}): write one JSON object a line") from error
        if not isinstance(row, dict):
            raise ValueError(f"{place}: got a {type(row).__name__}, expected a JSON object")
        yield place, row
