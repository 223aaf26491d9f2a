"""Embeddings through sentence-transformers: any model id or folder, with the prefixes it expects."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from lamar_rag.extras import require
from lamar_rag.hub import resolve_model
from lamar_rag.languages import UNDETERMINED
from lamar_rag.retrieval.centring import LanguageCentring, shipped_centring, unit_vectors
from lamar_rag.scoring.batching import token_batches
from lamar_rag.text import CHARACTERS_PER_TOKEN, replace_surrogates
from lamar_rag.torch_options import check_dtype, free_memory, torch_device
from lamar_rag.windows import text_windows

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from lamar_rag.types import BoolArray, FloatArray, TextKind

_WINDOW_OVERLAP = 64  # tokens that neighbouring windows of a long passage share
_PREFIXES: dict[str, dict[str, str]] = {
    "e5": {"query": "query: ", "passage": "passage: "},
    "bge-m3": {"query": "", "passage": ""},
    "minilm": {"query": "", "passage": ""},
}


def known_prefixes(model: str) -> dict[str, str] | None:
    """Return the query and passage prefixes of a model by its name; None where it is not known.

    The multilingual e5 family wants "query: " and "passage: ", bge-m3 and the MiniLM models none.
    """
    name = Path(model).name.lower()
    if "e5" in name.split("-") and "instruct" not in name:
        return _PREFIXES["e5"]
    return next((prefixes for key, prefixes in _PREFIXES.items() if key != "e5" and key in name), None)


class SentenceEmbedder:
    """An `Embedder` over `sentence_transformers.SentenceTransformer`.

    The model is loaded on first use; one object may be shared by any number of threads.

    Args:
        model: a hub id, a folder, or "multilingual-e5-small" (embedded).
        centring: "auto" takes the means that the library ships for the model, if any; None switches
            centring off; or a `LanguageCentring` of your own.
        prefixes: {"query": ..., "passage": ...}; by default the model's known ones, else the prompts that
            its own configuration names, else none.
        device: such as "cpu" or "cuda"; by default the best there is.
        dtype: "float32", "float16" or "bfloat16"; by default the model's own.
        max_batch_tokens: padded tokens a batch; the texts are batched in order of their length.
    """

    def __init__(
        self,
        model: str | Path = "multilingual-e5-small",
        *,
        centring: Literal["auto"] | LanguageCentring | None = "auto",
        prefixes: dict[str, str] | None = None,
        device: str | None = None,
        dtype: str | None = None,
        max_batch_tokens: int = 4096,
        trust_remote_code: bool = False,
    ) -> None:
        if max_batch_tokens < 1:
            raise ValueError(
                f"got max_batch_tokens={max_batch_tokens}, expected at least 1 (4096 is the default)"
            )
        if prefixes is not None and set(prefixes) != {"query", "passage"}:
            raise ValueError(f"got prefixes for {sorted(prefixes)}, expected the keys 'query' and 'passage'")
        if centring not in ("auto", None) and not isinstance(centring, LanguageCentring):
            raise ValueError(f"got centring={centring!r}, expected 'auto', None or a LanguageCentring")
        check_dtype(dtype)
        self._source, self._name = model, str(model)
        self._dtype = dtype
        self._centring = shipped_centring(self._name) if centring == "auto" else centring
        self._prefixes = prefixes if prefixes is not None else known_prefixes(self._name)
        self._device = device
        self._max_batch_tokens = max_batch_tokens
        self._trust_remote_code = trust_remote_code
        self._loaded: SentenceTransformer | None = None
        self._lock = threading.RLock()

    @property
    def model(self) -> str:
        """The model's name as it was given."""
        return self._name

    @property
    def centring(self) -> str | None:
        """Name of the means in use, None without centring."""
        return self._centring.name if self._centring else None

    @property
    def dimension(self) -> int:
        """Length of a vector (loads the model)."""
        return int(self._load().get_embedding_dimension() or 0)

    def embed(
        self,
        texts: Sequence[str],
        kind: TextKind,
        *,
        languages: Sequence[str] | None = None,
        progress: bool = False,
    ) -> FloatArray:
        """Return float32 unit vectors, shape (n, d), in the order of `texts`.

        Args:
            kind: "query" or "passage"; it decides the prefix and the mean that is taken out.
            languages: codes, one a text; without them centring takes the global mean.

        Raises:
            ValueError: another number of languages than of texts, or a model that returns non-finite values.
        """
        if languages is not None and len(languages) != len(texts):
            raise ValueError(f"got {len(languages)} languages for {len(texts)} texts: give one code a text")
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        vectors = self._embed_plain(texts, kind, progress)
        if self._centring is None:
            return vectors
        return self._centring.apply(vectors, kind, languages or [UNDETERMINED] * len(texts))

    def truncated(self, texts: Sequence[str], kind: TextKind) -> BoolArray:
        """Return, shape (n,), whether the model reads less than the whole of each text."""
        limit = self._load().max_seq_length
        if limit is None:
            return np.zeros(len(texts), dtype=np.bool_)
        lengths = self._token_lengths([self._prepared(text, kind) for text in texts])
        cut = [len(text) > self._character_limit() for text in texts]
        return np.asarray((lengths > limit) | np.array(cut, dtype=np.bool_), dtype=np.bool_)

    def windows(self, text: str) -> list[str]:
        """Return a passage cut into overlapping pieces, each short enough for the model to read whole."""
        model = self._load()
        backend = getattr(model.tokenizer, "backend_tokenizer", None)
        if backend is None or model.max_seq_length is None:
            return [text]
        clean = replace_surrogates(text)
        prefix = self._prepared("", "passage")
        with self._lock:
            size = model.max_seq_length - len(model.tokenizer(prefix)["input_ids"])
            backend.no_truncation()
            backend.no_padding()
            encoding = backend.encode(clean, add_special_tokens=False)
        return text_windows(clean, encoding, size, min(_WINDOW_OVERLAP, size - 1))

    def close(self) -> None:
        """Free the model's memory; the next call loads it again."""
        with self._lock:
            self._loaded = None
        free_memory()

    def _embed_plain(self, texts: Sequence[str], kind: TextKind, progress: bool) -> FloatArray:
        model = self._load()
        prepared = [self._prepared(text, kind) for text in texts]
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        lengths = np.minimum(self._token_lengths(prepared), model.max_seq_length or self._max_batch_tokens)
        batches = token_batches(lengths, self._max_batch_tokens)
        for rows in _progress(batches, len(texts), f"embedding {len(texts)} texts", progress):
            with self._lock:  # a tokenizer cannot be used by two threads at once
                vectors[rows] = model.encode(
                    [prepared[row] for row in rows],
                    batch_size=len(rows),
                    prompt="",
                    normalize_embeddings=True,
                    show_progress_bar=False,
                )
        bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if len(bad):
            raise ValueError(
                f"model {self._name} returned non-finite values for text {bad[0]}: "
                "load it in float32, or check its weights"
            )
        # Lengths made one in 8 or 11 bits are off by some thousandths: as much as neighbours' similarities differ.
        return unit_vectors(vectors)

    def _token_lengths(self, texts: Sequence[str]) -> npt.NDArray[np.int64]:
        tokenizer = self._load().tokenizer
        if not callable(tokenizer):  # models without a transformers tokenizer (static embeddings)
            return np.array([len(text) for text in texts], dtype=np.int64)
        with self._lock:
            ids = tokenizer(list(texts), add_special_tokens=True, truncation=False, verbose=False)[
                "input_ids"
            ]
        return np.array([len(row) for row in ids], dtype=np.int64)

    def _character_limit(self) -> int:
        return CHARACTERS_PER_TOKEN * (self._load().max_seq_length or 8192)

    def _prepared(self, text: str, kind: TextKind) -> str:
        prefix = (self._prefixes or self._load().prompts or {}).get(kind) or ""
        return prefix + replace_surrogates(text[: self._character_limit()])

    def _load(self) -> SentenceTransformer:
        with self._lock:
            if self._loaded is None:
                library = require("sentence_transformers", extra="rag", purpose="an embedding model")
                self._loaded = library.SentenceTransformer(
                    resolve_model(self._source, trust_remote_code=self._trust_remote_code),
                    device=str(torch_device(self._device)),
                    model_kwargs={} if self._dtype is None else {"dtype": self._dtype},
                    trust_remote_code=self._trust_remote_code,
                )
            return self._loaded


def _progress(
    batches: Iterator[npt.NDArray[np.intp]], total: int, label: str, shown: bool
) -> Iterator[npt.NDArray[np.intp]]:
    if not shown:
        yield from batches
        return
    from lamar_rag.progress import progress_bar

    with progress_bar(label, total) as advance:
        for rows in batches:
            yield rows
            advance(len(rows))
