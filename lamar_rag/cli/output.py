"""How the commands print: one JSON document, or tables for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from lamar_rag.types import Answer, Candidate, Document, RankedDocument

_SNIPPET = 110


def print_json(value: Any) -> None:
    """Write one JSON document to stdout, UTF-8, without a trailing table or log line."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


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
    print_table(f"{query}  ({language})", rows)


def print_table(title: str, rows: Iterable[dict[str, Any]]) -> None:
    """Print ranked rows as a table: rank, the rank before where there was one, language, score, text."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    rows = list(rows)
    moved = any("rank_before" in row for row in rows)
    table = Table(title=escape(title), title_justify="left", expand=True)
    table.add_column("rank", justify="right", no_wrap=True)
    if moved:
        table.add_column("before", justify="right", no_wrap=True)
    for name in ("language", "score", "id"):
        table.add_column(name, no_wrap=name != "id", overflow="fold")
    table.add_column("text", ratio=1)
    for row in rows:
        before = [_move(row["rank_before"], row["rank"])] if moved else []
        text = " ".join(row["text"].split())
        snippet = text if len(text) <= _SNIPPET else text[: _SNIPPET - 1] + "…"
        cells = [
            str(row["rank"]),
            *before,
            row["language"] or "und",
            f"{row['score']:.4f}",
            row["id"],
            snippet,
        ]
        table.add_row(*(escape(cell) for cell in cells))
    Console().print(table)


def print_answer(answer: Answer) -> None:
    """Print an answer with its source, the contexts with their moves, and the time of each stage."""
    from rich.console import Console
    from rich.markup import escape

    console = Console()
    console.print(f"[bold]{escape(answer.question)}[/bold]  ({answer.language})")
    if answer.source is None:
        console.print(escape(answer.answer))
    else:
        source = answer.contexts[answer.source]
        console.print(
            f"{escape(answer.answer)}  [dim]({escape(source.document.id)}, {source.language})[/dim]"
        )
    print_table("contexts, after reranking", [ranked_row(context) for context in answer.contexts])
    stages = ", ".join(f"{stage} {value:.0f} ms" for stage, value in answer.timings_ms.items())
    console.print(f"[dim]{stages}[/dim]")


def _move(before: int, after: int) -> str:
    if before == after:
        return f"{before} ="
    return f"{before} {'↑' if after < before else '↓'}"


def _document_row(document: Document) -> dict[str, Any]:
    row = asdict(document)
    return {"id": row["id"], "text": row["text"], "title": row["title"], "metadata": dict(row["metadata"])}
