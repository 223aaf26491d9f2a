"""Draws docs/ranking.svg: the candidates of a sample question before and after the language preference.

python benchmarks/ranking_picture.py --output docs/ranking.svg
"""

from __future__ import annotations

import argparse
from pathlib import Path

from lamar_rag.languages import english_name
from lamar_rag.pipeline_parts import build_embedder, build_reranker
from lamar_rag.preference import LanguagePreference
from lamar_rag.profiles import get_profile
from lamar_rag.retrieval.faiss_index import FaissIndex
from lamar_rag.sample_corpus import sample_documents
from lamar_rag.types import RankedDocument

QUESTION, LANGUAGE = "ประเทศใดผลิตกาแฟได้มากที่สุดในโลก", "th"
CAPTION = "Which country produces the most coffee? (asked in Thai)"  # in letters that matplotlib's font has
SHOWN = 7
OWN, OTHER = "#0072B2", "#777777"


def rankings() -> tuple[list[RankedDocument], list[RankedDocument]]:
    """Return the order by relevance alone and with the profile's preference."""
    profile = get_profile("embedded")
    embedder = build_embedder(profile)
    with FaissIndex.build(sample_documents(), embedder) as index:
        documents = [c.document for c in index.search(QUESTION, profile.candidates, query_language=LANGUAGE)]
        reranker = build_reranker(profile, index, embedder)
        alone = LanguagePreference(weight=0.0)
        before = reranker.rerank(QUESTION, documents, preference=alone, query_language=LANGUAGE)
        return before, reranker.rerank(QUESTION, documents, query_language=LANGUAGE)


def label(row: RankedDocument) -> str:
    """Return what names a document in the picture."""
    topic = str(row.document.metadata["topic"]).replace("-", " ")
    return f"{topic} ({english_name(row.language)})"


def draw(before: list[RankedDocument], after: list[RankedDocument], output: Path) -> None:
    """Draw both orders side by side, a line for each document."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 3.4))
    places = {row.document.id: row.rank for row in after}
    for row in before:
        rank = places[row.document.id]
        if min(row.rank, rank) > SHOWN:
            continue
        own = row.language == LANGUAGE
        style = {"color": OWN if own else OTHER, "linewidth": 2.5 if own else 1.0}
        axes.plot(
            [0.36, 0.64], [min(row.rank, SHOWN + 1), min(rank, SHOWN + 1)], marker="o", markersize=4, **style
        )
        weight = "bold" if own else "normal"
        if row.rank <= SHOWN:
            axes.text(
                0.35,
                row.rank,
                f"{label(row)}  {row.rank}",
                ha="right",
                va="center",
                weight=weight,
                fontsize=9,
            )
        if rank <= SHOWN:
            axes.text(0.65, rank, f"{rank}  {label(row)}", ha="left", va="center", weight=weight, fontsize=9)
    axes.text(0.36, 0.2, "before: relevance alone", ha="right", fontsize=9, style="italic")
    axes.text(0.64, 0.2, "after: language preference", ha="left", fontsize=9, style="italic")
    axes.set_title(CAPTION, fontsize=10)
    axes.set(xlim=(0, 1), ylim=(SHOWN + 0.6, -0.2))
    axes.axis("off")
    figure.tight_layout()
    figure.savefig(output, facecolor="white")
    plt.close(figure)


def main() -> None:
    """Rank and draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    draw(*rankings(), options.output)


if __name__ == "__main__":
    main()
