"""Draws coherence against rescue over the preference dial, and prints the tables of docs/language-preference.md.

python benchmarks/preference_plot.py RESULT.json [RESULT.json ...] --output docs/language-preference.svg
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

TITLES = {
    "xquad": "XQuAD (evaluation)",
    "ntrex": "NTREX headlines (development)",
    "mslearn": "mslearn sections (development)",
}
# Okabe and Ito's colours, told apart by colour-blind readers; the marker tells them apart in print.
STYLES = {"plain": ("#D55E00", "s", "plain e5"), "centred": ("#0072B2", "o", "centred e5")}
TABLE_WEIGHTS = [0.0, 0.2, 0.5, 1.0, 1.5, 2.0]


def row(label: str, point: dict[str, float]) -> str:
    """Return one line of the Markdown table."""
    names = ("recall@20", "ndcg@1", "rescue@1", "ceiling", "balanced@1")
    return f"| {label} | {point['weight']:g} | " + " | ".join(f"{point[name]:.3f}" for name in names) + " |"


def table(result: dict) -> str:
    """Return the Markdown table of one data set: plain e5 without the dial, centred e5 over it."""
    lines = [
        f"**{TITLES[result['dataset']]}**: {result['queries']:,} queries, {result['passages']:,} passages",
        "",
        "| first stage | weight | R@20 | nDCG@1 | rescue@1 | ceiling | balanced@1 |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        row("plain e5", result["plain"]["points"][0]),
    ]
    lines += [
        row("centred e5", point) for point in result["centred"]["points"] if point["weight"] in TABLE_WEIGHTS
    ]
    return "\n".join(lines)


def by_language(result: dict, weight: float) -> str:
    """Return the Markdown table of one weight by query language, beside plain e5."""
    plain = result["plain"]["points"][0]["languages"]
    centred = next(p for p in result["centred"]["points"] if p["weight"] == weight)["languages"]
    lines = [
        "| query language | plain: R@20 | nDCG@1 | rescue@1 | centred, dial: R@20 | nDCG@1 | rescue@1 |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    names = ("recall@20", "ndcg@1", "rescue@1")
    for language in plain:
        cells = [f"{side[language][name]:.3f}" for side in (plain, centred) for name in names]
        lines.append(f"| {language} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def draw(results: list[dict], chosen: float, output: Path) -> None:
    """Draw one panel a data set."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, len(results), figsize=(4.2 * len(results), 3.8), squeeze=False)
    for axes, result in zip(panels[0], results, strict=True):
        for name, (colour, marker, label) in STYLES.items():
            points = result[name]["points"]
            x, y = [p["ndcg@1"] for p in points], [p["rescue@1"] for p in points]
            axes.plot(x, y, color=colour, marker=marker, markersize=4, linewidth=1, label=label)
            axes.annotate("0", (x[0], y[0]), textcoords="offset points", xytext=(-8, 4), fontsize=8)
            default = [p for p in points if name == "centred" and p["weight"] == chosen]
            for p in default:
                axes.plot(
                    p["ndcg@1"], p["rescue@1"], marker="*", markersize=14, color=colour, linestyle="none"
                )
                axes.annotate(
                    f"default ({chosen:g})", (p["ndcg@1"], p["rescue@1"]), textcoords="offset points",
                    xytext=(8, 4), fontsize=8,
                )  # fmt: skip
        axes.set_title(TITLES[result["dataset"]], fontsize=10)
        axes.set_xlabel("nDCG@1: gold passage in the query's language first")
        axes.set_ylabel("rescue@1: a translation first without it")
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(output)


def main() -> None:
    """Draw and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--chosen", type=float, default=0.5, help="the embedded profile's weight")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    results = [json.loads(path.read_text(encoding="utf-8")) for path in options.results]
    draw(results, options.chosen, options.output)
    for result in results:
        print(table(result), end="\n\n")
    for result in results:
        if result["dataset"] == "xquad":
            print(by_language(result, options.chosen))


if __name__ == "__main__":
    main()
