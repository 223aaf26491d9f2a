"""`lamar search` and `lamar ask`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from lamar_rag.cli.language_options import (
    Floor,
    Language,
    Prefer,
    Weight,
    dial,
    language_codes,
    query_language,
)
from lamar_rag.cli.options import Json, ProfileName

IndexFolder = Annotated[
    Path, typer.Option("--index", "-i", envvar="LAMAR_INDEX", help="Folder that `lamar index build` wrote.")
]


def search(
    query: Annotated[str, typer.Argument(help="What to look for, in any language.")],
    index: IndexFolder,
    k: Annotated[
        int | None, typer.Option("-k", help="Documents to return: 20, or all of --per-language, by default.")
    ] = None,
    language: Language = None,
    languages: Annotated[
        str | None, typer.Option(help="Only documents in these languages, such as de,en.")
    ] = None,
    per_language: Annotated[int | None, typer.Option(help="The best so many of each language.")] = None,
    profile: ProfileName = "embedded",
    as_json: Json = False,
) -> None:
    """Search an index: the first stage alone, without reranking."""
    from lamar_rag.cli.index_opening import open_index
    from lamar_rag.cli.output import candidate_row, print_results

    code = query_language(query, language)
    with open_index(index, profile) as opened:
        found = opened.search(
            query, k, query_language=code, languages=language_codes(languages), per_language=per_language
        )
    print_results(query, code, [candidate_row(candidate) for candidate in found], as_json=as_json)


def ask(
    question: Annotated[str, typer.Argument(help="A question, in any language.")],
    index: IndexFolder,
    language: Language = None,
    candidates: Annotated[int | None, typer.Option(help="Documents that the first stage returns.")] = None,
    top_n: Annotated[int | None, typer.Option(help="Contexts that the answer is taken from.")] = None,
    weight: Weight = None,
    prefer: Prefer = None,
    floor: Floor = None,
    reranker: Annotated[str | None, typer.Option(help="Reranker: name, hub id or folder.")] = None,
    generator: Annotated[str | None, typer.Option(help="extractive, or a causal language model.")] = None,
    profile: ProfileName = "embedded",
    as_json: Json = False,
) -> None:
    """Answer a question from an index."""
    from dataclasses import replace

    from lamar_rag.cli.index_opening import index_profile
    from lamar_rag.cli.output import answer_row, print_answer, print_json
    from lamar_rag.pipeline import RagPipeline

    chosen = index_profile(index, profile)
    changes: dict[str, Any] = {
        "candidates": candidates,
        "top_n": top_n,
        "reranker": reranker,
        "generator": generator,
        "preference": dial(chosen, weight, prefer, floor),
    }
    chosen = replace(chosen, **{name: value for name, value in changes.items() if value is not None})
    _name_terms(chosen.generator)
    with RagPipeline.from_index(index, chosen) as pipeline:
        answer = pipeline.ask(question, language=language)
    if as_json:
        print_json(answer_row(answer))
    else:
        print_answer(answer)


def _name_terms(generator: str) -> None:
    """Say on stderr which terms a generator comes under, where they are more than an open-source licence."""
    import sys

    from lamar_rag.cache import cache_dir
    from lamar_rag.embedded.gguf_models import GGUF_MODELS, licence_notice

    notice = licence_notice(generator) if generator in GGUF_MODELS else None
    if notice is not None and (cache_dir() / "models" / generator).is_dir():  # making it says so itself
        sys.stderr.write(f"lamar: {notice.text}\n")
