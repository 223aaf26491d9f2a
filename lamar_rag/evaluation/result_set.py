"""The results of a folder, by data set, task and system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from lamar_rag.evaluation.result_files import read_results

Result = Mapping[str, Any]
ABLATION = "ablation: "  # what the labels of an ablation's variants begin with


@dataclass(frozen=True, slots=True)
class System:
    """A model at one weight of the dial."""

    model: str
    weight: float

    @property
    def label(self) -> str:
        """The model's name, with the dial where it is turned."""
        return f"{self.model}, dial {self.weight:g}" if self.weight else self.model


class ResultSet:
    """Results, as a report asks for them.

    Args:
        results: JSON values as `lamar eval` writes them.

    Raises:
        ValueError: a system that was measured twice over different first stages or subsets in one task.
    """

    def __init__(self, results: Sequence[Result]) -> None:
        self.results = list(results)
        self._found: dict[tuple[str, str, System], Result] = {}
        for result in self.results:
            key = (str(result["task"]), str(result["dataset"]), system_of(result))
            if key in self._found:
                raise ValueError(
                    f"got two results of {key[0]} on {key[1]} for {key[2].label}, expected one: give one of them "
                    "another label (--model LABEL=MODEL), or delete one file"
                )
            self._found[key] = result

    @classmethod
    def read(cls, folder: str | Path) -> ResultSet:
        """Return the results of an output folder.

        Raises:
            ValueError: none there, or files that do not fit together.
        """
        return cls(read_results(folder))

    @cached_property
    def datasets(self) -> list[str]:
        """Names of the parallel corpora, in the order of the results."""
        return list(dict.fromkeys(str(r["dataset"]) for r in self.results if r["task"] != "mteb"))

    def systems(self, dataset: str, *tasks: str, ablation: bool = False) -> list[System]:
        """Return the systems that were measured in all these tasks; ablations apart from the others."""
        found = dict.fromkeys(system for _, name, system in self._found if name == dataset)
        return sorted(
            (
                system
                for system in found
                if all(self.get(task, dataset, system) for task in tasks)
                and system.model.startswith(ABLATION) == ablation
            ),
            key=lambda system: (system.model, system.weight),
        )

    def get(self, task: str, dataset: str, system: System) -> Result | None:
        """Return one result, None where it was not measured."""
        return self._found.get((task, dataset, system))


def questions_of(result: Result) -> tuple[Any, ...]:
    """Return what decides whether two results can be compared question by question."""
    setting = result["setting"]
    return result["dataset"], setting["subset"], tuple(setting["languages"])


def candidates_of(result: Result) -> tuple[Any, ...]:
    """Return what decides whether two tasks of one system belong together."""
    setting = result["setting"]
    return *questions_of(result), setting.get("first_stage"), setting.get("candidates")


def system_of(result: Result) -> System:
    """Return the system that a result is of."""
    return System(str(result["model"]), float(result["setting"].get("weight", 0.0)))
