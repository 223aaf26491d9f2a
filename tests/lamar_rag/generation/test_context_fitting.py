from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamar_rag.generation.context_fitting import fit_contexts

FIXED = 10  # tokens of the prompt beside its contexts; each context costs 2 and a token a character


def count(kept):
    return FIXED + sum(2 + len(text) for text in kept)


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        (24, ["aaaa", "bbb", "c"]),  # 10 + 6 + 5 + 3
        (23, ["aaaa", "bbb"]),
        (21, ["aaaa", "bbb"]),
        (20, ["aaaa", "bb"]),
        (18, ["aaaa"]),  # a second context would need 3 tokens at least
        (15, ["aaa"]),
        (13, ["a"]),
        (10, []),
    ],
)
def test_the_last_context_is_cut_first(budget, expected):
    assert fit_contexts(["aaaa", "bbb", "c"], budget, count) == expected


def test_what_does_not_fit_without_contexts_is_an_error():
    with pytest.raises(ValueError, match=r"got a question whose prompt has 10 tokens .* expected at most 9"):
        fit_contexts(["aaaa"], 9, count)


def test_no_contexts():
    assert fit_contexts([], 10, count) == []


@settings(deadline=None)
@given(st.lists(st.text(min_size=1), max_size=5), st.integers(FIXED, 80))
def test_it_keeps_all_that_fits(contexts, budget):
    kept = fit_contexts(contexts, budget, count)
    assert count(kept) <= budget
    flat = "".join(contexts)
    assert flat.startswith("".join(kept))
    size = len("".join(kept))
    if size < len(flat):  # one character more would not fit: where it opens a context it costs 3
        boundary = size in [sum(map(len, contexts[:i])) for i in range(len(contexts) + 1)]
        assert count(kept) + (3 if boundary else 1) > budget


def test_a_very_long_context_is_never_counted_whole():
    longest = 0

    def watched(kept):
        nonlocal longest
        longest = max(longest, sum(map(len, kept)))
        return count(kept)

    (kept,) = fit_contexts(["x" * 10_000_000], 1000, watched)
    assert len(kept) == 1000 - FIXED - 2
    assert longest <= 2000
