"""How `lamar eval` prints results, and how it writes down the command that made them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lamar_rag.evaluation.evaluation_result import EvaluationResult


def command_words(task: str, settings: Mapping[str, Any]) -> list[str]:
    """Return the command without what is this machine's own: folders are written as DATA, OUT or by their names."""
    words = ["lamar", "eval", task]
    for name, value in settings.items():
        option = f"--{name.replace('_', '-')}"
        if value is None or value is False or value == [] or name == "as_json":
            continue
        if name in ("data", "output"):
            words += [option, "DATA" if name == "data" else "OUT"]
        elif value is True:
            words.append(option)
        else:
            for item in value if isinstance(value, list) else [value]:
                words += [option, shlex.quote(_portable(str(item)))]
    return words


def show_result(result: EvaluationResult) -> None:
    """Print a result: one line a language, and their mean."""
    from rich.console import Console
    from rich.table import Table

    setting = result.setting
    title = f"{result.task}, {result.dataset}: {result.model}, dial {setting['weight']:g}"
    for note in (setting["subset"], setting.get("first_stage")):
        title += f" ({note})" if note else ""
    table = Table(title=title, title_justify="left")
    figures = list(result.avg)
    for column in ("language", *figures):
        table.add_column(column, justify="left" if column == "language" else "right")
    for language, row in {**result.languages, "avg": result.avg}.items():
        table.add_row(language, *(f"{row[name]:.3f}" for name in figures))
    Console().print(table)


def _portable(value: str) -> str:
    """Return a name whose folder, where it is one of this machine, is left out."""
    label, separator, name = value.rpartition("=")
    name = Path(name).name if Path(name).is_absolute() else name
    return f"{label}{separator}{name}"
