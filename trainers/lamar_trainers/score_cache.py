"""A scorer's scores by the contents of query and document, in Parquet files that a later run goes on with."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lamar_rag.extras import require


class ScoreCache:
    """Scores of one model.

    Args:
        folder: is made; each `keep` adds a file to it.
        model: scores of other models lie elsewhere in the folder.
    """

    def __init__(self, folder: str | Path, model: str) -> None:
        parquet: Any = require("pyarrow.parquet", extra="train", purpose="the teacher's scores")
        self._folder = Path(folder) / hashlib.sha256(model.encode()).hexdigest()[:16]
        self._scores: dict[str, float] = {}
        for path in sorted(self._folder.glob("*.parquet")):
            table = parquet.read_table(path)
            self._scores.update(zip(table["key"].to_pylist(), table["score"].to_pylist(), strict=True))

    def __len__(self) -> int:
        """The number of scores."""
        return len(self._scores)

    def __contains__(self, pair: tuple[str, str]) -> bool:
        """Whether there is a score of a query and a document."""
        return _key(pair) in self._scores

    def __getitem__(self, pair: tuple[str, str]) -> float:
        """The score of a query and a document; KeyError where there is none."""
        return self._scores[_key(pair)]

    def keep(self, scores: Mapping[tuple[str, str], float]) -> None:
        """Add scores, on disk first."""
        pa: Any = require("pyarrow", extra="train", purpose="the teacher's scores")
        parquet: Any = require("pyarrow.parquet", extra="train", purpose="the teacher's scores")
        keyed = {_key(pair): score for pair, score in scores.items()}
        if not keyed:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        name = hashlib.sha256("".join(keyed).encode()).hexdigest()[:24]
        unfinished = self._folder / f".{name}"
        parquet.write_table(pa.table({"key": list(keyed), "score": list(keyed.values())}), unfinished)
        unfinished.replace(self._folder / f"{name}.parquet")
        self._scores.update(keyed)


def _key(pair: tuple[str, str]) -> str:
    query, document = (hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for text in pair)
    return query[:16] + document[:16]
