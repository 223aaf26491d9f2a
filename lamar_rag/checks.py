"""Checks of what a user passes that more than one part needs."""

from __future__ import annotations


def check_count(name: str, value: object, *, optional: bool = False) -> None:
    """Raise ValueError unless `value` is a whole number of at least 1 (or None, where it may be left out)."""
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"got {name}={value!r}, expected a whole number of at least 1")
    if value < 1:
        raise ValueError(f"got {name}={value}, expected at least 1")
