"""An embedder that remembers: texts are embedded once, also over several runs."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from lamar_rag.languages import UNDETERMINED
from lamar_rag.whole_file import write_whole

if TYPE_CHECKING:
    from lamar_rag.retrieval.centring import LanguageCentring
    from lamar_rag.scoring.bi_encoder import PassageEmbedder
    from lamar_rag.types import BoolArray, FloatArray, TextKind

_CHUNK = 1024  # texts that a killed run loses at most


class CachedEmbedder:
    """Vectors of an embedder, kept in a folder by the texts' contents.

    Args:
        embedder: without language centring, so that a text has one vector.
        folder: is made; files of another embedder there are not read.
        centring: applied to what is returned; what is kept serves every centring.

    Raises:
        ValueError: an embedder with centring.
    """

    def __init__(
        self, embedder: PassageEmbedder, folder: str | Path, *, centring: LanguageCentring | None = None
    ) -> None:
        if embedder.centring is not None:
            raise ValueError(
                f"got an embedder with centring {embedder.centring}, expected one without: centring=None"
            )
        self._embedder, self._centring = embedder, centring
        self._folder = Path(folder) / hashlib.sha256(embedder.model.encode()).hexdigest()[:16]
        self._vectors: dict[bytes, FloatArray] = {}
        self._read()

    @property
    def model(self) -> str:
        """The embedder's name."""
        return self._embedder.model

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._embedder.dimension

    @property
    def centring(self) -> str | None:
        """Name of the centring, None without."""
        return self._centring.name if self._centring else None

    def embed(
        self,
        texts: Sequence[str],
        kind: TextKind,
        *,
        languages: Sequence[str] | None = None,
        progress: bool = False,
    ) -> FloatArray:
        """Return unit vectors, shape (n, d); texts that were not seen before are embedded and kept.

        Args:
            texts: in any order; the same text of one kind has one vector.
            kind: of the texts.
            languages: codes, one a text; without them centring takes the global mean.
            progress: show a progress bar on stderr.
        """
        keys = [_key(text, kind) for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._vectors}
        # similar lengths together: a batch is padded to its longest text
        ordered = sorted(missing, key=lambda key: len(missing[key]))
        for start in range(0, len(ordered), _CHUNK):
            chunk = ordered[start : start + _CHUNK]
            vectors = self._embedder.embed([missing[key] for key in chunk], kind, progress=progress)
            self._keep(chunk, vectors)
        if not keys:
            return np.empty((0, self.dimension), dtype=np.float32)
        plain = np.stack([self._vectors[key] for key in keys])
        if self._centring is None:
            return plain
        return self._centring.apply(plain, kind, languages or [UNDETERMINED] * len(texts))

    def with_centring(self, centring: LanguageCentring | None) -> Self:
        """Return the same memory of vectors under another centring."""
        other = copy.copy(self)
        other._centring = centring
        return other

    def truncated(self, texts: Sequence[str], kind: TextKind) -> BoolArray:
        """Return, shape (n,), whether each text is longer than the model reads."""
        return self._embedder.truncated(texts, kind)

    def windows(self, text: str) -> list[str]:
        """Return a passage in pieces that the model reads whole."""
        return self._embedder.windows(text)

    def _keep(self, keys: Sequence[bytes], vectors: FloatArray) -> None:
        from safetensors.numpy import save

        self._vectors.update(zip(keys, vectors, strict=True))
        name = hashlib.sha256(b"".join(keys)).hexdigest()[:24]
        digests = np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(len(keys), -1)
        content = save({"keys": digests, "vectors": np.ascontiguousarray(vectors)})
        write_whole(self._folder / f"{name}.safetensors", content)

    def _read(self) -> None:
        from safetensors.numpy import load_file

        for path in sorted(self._folder.glob("*.safetensors")):
            tensors = load_file(path)
            keys = [row.tobytes() for row in tensors["keys"]]
            self._vectors.update(zip(keys, tensors["vectors"], strict=True))


def _key(text: str, kind: TextKind) -> bytes:
    return hashlib.sha256(f"{kind}\0{text}".encode("utf-8", "surrogatepass")).digest()[:16]
