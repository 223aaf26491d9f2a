"""Groups for a contrastive first stage: a query, a document that answers it, and some that look as if they did.

Not in the paper, whose pairs are chosen at random: hard negatives teach a small model more a pair. As there, the
languages cycle, and a document's language says nothing of its relevance: a group's documents are in the query's
language, in the pair's other and in languages drawn at random, and which of them the positive takes is drawn, too.
(Were a negative always in the query's language and the positive seldom, the student would learn to rank the query's
language last.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from lamar_trainers.language_pairs import language_pair
from lamar_trainers.parallel_corpus import ENGLISH, ParallelCorpus
from lamar_trainers.synthesis import DistillationPair


def contrastive_pairs(
    corpus: ParallelCorpus,
    near: Sequence[Sequence[int]],
    *,
    negatives: int = 3,
    repetitions: int = 1,
    rows: Sequence[int] | None = None,
    seed: int,
) -> Iterator[DistillationPair]:
    """Yield groups of a positive and `negatives` negatives, pair by pair, the positive first.

    Args:
        corpus: holds English, which the teacher reads.
        near: for every row the rows whose positive documents may stand as its negatives.
        negatives: documents a group beside the positive; rows with fewer near ones are left out.
        repetitions: groups a row, each in the next pair of languages and with its own negatives.
        rows: those to use; None: all.
        seed: of the choice of negatives and of their languages.

    Raises:
        ValueError: a corpus without English, fewer than one negative or repetition, or `near` of other rows.
    """
    if ENGLISH not in corpus.languages or len(near) != len(corpus) or negatives < 1 or repetitions < 1:
        raise ValueError(
            f"got corpus {corpus.name} of {len(corpus)} rows in {', '.join(corpus.languages)}, {len(near)} lists of "
            f"near rows, negatives={negatives} and repetitions={repetitions}, expected English among the languages, "
            "a list a row, and at least one negative and one repetition"
        )
    chosen = [row for row in (range(len(corpus)) if rows is None else rows) if len(near[row]) >= negatives]
    for group in range(len(chosen) * repetitions):
        row = chosen[group % len(chosen)]
        random = np.random.default_rng([seed, group])
        query_language, other_language = language_pair(group, corpus.languages)
        others = random.choice(np.asarray(near[row]), size=negatives, replace=False).tolist()
        drawn = random.integers(len(corpus.languages), size=negatives - 1).tolist()
        pool = [query_language, other_language, *(corpus.languages[number] for number in drawn)]
        languages = [pool[place] for place in random.permutation(len(pool)).tolist()]
        for document, language in zip([row, *others], languages, strict=True):
            yield DistillationPair(
                dataset=corpus.name,
                group=group,
                query_row=row,
                document_row=document,
                document_field="positive",
                query_language=query_language,
                document_language=language,
                query=corpus.text("query", row, query_language),
                document=corpus.text("positive", document, language),
                teacher_query=corpus.text("query", row, ENGLISH),
                teacher_document=corpus.text("positive", document, ENGLISH),
            )
