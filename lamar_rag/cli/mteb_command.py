"""`lamar eval mteb`: MTEB's multilingual reranking tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from lamar_rag.cli.eval_options import Models, Output, Weights
from lamar_rag.cli.language_options import language_codes
from lamar_rag.cli.options import Device, Dtype, Json, MaxLength, RemoteCode

HELP = "MTEB's reranking tasks: miracl, xglue, hume, mldr and wikipedia (the paper's table 5)."

Tasks = Annotated[
    list[str] | None,
    typer.Option(
        "--task", "-t", help="miracl, xglue, hume, mldr or wikipedia, as often as you like; all otherwise."
    ),
]
Languages = Annotated[str | None, typer.Option("--languages", help="Such as en,de,ar; all otherwise.")]


def mteb(
    context: typer.Context,
    model: Models,
    output: Output,
    task: Tasks = None,
    weight: Weights = None,
    languages: Languages = None,
    device: Device = None,
    dtype: Dtype = None,
    max_length: MaxLength = None,
    trust_remote_code: RemoteCode = False,
    as_json: Json = False,
) -> None:
    """Measure models on MTEB's reranking tasks; each result is written before the next task is begun."""
    from lamar_rag.cli.eval_output import command_words
    from lamar_rag.cli.output import print_json
    from lamar_rag.evaluation.evaluation_origin import evaluation_origin
    from lamar_rag.evaluation.model_opening import ModelOpener
    from lamar_rag.evaluation.mteb_run import TASKS, open_tasks, result_path, run_mteb
    from lamar_rag.evaluation.result_files import write_result
    from lamar_rag.preference import LanguagePreference
    from lamar_rag.reranker import Reranker

    tasks = open_tasks(list(dict.fromkeys(task or TASKS)), language_codes(languages))
    named = _labelled(model)
    given = {
        "device": device,
        "dtype": dtype,
        "max_length": max_length,
        "trust_remote_code": trust_remote_code or None,
    }
    options = {name: value for name, value in given.items() if value is not None}
    opener = ModelOpener(output / "vectors", options)
    about = evaluation_origin(command_words("mteb", context.params))
    results = []
    for label, name in named.items():
        scorer = opener.scorer(name)
        for dial in weight or (0.0,):
            reranker = Reranker(scorer, preference=LanguagePreference(weight=dial))
            for opened in tasks:
                (result,) = run_mteb(
                    reranker, [opened], output, label=label, setting=options, progress=not as_json
                )
                write_result(result_path(output, result), {**result, "about": about})
                results.append(result)
                if not as_json:
                    _show(result)
        scorer.close()
    if as_json:
        print_json(results)


def _labelled(models: list[str]) -> dict[str, str]:
    """Return label -> name."""
    named: dict[str, str] = {}
    for model in models:
        label, _, name = model.rpartition("=")
        if (label or name) in named:
            raise ValueError(
                f"got model '{label or name}' twice, expected each once: LABEL=NAME tells them apart"
            )
        named[label or name] = name
    return named


def _show(result: Mapping[str, Any]) -> None:
    """Print a result: one line a language, and their mean."""
    from rich.console import Console
    from rich.table import Table

    console, table = Console(), Table("language")
    for figure in result["avg"]:
        table.add_column(figure, justify="right")
    for language, row in {**result["languages"], "avg": result["avg"]}.items():
        table.add_row(language, *(f"{row[figure]:.3f}" for figure in result["avg"]))
    # not the table's title, which would be broken into lines as narrow as the table
    title = f"mteb, {result['dataset']}: {result['model']}, dial {result['setting']['weight']:g}"
    console.print(title, markup=False, highlight=False, soft_wrap=True)
    console.print(table)
