"""A parallel corpus of the user's own: one LANGUAGE.jsonl a language (docs/evaluation.md)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lamar_rag.evaluation.jsonl_file import read_jsonl
from lamar_rag.evaluation.parallel_corpus import ParallelCorpus, ParallelQuery
from lamar_rag.languages import normalize_language

_FIELDS = ("id", "passage_id", "passage", "question")


def read_parallel_folder(folder: Path, languages: Sequence[str] | None = None) -> ParallelCorpus:
    """Return the corpus of a folder whose files are named by language code.

    A line is {"id", "passage_id", "passage", "question"}, and "answers" (a list) where there are any; the same ids
    stand in every file, in the same order.

    Raises:
        ValueError: no file, a line that is not of this form, or files that are not parallel.
    """
    files: dict[str, Path] = {}
    for path in sorted(folder.glob("*.jsonl")):
        language = normalize_language(path.stem)
        if language in files:
            raise ValueError(f"got {path} and {files[language]}, which are both {language}: remove one")
        files[language] = path
    chosen = [normalize_language(language) for language in languages or files]
    missing = [language for language in chosen if language not in files]
    if not files or missing:
        raise ValueError(
            f"got no {missing[0] if missing else 'LANGUAGE'}.jsonl in {folder}, expected one file a language"
        )
    passages: dict[str, dict[str, str]] = {}
    queries: dict[str, list[ParallelQuery]] = {}
    for language in chosen:
        passages[language], queries[language] = _read(files[language], language)
    return ParallelCorpus(folder.resolve().name, passages, queries)


def _read(path: Path, language: str) -> tuple[dict[str, str], list[ParallelQuery]]:
    passages: dict[str, str] = {}
    queries = []
    for place, row in read_jsonl(path):
        for name in _FIELDS:
            _check_text(place, name, row.get(name))
        answers = row.get("answers") or []
        if not isinstance(answers, list) or not all(isinstance(answer, str) for answer in answers):
            raise ValueError(f"{place}: got answers={answers!r}, expected a list of texts")
        key, group, passage, question = (row[name] for name in _FIELDS)
        if passages.setdefault(group, passage) != passage:
            raise ValueError(f"{place}: passage {group} has another text than before: give it one id")
        queries.append(ParallelQuery(key, group, language, question, tuple(answers)))
    return passages, queries


def _check_text(place: str, name: str, value: object) -> None:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{place}: got {name}={value!r}, expected text (fields: {', '.join(_FIELDS)})")
    if name.endswith("id") and len(value.split()) > 1:
        raise ValueError(f"{place}: got {name}={value!r}, expected an id without spaces")
