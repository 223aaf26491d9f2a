"""`lamar quickstart`: the sample corpus, indexed and asked in several languages, offline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from lamar_rag.pipeline import RagPipeline
    from lamar_rag.sample_corpus import SampleQuestion

_SHOWN = 5
_ASKED = (
    "q-water-boiling-en",
    "q-coffee-th",
    "q-volcanoes-hi",
    "q-silk-road-zh",
    "q-baikal-depth-vi",
    "q-antikythera-mechanism-de",
)


def quickstart(
    everything: Annotated[bool, typer.Option("--all", help="Ask every sample question.")] = False,
) -> None:
    """Index the sample corpus and ask it in several languages; shows the ranking before and after."""
    import time

    from lamar_rag.cache import cache_dir
    from lamar_rag.pipeline_parts import build_embedder
    from lamar_rag.profiles import get_profile
    from lamar_rag.retrieval.faiss_index import FaissIndex
    from lamar_rag.sample_corpus import sample_documents, sample_questions

    profile = get_profile("embedded")
    folder = cache_dir() / "sample-index"
    documents = sample_documents()
    start = time.perf_counter()
    with FaissIndex.build(documents, build_embedder(profile), progress=True) as index:
        index.save(folder)
    typer.echo(f"{len(documents)} passages indexed in {time.perf_counter() - start:.1f} s: {folder}\n")
    questions = sample_questions()
    from lamar_rag.pipeline import RagPipeline

    with RagPipeline.from_index(folder, profile) as pipeline:
        for question in questions if everything else _chosen(questions):
            _show(pipeline, question)
    typer.echo(f"Ask your own: lamar ask 'How do bees talk?' --index '{folder}'")


def _chosen(questions: list[SampleQuestion]) -> list[SampleQuestion]:
    """Return six questions: four whose answer is there in their language, two whose answer is only in another."""
    by_id = {question.id: question for question in questions}
    return [by_id[id_] for id_ in _ASKED]


def _show(pipeline: RagPipeline, question: SampleQuestion) -> None:
    """Print the answer, and the first stage beside the reranked order."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from lamar_rag.preference import LanguagePreference

    answer = pipeline.ask(question.question, top_n=_SHOWN)
    source = answer.contexts[answer.source] if answer.source is not None else None
    before = pipeline.search(question.question, top_n=_SHOWN, preference=LanguagePreference(weight=0.0))
    console = Console()
    console.print(
        f"[bold]{escape(answer.question)}[/bold] ({answer.language}, expected: {escape(question.answer)})"
    )
    where = f" [dim]({escape(source.document.id)})[/dim]" if source else ""
    console.print(f"→ {escape(answer.answer)}{where}")
    table = Table("", "before: by relevance alone", "after: with the language preference")
    for left, right in zip(before, answer.contexts, strict=False):
        cells = [f"{row.language}  {row.document.title or row.document.id}" for row in (left, right)]
        table.add_row(str(left.rank), *(escape(cell) for cell in cells))
    console.print(table)
    stages = ", ".join(f"{stage} {value:.0f} ms" for stage, value in answer.timings_ms.items())
    console.print(f"[dim]{stages}[/dim]\n")
