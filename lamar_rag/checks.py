"""Checks of what a user passes that more than one part needs."""

from __future__ import annotations

import sys


def is_finite(value: object) -> bool:
    """Say whether a value is a number (no bool) that a float can hold, and neither NaN nor infinite."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -sys.float_info.max <= value <= sys.float_info.max


def check_trust(value: object) -> None:
    """Raise ValueError unless `trust_remote_code` is a bool: a text such as "False" would count as true."""
    if not isinstance(value, bool):
        raise ValueError(f"got trust_remote_code={value!r}, expected True or False")


def check_count(name: str, value: object, *, optional: bool = False) -> None:
    """Raise ValueError unless `value` is a whole number of at least 1 (or None, where it may be left out)."""
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"got {name}={value!r}, expected a whole number of at least 1")
    if value < 1:
        raise ValueError(f"got {name}={value}, expected at least 1")
