"""`lamar eval mteb`: MTEB's multilingual reranking tasks."""

from __future__ import annotations

from typing import Annotated

import typer

from lamar_rag.cli.eval_options import Models, Output, Weights, loading_options
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
    from lamar_rag.cli.eval_output import command_words, show_result
    from lamar_rag.cli.output import print_json
    from lamar_rag.evaluation.evaluation_origin import evaluation_origin
    from lamar_rag.evaluation.mteb_run import TASKS, open_tasks, result_path, run_mteb
    from lamar_rag.evaluation.named_model import model_identity, named_models
    from lamar_rag.evaluation.result_files import write_result
    from lamar_rag.preference import LanguagePreference
    from lamar_rag.reranker import Reranker
    from lamar_rag.scorer_factory import build_scorer

    tasks = open_tasks(list(dict.fromkeys(task or TASKS)), language_codes(languages))
    options = loading_options(device, dtype, max_length, trust_remote_code)
    about = evaluation_origin(command_words("mteb", context.params), device)
    results = []
    for named in named_models(model):
        scorer = build_scorer(named.name, **options)
        setting = {**options, "identity": model_identity(named.name)}
        for dial in weight or (0.0,):
            reranker = Reranker(scorer, preference=LanguagePreference(weight=dial))
            for opened in tasks:
                (result,) = run_mteb(
                    reranker, [opened], output, label=named.label, setting=setting, progress=True
                )
                write_result(result_path(output, result), {**result, "about": about})
                results.append(result)
                if not as_json:
                    show_result(result)
        scorer.close()
    if as_json:
        print_json(results)
