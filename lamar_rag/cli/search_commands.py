"""`lamar search`, `lamar rerank` and `lamar ask`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lamar_rag.cli.options import Json, ProfileName, SkipBad

if TYPE_CHECKING:
    from lamar_rag.preference import LanguagePreference
    from lamar_rag.profiles import Profile

IndexFolder = Annotated[
    Path, typer.Option("--index", "-i", envvar="LAMAR_INDEX", help="Folder that `lamar index build` wrote.")
]
Language = Annotated[str | None, typer.Option("--language", help="The query's language; detected otherwise.")]
Weight = Annotated[
    float | None, typer.Option("--weight", help="Language preference: 0 is relevance alone, 1 is strong.")
]
Prefer = Annotated[
    str | None,
    typer.Option("--prefer", help="Preferred languages in order, such as de,en; the query's otherwise."),
]
Floor = Annotated[float | None, typer.Option("--floor", help="Lift no document below this relevance.")]


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

    code = _language(query, language)
    with open_index(index, profile) as opened:
        found = opened.search(
            query, k, query_language=code, languages=_codes(languages), per_language=per_language
        )
    print_results(query, code, [candidate_row(candidate) for candidate in found], as_json=as_json)


def rerank(
    query: Annotated[str, typer.Argument(help="What the documents are ranked for.")],
    documents: Annotated[str, typer.Argument(help="JSONL of documents; - for stdin.")] = "-",
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="Reranker: name, hub id or folder; the profile's otherwise."),
    ] = None,
    top_n: Annotated[int | None, typer.Option(help="Documents to return; all otherwise.")] = None,
    threshold: Annotated[float | None, typer.Option(help="Leave out documents of lower relevance.")] = None,
    language: Language = None,
    weight: Weight = None,
    prefer: Prefer = None,
    floor: Floor = None,
    long_documents: Annotated[str, typer.Option(help="truncate or windows.")] = "truncate",
    skip_bad: SkipBad = False,
    profile: ProfileName = "embedded",
    as_json: Json = False,
) -> None:
    """Rerank documents from a JSONL file or stdin."""
    from lamar_rag.cli.output import print_results, ranked_row
    from lamar_rag.cli.reading_report import report_reading
    from lamar_rag.profiles import get_profile
    from lamar_rag.reranker import Reranker
    from lamar_rag.retrieval.corpus_reader import read_corpus

    chosen = get_profile(profile)
    name = model if model is not None else chosen.reranker or chosen.embedder
    preference = _preference(chosen if model is None else None, weight, prefer, floor)
    code = _language(query, language)
    reader = read_corpus(documents, skip_bad=skip_bad)
    read = list(reader)
    report_reading(reader)
    options: dict[str, Any] = {"long_documents": long_documents}
    with Reranker(name, preference=preference, top_n=top_n, score_threshold=threshold, **options) as reranker:
        ranked = reranker.rerank(query, read, query_language=code)
    print_results(query, code, [ranked_row(document) for document in ranked], as_json=as_json)


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
        "preference": _preference(chosen, weight, prefer, floor),
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


def _language(query: str, given: str | None) -> str:
    from lamar_rag.languages import detect_language, normalize_language

    return normalize_language(given) if given is not None else detect_language(query)


def _codes(listed: str | None) -> list[str] | None:
    if listed is None:
        return None
    codes = [code.strip() for code in listed.split(",") if code.strip()]
    if not codes:
        raise ValueError(f"got no language code in '{listed}', expected such as de,en")
    return codes


def _preference(
    profile: Profile | None, weight: float | None, prefer: str | None, floor: float | None
) -> LanguagePreference:
    """Return the profile's preference with what the command line changes; no profile means no preference."""
    from lamar_rag.preference import LanguagePreference

    base = profile.preference if profile else LanguagePreference()
    codes = _codes(prefer)
    return LanguagePreference(
        weight=base.weight if weight is None else weight,
        preferred=tuple(codes) if codes else base.preferred,
        floor=base.floor if floor is None else floor,
    )
