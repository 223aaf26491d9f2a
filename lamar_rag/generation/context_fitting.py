"""Cut the contexts, and nothing else, so that a prompt fits into the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def fit_contexts(
    contexts: Sequence[str], budget: int, count_tokens: Callable[[Sequence[str]], int]
) -> list[str]:
    """Return the contexts cut to the prompt's budget: the last one first, from its end.

    Args:
        contexts: the documents' texts, best first.
        budget: most tokens that the whole prompt may have.
        count_tokens: counts the tokens of the prompt with the given contexts in it.

    Raises:
        ValueError: the prompt is too long without any context.
    """
    total = sum(map(len, contexts))
    # From the budget upwards, so that a very long document is never tokenised as a whole.
    fits, too_many = -1, min(budget, total)
    while count_tokens(_first_characters(contexts, too_many)) <= budget:
        fits = too_many
        if fits == total:
            return list(contexts)
        too_many = min(2 * too_many, total)
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if count_tokens(_first_characters(contexts, middle)) <= budget:
            fits = middle
        else:
            too_many = middle
    if fits < 0:
        raise ValueError(
            f"got a question whose prompt has {count_tokens([])} tokens without any context, "
            f"expected at most {budget}: shorten the question or raise max_input_tokens"
        )
    return _first_characters(contexts, fits)


def _first_characters(contexts: Sequence[str], count: int) -> list[str]:
    """Return the first `count` characters of all contexts together, without emptied contexts."""
    kept = []
    for text in contexts:
        if count <= 0:
            break
        kept.append(text[:count])
        count -= len(text)
    return kept
