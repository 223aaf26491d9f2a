"""Groups with hard negatives: who stands in them, and in which languages."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
from lamar_trainers.contrastive_synthesis import contrastive_pairs

LANGUAGES = ("en", "de", "ar")


class NamedCorpus:
    """A parallel corpus whose texts say what they are."""

    name, languages = "named", LANGUAGES

    def __len__(self):
        return 6

    def text(self, field, row, language):
        return f"{field} {row} {language}"


NEAR = [[1, 2, 3], [0, 2, 4], [3, 4, 5], [0, 1], [1, 2, 5], [0, 3, 4]]


def groups(**options):
    pairs = list(contrastive_pairs(NamedCorpus(), NEAR, **{"seed": 3, **options}))
    found = {}
    for pair in pairs:
        found.setdefault(pair.group, []).append(pair)
    assert [pair for group in found.values() for pair in group] == pairs  # a group's pairs stand together
    return list(found.values())


def test_a_group_is_the_own_document_and_near_ones_in_english_for_the_teacher():
    for group in groups(negatives=3):
        row = group[0].query_row
        assert group[0].document_row == row
        assert sorted(pair.document_row for pair in group[1:]) == sorted(NEAR[row])
        for pair in group:
            assert pair.query == f"query {row} {group[0].query_language}"
            assert pair.document == f"positive {pair.document_row} {pair.document_language}"
            assert (pair.teacher_query, pair.teacher_document) == (
                f"query {row} en",
                f"positive {pair.document_row} en",
            )


def test_rows_with_too_few_near_ones_are_left_out():
    assert [group[0].query_row for group in groups(negatives=3, repetitions=2)] == [0, 1, 2, 4, 5] * 2
    assert len(groups(negatives=2)) == 6
    assert [group[0].query_row for group in groups(negatives=3, rows=[4, 3, 0])] == [4, 0]


def test_languages_cycle_and_every_group_has_the_query_s_and_the_pair_s_other():
    found = groups(negatives=1, repetitions=3)  # of two documents: one in each language of the pair
    pairs = []
    for group in found:
        languages = [pair.document_language for pair in group]
        languages.remove(group[0].query_language)
        pairs.append((group[0].query_language, *languages))
    assert Counter(pairs) == Counter(dict.fromkeys(product(LANGUAGES, LANGUAGES), 2))
    for group in groups(negatives=3, repetitions=3):
        assert group[0].query_language in {pair.document_language for pair in group}


def test_a_document_s_language_says_nothing_of_its_relevance():
    found = groups(negatives=3, repetitions=1000)  # 5,000 groups
    in_query_language = [
        sum(group[place].document_language == group[0].query_language for group in found) / len(found)
        for place in range(4)
    ]
    # the query's own language, the cycle's other and two drawn of three languages: 1/4 + 3/4 x 1/3
    assert in_query_language == pytest.approx([0.5] * 4, abs=0.03)


def test_the_seed_chooses():
    assert groups(negatives=2, repetitions=3) == groups(negatives=2, repetitions=3)
    assert groups(negatives=2, repetitions=3) != groups(negatives=2, repetitions=3, seed=4)


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="5 lists of near rows"):
        list(contrastive_pairs(NamedCorpus(), NEAR[:5], seed=0))
    with pytest.raises(ValueError, match="negatives=0"):
        list(contrastive_pairs(NamedCorpus(), NEAR, negatives=0, seed=0))
