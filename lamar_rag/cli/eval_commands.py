"""`lamar eval`: the paper's evaluations, and rescue, on parallel corpora."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lamar_rag.cli import mteb_command
from lamar_rag.cli.eval_options import Models, Output, Weights, loading_options
from lamar_rag.cli.language_options import language_codes
from lamar_rag.cli.options import Device, Dtype, Json, MaxLength, RemoteCode

if TYPE_CHECKING:
    from lamar_rag.evaluation.evaluation_result import EvaluationResult

app = typer.Typer(
    help="Measure rerankers: coherence, retrieval, rescue, MTEB; and report on it beside the paper's numbers.",
    no_args_is_help=True,
)
app.command("mteb", help=mteb_command.HELP)(mteb_command.mteb)
Dataset = Annotated[
    str, typer.Option("--dataset", help="xquad, belebele, or a folder with one LANGUAGE.jsonl a language.")
]
Data = Annotated[
    Path | None,
    typer.Option("--data", help="Folder with the files of xquad or belebele; the hub's copy otherwise."),
]
Languages = Annotated[
    str | None, typer.Option("--languages", help="Such as en,de,ar (belebele: eng_Latn,...); all otherwise.")
]
Limit = Annotated[
    int | None,
    typer.Option("--limit", min=1, help="Questions a language, drawn over all passages; all otherwise."),
]
Seed = Annotated[int, typer.Option("--seed", help="Of --limit.")]
FirstStageName = Annotated[
    str | None,
    typer.Option(
        "--embedder",
        help="First stage of retrieval and rescue: any embedder, multilingual-e5-small otherwise; @plain is without "
        "language centring.",
    ),
]
Candidates = Annotated[
    int | None,
    typer.Option("--candidates", min=1, help="Documents a query gets in retrieval and rescue; 20 otherwise."),
]


@app.command(
    "coherence", help="Which translation of the gold passage comes first (the paper's tables 3, 8 to 13)."
)
@app.command(
    "retrieval", help="Rerank what a first stage finds among all passages in all languages (table 6)."
)
@app.command("rescue", help="What comes first where the passage is missing in the query's language.")
def measure(
    context: typer.Context,
    dataset: Dataset,
    model: Models,
    output: Output,
    data: Data = None,
    weight: Weights = None,
    embedder: FirstStageName = None,
    candidates: Candidates = None,
    languages: Languages = None,
    limit: Limit = None,
    seed: Seed = 0,
    device: Device = None,
    dtype: Dtype = None,
    max_length: MaxLength = None,
    trust_remote_code: RemoteCode = False,
    as_json: Json = False,
) -> None:
    """Measure models on one task, named by the command."""
    from lamar_rag.cli.eval_output import command_words, show_result
    from lamar_rag.cli.output import print_json
    from lamar_rag.evaluation.corpora import open_corpus
    from lamar_rag.evaluation.evaluation_origin import evaluation_origin
    from lamar_rag.evaluation.evaluation_run import EvaluationRun
    from lamar_rag.evaluation.first_stage import CANDIDATES

    task = str(context.info_name)
    if task == "coherence" and (embedder, candidates) != (None, None):
        raise ValueError(
            "got --embedder or --candidates for coherence, which retrieves nothing: leave it out"
        )
    corpus = open_corpus(dataset, data, languages=language_codes(languages)).limited(limit, seed=seed)
    options = loading_options(device, dtype, max_length, trust_remote_code)
    run = EvaluationRun(
        corpus,
        output,
        options=options,
        about=evaluation_origin(command_words(task, context.params), device),
        progress=True,
    )
    results: list[EvaluationResult] = []
    for result in run.measure(
        task,
        model,
        weights=weight or (0.0,),
        embedder=embedder or ("multilingual-e5-small" if task != "coherence" else None),
        candidates=candidates or CANDIDATES,
    ):
        results.append(result)
        if not as_json:
            show_result(result.to_dict())
    if as_json:
        print_json([result.to_dict() for result in results])


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="Folder of results, as the other commands write them.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where the report goes; the same folder otherwise.")
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(
            help="System that differences are to, as the report labels it; the first by name otherwise."
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the bootstrap.")] = 0,
) -> None:
    """Report on all results of a folder: one HTML and one Markdown file, beside the paper's numbers."""
    from lamar_rag.evaluation.report import write_report

    for path in write_report(folder, output, reference=reference, seed=seed):
        typer.echo(str(path))
