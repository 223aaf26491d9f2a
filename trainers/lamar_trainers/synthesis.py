"""Training instances from corpora: Algorithm 1 (pairs for distillation) and Algorithm 2 (groups for alignment)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lamar_trainers.document_selection import SelectDocuments
from lamar_trainers.language_pairs import language_pair
from lamar_trainers.parallel_corpus import ENGLISH, DocumentField, ParallelCorpus


@dataclass(frozen=True)
class DistillationPair:
    """What the student reads and what the teacher reads for it: the same query and document, in two forms.

    `query_row`, `document_row` and `document_field` say which they are, in `dataset`. Pairs of one `group` have one
    query in one language, and follow one another; in Algorithm 1 the language changes from pair to pair, so that each
    pair is a group.
    """

    dataset: str
    group: int
    query_row: int
    document_row: int
    document_field: str
    query_language: str
    document_language: str
    query: str
    document: str
    teacher_query: str
    teacher_document: str


@dataclass(frozen=True)
class AlignmentGroup:
    """A query with a positive and a negative document, each in the query's (source) and a target language."""

    dataset: str
    row: int
    source: str
    target: str
    query: str
    positive_source: str
    positive_target: str
    negative_source: str
    negative_target: str


@dataclass(frozen=True)
class LabelledQuery:
    """A query with its documents, all in one language: a row of a corpus that is not parallel."""

    query: str
    positives: tuple[str, ...]
    negatives: tuple[str, ...]
    language: str = ENGLISH


def distillation_pairs(
    corpus: ParallelCorpus, select: SelectDocuments, *, seed: int, rows: Iterable[int] | None = None
) -> Iterator[DistillationPair]:
    """Yield Algorithm 1's pairs of one parallel corpus, row by row.

    The languages cycle over the whole corpus. A row's documents depend on the seed and the row alone.

    Args:
        corpus: holds English.
        select: `own_and_sampled`, `triplet_rounds`, or another choice of documents.
        seed: of the choice.
        rows: those to use; None: all, in their order.

    Raises:
        ValueError: a corpus without English, or too small.
    """
    if ENGLISH not in corpus.languages:
        raise ValueError(
            f"got corpus {corpus.name} in {', '.join(corpus.languages)}, expected English ('en') among them: "
            "the teacher reads it"
        )
    count = 0
    for row in range(len(corpus)) if rows is None else rows:
        for document in select(len(corpus), row, np.random.default_rng([seed, row])):
            query_language, document_language = language_pair(count, corpus.languages)
            yield DistillationPair(
                dataset=corpus.name,
                group=count,
                query_row=row,
                document_row=document.row,
                document_field=document.field,
                query_language=query_language,
                document_language=document_language,
                query=corpus.text("query", row, query_language),
                document=corpus.text(document.field, document.row, document_language),
                teacher_query=corpus.text("query", row, ENGLISH),
                teacher_document=corpus.text(document.field, document.row, ENGLISH),
            )
            count += 1


def labelled_pairs(name: str, queries: Iterable[LabelledQuery]) -> Iterator[DistillationPair]:
    """Yield every query with each of its documents, the same for student and teacher (the pairs E of Algorithm 1)."""
    for row, labelled in enumerate(queries):
        documents = [("positive", text) for text in labelled.positives]
        documents += [("negative", text) for text in labelled.negatives]
        for field, text in documents:
            yield DistillationPair(
                dataset=name,
                group=row,
                query_row=row,
                document_row=row,
                document_field=field,
                query_language=labelled.language,
                document_language=labelled.language,
                query=labelled.query,
                document=text,
                teacher_query=labelled.query,
                teacher_document=text,
            )


def alignment_groups(
    corpus: ParallelCorpus,
    *,
    repetitions: int = 3,
    rows: Sequence[int] | None = None,
    near: Sequence[Sequence[int]] | None = None,
    seed: int = 0,
) -> Iterator[AlignmentGroup]:
    """Yield Algorithm 2's groups: every row `repetitions` times (R, 3 in the paper), in the next pair of languages.

    Args:
        corpus: with negatives, if there is no `near`.
        repetitions: groups a row.
        rows: those to use; None: all, in their order.
        near: for every row of the corpus the rows of whose positive documents one, drawn anew for each group, is the
            negative. Not in the paper.
        seed: of that choice.

    Raises:
        ValueError: a corpus without negatives, repetitions below 1, or a row without near ones.
    """
    if repetitions < 1:
        raise ValueError(f"got repetitions={repetitions}, expected at least 1")
    chosen = range(len(corpus)) if rows is None else rows
    random = np.random.default_rng(seed)
    for count in range(len(chosen) * repetitions):
        row = chosen[count // repetitions]
        source, target = language_pair(count, corpus.languages)
        field: DocumentField = "negative"
        other = row
        if near is not None:
            if not near[row]:
                raise ValueError(
                    f"got no near rows for row {row} of corpus {corpus.name}, expected one or more"
                )
            field, other = "positive", near[row][int(random.integers(len(near[row])))]
        yield AlignmentGroup(
            dataset=corpus.name,
            row=row,
            source=source,
            target=target,
            query=corpus.text("query", row, source),
            positive_source=corpus.text("positive", row, source),
            positive_target=corpus.text("positive", row, target),
            negative_source=corpus.text(field, other, source),
            negative_target=corpus.text(field, other, target),
        )
