"""A run: models and dial weights over one corpus; scores, results and TREC files in one folder."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamar_rag.evaluation.coherence import evaluate_coherence
from lamar_rag.evaluation.evaluation_result import EvaluationResult
from lamar_rag.evaluation.first_stage import CANDIDATES, FirstStage
from lamar_rag.evaluation.model_opening import ModelOpener
from lamar_rag.evaluation.rescue import evaluate_rescue
from lamar_rag.evaluation.result_files import write_result
from lamar_rag.evaluation.retrieval import evaluate_retrieval
from lamar_rag.evaluation.score_store import ScoreFile
from lamar_rag.evaluation.trec_files import write_qrels, write_run
from lamar_rag.preference import LanguagePreference
from lamar_rag.reranker import Reranker
from lamar_rag.types import Scorer

if TYPE_CHECKING:
    from lamar_rag.evaluation.parallel_corpus import ParallelCorpus

TASKS = ("coherence", "retrieval", "rescue")


class EvaluationRun:
    """Measures models on a corpus; what was scored before in the same folder is not scored again.

    The folder holds `scores/`, `vectors/`, `runs/` and `qrels/` (TREC), and a JSON file a task, model and weight.

    Args:
        corpus: from `open_corpus`.
        output: the folder; is made.
        options: of `LoadingOptions`, for the rerankers.
        about: what each JSON says of its origin, such as `evaluation_origin`.
        progress: show progress bars on stderr.
    """

    def __init__(
        self,
        corpus: ParallelCorpus,
        output: str | Path,
        *,
        options: Mapping[str, Any] | None = None,
        about: Mapping[str, Any] | None = None,
        progress: bool = False,
    ) -> None:
        self.corpus, self.output = corpus, Path(output)
        self._options, self._about, self._progress = dict(options or {}), dict(about or {}), progress
        self._opener = ModelOpener(self.output / "vectors", options)

    def measure(
        self,
        task: str,
        models: Sequence[str],
        *,
        weights: Sequence[float] = (0.0,),
        embedder: str | None = None,
        candidates: int = CANDIDATES,
    ) -> Iterator[EvaluationResult]:
        """Yield the results, and write each before the next one is begun.

        Args:
            task: one of `TASKS`.
            models: names as `ModelOpener` takes them; LABEL=NAME gives one a label of its own.
            weights: of the language preference; the scores are shared.
            embedder: the first stage of retrieval and rescue.
            candidates: of the first stage.

        Raises:
            ValueError: an unknown task or model, two models of one label, or a task without its first stage.
        """
        named = _labelled(models)
        if task not in TASKS:
            raise ValueError(f"got task '{task}', expected one of {', '.join(TASKS)}")
        if task != "coherence" and embedder is None:
            raise ValueError(f"got no embedder for {task}, expected the name of a first stage")
        scorers = {label: self._opener.scorer(name) for label, name in named.items()}
        stage = None
        if embedder is not None and task != "coherence":
            first = self._opener.embedder(embedder)
            stage = FirstStage(self.corpus, first, candidates=candidates, progress=self._progress)
        self._opener.embed(self.corpus, progress=self._progress)
        for label, scorer in scorers.items():
            with self._scores(label, named[label], scorer) as scores:
                for weight in weights:
                    reranker = Reranker(scorer, preference=LanguagePreference(weight=weight))
                    result = self._evaluate(task, reranker, stage, scores)
                    self._write(result, label)
                    yield result
            scorer.close()

    def _evaluate(
        self, task: str, reranker: Reranker, stage: FirstStage | None, scores: ScoreFile
    ) -> EvaluationResult:
        if stage is None:
            return evaluate_coherence(reranker, self.corpus, scores=scores, progress=self._progress)
        evaluate = evaluate_retrieval if task == "retrieval" else evaluate_rescue
        return evaluate(reranker, stage, scores=scores, progress=self._progress)

    def _scores(self, label: str, name: str, scorer: Scorer) -> ScoreFile:
        setting = {
            "model": scorer.model if name == label else label,
            "dataset": self.corpus.name,
            "passages": _digest(self.corpus),
            **{key: value for key, value in self._options.items() if value is not None},
        }
        return ScoreFile(self.output / "scores" / f"{self.corpus.name}-{_slug(label)}.jsonl", setting)

    def _write(self, result: EvaluationResult, label: str) -> None:
        stage = result.setting.get("first_stage")
        parts = [result.task, result.dataset, label, f"dial-{result.setting['weight']:g}"]
        name = "-".join(_slug(part) for part in (*parts, *([f"over-{stage}"] if stage else [])))
        write_run(self.output / "runs" / f"{name}.run", result.rankings, name)
        judged = "-".join(
            _slug(part) for part in (result.task, result.dataset, result.setting["subset"]) if part
        )
        write_qrels(self.output / "qrels" / f"{judged}.qrels", result.relevant)
        write_result(self.output / f"{name}.json", {**result.to_dict(), "model": label, "about": self._about})


def _labelled(models: Sequence[str]) -> dict[str, str]:
    """Return label -> name."""
    named: dict[str, str] = {}
    for model in models:
        label, _, name = model.rpartition("=")
        label = label or name
        if label in named:
            raise ValueError(f"got model '{label}' twice, expected each once: LABEL=NAME tells them apart")
        named[label] = name
    if not named:
        raise ValueError("got no model, expected one at least, such as lamar-mini")
    return named


def _slug(text: str) -> str:
    return re.sub(r"[^\w.@+]+", "-", text).strip("-")


def _digest(corpus: ParallelCorpus) -> str:
    hasher = hashlib.sha256()
    for document in corpus.documents():
        hasher.update(f"{document.id}\0{document.text}\0".encode("utf-8", "surrogatepass"))
    return hasher.hexdigest()[:16]
