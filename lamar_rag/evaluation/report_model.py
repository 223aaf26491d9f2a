"""What a report is made of: sections with tables and figures, for any format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table of texts; `marked` are the rows that were measured here, among rows from the paper."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    marked: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class ReportFigure:
    """A figure that lies beside the report as NAME.svg and NAME.png."""

    name: str
    caption: str


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A section; its text is plain, in paragraphs."""

    title: str
    text: Sequence[str] = ()
    tables: Sequence[ReportTable] = ()
    figures: Sequence[ReportFigure] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """A report."""

    title: str
    sections: Sequence[ReportSection]
