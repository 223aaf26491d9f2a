"""`lamar models`: the models that are known by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from lamar_rag.cli.options import Json

if TYPE_CHECKING:
    from lamar_rag.model_list import ModelRow
    from lamar_rag.scoring.recipe import Recipe

_ROLES = ("reranker", "embedder", "generator")


def models(
    role: Annotated[str | None, typer.Option(help="Only reranker, embedder or generator.")] = None,
    as_json: Json = False,
) -> None:
    """List the models that are known by name: way of scoring, licence, size, length, remote code, source."""
    from lamar_rag.cli.output import print_json
    from lamar_rag.model_list import MODELS
    from lamar_rag.scoring.registry import RECIPES

    if role not in (None, *_ROLES):
        raise ValueError(f"got role '{role}', expected one of {', '.join(_ROLES)}")
    rows = [*map(_model_row, MODELS), *map(_recipe_row, RECIPES)]
    shown = [row for row in rows if role is None or role in row["roles"]]
    if as_json:
        print_json({"models": shown})
    else:
        _print_rows(shown)


def _model_row(model: ModelRow) -> dict[str, Any]:
    return {
        "name": model.name,
        "short_name": None,
        "roles": list(model.roles),
        "scoring": model.scoring,
        "licence": model.licence,
        "size": f"{model.megabytes} MB",
        "max_length": None,
        "remote_code": False,
        "install": model.install,
        "source": model.source,
        "note": "",
    }


def _recipe_row(recipe: Recipe) -> dict[str, Any]:
    return {
        "name": recipe.model,
        "short_name": recipe.short_name,
        "roles": ["reranker"],
        "scoring": recipe.scoring,
        "licence": recipe.licence,
        "size": f"{recipe.parameters_millions}M parameters",
        "max_length": recipe.max_length,
        "remote_code": recipe.remote_code,
        "install": None,
        "source": recipe.source,
        "note": recipe.note,
    }


def _print_rows(rows: list[dict[str, Any]]) -> None:
    """Print two lines a model, which fit any terminal; a table of these columns would not."""
    for role in _ROLES:
        named = [row for row in rows if row["roles"][0] == role]
        if named:
            typer.echo(f"{role}s")
        for row in named:
            aliases = [row["short_name"]] if row["short_name"] else []
            aliases += [f"also a {other}" for other in row["roles"][1:]]
            facts = [row["scoring"], row["size"], row["licence"]]
            facts += [f"{row['max_length']} tokens"] if row["max_length"] else []
            facts += ["needs --trust-remote-code"] if row["remote_code"] else []
            facts += [row["install"]] if row["install"] else []
            typer.echo(f"  {row['name']}" + (f"  ({', '.join(aliases)})" if aliases else ""))
            typer.echo(f"      {'; '.join(fact for fact in facts if fact != '-')}")
    typer.echo(
        "Any other sequence classifier with one label, causal language model or sentence-transformers\n"
        "embedder works by hub id or folder, any rerank server by its URL. Notes and sources: --json."
    )
