"""Query language against document language: what is ranked first, and how well answers come out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from lamar_rag.evaluation.figure_style import (
    COLOURS,
    DARK,
    FONT,
    MARKERS,
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
    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

Matrix = Mapping[str, Mapping[str, float]]

_CELL_WIDTH, _CELL_HEIGHT = 0.215, 0.165  # inches: the least that three digits, one line, need
_TALLEST_CELL = 0.3  # inches: few languages make no lean cells
_LEAST_PANEL = 0.95  # inches: room for the label of the axis
_DARK_HALF = 0.45  # of cividis: below, white has more contrast than black
_MARGIN = 0.48  # inches: labels beside a heatmap
_MOST_SYSTEMS, _MOST_GENERATORS = 4, 8


def heatmap_figure(matrices: Mapping[str, Matrix], mean_ranks: Matrix) -> Figure:
    """Return which language comes first (LAMAR, figure 2): shares as heatmaps, and under them the mean ranks.

    A column wide for up to 14 languages; with more it grows, for cells to stay legible.

    Args:
        matrices: system -> query language -> document language -> share ranked first, 0 to 1; up to four systems.
        mean_ranks: the same systems -> query language -> mean rank of the passage in the query's language.

    Raises:
        ValueError: nothing to draw, more than four systems, or mean ranks of other systems.
    """
    check_filled("share", matrices.values())
    check_filled("mean rank", mean_ranks.values())
    check_count("systems", len(matrices), _MOST_SYSTEMS)
    if set(mean_ranks) != set(matrices):
        raise ValueError(
            f"got mean ranks of {', '.join(mean_ranks)}, expected those of the systems with shares: "
            f"{', '.join(matrices)}"
        )
    figure, panels = _stack(matrices, "share ranked first, %", below=1.45)
    for (name, matrix), axes in zip(matrices.items(), panels, strict=False):
        _heatmap(axes, matrix, folded(name), (0.0, 1.0))
        _annotate(axes, lambda share: _rounded(100 * share) if share >= 0.005 else "")
    panels[len(matrices) - 1].set_xlabel("document language", fontsize=FONT)
    _ranks(panels[-1], {name: mean_ranks[name] for name in matrices})
    return settled(figure)


def answer_grid_figure(grids: Mapping[str, Matrix]) -> Figure:
    """Return how well answers come out by the languages of question and passage (LAMAR, figure 1).

    All generators share one scale of colours.

    Args:
        grids: generator -> query language -> document language -> mean F1, percent.

    Raises:
        ValueError: nothing to draw, or more than eight generators.
    """
    check_filled("mean F1", grids.values())
    check_count("generators", len(grids), _MOST_GENERATORS)
    values = np.concatenate([_array(grid).ravel() for grid in grids.values()])
    values = values[np.isfinite(values)]
    if not len(values):
        raise ValueError("got no finite mean F1 to draw, expected one at least: measure something first")
    lowest, highest = float(values.min()), float(values.max())
    limits = (10.0 * math.floor(lowest / 10), max(10.0 * math.ceil(highest / 10), 10.0 * (lowest // 10 + 1)))
    figure, panels = _stack(grids, "mean F1 of the answers, %", below=0.0)
    for (name, grid), axes in zip(grids.items(), panels, strict=True):
        image = _heatmap(axes, grid, folded(name), limits)
        _annotate(axes, _rounded)
    panels[-1].set_xlabel("document language", fontsize=FONT)
    bar = figure.colorbar(image, ax=panels, orientation="horizontal", aspect=45, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=FONT, length=2, width=0.5, pad=2)
    return settled(figure)


def _stack(matrices: Mapping[str, Matrix], title: str, *, below: float) -> tuple[Figure, list[Axes]]:
    """Return a figure with a panel a matrix, one under the other, and one more of `below` inches at the foot."""
    arrays = [_array(matrix) for matrix in matrices.values()]
    width = max(WIDTH, *(_MARGIN + array.shape[1] * _CELL_WIDTH for array in arrays))
    heights = [_panel_height(array.shape, width - _MARGIN) for array in arrays] + ([below] if below else [])
    figure = blank_figure(sum(heights) + 0.45, width)
    grid = figure.add_gridspec(len(heights), 1, height_ratios=heights)
    figure.suptitle(title, fontsize=TITLE)
    return figure, [figure.add_subplot(grid[place, 0]) for place in range(len(heights))]


def _panel_height(shape: tuple[int, ...], width: float) -> float:
    rows, columns = shape
    cell = min(_TALLEST_CELL, max(_CELL_HEIGHT, 0.7 * width / columns))
    return max(rows * cell, _LEAST_PANEL) + 0.4


def _heatmap(axes: Axes, matrix: Matrix, title: str, limits: tuple[float, float]) -> AxesImage:
    """Draw a row a query language; what is missing or no number stays white."""
    low, high = limits
    image = axes.imshow(_array(matrix), cmap="cividis", vmin=low, vmax=high, aspect="auto")
    plain_axes(axes, spines=())
    language_ticks(axes, _columns(matrix))
    axes.set_yticks(range(len(matrix)), list(matrix))
    axes.set_ylabel("query language", fontsize=FONT)
    axes.set_title(title, fontsize=TITLE, loc="left", pad=3)
    return image


def _annotate(axes: Axes, text: Callable[[float], str]) -> None:
    """Write each cell's value into it, white on the dark half of the colours."""
    (image,) = axes.images
    values = np.ma.filled(np.ma.asarray(image.get_array(), dtype=np.float64), np.nan)
    shades = np.asarray(image.norm(values), dtype=np.float64)
    for (row, column), value in np.ndenumerate(values):
        label = text(float(value)) if math.isfinite(value) else ""
        if label:
            colour = "white" if float(shades[row, column]) < _DARK_HALF else "black"
            axes.text(column, row, label, ha="center", va="center", fontsize=FONT, color=colour)


def _rounded(value: float) -> str:
    """Return the nearest whole number, halves up, so that a share of half a percent is no 0."""
    return f"{math.floor(value + 0.5):d}"


def _ranks(axes: Axes, mean_ranks: Matrix) -> None:
    """Draw a dot a system and language, the systems side by side so that none hides another."""
    languages = list(dict.fromkeys(code for row in mean_ranks.values() for code in row))
    handles = {}
    for place, (name, row) in enumerate(mean_ranks.items()):
        shift = 0.18 * (place - (len(mean_ranks) - 1) / 2)
        (handles[name],) = axes.plot(
            [languages.index(code) + shift for code in row], list(row.values()), linestyle="none",
            marker=MARKERS[place], markersize=3, color=COLOURS[place],
        )  # fmt: skip
    plain_axes(axes)
    highest = max(2.0, *(value for row in mean_ranks.values() for value in row.values()))
    margin = 0.06 * (highest - 1)
    axes.set_ylim(1 - margin, highest + margin)
    axes.set_yticks(range(1, math.floor(highest) + 1, max(1, round(highest / 6))))
    language_ticks(axes, languages)
    axes.set_xlim(-0.5, len(languages) - 0.5)
    axes.grid(color=PALE, linewidth=0.4)
    axes.set_axisbelow(True)
    axes.set_xlabel("query language", fontsize=FONT, color=DARK)
    axes.set_ylabel("mean rank of the\nsame-language passage", fontsize=FONT)
    legend_above(axes, handles)


def _columns(matrix: Matrix) -> list[str]:
    """Return the document languages, in the order of the query languages as far as they are among these."""
    documents = dict.fromkeys(code for row in matrix.values() for code in row)
    return [code for code in matrix if code in documents] + [code for code in documents if code not in matrix]


def _array(matrix: Matrix) -> npt.NDArray[np.float64]:
    columns = _columns(matrix)
    return np.array([[row.get(code, math.nan) for code in columns] for row in matrix.values()])
