"""The figures of a report, from plain data, and their files."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamar_rag.evaluation.bar_figure import ablation_figure, language_bars_figure
from lamar_rag.evaluation.dial_figure import dial_figure
from lamar_rag.evaluation.heatmap_figure import answer_grid_figure, heatmap_figure
from lamar_rag.extras import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "ablation_figure",
    "answer_grid_figure",
    "dial_figure",
    "heatmap_figure",
    "language_bars_figure",
    "save_figure",
]

# letters as outlines look the same where the type is not installed; without a salt the ids in a SVG are random
_SETTINGS = {"svg.hashsalt": "lamar-rag", "svg.fonttype": "path"}
# dates and versions would make equal figures different files
_METADATA: dict[str, dict[str, None]] = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}


def save_figure(figure: Figure, folder: Path, name: str) -> list[str]:
    """Write NAME.png (200 dpi) and NAME.svg into the folder, and return their names; equal figures give equal bytes.

    Args:
        figure: of one of the functions of this module.
        folder: is made.
        name: without an ending.
    """
    matplotlib: Any = require("matplotlib", extra="eval", purpose="figures")
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    with matplotlib.rc_context(_SETTINGS):
        for ending, metadata in _METADATA.items():
            buffer = io.BytesIO()
            figure.savefig(buffer, format=ending, dpi=200, metadata=metadata)
            path = folder / f"{name}.{ending}"
            unfinished = folder / f".{path.name}.unfinished"
            unfinished.write_bytes(buffer.getvalue())
            unfinished.replace(path)
            names.append(path.name)
    return names
