"""Tells on stderr what of a corpus was left out, repaired or passed over."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lamar_rag.retrieval.corpus_reader import CorpusReader

_SHOWN = 20


def report_reading(reader: CorpusReader) -> None:
    """Write a line for each bad row (the first 20), and one each for repaired and ignored files."""
    for error in reader.errors[:_SHOWN]:
        place = error.file if error.line is None else f"{error.file}:{error.line}"
        sys.stderr.write(f"lamar: left out {place}: {error.reason}\n")
    if reader.skipped > _SHOWN:
        sys.stderr.write(f"lamar: left out {reader.skipped} rows in all\n")
    if reader.repaired:
        sys.stderr.write(
            f"lamar: replaced broken characters (lone surrogates) in {reader.repaired} documents\n"
        )
    if reader.ignored:
        sys.stderr.write(f"lamar: passed over {len(reader.ignored)} files: {', '.join(reader.ignored[:5])}\n")
