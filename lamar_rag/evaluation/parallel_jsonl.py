"""A parallel corpus of the user's own: one LANGUAGE.jsonl a language (docs/evaluation.md)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

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
    files = {normalize_language(path.stem): path for path in sorted(folder.glob("*.jsonl"))}
    missing = [language for language in languages or () if language not in files]
    if not files or missing:
        raise ValueError(
            f"got no {missing[0] if missing else 'LANGUAGE'}.jsonl in {folder}, expected one file a language"
        )
    passages: dict[str, dict[str, str]] = {}
    queries: dict[str, list[ParallelQuery]] = {}
    for language in languages or files:
        passages[language], queries[language] = _read(files[language], language)
    return ParallelCorpus(folder.name, passages, queries)


def _read(path: Path, language: str) -> tuple[dict[str, str], list[ParallelQuery]]:
    passages: dict[str, str] = {}
    queries = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            row = json.loads(line)
            key, group, passage, question = (row[name] for name in _FIELDS)
            answers = tuple(row.get("answers") or ())
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(
                f"{path}:{number}: {type(error).__name__} {error}, expected an object with {', '.join(_FIELDS)}"
            ) from error
        for name, value in zip(_FIELDS, (key, group, passage, question), strict=True):
            if (
                not isinstance(value, str)
                or not value.strip()
                or (name.endswith("id") and len(value.split()) > 1)
            ):
                raise ValueError(f"{path}:{number}: got {name}={value!r}, expected text (ids without spaces)")
        if passages.setdefault(group, passage) != passage:
            raise ValueError(f"{path}:{number}: passage {group} has another text than before: give it one id")
        queries.append(ParallelQuery(key, group, language, question, answers))
    return passages, queries
