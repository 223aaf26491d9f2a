"""The context manager of everything that has something to free."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Closing:
    """`with thing:` calls `thing.close()` at the end, after an error too."""

    def close(self) -> None:
        """Free what is held."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
