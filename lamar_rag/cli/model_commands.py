"""`lamar models`: the models that are known by name."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer


def models(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False) -> None:
    """List the models that are known by name, with licence, size and where they come from."""
    from lamar_rag.cli.output import print_json
    from lamar_rag.model_list import MODELS

    if as_json:
        print_json({"models": [asdict(row) for row in MODELS]})
        return
    from rich.console import Console
    from rich.table import Table

    table = Table()
    for name in ("name", "use", "scoring", "licence", "MB", "from"):
        table.add_column(name, overflow="fold")
    for row in MODELS:
        origin = row.install or row.source
        table.add_row(
            row.name,
            ", ".join(row.roles),
            row.scoring,
            row.licence,
            str(row.megabytes),
            origin.replace("[", r"\["),
        )
    Console().print(table)
    Console().print(
        "Any other sequence classifier with one label, or sentence-transformers embedder, works by hub id or folder."
    )
