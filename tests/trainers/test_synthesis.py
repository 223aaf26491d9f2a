"""Algorithms 1 and 2 against the paper's arithmetic (appendix A)."""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import product

import numpy as np
import pytest
from lamar_trainers.document_selection import other_rows, own_and_sampled, triplet_rounds
from lamar_trainers.language_pairs import language_pair
from lamar_trainers.parallel_corpus import DocumentIdentity
from lamar_trainers.synthesis import LabelledQuery, alignment_groups, distillation_pairs, labelled_pairs

FIFTY_ONE = ("en", *(f"l{number}" for number in range(50)))


class NamedCorpus:
    """A parallel corpus whose texts say what they are."""

    name = "named"

    def __init__(self, rows, languages):
        self.rows, self.languages = rows, languages

    def __len__(self):
        return self.rows

    def text(self, field, row, language):
        return f"{field} {row} {language}"


def test_language_pairs_cycle_in_the_order_of_the_product():
    languages = ("en", "de", "ar")
    pairs = [language_pair(count, languages) for count in range(18)]
    assert pairs == list(product(languages, languages)) * 2


@pytest.mark.parametrize(("count", "languages"), [(0, ()), (-1, ("en",))])
def test_no_languages_and_negative_counts_are_named(count, languages):
    with pytest.raises(ValueError, match="expected a count from 0 and at least one"):
        language_pair(count, languages)


def test_other_rows_are_distinct_and_never_the_own():
    random = np.random.default_rng(5)
    drawn = [other_rows(6, 2, 5, random) for _ in range(200)]
    assert all(sorted(rows) == [0, 1, 3, 4, 5] for rows in drawn)
    firsts = Counter(rows[0] for rows in drawn)
    assert all(15 <= firsts[row] <= 70 for row in (0, 1, 3, 4, 5))  # 40 each, give or take five sigma
    with pytest.raises(ValueError, match="got a corpus of 3 rows, expected at least 4"):
        other_rows(3, 0, 3, random)


def test_a_mmarco_row_has_its_own_document_and_three_of_others():
    own, *others = own_and_sampled(400, 7, np.random.default_rng(0))
    assert own == DocumentIdentity(7, "positive")
    assert [other.field for other in others] == ["positive"] * 3
    assert len({other.row for other in others} - {7}) == 3


def test_a_miracl_row_has_twenty_rounds_of_six():
    selected = triplet_rounds(2863, 11, np.random.default_rng(0))
    assert len(selected) == 120
    for start in range(0, 120, 6):
        own, other = selected[start : start + 2], selected[start + 2 : start + 6]
        assert own == [DocumentIdentity(11, "positive"), DocumentIdentity(11, "negative")]
        assert [document.field for document in other] == ["positive"] * 2 + ["negative"] * 2
        assert len({document.row for document in other} - {11}) == 4


@pytest.mark.slow
def test_miracl_makes_the_paper_s_number_of_balanced_pairs():
    languages: Counter[tuple[str, str]] = Counter()
    for pair in distillation_pairs(NamedCorpus(2863, FIFTY_ONE), triplet_rounds, seed=42):
        languages[pair.query_language, pair.document_language] += 1
        # the same query and the same document, in the student's languages and in English
        assert pair.query == f"query {pair.query_row} {pair.query_language}"
        assert pair.document == f"{pair.document_field} {pair.document_row} {pair.document_language}"
        assert pair.teacher_query == f"query {pair.query_row} en"
        assert pair.teacher_document == f"{pair.document_field} {pair.document_row} en"
    assert sum(languages.values()) == 2863 * 120 == 343_560
    assert len(languages) == 51 * 51
    assert set(languages.values()) == {132, 133}  # 343,560 / 2,601 = 132.09


def test_the_paper_s_groups():
    groups = list(alignment_groups(NamedCorpus(2863, FIFTY_ONE)))
    assert len(groups) == 2863 * 3 == 8589
    pairs = Counter((group.source, group.target) for group in groups)
    assert set(pairs) == set(product(FIFTY_ONE, FIFTY_ONE))
    assert set(pairs.values()) == {3, 4}
    assert Counter(group.row for group in groups) == dict.fromkeys(range(2863), 3)
    group = groups[4]  # the second of row 1: en is the source of the first 51
    assert (group.row, group.source, group.target) == (1, "en", "l3")
    assert (group.query, group.positive_source, group.positive_target) == (
        "query 1 en",
        "positive 1 en",
        "positive 1 l3",
    )
    assert (group.negative_source, group.negative_target) == ("negative 1 en", "negative 1 l3")


def test_near_negatives_are_positives_of_near_rows_the_same_in_both_languages():
    near = [[1, 2], [0], [0, 1]]
    corpus = NamedCorpus(3, ("en", "de"))
    groups = list(alignment_groups(corpus, repetitions=40, near=near, seed=3))
    seen = {row: set() for row in range(3)}
    for group in groups:
        _, other, language = group.negative_source.split()
        assert language == group.source
        assert group.negative_target == f"positive {other} {group.target}"
        seen[group.row].add(int(other))
    assert seen == {0: {1, 2}, 1: {0}, 2: {0, 1}}
    assert groups == list(alignment_groups(corpus, repetitions=40, near=near, seed=3))
    with pytest.raises(ValueError, match="got no near rows for row 1"):
        list(alignment_groups(corpus, near=[[1], [], [0]]))


def test_mmarco_makes_four_pairs_a_query():
    pairs = list(distillation_pairs(NamedCorpus(50, ("de", "en")), own_and_sampled, seed=1))
    assert len(pairs) == 200
    assert [(p.query_language, p.document_language) for p in pairs[:4]] == list(
        product(("de", "en"), repeat=2)
    )


def test_the_seed_and_the_row_alone_decide_the_documents():
    corpus, select = NamedCorpus(30, ("en", "de")), partial(triplet_rounds, rounds=2)
    first = list(distillation_pairs(corpus, select, seed=3))
    assert list(distillation_pairs(corpus, select, seed=3)) == first
    assert list(distillation_pairs(corpus, select, seed=4)) != first
    alone = distillation_pairs(corpus, select, seed=3, rows=[7])
    assert [p.document_row for p in alone] == [p.document_row for p in first if p.query_row == 7]


def test_a_labelled_query_is_paired_with_each_document():
    queries = [LabelledQuery("q", ("a", "b"), ("c",)), LabelledQuery("frage", (), ("d",), "de")]
    pairs = list(labelled_pairs("rlhn", queries))
    assert [(p.query, p.document, p.document_field, p.document_language) for p in pairs] == [
        ("q", "a", "positive", "en"),
        ("q", "b", "positive", "en"),
        ("q", "c", "negative", "en"),
        ("frage", "d", "negative", "de"),
    ]
    assert all((p.teacher_query, p.teacher_document) == (p.query, p.document) for p in pairs)


def test_a_corpus_without_english_and_no_repetitions_are_named():
    with pytest.raises(ValueError, match=r"expected English \('en'\) among them"):
        next(distillation_pairs(NamedCorpus(9, ("de", "fr")), own_and_sampled, seed=0))
    with pytest.raises(ValueError, match="got repetitions=0, expected at least 1"):
        next(alignment_groups(NamedCorpus(9, ("en",)), repetitions=0))
