from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

from lamar_rag.evaluation.bootstrap import (
    balanced,
    balanced_difference,
    bootstrap_interval,
    mean,
    mean_difference,
)


def test_a_means_interval_is_the_normal_one():
    values = np.random.default_rng(0).random(2000)
    low, high = bootstrap_interval([values], mean)
    half = NormalDist().inv_cdf(0.975) * values.std() / np.sqrt(len(values))
    assert low == pytest.approx(values.mean() - half, abs=0.05 * half)
    assert high == pytest.approx(values.mean() + half, abs=0.05 * half)


def test_pairs_stay_together():
    first = np.random.default_rng(0).random(50)
    assert bootstrap_interval([first, first], mean_difference) == (0.0, 0.0)
    low, high = bootstrap_interval([first + 0.25, first], mean_difference)
    assert (low, high) == (pytest.approx(0.25), pytest.approx(0.25))


def test_balanced_agrees_with_a_loop():
    random = np.random.default_rng(1)
    columns = [random.random(40) for _ in range(4)]
    low, high = bootstrap_interval(columns, balanced_difference, resamples=4000)
    draws = []
    for _ in range(4000):
        rows = random.integers(40, size=40)
        a, b, c, d = (column[rows].mean() for column in columns)
        draws.append(2 * a * b / (a + b) - 2 * c * d / (c + d))
    assert np.quantile(draws, [0.025, 0.975]) == pytest.approx([low, high], abs=0.01)


def test_balanced_by_hand():
    assert balanced(np.array([1.0, 0.0]), np.array([1.0, 1.0])) == pytest.approx(2 / 3)
    assert balanced(np.zeros(2), np.zeros(2)) == 0.0


def test_the_seed_decides():
    values = np.random.default_rng(0).random(30)
    assert bootstrap_interval([values], mean, seed=1) == bootstrap_interval([values], mean, seed=1)
    assert bootstrap_interval([values], mean, seed=1) != bootstrap_interval([values], mean, seed=2)


def test_one_question_has_no_width():
    assert bootstrap_interval([[0.5]], mean) == (0.5, 0.5)


@pytest.mark.parametrize("columns", [[], [[]], [[1.0], [1.0, 2.0]]])
def test_columns_that_do_not_match_are_named(columns):
    with pytest.raises(ValueError, match="the same questions in each"):
        bootstrap_interval(columns, mean)
