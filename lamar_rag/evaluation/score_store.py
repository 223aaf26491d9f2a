"""Scores of an evaluation, in a file that grows: a run that was killed goes on where it was."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

Scores = Mapping[str, float]


class ScoreStore:
    """Raw scores by query and document, in memory."""

    def __init__(self) -> None:
        self._scores: dict[str, dict[str, float]] = {}

    def scores(self, query: str) -> Scores:
        """Return the known scores of a query by document id."""
        return self._scores.get(query, {})

    def add(self, queries: Sequence[tuple[str, Scores]]) -> None:
        """Keep the scores of queries that were scored together."""
        for query, scores in queries:
            self._scores.setdefault(query, {}).update(scores)


class ScoreFile(ScoreStore):
    """Scores in a file.

    The first line says what was scored how, every other one holds the scores of a chunk of queries that were scored
    together. A last line that a kill cut short is dropped, so that the chunk is scored again as a whole, in the same
    batches: the file ends with the same bytes as an undisturbed run's. One process writes at a time.

    Args:
        path: a .jsonl file; its folder is made.
        setting: of the scores, such as the model and its options.

    Raises:
        ValueError: the file is of another setting, or no such file.
        TimeoutError: another process writes the file.
    """

    def __init__(self, path: str | Path, setting: Mapping[str, Any]) -> None:
        from filelock import FileLock

        super().__init__()
        self.path, self._setting = Path(path), dict(setting)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(self.path.with_name(f".{self.path.name}.lock"), timeout=0)
        try:
            self._lock.acquire()
        except TimeoutError as error:
            raise TimeoutError(
                f"another process writes {self.path}: wait for it, or give another --output"
            ) from error
        try:
            self._read()
            self._file = self.path.open("a", encoding="utf-8")
            if self.path.stat().st_size == 0:
                self._append(self._setting)
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> Self:
        """Return the store."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file and let others write."""
        self.close()

    def close(self) -> None:
        """Close the file and let others write."""
        self._file.close()
        self._lock.release()

    def add(self, queries: Sequence[tuple[str, Scores]]) -> None:
        """Keep the scores of queries that were scored together; after this they survive a kill."""
        self._append([[query, dict(scores)] for query, scores in queries])
        super().add(queries)

    def _append(self, row: Any) -> None:
        self._file.write(json.dumps(row, ensure_ascii=False) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _read(self) -> None:
        if not self.path.is_file():
            return
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        try:
            rows = [json.loads(line) for line in whole.decode("utf-8").split("\n")[:-1]]
            if rows and not isinstance(rows[0], dict):
                raise ValueError("its first line is no setting")
            if content and not content.startswith(b"{"):
                raise ValueError("it begins otherwise")
            for row in rows[1:]:
                super().add([(query, scores) for query, scores in row])
        except (ValueError, TypeError, AttributeError) as error:
            raise ValueError(f"{self.path}: no file of scores ({error}): delete it to score anew") from error
        if rows and rows[0] != json.loads(json.dumps(self._setting)):
            differing = sorted(
                key for key in {*rows[0], *self._setting} if rows[0].get(key) != self._setting.get(key)
            )
            raise ValueError(
                f"{self.path}: these scores are of another setting ({', '.join(differing)} differ): give another "
                "folder, or delete the file to score anew"
            )
        if len(whole) < len(content):  # only what is known to be ours
            with self.path.open("r+b") as file:
                file.truncate(len(whole))
