"""The code of docs/training-data.md."""

from __future__ import annotations

import json
import re

import pyarrow.parquet
from conftest import REPOSITORY


def test_the_example_makes_the_instances(tmp_path, monkeypatch):
    (code,) = re.findall(
        r"```python\n(.*?)```", (REPOSITORY / "docs" / "training-data.md").read_text(), re.DOTALL
    )
    folder = tmp_path / "data" / "news"
    folder.mkdir(parents=True)
    for language in ("en", "de"):
        rows = [{"id": i, "query": f"{language} {i}", "positive": "yes", "negative": "no"} for i in range(6)]
        (folder / f"{language}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    exec(code, {})
    assert pyarrow.parquet.read_metadata("pairs.parquet").num_rows == 6 * 120
    assert pyarrow.parquet.read_metadata("groups.parquet").num_rows == 6 * 3
