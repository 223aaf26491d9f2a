"""Optional dependencies: imported where they are used, and named with their pip command when absent."""

from __future__ import annotations

import importlib
from types import ModuleType


class MissingExtraError(ImportError):
    """An optional package is not installed. The message holds the exact pip command."""


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import `module`, or raise `MissingExtraError` naming the extra that brings it.

    Args:
        module: import name, such as "faiss".
        extra: the extra of lamar-rag that installs it, such as "rag".
        purpose: what needs it, for the message ("a FAISS index").
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.split(".")[0] != module.split(".")[0]:
            raise
        raise MissingExtraError(
            f"{purpose} needs the package '{module.split('.')[0]}', which is not installed: "
            f"pip install 'lamar-rag[{extra}]'"
        ) from error
