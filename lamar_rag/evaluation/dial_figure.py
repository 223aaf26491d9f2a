"""The language preference's dial: what its weights win in coherence or retrieval, and lose in rescue."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from lamar_rag.evaluation.figure_style import (
    COLOURS,
    FONT,
    MARKERS,
    PALE,
    blank_figure,
    check_count,
    check_filled,
    legend_above,
    plain_axes,
    settled,
)

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Array = npt.NDArray[np.float64]

Curves = Mapping[str, Sequence[tuple[float, float, float]]]

_ISO_LINES, _STEPS = 6, (0.01, 0.02, 0.05, 0.1, 0.2)
_LETTER, _LINE = 0.64 * FONT, 1.0 * FONT  # points: the widest digit, and the height of a label
_RADII = (8.0, 11.0, 15.0, 20.0, 26.0, 33.0, 41.0, 50.0, 60.0)  # points from marker to label
_MARKER = 4.0  # points


def dial_figure(curves: Curves, *, value: str = "retrieval nDCG@1") -> Figure:
    """Return the dial's trade: the value against rescue@1, a line a system, over lines of equal harmonic mean.

    Args:
        curves: system -> points (weight, value, rescue@1), in any order; weights that give the same point share a
            label.
        value: what the points' second number is.

    Raises:
        ValueError: nothing to draw, more than eight systems, or a system without points.
    """
    check_filled("curve", curves.values())
    check_count("systems", len(curves), len(COLOURS))
    ordered = [sorted(curve) for curve in curves.values()]
    figure = blank_figure(3.2 + 0.13 * len(curves))
    axes = figure.add_subplot()
    handles: dict[str, Artist] = {}
    for place, (name, curve) in enumerate(zip(curves, ordered, strict=True)):
        (handles[name],) = axes.plot(
            [point[1] for point in curve], [point[2] for point in curve], color=COLOURS[place],
            marker=MARKERS[place], markersize=_MARKER, linewidth=1,
        )  # fmt: skip
    plain_axes(axes)
    axes.set_xlim(_limits([point[1] for curve in ordered for point in curve]))
    axes.set_ylim(_limits([point[2] for curve in ordered for point in curve]))
    axes.locator_params(nbins=6)
    handles["harmonic mean"], labelled = _iso_lines(axes)
    axes.set_xlabel(value, fontsize=FONT)
    axes.set_ylabel("rescue@1", fontsize=FONT)
    legend_above(axes, handles, gap=FONT + 4 if labelled else 3)
    # labels are placed in points on the page: the axes must not move any more
    settled(figure)
    _label_weights(axes, ordered)
    return figure


def _limits(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    margin = max(0.1 * (high - low), 0.02)
    return low - margin, high + margin


def _iso_lines(axes: Axes) -> tuple[Artist, bool]:
    """Draw the lines where the harmonic mean of both axes is a round number, which stands where a line leaves.

    Returns:
        A line, and whether numbers stand above the axes.
    """
    labelled = False
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    low, high = _harmonic(left, bottom), _harmonic(right, top)
    step = next((step for step in _STEPS if (high - low) / step <= _ISO_LINES), _STEPS[-1])
    (handle,) = axes.plot([], [], color=PALE, linewidth=0.6)
    for number in range(math.floor(low / step) + 1, math.ceil(high / step)):
        mean = number * step
        x = np.linspace(max(left, 0.501 * mean), right, 300)
        y = mean * x / (2 * x - mean)
        axes.plot(x, y, color=PALE, linewidth=0.6, zorder=0.5)
        above = mean * top / (2 * top - mean)
        if bottom <= y[-1] <= top:
            _margin_label(axes, f"{mean:g}", (right, y[-1]), (2.0, 0.0))
        elif left <= above <= right:
            _margin_label(axes, f"{mean:g}", (above, top), (0.0, 2.0))
            labelled = True
    return handle, labelled


def _harmonic(x: float, y: float) -> float:
    return 2 * x * y / (x + y) if x > 0 and y > 0 else 0.0


def _margin_label(axes: Axes, text: str, place: tuple[float, float], offset: tuple[float, float]) -> None:
    beside = offset[0] > 0
    axes.annotate(
        text, place, offset, textcoords="offset points", annotation_clip=False, fontsize=FONT, color="#777777",
        ha="left" if beside else "center", va="center" if beside else "bottom",
    )  # fmt: skip


def _label_weights(axes: Axes, curves: Sequence[Sequence[tuple[float, float, float]]]) -> None:
    """Write the weights beside their points, each where it covers the least, with a thin line to its point."""
    frame = axes.get_window_extent()
    points_a_pixel = 72 / axes.figure.dpi
    width, height = frame.width * points_a_pixel, frame.height * points_a_pixel
    to_page = axes.transData + axes.transAxes.inverted()
    scaled = [to_page.transform([point[1:] for point in curve]) * (width, height) for curve in curves]
    taken = _boxes(np.concatenate(scaled), _MARKER, _MARKER)
    lines = np.concatenate([_along(curve) for curve in scaled])
    for place, (curve, spots) in enumerate(zip(curves, scaled, strict=True)):
        for text, number in _shared_labels([point[0] for point in curve], spots):
            size = (_LETTER * len(text), _LINE)
            offset = _free_offset(spots[number], size, taken, lines, (width, height))
            taken = np.concatenate([taken, _boxes(spots[number] + offset, *size)])
            axes.annotate(
                text, curve[number][1:], tuple(offset), textcoords="offset points", ha="center",
                va="center_baseline", fontsize=FONT, color=_ink(COLOURS[place]),
                arrowprops={"arrowstyle": "-", "linewidth": 0.4, "color": COLOURS[place], "shrinkA": 0, "shrinkB": 2},
            )  # fmt: skip


def _shared_labels(weights: Sequence[float], spots: Array) -> list[tuple[str, int]]:
    """Return (text, number of the point); weights whose markers cover one another share a text."""
    groups: list[list[int]] = []
    for number in range(len(weights)):
        near = groups and np.hypot(*(spots[number] - spots[groups[-1][0]])) < _MARKER / 2
        if near:
            groups[-1].append(number)
        else:
            groups.append([number])
    return [(", ".join(f"{weights[number]:g}" for number in group), group[0]) for group in groups]


def _free_offset(
    spot: Array, size: tuple[float, float], taken: Array, lines: Array, page: tuple[float, float]
) -> Array:
    """Return the offset of a label's centre where it covers fewest boxes and least of the lines; near ones first."""
    angles = np.deg2rad(np.arange(0, 360, 15))
    offsets = np.array(
        [
            (radius * math.cos(angle) + math.copysign(size[0] / 2, math.cos(angle)) * abs(math.cos(angle)),
             radius * math.sin(angle))
            for radius in _RADII for angle in angles
        ]
    )  # fmt: skip
    boxes = _boxes(spot + offsets, size[0] + 2, size[1] + 1)
    covered = _overlaps(boxes, taken).sum(axis=1)
    crossed = _overlaps(boxes, _boxes(lines, 0.5, 0.5)).sum(axis=1)
    outside = (boxes[:, :2] < 0).any(axis=1) | (boxes[:, 2:] > page).any(axis=1)
    distance = np.hypot(*offsets.T)
    best: Array = offsets[np.argmin(1000 * (covered + outside) + 8 * crossed + distance)]
    return best


def _boxes(centres: Array, width: float, height: float) -> Array:
    """Return rows of left, bottom, right, top."""
    half = np.array([width / 2, height / 2])
    rows = np.atleast_2d(centres)
    return np.concatenate([rows - half, rows + half], axis=1)


def _overlaps(boxes: Array, others: Array) -> npt.NDArray[np.bool_]:
    """Return which overlap, shape (boxes, others)."""
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    return np.asarray(np.all(low < high, axis=2))


def _along(spots: Array) -> Array:
    """Return points along a polyline, two points of the page apart."""
    pieces = [spots[:1]]
    for start, end in itertools.pairwise(spots):
        count = max(2, int(np.hypot(*(end - start)) / 2))
        pieces.append(start + (end - start) * np.linspace(0, 1, count)[:, None])
    return np.concatenate(pieces)


def _ink(colour: str) -> str:
    """Return a darker shade of a colour, for text to be legible on white."""
    parts = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return "#" + "".join(f"{int(0.65 * part):02x}" for part in parts)
