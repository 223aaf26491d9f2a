"""What an evaluation found: figures by query language, their mean, and each question's share for the bootstrap."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lamar_rag.extras import require

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from lamar_rag.evaluation.parallel_corpus import ParallelCorpus
    from lamar_rag.reranker import Reranker

Row = Mapping[str, float]
_DIGITS = 10  # more say nothing, and would differ between machines
_QUESTION_DIGITS = 5  # of thousands of values that only intervals are drawn from


@dataclass(frozen=True, kw_only=True)
class EvaluationResult:
    """Figures of one model on one corpus; fractions, but for ranks and counts.

    Attributes:
        dataset: the corpus.
        model: the reranker.
        setting: what else decides the figures: the dial's weight and unit, a subset, the first stage.
        languages: query language -> figure -> mean over its queries.
        avg: figure -> mean over the languages with equal weight.
        questions: figure -> each question's mean over its languages; what intervals are drawn from.
        rankings: query id -> document ids, the best first; not part of the JSON.
        relevant: query id -> relevant document ids; not part of the JSON.
    """

    task: ClassVar[str]

    dataset: str
    model: str
    setting: Mapping[str, Any]
    languages: Mapping[str, Row]
    avg: Row
    questions: Mapping[str, Sequence[float]]
    rankings: Mapping[str, Sequence[str]] = field(repr=False)
    relevant: Mapping[str, frozenset[str]] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        whole = {
            "task": self.task,
            "dataset": self.dataset,
            "model": self.model,
            "setting": dict(self.setting),
            **self._figures(),
            "questions": self.questions,
        }
        return {name: rounded(value) for name, value in whole.items()}

    def to_json(self) -> str:
        """Return the figures as a JSON document; equal results give equal bytes."""
        return result_json(self.to_dict())

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row a query language and one, "avg", for their mean."""
        pandas = require("pandas", extra="eval", purpose="a result as a table")
        frame: pd.DataFrame = pandas.DataFrame.from_dict({**self.languages, "avg": self.avg}, orient="index")
        return frame

    def _figures(self) -> dict[str, Any]:
        return {"languages": self.languages, "avg": self.avg}


@dataclass(frozen=True)
class Columns:
    """Figures of all queries of a corpus, language by language, and what is made of them."""

    corpus: ParallelCorpus
    values: Mapping[str, npt.NDArray[np.float64]]

    def by_language(self) -> dict[str, dict[str, float]]:
        """Return language -> figure -> mean over its queries; `n` is their number."""
        tables = self._tables()
        counted = {
            language: {name: float(table[row].mean()) for name, table in tables.items()}
            for row, language in enumerate(self.corpus.languages)
        }
        return {
            language: {**figures, "n": len(self.corpus.queries[language])}
            for language, figures in counted.items()
        }

    def means(self) -> dict[str, float]:
        """Return figure -> mean over languages with equal weight."""
        return {name: float(table.mean(axis=1).mean()) for name, table in self._tables().items()}

    def questions(self, names: Sequence[str]) -> dict[str, list[float]]:
        """Return figure -> each question's mean over its languages."""
        tables = self._tables()
        return {name: tables[name].mean(axis=0).round(_QUESTION_DIGITS).tolist() for name in names}

    def _tables(self) -> dict[str, npt.NDArray[np.float64]]:
        """Return figure -> values of shape (languages, questions): a question is asked in every language."""
        return {name: column.reshape(len(self.corpus.languages), -1) for name, column in self.values.items()}


def common_setting(reranker: Reranker, corpus: ParallelCorpus) -> dict[str, Any]:
    """Return what of the setting every task has."""
    preference = reranker.preference
    return {
        "languages": corpus.languages,
        "subset": corpus.subset,
        "weight": float(preference.weight),
        "unit": reranker.scorer.spread if preference.weight else None,
        "preferred": list(preference.preferred) if preference.preferred else None,
    }


def result_json(value: Mapping[str, Any]) -> str:
    """Return a JSON document with one line a key."""
    lines = [
        f" {json.dumps(key)}: {json.dumps(rounded(item), ensure_ascii=False, allow_nan=False)}"
        for key, item in value.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def rounded(value: Any) -> Any:
    """Return a JSON value whose numbers have no more digits than carry meaning."""
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return round(float(value), _DIGITS) if isinstance(value, float) else value
