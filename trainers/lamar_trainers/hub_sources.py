"""The paper's corpora on the hub: MMARCO, the multilingual MIRACL triplets, and RLHN."""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamar_rag.extras import require
from lamar_rag.languages import normalize_language
from lamar_trainers.parallel_corpus import ENGLISH
from lamar_trainers.synthesis import LabelledQuery
from lamar_trainers.table_corpus import TableCorpus

if TYPE_CHECKING:
    from datasets import Dataset

logger = logging.getLogger(__name__)

MMARCO_LANGUAGES: Mapping[str, str] = {
    "ar": "arabic", "de": "german", "en": "english", "es": "spanish", "fr": "french", "hi": "hindi",
    "id": "indonesian", "it": "italian", "ja": "japanese", "nl": "dutch", "pt": "portuguese", "ru": "russian",
    "vi": "vietnamese", "zh": "chinese",
}  # fmt: skip
_TRIPLES = "data/triples.train.ids.small.tsv"
_QUERIES = "data/google/queries/train/{}_queries.train.tsv"
_COLLECTION = "data/google/collections/{}_collection.tsv"
_COLUMNS = {
    "query": ("query", "anchor", "question"),
    "positive": ("positive", "pos"),
    "negative": ("negative", "neg"),
}
_EXCLUDED_SUBSET = "msmarco"  # of RLHN: it is in MMARCO already (appendix A.2)

Download = Callable[[str, str], str]  # repository, file -> path


def hub_download(repository: str, file: str) -> str:
    """Return a data set's file from the hub, fetched with a line that says so where it is not there yet."""
    hub: Any = require("huggingface_hub", extra="train", purpose="the paper's corpora")
    found = hub.try_to_load_from_cache(repository, file, repo_type="dataset")
    if not isinstance(found, str):
        logger.warning("fetching %s of the hub's data set %s", file, repository)
        found = hub.hf_hub_download(repository, file, repo_type="dataset")
    return str(found)


def mmarco_corpus(
    repository: str,
    *,
    languages: Mapping[str, str] = MMARCO_LANGUAGES,
    cache: Path,
    download: Download = hub_download,
) -> TableCorpus:
    """Return MMARCO's training queries, each with the first positive passage of its triples, in every language.

    The files are read as they lie there, for the repository's loading script runs no longer. A language's collection is
    read through once; what is kept is the ids, and the texts on disk.

    Args:
        repository: unicamp-dl/mmarco.
        languages: the repository's names by code, in the order of the language pairs.
        cache: for the tables.
        download: gives a file of the repository.
    """
    positive_of: dict[str, str] = {}
    for query, positive, _ in _tab_separated(Path(download(repository, _TRIPLES)), 3):
        positive_of.setdefault(query, positive)
    tables = {}
    for code, name in languages.items():
        queries = _texts(Path(download(repository, _QUERIES.format(name))), positive_of)
        wanted = set(positive_of.values())
        passages = _texts(Path(download(repository, _COLLECTION.format(name))), wanted)
        tables[code] = _table(
            _mmarco_rows, cache, positive_of=positive_of, queries=queries, passages=passages
        )
    return TableCorpus("mmarco", tables)


def miracl_corpus(repository: str, *, cache: Path | None = None) -> TableCorpus:
    """Return the multilingual MIRACL triplets: one configuration of the data set a language, with the same rows.

    Raises:
        ValueError: a data set without query, positive and negative texts.
    """
    datasets: Any = require("datasets", extra="train", purpose="the paper's corpora")
    options = {} if cache is None else {"cache_dir": str(cache)}
    tables = {}
    for name in datasets.get_dataset_config_names(repository):
        logger.warning("fetching %s of the hub's data set %s, unless it is there", name, repository)
        table = datasets.load_dataset(repository, name, split="train", **options)
        tables[normalize_language(name)] = triplet_table(table, f"{repository}, {name}")
    return TableCorpus("miracl", dict(sorted(tables.items())))


def triplet_table(table: Dataset, place: str) -> Dataset:
    """Return a table with the columns id, query, positive and negative, whatever they were called.

    Raises:
        ValueError: one of the texts is missing.
    """
    chosen = {
        name: next((column for column in others if column in table.column_names), None)
        for name, others in _COLUMNS.items()
    }
    missing = [name for name, column in chosen.items() if column is None]
    if missing:
        raise ValueError(
            f"got columns {', '.join(table.column_names)} in {place}, expected also {', '.join(missing)}"
        )
    named = table.rename_columns({str(column): name for name, column in chosen.items() if column != name})
    if "id" not in named.column_names:
        named = named.add_column("id", [str(row) for row in range(len(named))])
    return named.select_columns(["id", *_COLUMNS])


def rlhn_queries(repository: str, *, rows: Any = None) -> Iterator[LabelledQuery]:
    """Yield RLHN's queries with their positive and negative passages, the subset msmarco left out (appendix A.2).

    Args:
        repository: rlhn/rlhn-250K.
        rows: mappings {query, positive_passages, negative_passages, subset}; None: those of the repository, streamed.
    """
    if rows is None:
        datasets: Any = require("datasets", extra="train", purpose="the paper's corpora")
        logger.warning("reading the hub's data set %s", repository)
        rows = datasets.load_dataset(repository, split="train", streaming=True)
    for row in rows:
        if row["subset"] != _EXCLUDED_SUBSET:
            positives, negatives = (
                tuple(_passage(passage) for passage in row[f"{kind}_passages"])
                for kind in ("positive", "negative")
            )
            yield LabelledQuery(row["query"], positives, negatives, ENGLISH)


def _passage(passage: Mapping[str, str]) -> str:
    return " ".join(part for part in (passage.get("title"), passage["text"]) if part)


def _mmarco_rows(
    positive_of: Mapping[str, str], queries: Mapping[str, str], passages: Mapping[str, str]
) -> Iterator[dict[str, str]]:
    for query, positive in positive_of.items():
        yield {"id": query, "query": queries[query], "positive": passages[positive]}


def _table(rows: Callable[..., Iterator[dict[str, str]]], cache: Path, **arguments: Any) -> Dataset:
    datasets: Any = require("datasets", extra="train", purpose="the paper's corpora")
    table: Dataset = datasets.Dataset.from_generator(rows, gen_kwargs=arguments, cache_dir=str(cache))
    return table


def _texts(path: Path, wanted: Container[str]) -> dict[str, str]:
    return {name: text for name, text in _tab_separated(path, 2) if name in wanted}


def _tab_separated(path: Path, columns: int) -> Iterator[list[str]]:
    with path.open(encoding="utf-8", newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            parts = line.rstrip("\r\n").split("\t", columns - 1)
            if len(parts) != columns:
                raise ValueError(
                    f"got {line[:80]!r} in {path}, line {number}, expected {columns} columns with tabs"
                )
            yield parts
