"""MTEB's multilingual reranking tasks (LAMAR, table 5), run and cached by mteb, and their figures in our form."""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from lamar_rag.evaluation.mteb_model import MtebReranker, subset_language
from lamar_rag.evaluation.named_model import dial_name, file_name
from lamar_rag.extras import require
from lamar_rag.languages import normalize_language

if TYPE_CHECKING:
    from lamar_rag.reranker import Reranker

logger = logging.getLogger(__name__)

TASKS = {
    "miracl": "MIRACLReranking",
    "xglue": "XGlueWPRReranking",
    "hume": "HUMEWikipediaRerankingMultilingual",
    "mldr": "MultiLongDocReranking",
    "wikipedia": "WikipediaRerankingMultilingual",
}
_SHORT = {name: short for short, name in TASKS.items()}
_MEASURE, _MTEB_MEASURE, _DEPTH = "ndcg@10", "ndcg_at_10", 10


def run_mteb(
    reranker: Reranker,
    tasks: Sequence[Any],
    output: str | Path,
    *,
    label: str | None = None,
    languages: Sequence[str] | None = None,
    setting: Mapping[str, Any] | None = None,
    progress: bool = False,
) -> list[dict[str, Any]]:
    """Return the figures of each task: nDCG@10 by language, and their mean, as mteb's evaluator has them.

    mteb keeps its own results in the folder `mteb` of `output`. What is there is not run again: a run that was
    stopped goes on with the next language. A task of your own that has changed needs a new name or revision.

    Args:
        reranker: with its preference.
        tasks: names of `TASKS`, or tasks of mteb, which are not changed.
        output: the folder; is made.
        label: the model's name in results; by default the reranker's.
        languages: codes; by default all of a task.
        setting: what else decides the scores, such as the options of a scorer.
        progress: show a progress bar on stderr.

    Raises:
        ValueError: an unknown task, one that reranks nothing, or one without a language that was asked for.
        FileNotFoundError: the hub is switched off or out of reach, and a task's data set is not cached.
    """
    mteb = require("mteb", extra="eval", purpose="MTEB tasks")
    opened = open_tasks(tasks, languages)  # all of them before the first is run
    model = MtebReranker(reranker, label=label, setting=setting, progress=progress)
    cache = mteb.ResultCache(Path(output).expanduser() / "mteb")
    return [_result(model, task, _evaluated(mteb, model, task, cache)) for task in opened]


def open_tasks(tasks: Sequence[Any], languages: Sequence[str] | None = None) -> list[Any]:
    """Return tasks of mteb, restricted to languages; no data are loaded.

    Args:
        tasks: names of `TASKS`, or tasks of mteb, of which copies are returned.
        languages: codes; by default all of a task.

    Raises:
        ValueError: as `run_mteb`.
    """
    mteb = require("mteb", extra="eval", purpose="MTEB tasks")
    if isinstance(tasks, str):
        raise ValueError(f"got tasks='{tasks}', expected a list: tasks=['{tasks}']")
    return [_opened(mteb, task, languages) for task in tasks]


def result_path(output: str | Path, result: Mapping[str, Any]) -> Path:
    """Return where a result of `run_mteb` is kept, such as OUTPUT/mteb-miracl-lamar-mini-dial-0.json."""
    parts = [file_name(part) for part in ("mteb", result["dataset"], result["model"])]
    return Path(output).expanduser() / f"{'-'.join([*parts, dial_name(result['setting']['weight'])])}.json"


def _opened(mteb: ModuleType, task: Any, languages: Sequence[str] | None) -> Any:
    retrieval = mteb.abstasks.AbsTaskRetrieval
    if isinstance(task, str):
        if task not in TASKS:
            raise ValueError(
                f"got MTEB task '{task}', expected one of {', '.join(TASKS)}, or a task of your own as an object"
            )
        opened = mteb.get_task(TASKS[task])
    elif isinstance(task, retrieval) and _DEPTH in task.k_values:
        opened = copy.copy(task)
    else:
        raise ValueError(
            f"got task {task!r}, expected a name or an mteb.abstasks.AbsTaskRetrieval with {_DEPTH} in k_values"
        )
    if opened.metadata.dataset.get("trust_remote_code"):
        raise ValueError(
            f"got task {opened.metadata.name}, which runs code of its data set's repository, expected one without "
            "trust_remote_code in its metadata: convert the data set to Parquet"
        )
    if languages is None:
        return opened
    names = _language_names(opened)
    wanted = [normalize_language(language) for language in languages]
    unknown = [language for language in wanted if language not in names.values()]
    if unknown:
        raise ValueError(
            f"got language {unknown[0]} for {opened.metadata.name}, expected some of {', '.join(names.values())}"
        )
    return opened.filter_languages(None, hf_subsets=[name for name in names if names[name] in wanted])


def _language_names(task: Any) -> dict[str, str]:
    """Return subset -> the code of its language; its own name where it has none, or shares it with another."""
    codes = [(name, subset_language(task.metadata, name) or name) for name in task.metadata.hf_subsets]
    listed = [code for _, code in codes]
    return {
        subset: code if listed.count(code) == 1 else subset
        for subset, code in codes
        if subset in task.hf_subsets
    }


def _evaluated(mteb: ModuleType, model: MtebReranker, task: Any, cache: Any) -> Any:
    """Return mteb's `TaskResult`."""
    known = cache.load_task_result(task.metadata.name, model.mteb_model_meta)
    loaded = False
    if (known is None or known.get_missing_evaluations(task)) and not task.data_loaded:
        # not left to mteb.evaluate, whose errors could as well be the reranker's
        _load(mteb, task)
        loaded = True
    try:
        found = mteb.evaluate(model, task, cache=cache, co2_tracker=False, show_progress_bar=False)
    finally:
        if loaded:
            task.unload_data()
    return found.task_results[0]


def _load(mteb: ModuleType, task: Any) -> None:
    if type(task).load_data is not mteb.abstasks.AbsTaskRetrieval.load_data:
        task.load_data()  # a task's own way, with its own errors
        return
    path, revision = task.metadata.dataset["path"], str(task.metadata.revision)
    logger.warning("loading %s at %s from the Hugging Face Hub or its cache", path, revision[:7])
    try:
        task.load_data()
    except Exception as error:  # whose they are (datasets', the hub's, its HTTP client's) depends on versions
        raise FileNotFoundError(
            f"data set {path} of MTEB task {task.metadata.name} is neither cached nor reachable "
            f"({type(error).__name__}: {error}): run once where there is a network, or set HF_HUB_OFFLINE=0 if "
            "the hub is only switched off"
        ) from error


def _result(model: MtebReranker, task: Any, result: Any) -> dict[str, Any]:
    """Return our JSON of mteb's result, which may also hold subsets that were not asked for."""
    names, splits = _language_names(task), list(task.eval_splits)
    languages = {}
    for subset, name in names.items():
        values = [
            scores[_MTEB_MEASURE]
            for split in splits
            for scores in result.scores[split]
            if scores["hf_subset"] == subset
        ]
        languages[name] = {_MEASURE: float(np.mean(values))}  # over splits, as mteb's own score is
    preference = model.reranker.preference
    return {
        "task": "mteb",
        "dataset": _SHORT.get(task.metadata.name, task.metadata.name),
        "model": model.label,
        "setting": {
            **model.setting,
            "languages": list(languages),
            "subset": None,
            "weight": float(preference.weight),
            "unit": model.reranker.scorer.spread if preference.weight else None,
            "preferred": list(preference.preferred) if preference.preferred else None,
            "mteb": result.mteb_version,
            "mteb_task": task.metadata.name,
            "revision": result.dataset_revision,
            "splits": splits,
        },
        "languages": languages,
        "avg": {_MEASURE: float(np.mean([row[_MEASURE] for row in languages.values()]))},
        "questions": {},
    }
