from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamar_rag.preference import LanguagePreference, estimated_spread

SCORES = np.array([3.0, 2.0, 1.0], dtype=np.float32)


def test_weight_is_counted_in_units_of_the_spread():
    # by hand: only the German document gets 0.5 * 4.0 = 2.0
    final = LanguagePreference(weight=0.5).apply(SCORES, ["en", "de", "fr"], "de", spread=4.0)
    assert final.tolist() == [3.0, 4.0, 1.0]


def test_preferred_languages_share_the_bonus_in_order():
    # by hand: three languages, shares 1, 2/3, 1/3 of weight 3 * spread 1
    preference = LanguagePreference(weight=3.0, preferred=("de", "fr", "en"))
    final = preference.apply(SCORES, ["en", "de", "fr"], "zh", spread=1.0)
    assert np.allclose(final, [3.0 + 1.0, 2.0 + 3.0, 1.0 + 2.0])


def test_floor_keeps_documents_below_it_where_they_are():
    preference = LanguagePreference(weight=5.0, floor=1.5)
    final = preference.apply(SCORES, ["en", "de", "de"], "de", spread=1.0)
    assert final.tolist() == [3.0, 7.0, 1.0]


def test_a_document_at_the_floor_is_lifted():
    final = LanguagePreference(weight=5.0, floor=1.0).apply(SCORES, ["en", "en", "de"], "de", spread=1.0)
    assert final.tolist() == [3.0, 2.0, 6.0]


def test_undetermined_query_language_lifts_nothing_unless_languages_are_named():
    assert (
        LanguagePreference(weight=9.0).apply(SCORES, ["und", "de", "en"], "und").tolist() == SCORES.tolist()
    )
    named = LanguagePreference(weight=9.0, preferred=("en",)).apply(
        SCORES, ["und", "de", "en"], "und", spread=1.0
    )
    assert named.tolist() == [3.0, 2.0, 10.0]


def test_names_of_one_language_are_one_language():
    preference = LanguagePreference(weight=1.0, preferred=("zho_Hans", "zh-TW", "deu_Latn"))
    assert preference.preferred == ("zh", "de")


def test_without_a_declared_spread_the_unit_is_estimated_from_the_scores():
    final = LanguagePreference(weight=1.0).apply(SCORES, ["en", "en", "de"], "de")
    # deviations 1, 0, -1, and four observations of 0.3 (a tenth of 3): (1 + 0 + 1 + 4 * 0.09) / (3 - 1 + 4)
    assert np.isclose(final[2], 1.0 + np.sqrt(2.36 / 6))


def test_a_spread_is_never_nothing():
    # no deviation: four observations of 0.2 (a tenth of 2) in 2 - 1 + 4, or in 1 - 1 + 4
    assert np.isclose(estimated_spread(np.array([2.0, 2.0], dtype=np.float32)), np.sqrt(4 * 0.04 / 5))
    assert np.isclose(estimated_spread(np.array([2.0], dtype=np.float32)), 0.2)
    assert estimated_spread(np.array([0.0, 0.0], dtype=np.float32)) == 1.0


def test_two_candidates_keep_a_spread_that_follows_their_units():
    pair = np.array([5.79, 4.99], dtype=np.float32)
    # (0.4**2 * 2 + 4 * 0.579**2) / 5
    assert np.isclose(estimated_spread(pair), np.sqrt((0.32 + 4 * 0.579**2) / 5), rtol=1e-5)
    assert np.isclose(estimated_spread(10 * pair), 10 * estimated_spread(pair))


def test_one_outlier_among_ties_does_not_make_the_dial_useless():
    ties = np.array([1.0] * 19 + [9.0], dtype=np.float32)
    final = LanguagePreference(weight=1.0).apply(ties, ["en"] * 18 + ["de", "en"], "de")
    assert final[18] > final[0]
    assert final[19] > final[18]


@given(
    st.lists(
        st.tuples(st.floats(-50, 50, width=32), st.sampled_from(["de", "en", "und"])), min_size=0, max_size=20
    )
)
def test_weight_zero_is_the_identity_and_the_input_stays(rows):
    scores = np.array([score for score, _ in rows], dtype=np.float32)
    before = scores.copy()
    final = LanguagePreference(floor=1.0).apply(scores, [language for _, language in rows], "de")
    assert np.array_equal(final, before)
    LanguagePreference(weight=2.0).apply(scores, [language for _, language in rows], "de")
    assert np.array_equal(scores, before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weight": float("nan")}, "weight=nan"),
        ({"weight": float("inf")}, "weight=inf"),
        ({"floor": float("nan")}, "floor=nan"),
        ({"weight": 1e308}, r"weight=1e\+308"),
        ({"preferred": {"de", "en"}}, "preferred of type set"),
        ({"weight": "1"}, "weight='1'"),
        ({"weight": None}, "weight=None"),
        ({"preferred": ()}, "empty list"),
        ({"preferred": "de"}, r"preferred=\['de'\]"),
        ({"preferred": ("xx-not-a-language",)}, "xx-not-a-language"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        LanguagePreference(**options)


def test_another_number_of_languages_is_an_error():
    with pytest.raises(ValueError, match="2 languages for 3 scores"):
        LanguagePreference(weight=1.0).apply(SCORES, ["de", "en"], "de")
