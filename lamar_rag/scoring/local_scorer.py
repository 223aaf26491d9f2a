"""What every scorer with a model on this machine does: options, loading once, freeing, pickling, forking."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Generic, TypeVar

from lamar_rag.closing import Closing
from lamar_rag.fork_renewal import renew_after_fork
from lamar_rag.scoring.checks import check_spread
from lamar_rag.scoring.loading_options import LoadingOptions
from lamar_rag.scoring.recipe import Recipe
from lamar_rag.torch_options import free_memory

_Loaded = TypeVar("_Loaded")


class LocalScorer(Closing, ABC, Generic[_Loaded]):
    """A scorer whose model is loaded on first use, once for all threads; a pickled one carries no weights.

    Args:
        model: a hub id or a folder.
        recipe: the model's input and where its score is read.
        spread: the unit of the language preference in the model's scores, where it is known.
        options: see `LoadingOptions`.

    Raises:
        ValueError: an option out of range.
    """

    def __init__(
        self, model: str | Path, recipe: Recipe, *, spread: float | None = None, **options: Any
    ) -> None:
        check_spread(spread)
        self._source, self._recipe, self._spread = model, recipe, spread
        self._options = LoadingOptions(**options)
        self._loaded: _Loaded | None = None
        self._lock = threading.RLock()
        renew_after_fork(self)

    @property
    def model(self) -> str:
        """The model's name as it was given."""
        return str(self._source)

    @property
    def spread(self) -> float | None:
        """The unit of the language preference, None where it is not known."""
        return self._spread

    def close(self) -> None:
        """Free the model's memory; the next call loads it again."""
        with self._lock:
            self._loaded = None
        free_memory()

    def __getstate__(self) -> dict[str, Any]:
        """Options travel, the model does not: a copy in another process loads its own."""
        return {**self.__dict__, "_loaded": None, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.RLock())
        renew_after_fork(self)

    def renew(self) -> None:
        """Make a new lock, in a forked child."""
        self._lock = threading.RLock()

    @abstractmethod
    def _load_now(self, options: LoadingOptions) -> _Loaded:
        """Load the model."""

    def _load(self) -> _Loaded:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load_now(self._options)
            return self._loaded
