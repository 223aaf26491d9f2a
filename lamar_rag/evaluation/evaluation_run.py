"""A run: models and dial weights over one corpus; scores, results and TREC files in one folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamar_rag.evaluation.coherence import evaluate_coherence
from lamar_rag.evaluation.evaluation_result import EvaluationResult, common_setting
from lamar_rag.evaluation.first_stage import CANDIDATES, FirstStage
from lamar_rag.evaluation.model_opening import ModelOpener
from lamar_rag.evaluation.named_model import NamedModel, dial_name, file_name, named_models, portable_name
from lamar_rag.evaluation.rescue import evaluate_rescue
from lamar_rag.evaluation.result_files import check_setting, write_result
from lamar_rag.evaluation.retrieval import evaluate_retrieval
from lamar_rag.evaluation.score_store import ScoreFile
from lamar_rag.evaluation.trec_files import write_qrels, write_run
from lamar_rag.preference import LanguagePreference
from lamar_rag.reranker import Reranker

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
        self._about, self._progress = dict(about or {}), progress
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
            ValueError: an unknown task or model, two models of one label, a task without its first stage, or a
                folder that has a result of the same name and another setting.
        """
        named = named_models(models)
        if task not in TASKS:
            raise ValueError(f"got task '{task}', expected one of {', '.join(TASKS)}")
        stage = self._stage(task, embedder, candidates)
        scorers = {model: self._opener.scorer(model.name) for model in named}
        rerankers = {
            model: [
                Reranker(scorer, preference=LanguagePreference(weight=weight))
                for weight in dict.fromkeys(weights)
            ]
            for model, scorer in scorers.items()
        }
        for model, dials in rerankers.items():  # before hours of scoring, not after
            for reranker in dials:
                path = self.output / f"{self._name(task, model, reranker, stage)}.json"
                check_setting(path, self._setting(model, reranker, stage))
        self._opener.embed(self.corpus, progress=self._progress)
        for model, dials in rerankers.items():
            with self._scores(model) as scores:
                for reranker in dials:
                    result = self._evaluate(task, reranker, stage, scores)
                    result = replace(result, model=model.label, setting=self._setting(model, reranker, stage))
                    self._write(result, self._name(task, model, reranker, stage))
                    yield result
            scorers[model].close()

    def _stage(self, task: str, embedder: str | None, candidates: int) -> FirstStage | None:
        if task == "coherence":
            return None
        if embedder is None:
            raise ValueError(f"got no embedder for {task}, expected the name of a first stage")
        opened = self._opener.embedder(embedder)
        name = portable_name(embedder) + (f" ({opened.centring})" if opened.centring else "")
        return FirstStage(self.corpus, opened, candidates=candidates, name=name, progress=self._progress)

    def _evaluate(
        self, task: str, reranker: Reranker, stage: FirstStage | None, scores: ScoreFile
    ) -> EvaluationResult:
        if stage is None:
            return evaluate_coherence(reranker, self.corpus, scores=scores, progress=self._progress)
        evaluate = evaluate_retrieval if task == "retrieval" else evaluate_rescue
        return evaluate(reranker, stage, scores=scores, progress=self._progress)

    def _setting(self, model: NamedModel, reranker: Reranker, stage: FirstStage | None) -> dict[str, Any]:
        return {
            **common_setting(reranker, self.corpus),
            **(stage.setting if stage else {}),
            **self._opener.setting(model.name),
        }

    def _name(self, task: str, model: NamedModel, reranker: Reranker, stage: FirstStage | None) -> str:
        parts = [task, self.corpus.name, model.label]
        if stage:
            parts.append(f"over {stage.name}")
        return "-".join([*map(file_name, parts), dial_name(reranker.preference.weight)])

    def _scores(self, model: NamedModel) -> ScoreFile:
        setting = {
            "dataset": self.corpus.name,
            "passages": _digest(self.corpus),
            **self._opener.setting(model.name),
        }
        name = f"{file_name(self.corpus.name)}-{file_name(model.label)}.jsonl"
        return ScoreFile(self.output / "scores" / name, setting)

    def _write(self, result: EvaluationResult, name: str) -> None:
        write_run(self.output / "runs" / f"{name}.run", result.rankings, name)
        judged = "-".join(map(file_name, (result.task, result.dataset)))
        write_qrels(self.output / "qrels" / f"{judged}.qrels", result.relevant)
        write_result(self.output / f"{name}.json", {**result.to_dict(), "about": self._about})


def _digest(corpus: ParallelCorpus) -> str:
    hasher = hashlib.sha256()
    for document in corpus.documents():
        hasher.update(f"{document.id}\0{document.text}\0".encode("utf-8", "surrogatepass"))
    return hasher.hexdigest()[:16]
