"""The report's figures: which systems they show, and their files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamar_rag.evaluation.figures import (
    ablation_figure,
    dial_figure,
    heatmap_figure,
    language_bars_figure,
    save_figure,
)
from lamar_rag.evaluation.named_model import file_name
from lamar_rag.evaluation.report_model import ReportFigure, ReportSection, ReportTable
from lamar_rag.evaluation.result_set import ABLATION, ResultSet, System, candidates_of
from lamar_rag.evaluation.summary_section import estimate_tables, figure_value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SHOWN = 3  # systems in a figure
_CURVES = 4
_BARS = 2  # systems a data set, of two to four data sets
_FULL = "stage 1+2"


class FigureSection:
    """Draws the figures that the results allow into a folder.

    Args:
        results: what was measured.
        folder: where the files go.
        reference: a system that the figures show.
        seed: of the bootstrap.
    """

    def __init__(self, results: ResultSet, folder: Path, reference: System | None, *, seed: int) -> None:
        self._results, self._folder, self._reference, self._seed = results, folder, reference, seed

    def sections(self) -> list[ReportSection]:
        """Return the sections with figures."""
        figures = [
            *(found for name in self._results.datasets for found in self._of_dataset(name)),
            *self._bars(),
        ]
        found = [ReportSection("Figures", figures=figures)] if figures else []
        ablation = [part for name in self._results.datasets for part in self._ablation(name)]
        if ablation:
            found.append(ReportSection("Ablation", figures=ablation, tables=self._ablation_tables()))
        return found

    def _of_dataset(self, dataset: str) -> list[ReportFigure]:
        results = self._results
        drawn = []
        systems = self._shown(dataset)
        found = {s.label: results.get("coherence", dataset, s) for s in systems}
        matrices = {label: result["first_language"] for label, result in found.items() if result}
        if matrices:
            ranks: dict[str, Any] = {
                label: {k: row["mean_rank"] for k, row in result["languages"].items()}
                for label, result in found.items()
                if result
            }
            caption = (
                f"{dataset}: share of document languages that come first, by query language, and the mean rank of the "
                "passage in the query's language (the paper's figure 2)"
            )
            drawn.append(self._saved(heatmap_figure(matrices, ranks), f"{dataset}-first-language", caption))
        curves = self._curves(dataset)
        if curves:
            caption = f"{dataset}: retrieval against rescue over the language dial; numbers are its weights"
            drawn.append(self._saved(dial_figure(curves), f"{dataset}-dial", caption))
        return drawn

    def _shown(self, dataset: str) -> list[System]:
        """Return the reference, and the systems that balance best, each model once."""
        systems = self._results.systems(dataset, "coherence")
        values = {
            system: figure_value(self._results, dataset, "balanced@1", system) or 0.0 for system in systems
        }
        ranked = sorted(systems, key=lambda system: -values[system])
        chosen = [self._reference] if self._reference and self._reference in systems else []
        for system in ranked:
            if len(chosen) < _SHOWN and system.model not in {one.model for one in chosen}:
                chosen.append(system)
        return chosen

    def _curves(self, dataset: str) -> dict[str, list[tuple[float, float, float]]]:
        curves: dict[str, list[tuple[float, float, float]]] = {}
        for system in self._results.systems(dataset, "retrieval", "rescue"):
            retrieval = self._results.get("retrieval", dataset, system)
            rescue = self._results.get("rescue", dataset, system)
            if retrieval and rescue and candidates_of(retrieval) == candidates_of(rescue):
                point = (system.weight, retrieval["reranked"]["ndcg@1"], rescue["rescue@1"])
                curves.setdefault(system.model, []).append(point)
        turned = {model: sorted(points) for model, points in curves.items() if len(points) > 1}
        # those that balance best: more lines than a few are not told apart
        best = sorted(turned, key=lambda model: -max(_balanced(x, y) for _, x, y in turned[model]))
        return {model: turned[model] for model in best[:_CURVES]}

    def _bars(self) -> list[ReportFigure]:
        results = self._results
        scores: dict[str, dict[str, dict[str, float]]] = {}
        for dataset in results.datasets[:4]:
            for system in self._shown(dataset)[:_BARS]:
                result = results.get("coherence", dataset, system)
                if result:
                    row = {k: figures["ndcg@1"] for k, figures in result["languages"].items()}
                    scores.setdefault(dataset, {})[system.label] = row
        shared = (
            set.intersection(*({k for row in found.values() for k in row} for found in scores.values()))
            if scores
            else set()
        )
        if len(scores) < 2 or not shared:
            return []
        caption = "Coherence nDCG@1 in the languages that the data sets share (the paper's figure 3)"
        return [self._saved(language_bars_figure(scores), "shared-languages", caption)]

    def _ablation(self, dataset: str) -> list[ReportFigure]:
        tasks = {"coherence": "ndcg@1", "retrieval": "ndcg@1", "rescue": "rescue@1"}
        scores: dict[str, dict[str, float]] = {}
        for task, name in tasks.items():
            for system in self._results.systems(dataset, task, ablation=True):
                result = self._results.get(task, dataset, system)
                if result and not system.weight:
                    row = result.get("avg") or result.get("reranked") or result
                    scores.setdefault(f"{task} {name}", {})[system.model.removeprefix(ABLATION)] = row[name]
        complete = {task: row for task, row in scores.items() if _FULL in row and len(row) > 1}
        if not complete:
            return []
        caption = f"{dataset}: what each stage and loss gives (the paper's figure 4)"
        return [self._saved(ablation_figure(complete, _FULL), f"{dataset}-ablation", caption)]

    def _ablation_tables(self) -> list[ReportTable]:
        full = System(f"{ABLATION}{_FULL}", 0.0)
        return [
            table
            for dataset in self._results.datasets
            if (systems := self._results.systems(dataset, ablation=True))
            for table in estimate_tables(self._results, dataset, systems, full, seed=self._seed)
        ]

    def _saved(self, figure: Figure, name: str, caption: str) -> ReportFigure:
        save_figure(figure, self._folder, file_name(name))
        return ReportFigure(file_name(name), caption)


def _balanced(first: float, second: float) -> float:
    return 2 * first * second / (first + second) if first + second else 0.0
