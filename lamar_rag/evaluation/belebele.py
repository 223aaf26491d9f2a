"""BELEBELE: 488 passages and 900 questions in each of 122 language variants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from lamar_rag.evaluation.hub_rows import hub_rows
from lamar_rag.evaluation.jsonl_file import read_jsonl
from lamar_rag.evaluation.parallel_corpus import ParallelCorpus, ParallelQuery
from lamar_rag.languages import normalize_language

# LAMAR, section 5.1 and tables 8 to 10
LANGUAGES = ("ar", "de", "en", "es", "fr", "hi", "id", "it", "ja", "nl", "pt", "ru", "vi", "zh")
_VARIANTS = (
    "arb_Arab", "deu_Latn", "eng_Latn", "spa_Latn", "fra_Latn", "hin_Deva", "ind_Latn", "ita_Latn", "jpn_Jpan",
    "nld_Latn", "por_Latn", "rus_Cyrl", "vie_Latn", "zho_Hans",
)  # fmt: skip
REPOSITORY, REVISION = "facebook/belebele", "75b399394a9803252cfec289d103de462763db7c"
_FIELDS = ("link", "question_number", "flores_passage", "question")


def read_belebele(folder: Path | None = None, variants: Sequence[str] | None = None) -> ParallelCorpus:
    """Return BELEBELE; a group is a passage, by its number in the first language.

    Args:
        folder: with VARIANT.jsonl files of the official fields; None takes the hub's copy.
        variants: codes such as "arb_Arab"; by default those of the paper's 14 languages that the folder has.

    Raises:
        ValueError: a variant that is not there, two of the same language, or files that are not parallel.
    """
    present = [name for name in _VARIANTS if folder is None or (folder / f"{name}.jsonl").is_file()]
    chosen = list(variants) if variants else present
    if not chosen:
        raise ValueError(f"got no BELEBELE file in {folder}, expected such as {folder}/eng_Latn.jsonl")
    passages: dict[str, dict[str, str]] = {}
    queries: dict[str, list[ParallelQuery]] = {}
    numbers: dict[str, str] = {}
    for variant in chosen:
        language = normalize_language(variant)
        if language in queries:
            raise ValueError(f"got two variants of {language} ({variant} is the second): choose one of them")
        rows = _folder_rows(folder, variant) if folder else hub_rows(REPOSITORY, REVISION, variant, "test")
        passages[language], queries[language] = _read(rows, language, numbers)
    return ParallelCorpus("belebele", passages, queries)


def _read(
    rows: Iterable[dict[str, Any]], language: str, numbers: dict[str, str]
) -> tuple[dict[str, str], list[ParallelQuery]]:
    """Return one language's passages and queries; `numbers` gives a link its group and grows with new links."""
    passages: dict[str, str] = {}
    queries = []
    for row in rows:
        group = numbers.setdefault(row["link"], str(len(numbers)))
        passages.setdefault(group, row["flores_passage"])
        answers = tuple(
            str(row[f"mc_answer{number}"])
            for number in (row.get("correct_answer_num"),)
            if row.get(f"mc_answer{number}")
        )
        queries.append(
            ParallelQuery(f"{group}-{row['question_number']}", group, language, row["question"], answers)
        )
    # the official files have the same rows in another order in each language
    queries.sort(key=lambda query: tuple(map(int, query.id.split("-"))))
    return dict(sorted(passages.items(), key=lambda item: int(item[0]))), queries


def _folder_rows(folder: Path, variant: str) -> list[dict[str, Any]]:
    path = folder / f"{variant}.jsonl"
    if not path.is_file():
        raise ValueError(f"got no {path}, expected BELEBELE's file of {variant}")
    rows = []
    for place, row in read_jsonl(path):
        missing = [name for name in _FIELDS if name not in row]
        if missing:
            raise ValueError(f"{place}: no {missing[0]}, expected BELEBELE's official fields")
        if not isinstance(row["question_number"], int):
            raise ValueError(
                f"{place}: got question_number={row['question_number']!r}, expected a whole number"
            )
        rows.append(row)
    return rows
