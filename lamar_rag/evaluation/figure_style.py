"""What the figures of a report share: width, type size, colours, and frames without ornament."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lamar_rag.extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 3.5  # inches: a column of a two-column page, so that nothing is scaled there
FONT, TITLE = 7.0, 8.0  # points
DARK, PALE = "#222222", "#cccccc"
# Okabe and Ito's colours, the strongest on white first, a grey for their yellow; a marker each for print without colour
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000", "#888888")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
_LETTER = 0.062  # inches: a mean letter of the 7 point type, on the safe side


def blank_figure(height: float, width: float = WIDTH) -> Figure:
    """Return an empty figure of this size in inches, which makes room for labels and which no pyplot knows of."""
    module: Any = require("matplotlib.figure", extra="eval", purpose="figures")
    figure: Figure = module.Figure(figsize=(width, height), layout="constrained")
    return figure


def settled(figure: Figure) -> Figure:
    """Make room for labels once and for all, and return the figure: each drawing would move the axes a little."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure


def check_filled(what: str, values: Iterable[Any]) -> None:
    """Raise ValueError where there is nothing to draw, on any level of nested mappings and sequences."""
    listed = list(values)
    if not listed:
        raise ValueError(f"got no {what} to draw, expected one at least: measure something first")
    for value in listed:
        if isinstance(value, Mapping | Sequence):
            check_filled(what, value.values() if isinstance(value, Mapping) else value)


def check_count(what: str, count: int, most: int) -> None:
    """Raise ValueError where there are more than can be told apart."""
    if count > most:
        raise ValueError(f"got {count} {what}, expected at most {most}: draw several figures")


def plain_axes(axes: Axes, *, spines: Sequence[str] = ("left", "bottom")) -> None:
    """Leave only these sides of the frame, with short ticks and labels of the figures' size."""
    axes.tick_params(labelsize=FONT, length=2, width=0.5, pad=2, colors=DARK)
    for side, spine in axes.spines.items():
        spine.set_visible(side in spines)
        spine.set_linewidth(0.5)


def language_ticks(axes: Axes, languages: Sequence[str]) -> None:
    """Label the x axis with languages; codes that are long stand upright."""
    upright = max(map(len, languages)) > 3
    axes.set_xticks(range(len(languages)), languages, rotation=90 if upright else 0)


def legend_above(axes: Axes, handles: Mapping[str, Any], *, gap: float = 0.0) -> None:
    """Put a legend over the axes, in as many columns as fit the width.

    Args:
        axes: under the legend.
        handles: label -> what was drawn.
        gap: points that are left free between both.
    """
    labels = [folded(name) for name in handles]
    longest = max(len(line) for label in labels for line in label.splitlines())
    columns = max(1, min(len(labels), int((WIDTH - 0.5) / (0.32 + _LETTER * longest))))
    axes.legend(
        list(handles.values()), labels, loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, fontsize=FONT,
        frameon=False, borderaxespad=0.2 + gap / FONT, borderpad=0, handlelength=1.2, handletextpad=0.4,
        columnspacing=1, labelspacing=0.3,
    )  # fmt: skip


def folded(name: str, letters: int = 48) -> str:
    """Return a name in lines that fit."""
    return textwrap.fill(name, letters) or name
