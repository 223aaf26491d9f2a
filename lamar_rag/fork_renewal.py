"""Locks that a fork leaves behind: a thread that held one does not exist in the child, and never lets go."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class Renewable(Protocol):
    """An object that makes its locks anew."""

    def renew(self) -> None:
        """Make new locks; called in a forked child, before anything else runs there."""
        ...


_objects: WeakSet[Renewable] = WeakSet()


def renew_after_fork(thing: Renewable) -> None:
    """Have `thing.renew()` called in every process that is forked from this one."""
    _objects.add(thing)


def _renew_all() -> None:
    for thing in list(_objects):
        thing.renew()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork either
    os.register_at_fork(after_in_child=_renew_all)
