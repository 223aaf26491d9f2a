"""`lamar train synthesize`: from corpora to the instances of both stages and a development set."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lamar_rag.retrieval.centring import shipped_centring
from lamar_trainers.cached_embedder import run_embedder
from lamar_trainers.contrastive_synthesis import contrastive_pairs
from lamar_trainers.development_set import DevelopmentQuery, DevelopmentText, development_queries
from lamar_trainers.document_selection import SelectDocuments, own_and_sampled, triplet_rounds
from lamar_trainers.embedding_neighbours import embedding_neighbours
from lamar_trainers.held_out import is_held_out
from lamar_trainers.local_forms import LABELLED, PARALLEL, labelled_queries, parallel_corpus, question_files
from lamar_trainers.native_queries import AnsweredPassage, native_queries
from lamar_trainers.parallel_corpus import ENGLISH, ParallelCorpus
from lamar_trainers.parquet_file import write_parquet
from lamar_trainers.synthesis import (
    AlignmentGroup,
    DistillationPair,
    alignment_groups,
    distillation_pairs,
    labelled_pairs,
)

if TYPE_CHECKING:
    from lamar_rag.retrieval.cached_embedder import CachedEmbedder
    from lamar_trainers.table_corpus import TableCorpus
    from lamar_trainers.training_config import SourceConfig, TrainingConfig

logger = logging.getLogger(__name__)
_SELECT: dict[str, SelectDocuments] = {"own_and_sampled": own_and_sampled, "triplet_rounds": triplet_rounds}
_QUERY_LANGUAGES = 3  # in which a development row of a parallel corpus is asked


class Synthesis:
    """The corpora of a configuration, and what is made of them.

    Args:
        config: of the run.
        data: the folder that the sources' paths start from.
        work: the folder of the run.
    """

    def __init__(self, config: TrainingConfig, data: str | Path, work: str | Path) -> None:
        self.config, self.data, self.work = config, Path(data), Path(work)
        self._held_out = partial(is_held_out, share=config.synthesis.development_share, seed=config.seed)
        self._embedder: CachedEmbedder | None = None
        self._parallel: dict[str, TableCorpus] = {
            name: parallel_corpus(name, source, self.data, self.work, seed=config.seed)
            for name, source in config.synthesis.sources.items()
            if source.kind in PARALLEL
        }
        self._questions: dict[str, tuple[SourceConfig, str, list[AnsweredPassage]]] = {
            f"{name}-{file}": (source, language, passages)
            for name, source in config.synthesis.sources.items()
            if source.kind == "questions"
            for file, (language, passages) in question_files(source, self.data).items()
        }

    def run(self) -> dict[str, int]:
        """Write pairs.parquet, groups.parquet and development.parquet; return how many rows each has."""
        written = {
            "pairs": write_parquet(self.work / "pairs.parquet", self.pairs(), DistillationPair),
            "groups": write_parquet(self.work / "groups.parquet", self.groups(), AlignmentGroup),
        }
        if self.config.synthesis.development_share:
            written["development"] = write_parquet(
                self.work / "development.parquet", self.development(), DevelopmentQuery
            )
        return written

    @property
    def embedder(self) -> CachedEmbedder:
        """The embedder that says what is near."""
        if self._embedder is None:
            synthesis = self.config.synthesis
            name = synthesis.embedder or "multilingual-e5-small"
            self._embedder = run_embedder(name, self.work, dtype=synthesis.embedder_dtype)
        return self._embedder

    def pairs(self) -> Iterator[DistillationPair]:
        """Yield the first stage's pairs, of all sources one after the other."""
        for name, corpus in self._parallel.items():
            yield from self._parallel_pairs(name, corpus)
        for name, source in self.config.synthesis.sources.items():
            if source.kind in LABELLED:
                yield from labelled_pairs(name, labelled_queries(source, self.data))
        for name, (source, language, passages) in self._questions.items():
            kept = self._sample(
                [p for p in passages if not self._held_out(_document(name, p))], source.passages
            )
            labelled = native_queries(
                kept,
                language,
                negatives=self.config.synthesis.negatives,
                questions=source.questions,
                nearest=self.config.synthesis.nearest,
                neighbours=partial(embedding_neighbours, embedder=self.embedder),
                seed=self.config.seed,
            )
            logger.info("%s: %d questions on %d passages", name, len(labelled), len(kept))
            yield from labelled_pairs(name, labelled)

    def groups(self) -> Iterator[AlignmentGroup]:
        """Yield the second stage's groups, of the sources that are marked for it."""
        for name, corpus in self._parallel.items():
            if self.config.synthesis.sources[name].align:
                rows, held_out = self._split(corpus)
                unseen = {corpus.text("positive", row, ENGLISH) for row in held_out}
                synthesis = self.config.synthesis
                near = self._near(name, corpus, rows) if synthesis.near_negatives else None
                kept = [
                    row
                    for row in rows
                    if (near[row] if near else corpus.text("negative", row, ENGLISH) not in unseen)
                ]
                yield from alignment_groups(
                    corpus, repetitions=synthesis.repetitions, rows=kept, near=near, seed=self.config.seed
                )

    def development(self) -> Iterator[DevelopmentQuery]:
        """Yield queries of held-out documents: of the parallel corpora, then questions."""
        queries, passages = [], []
        random = np.random.default_rng(self.config.seed)
        for name, corpus in self._parallel.items():
            if not self.config.synthesis.sources[name].development:
                continue
            languages = [c for c in self.config.synthesis.development_languages if c in corpus.languages]
            for row in _unambiguous(corpus, self._split(corpus)[1]):
                texts = [
                    DevelopmentText(name, f"{name}/{row}", language, corpus.text("positive", row, language))
                    for language in languages
                ]
                passages += texts
                asked = random.choice(languages, size=min(_QUERY_LANGUAGES, len(languages)), replace=False)
                queries += [
                    DevelopmentText(name, f"{name}/{row}", str(c), corpus.text("query", row, str(c)))
                    for c in asked
                ]
        for name, (source, language, answered) in self._questions.items():
            if not source.development:
                continue
            for number, passage in enumerate(p for p in answered if self._held_out(_document(name, p))):
                if number == 40:
                    break
                passages.append(DevelopmentText("questions", f"{name}/{number}", language, passage.text))
                queries.append(
                    DevelopmentText("questions", f"{name}/{number}", language, passage.questions[0][0])
                )
        centring = shipped_centring(self.embedder.model)
        if centring is None:
            raise ValueError(f"got embedder {self.embedder.model}, expected one with language centring")
        yield from development_queries(queries, passages, embedder=self.embedder, centring=centring)

    def _parallel_pairs(self, name: str, corpus: TableCorpus) -> Iterator[DistillationPair]:
        source, synthesis = self.config.synthesis.sources[name], self.config.synthesis
        rows, _ = self._split(corpus)
        if source.select != "contrastive":
            yield from distillation_pairs(corpus, _SELECT[source.select], seed=self.config.seed, rows=rows)
            return
        logger.info("%s: %d rows in %d languages", name, len(rows), len(corpus.languages))
        yield from contrastive_pairs(
            corpus,
            self._near(name, corpus, rows),
            negatives=synthesis.negatives,
            repetitions=source.repetitions,
            rows=rows,
            seed=self.config.seed,
        )

    def _near(self, name: str, corpus: TableCorpus, rows: Sequence[int]) -> list[list[int]]:
        """Return for every row of the corpus those of `rows` whose positives the embedder takes for its own."""
        source = self.config.synthesis.sources[name]
        documents = [corpus.document(row) for row in rows]
        by_document: dict[str, set[int]] = {}
        for place, document in enumerate(documents):
            by_document.setdefault(document, set()).add(place)
        excluded = [
            {place} if source.kind == "sections" else by_document[document]
            for place, document in enumerate(documents)
        ]
        found = embedding_neighbours(
            [corpus.text("query", row, ENGLISH) for row in rows],
            [corpus.text("positive", row, ENGLISH) for row in rows],
            embedder=self.embedder,
            count=self.config.synthesis.nearest,
            excluded=excluded,
        )
        near: list[list[int]] = [[] for _ in range(len(corpus))]
        for row, places in zip(rows, found, strict=True):
            near[row] = [rows[place] for place in places]
        return near

    def _split(self, corpus: TableCorpus) -> tuple[list[int], list[int]]:
        held_out = [self._held_out(corpus.document(row)) for row in range(len(corpus))]
        return [r for r, out in enumerate(held_out) if not out], [r for r, out in enumerate(held_out) if out]

    def _sample(self, passages: list[AnsweredPassage], size: int | None) -> list[AnsweredPassage]:
        if size is None or len(passages) <= size:
            return passages
        chosen = np.random.default_rng(self.config.seed).permutation(len(passages))[:size]
        return [passages[place] for place in sorted(chosen.tolist())]


def _document(name: str, passage: AnsweredPassage) -> str:
    return f"{name}\0{passage.title or passage.text}"


def _unambiguous(corpus: ParallelCorpus, rows: Sequence[int]) -> list[int]:
    """Return the rows whose positive document holds no other row's query and is no other row's."""
    texts = {row: corpus.text("positive", row, ENGLISH) for row in rows}
    queries = {row: corpus.text("query", row, ENGLISH) for row in rows}
    kept: list[int] = []
    for row, text in texts.items():
        holds_other = any(query in text for other, query in queries.items() if other != row)
        if not holds_other and text not in {texts[other] for other in kept}:
            kept.append(row)
    return kept
