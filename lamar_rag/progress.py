"""The progress bar of long work: on stderr, with the remaining time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(label: str, total: int | None, *, shown: bool = True) -> Iterator[Callable[[int], None]]:
    """Show a bar while the block runs; the block calls what it is given with the number of items done.

    Where it is not `shown`, the block runs as it is and its calls do nothing.
    """
    if not shown:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(label, total=total)

        def advance(count: int) -> None:
            progress.advance(task, count)

        yield advance
