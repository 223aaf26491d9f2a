"""`lamar`: the command line. Every command imports what it needs when it runs, so that `--help` is quick."""

from __future__ import annotations

import os
import sys
from importlib.metadata import entry_points
from io import TextIOWrapper

import typer

from lamar_rag.cli import (
    doctor_command,
    eval_commands,
    index_commands,
    model_commands,
    quickstart_command,
    rerank_command,
    search_commands,
)
from lamar_rag.extras import MissingExtraError
from lamar_rag.scoring.remote_errors import RemoteScoringError

app = typer.Typer(
    name="lamar",
    help="LAMAR: language-aware multilingual reranking, retrieval and question answering.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(index_commands.app, name="index")
app.add_typer(eval_commands.app, name="eval")
app.command("search")(search_commands.search)
app.command("rerank")(rerank_command.rerank)
app.command("ask")(search_commands.ask)
app.command("models")(model_commands.models)
app.command("doctor")(doctor_command.doctor)
app.command("quickstart")(quickstart_command.quickstart)
for _group in sorted(entry_points(group="lamar_rag.commands"), key=lambda point: point.name):
    app.add_typer(_group.load(), name=_group.name)


def _version(shown: bool) -> None:
    if shown:
        from lamar_rag import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Rerank, search and answer in many languages."""
    _quiet_libraries()


def main() -> None:
    """Run the command line; a user's mistake exits with 2 and one line on stderr (LAMAR_DEBUG=1 shows where)."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(
            stream, TextIOWrapper
        ):  # any language, in any terminal, and no broken character stops us
            stream.reconfigure(encoding="utf-8", errors="replace")
    try:
        app()
    except (ValueError, OSError, MissingExtraError, RemoteScoringError) as error:
        if os.environ.get("LAMAR_DEBUG"):
            raise
        from lamar_rag.cli.output import printable

        message = printable(" ".join(str(error).split())) or type(error).__name__
        sys.stderr.write(f"lamar: {message}\n")
        sys.exit(2)


def _quiet_libraries() -> None:
    """Keep the libraries' own bars and notes away from our output."""
    import logging

    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "0")
    os.environ.setdefault("TQDM_DISABLE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("lamar: %(message)s"))
    logger = logging.getLogger("lamar_rag")
    if not logger.handlers:
        logger.addHandler(handler)
        logger.setLevel(logging.WARNING)


if __name__ == "__main__":
    main()
