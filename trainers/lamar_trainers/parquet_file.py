"""Instances into a Parquet file, a few thousand at a time, and all or nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict, fields
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamar_rag.extras import require

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_ROWS = 4096  # in memory at once


def write_parquet(
    path: str | Path, instances: Iterable[DataclassInstance], kind: type[DataclassInstance]
) -> int:
    """Write instances of one dataclass, and return how many there were.

    The file appears when it is complete; memory does not grow with the number of instances.

    Args:
        path: a .parquet file; one that exists is replaced.
        instances: dataclass objects whose fields are strings, integers, floats, or tuples of one of these.
        kind: their class, which says the columns also where there is no instance.
    """
    pa: Any = require("pyarrow", extra="train", purpose="Parquet")
    parquet: Any = require("pyarrow.parquet", extra="train", purpose="Parquet")
    types = {"str": pa.string(), "int": pa.int64(), "float": pa.float64()}
    types |= {f"tuple[{name}, ...]": pa.list_(of) for name, of in types.items()}
    schema = pa.schema([(field.name, types[str(field.type)]) for field in fields(kind)])
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    written = 0
    try:
        with parquet.ParquetWriter(unfinished, schema, compression="zstd") as writer:
            remaining = iter(instances)
            while rows := list(islice(remaining, _ROWS)):
                writer.write_table(pa.Table.from_pylist([asdict(row) for row in rows], schema=schema))
                written += len(rows)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return written
