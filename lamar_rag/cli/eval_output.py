"""How `lamar eval` prints results, and how it writes down the command that made them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any


def command_words(task: str, settings: Mapping[str, Any]) -> list[str]:
    """Return the command without what is this machine's own: folders are written as DATA, OUT or by their names."""
    from lamar_rag.evaluation.named_model import named_models, portable_name

    words = ["lamar", "eval", task]
    for name, value in settings.items():
        option = f"--{name.replace('_', '-')}"
        if value is None or value is False or value == [] or name == "as_json":
            continue
        if name in ("data", "output"):
            words += [option, "DATA" if name == "data" else "OUT"]
        elif name == "model":
            for model in named_models(value):
                shown = portable_name(model.name)
                words += [option, shlex.quote(shown if shown == model.label else f"{model.label}={shown}")]
        elif value is True:
            words.append(option)
        else:
            for item in value if isinstance(value, list) else [value]:
                words += [option, shlex.quote(portable_name(str(item)))]
    return words


def show_result(result: Mapping[str, Any]) -> None:
    """Print a result's JSON: one line a language, their mean, and beside it the order before reranking."""
    from rich.console import Console
    from rich.table import Table

    setting = result["setting"]
    title = f"{result['task']}, {result['dataset']}: {result['model']}, dial {setting['weight']:g}"
    for note in (setting["subset"], setting.get("first_stage")):
        title += f" ({note})" if note else ""
    console = Console()
    rows = _rows(result)
    table = Table("language", *({name: None for row in rows.values() for name in row}))
    for column in table.columns[1:]:
        column.justify = "right"
    names = [str(column.header) for column in table.columns[1:]]
    for language, row in rows.items():
        table.add_row(language, *(f"{row[name]:.3f}" if name in row else "" for name in names))
    # not the table's title, which would be broken into lines as narrow as the table
    console.print(title, markup=False, highlight=False, soft_wrap=True)
    console.print(table)


def _rows(result: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return the figures by language, their mean, and the first stage's."""
    flat = {
        language: {**row.get("reranked", row), **{k: v for k, v in row.items() if k.startswith("recall")}}
        for language, row in result["languages"].items()
    }
    figures = [name for name in next(iter(flat.values())) if name != "n"]
    rows = {language: {name: row[name] for name in figures} for language, row in flat.items()}
    means = {**result, **result.get("avg", {}), **result.get("reranked", {})}
    rows["avg"] = {name: means[name] for name in figures}
    if "first_stage" in result:
        rows["not reranked"] = dict(result["first_stage"])
    return rows
