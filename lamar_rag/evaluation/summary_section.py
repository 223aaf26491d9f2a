"""The report's first tables: coherence, retrieval, rescue and their balance, with intervals and differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lamar_rag.evaluation.bootstrap import (
    balanced,
    balanced_difference,
    bootstrap_interval,
    mean,
    mean_difference,
)
from lamar_rag.evaluation.report_model import ReportSection, ReportTable
from lamar_rag.evaluation.result_set import Result, ResultSet, System, candidates_of, questions_of

# heading -> the tasks and figures that it is made of
_FIGURES = {
    "coherence nDCG@1": (("coherence", "ndcg@1"),),
    "retrieval nDCG@1": (("retrieval", "ndcg@1"),),
    "rescue@1": (("rescue", "rescue@1"),),
    "balanced@1": (("retrieval", "ndcg@1"), ("rescue", "rescue@1")),
}


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float

    def shown(self, *, signed: bool = False) -> str:
        """Return such as "0.911 [0.884, 0.937]"."""
        form = "{:+.3f}" if signed else "{:.3f}"
        return f"{form.format(self.value)} [{form.format(self.low)}, {form.format(self.high)}]"


def summary_section(results: ResultSet, dataset: str, reference: System, *, seed: int) -> ReportSection:
    """Return the summary of a data set.

    Args:
        results: what was measured.
        dataset: whose systems are shown.
        reference: the system that the others are compared with.
        seed: of the bootstrap.
    """
    text = [
        "Coherence: how often the passage in the query's language comes first among its translations. Retrieval: "
        "how often it comes first among the retrieved candidates. Rescue: where it does not exist in that "
        "language, how often a translation comes first. Balanced: the harmonic mean of the last two."
    ]
    tables = estimate_tables(results, dataset, results.systems(dataset), reference, seed=seed)
    return ReportSection(f"Summary: {dataset}", text, tables)


def estimate_tables(
    results: ResultSet, dataset: str, systems: Sequence[System], reference: System, *, seed: int
) -> list[ReportTable]:
    """Return a table of the systems' figures, and one of their differences to the reference."""
    values, differences = [], []
    for system in systems:
        shown = [estimate(results, dataset, heading, system, seed=seed) for heading in _FIGURES]
        values.append([system.label, *map(_cell, shown), _measured_on(results, dataset, system)])
        if system != reference:
            found = [
                difference(results, dataset, heading, system, reference, seed=seed) for heading in _FIGURES
            ]
            differences.append([system.label, *(_cell(one, signed=True) for one in found)])
    caption = f"{dataset}: means over languages, 95 % bootstrap intervals over questions"
    tables = [ReportTable(caption, ["system", *_FIGURES, "measured on"], values)]
    if any(set(row[1:]) != {"-"} for row in differences):
        caption = (
            f"{dataset}: difference to {reference.label}, each over its own first stage, paired over questions, "
            "95 % bootstrap intervals"
        )
        tables.append(ReportTable(caption, ["system", *_FIGURES], differences))
    return tables


def figure_value(results: ResultSet, dataset: str, heading: str, system: System) -> float | None:
    """Return a figure of a system without its interval, None where it was not measured."""
    columns = _columns(results, dataset, heading, system)
    return None if columns is None else _value(_statistic(columns), columns)


def estimate(results: ResultSet, dataset: str, heading: str, system: System, *, seed: int) -> Estimate | None:
    """Return a figure of a system, None where it was not measured."""
    columns = _columns(results, dataset, heading, system)
    return None if columns is None else _estimate(_statistic(columns), columns, seed)


def difference(
    results: ResultSet, dataset: str, heading: str, system: System, reference: System, *, seed: int
) -> Estimate | None:
    """Return a system's figure minus the reference's, None where they were not measured on the same questions."""
    own, other = (_columns(results, dataset, heading, k) for k in (system, reference))
    tasks = [task for task, _ in _FIGURES[heading]]
    if own is None or other is None:
        return None
    for task in tasks:
        first, second = (results.get(task, dataset, k) for k in (system, reference))
        if first is None or second is None or questions_of(first) != questions_of(second):
            return None
    return _estimate(balanced_difference if len(own) > 1 else mean_difference, [*own, *other], seed)


def _columns(results: ResultSet, dataset: str, heading: str, system: System) -> list[Sequence[float]] | None:
    """Return the figure's values by question; None where a task is missing or they do not belong together."""
    found: list[Result] = []
    for task, _ in _FIGURES[heading]:
        result = results.get(task, dataset, system)
        if result is None:
            return None
        found.append(result)
    if len({candidates_of(result) for result in found}) > 1:
        return None
    return [result["questions"][name] for result, (_, name) in zip(found, _FIGURES[heading], strict=True)]


def _statistic(columns: Sequence[Sequence[float]]) -> Callable[..., Any]:
    return balanced if len(columns) > 1 else mean


def _estimate(statistic: Callable[..., Any], columns: Sequence[Sequence[float]], seed: int) -> Estimate:
    return Estimate(_value(statistic, columns), *bootstrap_interval(columns, statistic, seed=seed))


def _value(statistic: Callable[..., Any], columns: Sequence[Sequence[float]]) -> float:
    return float(statistic(*(np.asarray(column, dtype=np.float64) for column in columns), axis=-1))


def _cell(found: Estimate | None, *, signed: bool = False) -> str:
    return found.shown(signed=signed) if found else "-"


def _measured_on(results: ResultSet, dataset: str, system: System) -> str:
    """Return subset and first stage, by task where they differ."""
    questions: dict[str, list[str]] = {}
    stages: dict[str, list[str]] = {}
    for task in ("coherence", "retrieval", "rescue"):
        result = results.get(task, dataset, system)
        if result is None:
            continue
        setting = result["setting"]
        asked = len(next(iter(result["questions"].values())))
        questions.setdefault(setting["subset"] or f"all {asked} questions a language", []).append(task)
        if setting.get("first_stage"):
            stages.setdefault(f"{setting['candidates']} candidates of {setting['first_stage']}", []).append(
                task
            )
    return "; ".join([*_by_task(questions), *_by_task(stages)])


def _by_task(notes: dict[str, list[str]]) -> list[str]:
    if len(notes) < 2:
        return list(notes)
    return [f"{' and '.join(tasks)}: {note}" for note, tasks in notes.items()]
