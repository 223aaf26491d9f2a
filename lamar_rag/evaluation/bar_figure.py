"""Bars: systems by language, and what each part of a method is for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lamar_rag.evaluation.figure_style import (
    COLOURS,
    DARK,
    FONT,
    PALE,
    TITLE,
    WIDTH,
    blank_figure,
    check_count,
    check_filled,
    folded,
    language_ticks,
    legend_above,
    plain_axes,
    settled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GROUP = 0.8  # of the distance between two languages
_LEAST_BAR = 0.035  # inches


def language_bars_figure(scores: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Figure:
    """Return nDCG@1 by language (LAMAR, figure 3), a panel a data set, over the languages that all of them have.

    A system has the same colour in all panels; a data set that lacks it leaves its place free.

    Args:
        scores: data set -> system -> language -> nDCG@1, 0 to 1.

    Raises:
        ValueError: nothing to draw, more than eight systems, or no language in common.
    """
    check_filled("nDCG@1", scores.values())
    systems = list(dict.fromkeys(name for rows in scores.values() for name in rows))
    check_count("systems", len(systems), len(COLOURS))
    languages = _common([row for rows in scores.values() for row in rows.values()])
    width = max(WIDTH, 0.45 + len(languages) * len(systems) * _LEAST_BAR / _GROUP)
    figure = blank_figure(1.35 * len(scores) + 0.5, width)
    panels = figure.subplots(len(scores), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    handles: dict[str, Any] = {}
    for axes, (dataset, rows) in zip(panels, scores.items(), strict=True):
        handles |= _groups(axes, rows, systems, languages)
        axes.set_ylabel(f"{folded(dataset, 24)}\nnDCG@1", fontsize=FONT)
    axes.set_xlabel("query language", fontsize=FONT)
    legend_above(panels[0], {name: handles[name] for name in systems}, gap=2)
    return settled(figure)


def ablation_figure(scores: Mapping[str, Mapping[str, float]], full: str) -> Figure:
    """Return what each part is for (LAMAR, figure 4): bars, a dashed line at the full method, differences to it.

    Args:
        scores: task -> variant -> value.
        full: the variant that the others are compared with.

    Raises:
        ValueError: nothing to draw, or a task without the full variant.
    """
    check_filled("value", scores.values())
    for task, row in scores.items():
        if full not in row:
            raise ValueError(f"got no variant '{full}' of {task}, expected it among {', '.join(row)}")
    heights = [0.19 * len(row) + 0.42 for row in scores.values()]
    figure = blank_figure(sum(heights))
    panels = figure.subplots(len(scores), 1, squeeze=False, height_ratios=heights)[:, 0]
    for axes, (task, row) in zip(panels, scores.items(), strict=True):
        _variants(axes, row, full)
        axes.set_title(folded(task), fontsize=TITLE, loc="left", pad=3)
    return settled(figure)


def _common(rows: Sequence[Mapping[str, float]]) -> list[str]:
    """Return the languages that every row has, in the first one's order."""
    languages = [code for code in rows[0] if all(code in row for row in rows)]
    if not languages:
        raise ValueError("got no language that all data sets and systems have, expected one at least")
    return languages


def _groups(
    axes: Axes, rows: Mapping[str, Mapping[str, float]], systems: Sequence[str], languages: Sequence[str]
) -> dict[str, Any]:
    """Draw a data set's bars, and return them by system."""
    width = _GROUP / len(systems)
    handles: dict[str, Any] = {}
    for place, name in enumerate(systems):
        if name in rows:
            shift = width * (place - (len(systems) - 1) / 2)
            handles[name] = axes.bar(
                [number + shift for number in range(len(languages))],
                [rows[name][code] for code in languages],
                width, color=COLOURS[place], edgecolor="white", linewidth=0.2,
            )  # fmt: skip
    plain_axes(axes)
    axes.set_ylim(0, 1)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "", "0.5", "", "1"])
    axes.grid(axis="y", color=PALE, linewidth=0.4)
    axes.set_axisbelow(True)
    language_ticks(axes, languages)
    axes.set_xlim(-0.6, len(languages) - 0.4)
    return handles


def _variants(axes: Axes, row: Mapping[str, float], full: str) -> None:
    """Draw a task's variants; the numbers stand in a column at the right, where no bar or line crosses them."""
    colours = [COLOURS[0] if name == full else COLOURS[5] for name in row]
    axes.barh(range(len(row)), list(row.values()), height=0.7, color=colours)
    axes.axvline(row[full], linestyle="--", color=DARK, linewidth=0.8)
    highest = max(row.values())
    digits = 3 if highest <= 1 else 1
    for place, (name, value) in enumerate(row.items()):
        difference = "" if name == full else f" ({value - row[full]:+.{digits}f})".replace("-", "\u2212")
        axes.text(
            1.02, place, f"{value:.{digits}f}{difference}", transform=axes.get_yaxis_transform(),
            va="center", fontsize=FONT, fontweight="bold" if name == full else "normal",
        )  # fmt: skip
    plain_axes(axes)
    axes.set_xlim(min(0.0, *row.values()), 1.0 if highest <= 1 else 1.05 * highest)
    axes.set_yticks(range(len(row)), [folded(name, 22) for name in row])
    axes.invert_yaxis()
