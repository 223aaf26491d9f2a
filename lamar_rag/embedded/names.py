"""The names of the models that install from PyPI."""

from __future__ import annotations

from pathlib import Path

from lamar_rag.embedded.e5_folder import E5_SMALL, E5_SMALL_HUB_ID, e5_small_folder, packaged_e5_file
from lamar_rag.embedded.gguf_models import GGUF_MODELS, generator_folder
from lamar_rag.embedded.mini_folder import LAMAR_MINI, lamar_mini_folder

HUB_EQUIVALENTS = {E5_SMALL: E5_SMALL_HUB_ID}


def embedded_folder(name: str) -> Path | None:
    """Return the model folder of an embedded model, None where `name` is none or the hub must serve it.

    Raises:
        FileNotFoundError: the package that carries the model's weights is not installed.
    """
    if name == E5_SMALL and packaged_e5_file() is not None:
        return e5_small_folder()
    if name == LAMAR_MINI:
        return lamar_mini_folder()
    if name in GGUF_MODELS:
        return generator_folder(name)
    return None
