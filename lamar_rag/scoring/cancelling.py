"""The one place where a call looks whether it was given up."""

from __future__ import annotations

from lamar_rag.types import ScoringCancelledError, ScoringOptions


def is_cancelled(options: ScoringOptions) -> bool:
    """Say whether a call's `cancel` event is set."""
    return options.cancel is not None and options.cancel.is_set()


def check_cancelled(options: ScoringOptions) -> None:
    """Raise ScoringCancelledError where a call's `cancel` event is set."""
    if is_cancelled(options):
        raise ScoringCancelledError("scoring was cancelled before its end")
