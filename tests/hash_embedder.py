"""An `Embedder` without a model: every text has a random unit vector of its own, the same in every run.

Run as a program it saves ever new generations of an index into a folder until it is killed.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lamar_rag.types import Document

if TYPE_CHECKING:
    from lamar_rag.types import FloatArray


class HashEmbedder:
    def __init__(self, dimension: int = 16, model: str = "hash", centring: str | None = None) -> None:
        self.dimension = dimension
        self.model = model
        self.centring = centring
        self.calls: list[tuple[str, list[str]]] = []

    def embed(
        self,
        texts: Sequence[str],
        kind: str,
        *,
        languages: Sequence[str] | None = None,
        progress: bool = False,
    ) -> FloatArray:
        self.calls.append((kind, list(languages or [])))
        vectors = [self.vector(text) for text in texts]
        return np.array(vectors, dtype=np.float32).reshape(len(texts), self.dimension)

    def vector(self, text: str) -> FloatArray:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        vector = np.random.default_rng(int.from_bytes(digest[:8], "little")).normal(size=self.dimension)
        return (vector / np.linalg.norm(vector)).astype(np.float32)


def generation(number: int) -> list[Document]:
    """Documents that tell which generation they belong to; their number does too."""
    return [
        Document(f"generation {number} document {i}", id=f"{number}-{i}", language="en")
        for i in range(50 + number % 7)
    ]


def save_forever(folder: str) -> None:
    from lamar_rag.retrieval.faiss_index import FaissIndex

    number = 0
    while True:
        number += 1
        with FaissIndex.build(generation(number), HashEmbedder()) as index:
            index.save(folder)
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    save_forever(sys.argv[1])
