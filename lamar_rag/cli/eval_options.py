"""Options that the evaluation commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

Models = Annotated[
    list[str],
    typer.Option(
        "--model",
        "-m",
        help="Reranker, as often as you like: name, hub id, folder or URL; LABEL=MODEL names it. On parallel corpora "
        "further EMBEDDER@plain, without language centring, and MODEL+20xEMBEDDER, which adds the similarity.",
    ),
]
Output = Annotated[
    Path, typer.Option("--output", "-o", help="Folder of results; a stopped run goes on from it.")
]
Weights = Annotated[
    list[float] | None,
    typer.Option("--weight", help="Language preference, as often as you like; 0 otherwise."),
]


def loading_options(
    device: str | None, dtype: str | None, max_length: int | None, trust_remote_code: bool
) -> dict[str, Any]:
    """Return those that were given."""
    given = {
        "device": device,
        "dtype": dtype,
        "max_length": max_length,
        "trust_remote_code": trust_remote_code or None,
    }
    return {name: value for name, value in given.items() if value is not None}
