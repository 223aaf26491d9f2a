"""Files that appear whole or not at all."""

from __future__ import annotations

import uuid
from pathlib import Path


def write_whole(path: str | Path, content: bytes | str) -> None:
    """Write a file under a name of its own, and give it its name when it is whole; text is written as UTF-8.

    Args:
        path: the file; its folder is made.
        content: of the file.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name[:100]}.{uuid.uuid4().hex}")
    try:
        unfinished.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
