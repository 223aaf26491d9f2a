"""Instances in Parquet files."""

from __future__ import annotations

import tracemalloc
from dataclasses import asdict

import pyarrow.parquet
import pytest
from lamar_trainers.parquet_file import write_parquet
from lamar_trainers.synthesis import AlignmentGroup, DistillationPair


def group(row):
    return AlignmentGroup("corpus", row, "de", "ar", f"q {row}", "ja", "نعم", "nein", "لا")


@pytest.mark.parametrize("count", [0, 1, 4096, 9001])
def test_what_is_written_is_read_back(tmp_path, count):
    path = tmp_path / "new" / "groups.parquet"
    assert write_parquet(path, (group(row) for row in range(count)), AlignmentGroup) == count
    table = pyarrow.parquet.read_table(path)
    assert table.to_pylist() == [asdict(group(row)) for row in range(count)]
    assert table.schema.field("row").type == pyarrow.int64()
    assert [file.name for file in path.parent.iterdir()] == ["groups.parquet"]


def test_a_failure_leaves_the_earlier_file_and_nothing_else(tmp_path):
    def failing():
        yield group(0)
        raise RuntimeError("no more")

    path = tmp_path / "groups.parquet"
    write_parquet(path, [group(7)], AlignmentGroup)
    with pytest.raises(RuntimeError, match="no more"):
        write_parquet(path, failing(), AlignmentGroup)
    assert pyarrow.parquet.read_table(path).to_pylist() == [asdict(group(7))]
    assert [file.name for file in tmp_path.iterdir()] == ["groups.parquet"]


@pytest.mark.slow
def test_memory_does_not_grow_with_the_rows(tmp_path):
    def pairs(count):
        for row in range(count):
            yield DistillationPair(
                "c", row, row, row, "positive", "de", "en", f"q {row}", "x" * 1000 + str(row), "q", "d"
            )

    def peak(count):
        tracemalloc.start()
        write_parquet(tmp_path / "pairs.parquet", pairs(count), DistillationPair)
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    peak(5000)  # what is imported is not counted
    assert peak(60_000) < 1.2 * peak(15_000)
