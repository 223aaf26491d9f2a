"""A parallel corpus as one table a language, with the same rows in each: the local form, and that of hub datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamar_rag.extras import require
from lamar_rag.languages import normalize_language
from lamar_trainers.parallel_corpus import Field

if TYPE_CHECKING:
    from datasets import Dataset


class TableCorpus:
    """A `ParallelCorpus` over memory-mapped tables with the columns id, query, positive and (if any) negative.

    Args:
        name: what its instances are marked with.
        tables: one a language, in the order of the language pairs.

    Raises:
        ValueError: no tables, columns that are missing, or rows that are not the same in every language.
    """

    def __init__(self, name: str, tables: Mapping[str, Dataset]) -> None:
        if not tables:
            raise ValueError(f"got no languages for corpus {name}, expected one table a language")
        self.name = name
        self.languages: Sequence[str] = tuple(tables)
        self._tables = dict(tables)
        for language, table in tables.items():
            missing = {"id", "query", "positive"} - set(table.column_names)
            if missing:
                raise ValueError(
                    f"got columns {', '.join(table.column_names)} for {language} of corpus {name}, expected also "
                    f"{', '.join(sorted(missing))}"
                )
        self._check_rows()

    def __len__(self) -> int:
        """The number of rows."""
        return len(self._tables[self.languages[0]])

    def text(self, field: Field, row: int, language: str) -> str:
        """Return one text of a row.

        Raises:
            ValueError: the corpus has no such field, row or language, or no text there.
        """
        table = self._tables.get(language)
        if table is None or field not in table.column_names or not 0 <= row < len(table):
            raise ValueError(
                f"got {field} {row} in {language}, expected one of corpus {self.name}: {len(self)} rows in "
                f"{', '.join(self.languages)}, columns {', '.join(self._tables[self.languages[0]].column_names)}"
            )
        text = table[row][field]
        if not isinstance(text, str) or not text.strip():
            raise ValueError(
                f"got no {field} in row {row} ({language}) of corpus {self.name}, expected text in every language"
            )
        return text

    def document(self, row: int) -> str:
        """Return the name of the document that a row is of: its id up to the last "#"."""
        name = str(self._tables[self.languages[0]][row]["id"])
        return name.rpartition("#")[0] or name

    def _check_rows(self) -> None:
        first, *others = self.languages
        expected: Any = self._tables[first]["id"][:]
        for language in others:
            found: Any = self._tables[language]["id"][:]
            if len(found) != len(expected):
                raise ValueError(
                    f"got {len(found)} rows in {language} and {len(expected)} in {first} of corpus {self.name}, "
                    "expected the same rows in every language"
                )
            for row, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
                if ours != theirs:
                    raise ValueError(
                        f"got id {ours!r} in row {row} of {language} and {theirs!r} in {first} of corpus "
                        f"{self.name}, expected the same rows in the same order"
                    )


def folder_corpus(folder: str | Path, *, cache: str | Path | None = None) -> TableCorpus:
    """Return the corpus of a folder with one `LANGUAGE.jsonl` a language; rows are {id, query, positive, negative}.

    Languages are ordered by their codes. The tables are read once into `cache` (by default that of `datasets`) and
    mapped from there, so that memory does not grow with the corpus.

    Raises:
        ValueError: no such files, or what `TableCorpus` refuses.
    """
    datasets = require("datasets", extra="train", purpose="a training corpus")
    folder = Path(folder)
    files = {normalize_language(path.stem): path for path in sorted(folder.glob("*.jsonl"))}
    if not files:
        raise ValueError(f"got {folder}, expected a folder with LANGUAGE.jsonl files: en.jsonl, de.jsonl")
    tables = {
        language: datasets.Dataset.from_json(str(path), cache_dir=None if cache is None else str(cache))
        for language, path in sorted(files.items())
    }
    return TableCorpus(folder.name, tables)
