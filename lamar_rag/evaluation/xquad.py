"""XQuAD: 240 paragraphs and 1,190 questions in each of 12 languages, SQuAD's format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lamar_rag.evaluation.hub_rows import hub_rows
from lamar_rag.evaluation.parallel_corpus import ParallelCorpus, ParallelQuery
from lamar_rag.retrieval.squad_reader import load_squad

LANGUAGES = ("ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh")
REPOSITORY, REVISION = "google/xquad", "51adfef1c1287aab1d2d91b5bead9bcfb9c68583"


def read_xquad(folder: Path | None = None, languages: Sequence[str] | None = None) -> ParallelCorpus:
    """Return XQuAD; a group is a paragraph, by its number.

    Args:
        folder: with xquad.LANGUAGE.json files; None takes the hub's copy.
        languages: all twelve by default.

    Raises:
        ValueError: a language or file that is not there, or files that are not parallel.
    """
    chosen = list(languages or LANGUAGES)
    unknown = [language for language in chosen if language not in LANGUAGES]
    if unknown:
        raise ValueError(f"got language {unknown[0]} for XQuAD, expected some of {', '.join(LANGUAGES)}")
    passages, queries = {}, {}
    for language in chosen:
        rows = _folder_rows(folder, language) if folder else _hub_rows(language)
        passages[language] = {group: context for group, context, _ in rows}
        queries[language] = [
            ParallelQuery(str(qa["id"]), group, language, str(qa["question"]), tuple(qa["answers"]))
            for group, _, questions in rows
            for qa in questions
        ]
    return ParallelCorpus("xquad", passages, queries)


def _folder_rows(folder: Path, language: str) -> list[tuple[str, str, list[dict[str, Any]]]]:
    """Return (paragraph, context, questions) of one file."""
    path = folder / f"xquad.{language}.json"
    if not path.is_file():
        raise ValueError(f"got no {path}, expected XQuAD's file of {language}: see google-deepmind/xquad")
    articles = load_squad(path, path.name)
    if articles is None:
        raise ValueError(f"{path}: not SQuAD's format, expected a 'data' list of articles with paragraphs")
    paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
    try:
        return [
            (
                str(number),
                paragraph["context"],
                [
                    {**qa, "answers": dict.fromkeys(answer["text"] for answer in qa["answers"])}
                    for qa in paragraph["qas"]
                ],
            )
            for number, paragraph in enumerate(paragraphs)
        ]
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path}: a paragraph or question lacks {error}, expected SQuAD's fields") from error


def _hub_rows(language: str) -> list[tuple[str, str, list[dict[str, Any]]]]:
    rows: list[tuple[str, str, list[dict[str, Any]]]] = []
    for row in hub_rows(REPOSITORY, REVISION, f"xquad.{language}", "validation"):
        if not rows or rows[-1][1] != row["context"]:
            rows.append((str(len(rows)), row["context"], []))
        rows[-1][2].append({**row, "answers": dict.fromkeys(row["answers"]["text"])})
    return rows
