from __future__ import annotations

import itertools
import struct
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from matplotlib.text import Text

from lamar_rag.evaluation.figures import (
    ablation_figure,
    answer_grid_figure,
    dial_figure,
    heatmap_figure,
    language_bars_figure,
    save_figure,
)

SHARES = {
    "plain": {"de": {"de": 0.25, "en": 0.7454, "zh": 0.0046}, "en": {"de": 0.0, "en": 1.0, "zh": 0.0}},
    "aligned": {"de": {"de": 0.995, "en": 0.005, "zh": 0.0}, "en": {"de": 0.125, "en": 0.875, "zh": 0.0}},
}
RANKS = {"plain": {"de": 3.5, "en": 1.0}, "aligned": {"de": 1.01, "en": 1.25}}
BARS = {
    "xquad": {"a": {"en": 0.9, "el": 0.1, "de": 0.5}, "b": {"en": 0.8, "el": 0.2, "de": 0.4}},
    "belebele": {"b": {"de": 0.3, "fr": 0.1, "en": 0.7}},
}
ABLATION = {"coherence": {"stage 1": 0.5, "both": 0.75}, "rescue": {"both": 0.625, "stage 1": 0.875}}
GRID = {"small": {"de": {"de": 61.4, "en": 48.6}, "en": {"de": 39.5, "en": 70.0}}}
# a dial that saturates beside one that falls, as measured ones do, and one that nearly covers the first
WEIGHTS = (0.0, 0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0)
CURVES = {
    "saturating": [(w, 0.9 - 0.4 * 4**-w, 0.8 - 0.03 * w) for w in WEIGHTS],
    "falling": [(w, 0.85 + 0.02 * w, 0.8 - 0.2 * w) for w in WEIGHTS],
    "covering": [(w, 0.905 - 0.4 * 4**-w, 0.8 - 0.03 * w) for w in WEIGHTS],
}
FIGURES = {
    "heatmap": lambda: heatmap_figure(SHARES, RANKS),
    "bars": lambda: language_bars_figure(BARS),
    "ablation": lambda: ablation_figure(ABLATION, "both"),
    "dial": lambda: dial_figure(CURVES),
    "answers": lambda: answer_grid_figure(GRID),
}


def texts(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def test_heatmaps_show_the_shares_with_percents_from_half_a_percent_on():
    plain, aligned, _ = heatmap_figure(SHARES, RANKS).axes
    for axes, name in ((plain, "plain"), (aligned, "aligned")):
        expected = [[SHARES[name][q][d] for d in ("de", "en", "zh")] for q in ("de", "en")]
        assert np.asarray(axes.images[0].get_array()).tolist() == expected
        assert axes.images[0].get_clim() == (0.0, 1.0)
        assert axes.get_title(loc="left") == name
        assert [label.get_text() for label in axes.get_yticklabels()] == ["de", "en"]
        assert [label.get_text() for label in axes.get_xticklabels()] == ["de", "en", "zh"]
    # by hand, row by row: 0.46 % is left out, 0.5 % is not
    assert texts(plain) == ["25", "75", "100"]
    assert [text.get_position() for text in plain.texts] == [(0, 0), (1, 0), (1, 1)]
    assert texts(aligned) == ["100", "1", "13", "88"]


def test_mean_ranks_stand_as_dots_under_the_heatmaps_in_their_language():
    ranks = heatmap_figure(SHARES, dict(reversed(RANKS.items()))).axes[-1]
    for line, name in zip(ranks.lines, SHARES, strict=True):
        assert list(line.get_ydata()) == [RANKS[name]["de"], RANKS[name]["en"]]
        assert [round(x) for x in line.get_xdata()] == [0, 1]
    assert [text.get_text() for text in ranks.get_legend().get_texts()] == ["plain", "aligned"]


def test_answer_grids_share_their_colours_and_leave_gaps_white():
    grids = {**GRID, "large": {"de": {"de": 12.0}, "en": {"de": 88.0, "en": float("nan")}}}
    small, large, _ = answer_grid_figure(grids).axes
    assert texts(small) == ["61", "49", "40", "70"]
    assert texts(large) == ["12", "88"]
    assert small.images[0].get_clim() == large.images[0].get_clim() == (10.0, 90.0)
    assert np.array_equal(
        np.ma.filled(large.images[0].get_array(), np.nan), [[12, np.nan], [88, np.nan]], equal_nan=True
    )


def test_bars_are_as_high_as_the_scores_of_the_common_languages():
    figure = language_bars_figure(BARS)
    xquad, belebele = figure.axes
    assert [label.get_text() for label in belebele.get_xticklabels()] == ["en", "de"]
    heights = [[bar.get_height() for bar in bars] for bars in xquad.containers]
    assert heights == [[0.9, 0.5], [0.8, 0.4]]
    assert [[bar.get_height() for bar in bars] for bars in belebele.containers] == [[0.7, 0.3]]
    for first, second in zip(xquad.containers[1], belebele.containers[0], strict=True):
        assert first.get_facecolor() == second.get_facecolor()
        assert first.get_x() == second.get_x()


def test_ablation_has_a_dashed_line_at_the_full_variant_and_differences_to_it():
    coherence, rescue = ablation_figure(ABLATION, "both").axes
    for axes, row in ((coherence, ABLATION["coherence"]), (rescue, ABLATION["rescue"])):
        (line,) = axes.lines
        assert line.get_linestyle() == "--"
        assert list(line.get_xdata()) == [row["both"]] * 2
        assert [bar.get_width() for bar in axes.patches] == list(row.values())
    assert texts(coherence) == ["0.500 (\u22120.250)", "0.750"]
    assert texts(rescue) == ["0.625", "0.875 (+0.250)"]


def test_dial_draws_points_by_weight():
    points = [(1.0, 0.8, 0.5), (0.0, 0.4, 0.7)]
    axes = dial_figure({"a": points}, value="coherence nDCG@1").axes[0]
    assert axes.lines[0].get_xydata().tolist() == [[0.4, 0.7], [0.8, 0.5]]
    assert axes.get_xlabel() == "coherence nDCG@1"
    weights = {text.xy: text.get_text() for text in axes.texts if text.arrow_patch is not None}
    assert weights == {(0.4, 0.7): "0", (0.8, 0.5): "1"}


def test_lines_of_the_dial_hold_the_harmonic_mean_that_stands_at_them():
    axes = dial_figure(CURVES).axes[0]
    lines = [line for line in axes.lines if len(line.get_xdata()) > len(WEIGHTS)]
    means = []
    for line in lines:
        x, y = line.get_xydata().T
        harmonic = 2 / (1 / x + 1 / y)
        assert np.allclose(harmonic, harmonic[0])
        means.append(round(harmonic[0], 9))
    labels = [float(text.get_text()) for text in axes.texts if text.arrow_patch is None]
    assert labels
    assert set(labels) <= set(means)


@pytest.mark.parametrize("systems", [1, 2, 3])
def test_weights_of_the_dial_cover_neither_each_other_nor_a_point(systems):
    axes = dial_figure(dict(list(CURVES.items())[:systems])).axes[0]
    assert sum(text.arrow_patch is not None for text in axes.texts) >= systems * len(WEIGHTS) - 2
    axes.figure.draw_without_rendering()
    boxes = [Text.get_window_extent(text) for text in axes.texts]  # the letters without the line to the point
    for one, other in itertools.combinations(boxes, 2):
        assert not one.overlaps(other)
    for line in axes.lines[:systems]:
        for point in axes.transData.transform(line.get_xydata()):
            assert not any(box.contains(*point) for box in boxes)


def test_weights_that_change_nothing_share_a_label():
    curve = [(0.0, 0.4, 0.7), (1.0, 0.9, 0.6), (1.5, 0.9, 0.6), (2.0, 0.9, 0.6)]
    axes = dial_figure({"a": curve}).axes[0]
    assert {t.get_text() for t in axes.texts if t.arrow_patch is not None} == {"0", "1, 1.5, 2"}


@pytest.mark.parametrize("name", FIGURES)
def test_equal_figures_are_equal_files(tmp_path, name):
    figure = FIGURES[name]()
    assert save_figure(figure, tmp_path / "one", name) == [f"{name}.png", f"{name}.svg"]
    save_figure(figure, tmp_path / "again", name)
    save_figure(FIGURES[name](), tmp_path / "anew", name)
    for ending in ("png", "svg"):
        written = {
            (tmp_path / folder / f"{name}.{ending}").read_bytes() for folder in ("one", "again", "anew")
        }
        assert len(written) == 1
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == [f"{name}.png", f"{name}.svg"]


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_a_column_wide_with_legible_letters_inside(tmp_path, name):
    figure = FIGURES[name]()
    save_figure(figure, tmp_path, name)
    # a PNG's width stands in its 17th to 20th byte: 3.5 inches of 200 dots
    assert struct.unpack(">I", (tmp_path / f"{name}.png").read_bytes()[16:20]) == (700,)
    root = ElementTree.parse(tmp_path / f"{name}.svg").getroot()
    assert root.get("width") == "252pt"
    assert not root.findall(".//{http://www.w3.org/2000/svg}text")
    assert not root.findall(".//{http://purl.org/dc/elements/1.1/}date")
    written = [
        text for text in figure.findobj(lambda artist: hasattr(artist, "get_fontsize")) if text.get_text()
    ]
    assert min(text.get_fontsize() for text in written if text.get_visible()) >= 7
    whole = figure.get_tightbbox()  # inches
    assert whole.x0 >= 0
    assert whole.y0 >= 0
    assert whole.x1 <= figure.get_figwidth()
    assert whole.y1 <= figure.get_figheight()


def test_no_pyplot_takes_part():
    for make in FIGURES.values():
        make()
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or pyplot.get_fignums() == []


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: heatmap_figure({}, {}), "got no share"),
        (lambda: heatmap_figure({"a": {}}, {"a": {"de": 1.0}}), "got no share"),
        (lambda: heatmap_figure({"a": SHARES["plain"]}, {}), "got no mean rank"),
        (lambda: heatmap_figure(SHARES, {"plain": {"de": 1.0}}), "got mean ranks of plain, expected .* aligned"),
        (lambda: heatmap_figure({str(n): SHARES["plain"] for n in range(5)}, RANKS), "got 5 systems, .* most 4"),
        (lambda: language_bars_figure({}), r"got no nDCG@1"),
        (lambda: language_bars_figure({"xquad": {}}), r"got no nDCG@1"),
        (lambda: language_bars_figure({"x": {"a": {"de": 1.0}}, "y": {"a": {"en": 1.0}}}), "got no language that"),
        (lambda: ablation_figure({}, "both"), "got no value"),
        (lambda: ablation_figure({"rescue": {"stage 1": 1.0}}, "both"), "got no variant 'both' of rescue"),
        (lambda: dial_figure({}), "got no curve"),
        (lambda: dial_figure({"a": []}), "got no curve"),
        (lambda: answer_grid_figure({}), "got no mean F1"),
        (lambda: answer_grid_figure({"a": {"de": {"de": float("nan")}}}), "got no finite mean F1"),
    ],
)  # fmt: skip
def test_nothing_to_draw_is_an_error_of_one_line(draw, message):
    with pytest.raises(ValueError, match=message) as error:
        draw()
    assert "\n" not in str(error.value)
