"""Models as a user names them on a command line, and what tells their scores apart."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from lamar_rag.cache import file_sha256
from lamar_rag.embedded.mini_folder import LAMAR_MINI

PLAIN = "@plain"
_FUSED = re.compile(r"(?P<model>.+)\+(?P<weight>\d+(?:\.\d+)?)x(?P<embedder>[^+]+)")


@dataclass(frozen=True, slots=True)
class NamedModel:
    """A model's name and what results call it."""

    label: str
    name: str


@dataclass(frozen=True, slots=True)
class FusedName:
    """The parts of a name such as lamar-600m+20xmultilingual-e5-small."""

    model: str
    weight: float
    embedder: str


def named_models(models: Sequence[str]) -> list[NamedModel]:
    """Return what LABEL=NAME says; without a label a model is called by its name, a folder by its last part.

    Raises:
        ValueError: no model, an empty label or name, or two models of one label.
    """
    if not models:
        raise ValueError("got no model, expected one at least, such as lamar-mini")
    found = [_named(text) for text in models]
    labels = [model.label for model in found]
    for model in found:
        if labels.count(model.label) > 1:
            raise ValueError(
                f"got model '{model.label}' twice, expected each once: LABEL=NAME tells them apart"
            )
    return found


def fused_name(name: str) -> FusedName | None:
    """Return the parts of MODEL+WEIGHTxEMBEDDER, None for any other name."""
    match = None if Path(name).exists() else _FUSED.fullmatch(name)
    return FusedName(match["model"], float(match["weight"]), match["embedder"]) if match else None


def portable_name(name: str) -> str:
    """Return a name without what is this machine's own: of folders, their last part."""
    fused = fused_name(name)
    if fused:
        return f"{portable_name(fused.model)}+{fused.weight:g}x{portable_name(fused.embedder)}"
    stem = name.removesuffix(PLAIN)
    path = Path(stem).expanduser()
    return path.resolve().name + name[len(stem) :] if path.is_absolute() or path.is_dir() else name


def model_identity(name: str) -> str:
    """Return what changes whenever a model's scores may: a folder's is made of its files, and says no path."""
    fused = fused_name(name)
    if fused:
        return f"{model_identity(fused.model)}+{fused.weight:g}x{model_identity(fused.embedder)}"
    folder = Path(name.removesuffix(PLAIN)).expanduser()
    if folder.is_dir():
        hasher = hashlib.sha256()
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            state = path.stat()
            hasher.update(f"{path.relative_to(folder)}\0{state.st_size}\0{state.st_mtime_ns}\0".encode())
        return f"folder-{hasher.hexdigest()[:16]}" + (PLAIN if name.endswith(PLAIN) else "")
    if name == LAMAR_MINI:
        with resources.as_file(resources.files("lamar_rag.embedded") / "lamar_mini.safetensors") as path:
            return f"{name}-{file_sha256(path)[:16]}"
    return name


def file_name(text: str) -> str:
    """Return a text as a part of a file's name."""
    return re.sub(r"[^\w.@+]+", "-", text).strip("-.") or "unnamed"


def dial_name(weight: float) -> str:
    """Return a weight of the dial as a part of a file's name; a negative one differs from its opposite."""
    return f"dial-{weight:g}".replace("--", "-minus-")


def _named(text: str) -> NamedModel:
    label, separator, name = text.partition("=")
    if not separator or "://" in label or Path(text).exists():
        return NamedModel(portable_name(text), text)
    if not label.strip() or not name.strip():
        raise ValueError(f"got model '{text}', expected NAME or LABEL=NAME")
    return NamedModel(label.strip(), name.strip())
