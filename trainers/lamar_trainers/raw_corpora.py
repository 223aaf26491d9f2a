"""Where the texts stand in corpora as they are published."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lamar_rag.languages import normalize_language
from lamar_trainers.parallel_corpus import ENGLISH


def read_ntrex(
    folder: str | Path, languages: Sequence[str] | None = None
) -> tuple[list[str], dict[str, list[str]]]:
    """Return the document ids of NTREX-128's lines, and the lines of each language, English first.

    Args:
        folder: with DOCUMENT_IDS.tsv and NTREX-128/newstest2019-*.txt.
        languages: those to read; None: all.

    Raises:
        ValueError: no such files, or a language that is not there.
    """
    folder = Path(folder)
    files = {
        normalize_language(path.name.split(".")[1]): path
        for path in sorted((folder / "NTREX-128").glob("newstest2019-*.txt"))
    }
    return _lines(folder / "DOCUMENT_IDS.tsv"), _texts(folder, files, languages)


def read_tico19(
    folder: str | Path, languages: Sequence[str] | None = None
) -> tuple[list[str], dict[str, list[str]]]:
    """Return the document ids of TICO-19's lines, and the lines of each language, English first.

    Args:
        folder: with ids.txt ("DOCUMENT:LINE", a tab, and the source) and tico19.LANGUAGE.txt.
        languages: those to read; None: all.

    Raises:
        ValueError: no such files, or a language that is not there.
    """
    folder = Path(folder)
    files = {
        normalize_language(path.name.split(".")[1]): path for path in sorted(folder.glob("tico19.*.txt"))
    }
    ids = [line.split("\t")[0].partition(":")[0] for line in _lines(folder / "ids.txt")]
    return ids, _texts(folder, files, languages)


def _texts(folder: Path, files: dict[str, Path], languages: Sequence[str] | None) -> dict[str, list[str]]:
    wanted = sorted(files, key=lambda code: (code != ENGLISH, code)) if languages is None else list(languages)
    missing = [language for language in wanted if language not in files]
    if missing or not files:
        raise ValueError(
            f"got {folder} with {', '.join(files) or 'no text files'}, expected also {', '.join(missing) or 'some'}"
        )
    return {language: _lines(files[language]) for language in wanted}


def _lines(path: Path) -> list[str]:
    # not splitlines: lines are parallel, and a text may hold other line separators
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
