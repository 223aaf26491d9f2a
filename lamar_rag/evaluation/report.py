"""The report: all results of a folder as one HTML and one Markdown file, beside the paper's numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lamar_rag.evaluation.bootstrap import RESAMPLES, SEED
from lamar_rag.evaluation.figure_section import FigureSection
from lamar_rag.evaluation.language_section import by_language_section, first_language_section
from lamar_rag.evaluation.paper_section import (
    coherence_section,
    mteb_section,
    rescue_section,
    retrieval_section,
)
from lamar_rag.evaluation.report_files import write_html, write_markdown
from lamar_rag.evaluation.report_model import Report, ReportSection, ReportTable
from lamar_rag.evaluation.result_set import ResultSet, System
from lamar_rag.evaluation.summary_section import summary_section

TITLE = "Evaluation of multilingual rerankers"


def write_report(
    folder: str | Path,
    output: str | Path | None = None,
    *,
    reference: str | None = None,
    seed: int = SEED,
) -> list[Path]:
    """Write report.md and report.html, with the figures as SVG and PNG; return the two files.

    Args:
        folder: of results, as `lamar eval` writes them.
        output: where the report goes; the same folder otherwise.
        reference: label of the system that differences are to, such as "multilingual-e5-small"; by default the
            first by name.
        seed: of the bootstrap.

    Raises:
        ValueError: no results, results that do not fit together, or a reference that was not measured.
    """
    results = ResultSet.read(folder)
    target = Path(folder if output is None else output)
    target.mkdir(parents=True, exist_ok=True)
    chosen = _reference(results, reference)
    sections: list[ReportSection | None] = []
    if chosen is not None:
        sections += [summary_section(results, name, chosen, seed=seed) for name in results.datasets]
    sections += FigureSection(results, target, chosen, seed=seed).sections()
    sections += [coherence_section(results), retrieval_section(results), rescue_section(results)]
    sections.append(mteb_section(results))
    for dataset in results.datasets:
        sections.append(by_language_section(results, dataset))
        sections.append(first_language_section(results, dataset))
    sections.append(_origin_section(results, seed))
    report = Report(TITLE, [section for section in sections if section is not None])
    return [write_markdown(report, target / "report.md"), write_html(report, target / "report.html")]


def _reference(results: ResultSet, label: str | None) -> System | None:
    systems = list(dict.fromkeys(s for dataset in results.datasets for s in results.systems(dataset)))
    if label is None:
        return systems[0] if systems else None
    found = next((system for system in systems if system.label == label), None)
    if found is None:
        known = "; ".join(system.label for system in systems) or "none"
        raise ValueError(f"got reference '{label}', expected a system that was measured: {known}")
    return found


def _origin_section(results: ResultSet, seed: int) -> ReportSection:
    abouts: list[dict[str, Any]] = [result["about"] for result in results.results if result.get("about")]
    commands = sorted({str(about.get("command", "-")) for about in abouts})
    settings = {_machine(about) for about in abouts}
    text = [
        f"Intervals: percentile bootstrap over questions, {RESAMPLES:,} resamples, seed {seed}. Ties between scores go "
        "to the first stage's order, in the coherence task to the first of the languages as they are listed. DATA is "
        "the folder of the corpora, OUT that of the results."
    ]
    return ReportSection(
        "How to repeat it",
        text,
        [
            ReportTable("commands", ["command"], [[command] for command in commands]),
            ReportTable(
                "machines",
                ["CPU", "cores", "device", "Python", "versions"],
                [list(row) for row in sorted(settings)],
            ),
        ],
    )


def _machine(about: Mapping[str, Any]) -> tuple[str, ...]:
    machine, versions = about.get("machine", {}), about.get("versions", {})
    return (
        *(str(machine.get(name, "-")) for name in ("cpu", "cpus", "device")),
        str(about.get("python", "-")),
        ", ".join(f"{name} {number}" for name, number in versions.items()),
    )
