"""What a remote scorer checks of its options."""

from __future__ import annotations

import math

from lamar_rag.checks import check_count


def check_model(model: object) -> None:
    """Raise ValueError unless `model` can be a served model's name, or is None."""
    if model is not None and not (isinstance(model, str) and model.strip() and model.isprintable()):
        raise ValueError(f"got model={model!r}, expected the served model's name (or None)")


def check_counts(retries: object, batch_size: object, max_concurrency: object, max_length: object) -> None:
    """Raise ValueError unless all are whole numbers of at least 1; retries may be 0, the length None."""
    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
        raise ValueError(f"got retries={retries!r}, expected a whole number of at least 0")
    check_count("batch_size", batch_size)
    check_count("max_concurrency", max_concurrency)
    check_count("max_length", max_length, optional=True)


def check_numbers(*, timeout: object, backoff: object, spread: object) -> None:
    """Raise ValueError unless they are finite and above 0; backoff may be 0, the spread None."""
    _check_number("timeout", timeout)
    _check_number("backoff", backoff, zero=True)
    if spread is not None:
        _check_number("spread", spread)


def _check_number(name: str, value: object, *, zero: bool = False) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"got {name}={value!r}, expected a finite number")
    if value < 0 or (value == 0 and not zero):
        raise ValueError(f"got {name}={value}, expected {'at least 0' if zero else 'more than 0'}")
