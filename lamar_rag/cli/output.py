"""How the commands print: one JSON document, or tables for people."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, Literal

from lamar_rag.text import replace_surrogates
from lamar_rag.types import Answer, Candidate, Document, RankedDocument

_SNIPPET = 110
_TABLE_WIDTH = 70  # columns that a terminal needs for the table
# C0 and C1 controls but for the line feed, bidirectional embeddings, overrides and isolates, lone surrogates
_STEERING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def print_json(value: Any) -> None:
    """Write one JSON document to stdout, UTF-8, without a trailing table or log line."""
    sys.stdout.write(
        replace_surrogates(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)) + "\n"
    )


def candidate_row(candidate: Candidate) -> dict[str, Any]:
    """Return a first-stage hit as JSON values."""
    return {
        **_document_row(candidate.document),
        "score": candidate.score,
        "rank": candidate.rank,
        "language": candidate.document.language,
    }


def ranked_row(ranked: RankedDocument) -> dict[str, Any]:
    """Return a reranked document as JSON values; `rank_before` counts from 1, as `rank` does."""
    return {
        **_document_row(ranked.document),
        "score": ranked.score,
        "relevance": ranked.relevance,
        "probability": ranked.probability,
        "rank": ranked.rank,
        "rank_before": ranked.index + 1,
        "language": ranked.language,
        "truncated": ranked.truncated,
    }


def answer_row(answer: Answer) -> dict[str, Any]:
    """Return an answer as JSON values."""
    return {
        "question": answer.question,
        "question_language": answer.language,
        "answer": answer.answer,
        "found": answer.found,
        "source": None if answer.source is None else answer.contexts[answer.source].document.id,
        "contexts": [ranked_row(context) for context in answer.contexts],
        "candidates": [candidate_row(candidate) for candidate in answer.candidates],
        "timings_ms": {stage: round(value, 3) for stage, value in answer.timings_ms.items()},
    }


def print_results(query: str, language: str, rows: Sequence[dict[str, Any]], *, as_json: bool) -> None:
    """Print the results of a search or a reranking."""
    if as_json:
        print_json({"query": query, "query_language": language, "results": list(rows)})
        return
    if not rows:
        sys.stdout.write("nothing found\n")
        return
    print_table(f"{query}  ({language})", rows)


def print_table(title: str, rows: Iterable[dict[str, Any]]) -> None:
    """Print ranked rows: rank, the rank before where there was one, language, score, id, text.

    A table where the terminal is wide enough, else two lines a row.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    names = ["rank", "before", "language", "score", "id", "text"]
    cells = [_cells(row) for row in rows]
    if not any(row["before"] for row in cells):
        names.remove("before")
    if console.width < _TABLE_WIDTH:
        console.print(escape(printable(title)))
        for row in cells:
            console.print(escape("  ".join(row[name] for name in names[:-1])))
            console.print(escape(f"   {row['text']}"))
        return
    table = Table(title=escape(printable(title)), title_justify="left", expand=True)
    for name in names:
        justify: Literal["left", "right"] = "right" if name in ("rank", "before") else "left"
        table.add_column(name, justify=justify, overflow="fold", ratio=1 if name == "text" else None)
    for row in cells:
        table.add_row(*(escape(row[name]) for name in names))
    console.print(table)


def _cells(row: dict[str, Any]) -> dict[str, str]:
    """Return what is printed of a row, by column."""
    text = " ".join(row["text"].split())
    cells = {
        "rank": str(row["rank"]),
        "before": _move(row["rank_before"], row["rank"]) if "rank_before" in row else "",
        "language": row["language"] or "und",
        "score": f"{row['score']:.4f}",
        "id": row["id"],
        "text": text if len(text) <= _SNIPPET else text[: _SNIPPET - 1] + "…",
    }
    return {name: printable(cell) for name, cell in cells.items()}


def print_answer(answer: Answer) -> None:
    """Print an answer with its source, the contexts with their moves, and the time of each stage."""
    from rich.console import Console
    from rich.markup import escape

    console = Console()
    console.print(f"[bold]{escape(printable(answer.question))}[/bold]  ({answer.language})")
    if answer.source is None:
        console.print(escape(printable(answer.answer)))
    else:
        source = answer.contexts[answer.source]
        console.print(
            f"{escape(printable(answer.answer))}  "
            f"[dim]({escape(printable(source.document.id))}, {source.language})[/dim]"
        )
    print_table("contexts, after reranking", [ranked_row(context) for context in answer.contexts])
    stages = ", ".join(f"{stage} {value:.0f} ms" for stage, value in answer.timings_ms.items())
    console.print(f"[dim]{stages}[/dim]")


def printable(text: str) -> str:
    """Return a text in which nothing steers the terminal: control and bidirectional override characters replaced."""
    return _STEERING.sub("\ufffd", text)


def _move(before: int, after: int) -> str:
    if before == after:
        return f"{before} ="
    return f"{before} {'↑' if after < before else '↓'}"


def _document_row(document: Document) -> dict[str, Any]:
    row = asdict(document)
    return {"id": row["id"], "text": row["text"], "title": row["title"], "metadata": dict(row["metadata"])}
