"""Language centring: takes out of an embedding what only says which language it is in.

e5 places all texts of one language near each other, so strongly that a relevant passage in another
language ranks below irrelevant ones in the query's own. Subtracting each language's mean vector (one
mean for queries, one for passages) and scaling to unit length again undoes most of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lamar_rag.languages import normalize_language

if TYPE_CHECKING:
    from lamar_rag.types import FloatArray, TextKind

GLOBAL = "*"  # the mean over languages, for a language without a mean of its own
_E5_SMALL = "e5_small_centring.safetensors"
_SHIPPED = {"multilingual-e5-small": _E5_SMALL, "intfloat/multilingual-e5-small": _E5_SMALL}


@dataclass(frozen=True)
class LanguageCentring:
    """Mean vectors by kind of text and language.

    `means[kind][language]` has shape (d,); `means[kind]["*"]` serves every other language.
    """

    name: str
    means: Mapping[TextKind, Mapping[str, FloatArray]]

    @property
    def languages(self) -> list[str]:
        """The codes that have a mean of their own."""
        return sorted(set(self.means["passage"]) - {GLOBAL})

    def apply(self, vectors: FloatArray, kind: TextKind, languages: Sequence[str]) -> FloatArray:
        """Return new unit vectors, shape (n, d), with each language's mean taken out.

        Raises:
            ValueError: another number of languages than of vectors.
        """
        if len(languages) != len(vectors):
            raise ValueError(
                f"got {len(languages)} languages for {len(vectors)} vectors: give one language code a vector"
            )
        if len(vectors) == 0:
            return vectors.copy()
        means = self.means[kind]
        codes = {language: normalize_language(language) for language in set(languages)}
        centred = vectors - np.stack([means.get(codes[language], means[GLOBAL]) for language in languages])
        return unit_vectors(centred)

    def save(self, path: Path) -> None:
        """Write the means as half precision into a safetensors file."""
        from safetensors.numpy import save_file

        tensors = {
            f"{kind}/{language}": mean.astype(np.float16)
            for kind, by_language in self.means.items()
            for language, mean in by_language.items()
        }
        save_file(tensors, str(path), metadata={"name": self.name})

    @classmethod
    def load(cls, path: Path) -> LanguageCentring:
        """Read what `save` wrote.

        Raises:
            ValueError: the file holds no means for both kinds of text.
        """
        from safetensors import safe_open

        means: dict[TextKind, dict[str, FloatArray]] = {"query": {}, "passage": {}}
        with safe_open(str(path), framework="numpy") as file:
            name = (file.metadata() or {}).get("name", path.stem)
            for key in file.keys():  # noqa: SIM118 - a safetensors handle is no mapping
                kind, _, language = key.partition("/")
                if kind == "query" or kind == "passage":
                    means[kind][language] = file.get_tensor(key).astype(np.float32)
        for kind, by_language in means.items():
            if GLOBAL not in by_language:
                raise ValueError(
                    f"{path}: no tensor '{kind}/{GLOBAL}': expected a file that LanguageCentring.save wrote"
                )
        return cls(name, means)

    @classmethod
    def estimate(cls, name: str, vectors: Mapping[TextKind, Mapping[str, FloatArray]]) -> LanguageCentring:
        """Return the means of uncentred unit vectors, `vectors[kind][language]` of shape (n, d).

        The global mean weighs every language alike.
        """
        means: dict[TextKind, dict[str, FloatArray]] = {}
        for kind, by_language in vectors.items():
            own = {normalize_language(language): v.mean(axis=0) for language, v in by_language.items()}
            means[kind] = {**own, GLOBAL: np.mean(list(own.values()), axis=0)}
        return cls(name, means)


def shipped_centring(model: str) -> LanguageCentring | None:
    """Return the centring that the library ships for an embedding model, None where it has none."""
    file = _SHIPPED.get(model)
    if file is None:
        return None
    with resources.as_file(resources.files("lamar_rag.embedded") / file) as path:
        return LanguageCentring.load(path)


def unit_vectors(vectors: FloatArray) -> FloatArray:
    """Return the vectors scaled to length one; a zero vector stays zero."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(norms == 0.0, 1.0, norms), dtype=np.float32)
