"""Scores (query, document) pairs with a sequence classifier that has one label: LAMAR, bge-reranker-v2-m3, ..."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lamar_rag.hub import resolve_model
from lamar_rag.languages import UNDETERMINED
from lamar_rag.scoring.batching import token_batches
from lamar_rag.scoring.checks import checked_scores
from lamar_rag.text import CHARACTERS_PER_TOKEN, replace_surrogates
from lamar_rag.torch_options import check_dtype, free_memory, torch_device
from lamar_rag.types import Document, LongDocuments, Scored
from lamar_rag.windows import window_spans

if TYPE_CHECKING:
    import torch
    from tokenizers import Encoding, Tokenizer

    from lamar_rag.types import FloatArray

_QUERY_SHARE = 0.75  # of the length limit at most; bge's own runner gives the query as much


@dataclass(frozen=True)
class _Loaded:
    model: Any
    tokenizer: Tokenizer
    pad_id: int
    type_ids: bool
    max_length: int
    specials: int  # special tokens in a pair


class CrossEncoderScorer:
    """A `Scorer` over `transformers.AutoModelForSequenceClassification` with one label; raw logits.

    The model is loaded on first use. One object may be shared by any number of threads: texts are
    tokenized without touching the tokenizer's settings, and the model runs for one call at a time.

    Args:
        model: a hub id or a folder.
        max_length: tokens a pair may have; by default what the model supports. Only the document is cut,
            and the query only beyond three quarters of what is left beside the special tokens.
        window_overlap: tokens that neighbouring windows share with `long_documents="windows"`.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        device: str | None = None,
        dtype: str | None = None,
        max_length: int | None = None,
        max_batch_tokens: int = 16384,
        window_overlap: int = 64,
        spread: float | None = None,
        trust_remote_code: bool = False,
    ) -> None:
        if max_length is not None and max_length < 16:
            raise ValueError(
                f"got max_length={max_length}, expected at least 16 tokens (or None: the model's own)"
            )
        if max_batch_tokens < 1:
            raise ValueError(
                f"got max_batch_tokens={max_batch_tokens}, expected at least 1 (16384 is the default)"
            )
        if window_overlap < 0:
            raise ValueError(
                f"got window_overlap={window_overlap}, expected at least 0 tokens (64 is the default)"
            )
        check_dtype(dtype)
        self._source, self._name = model, str(model)
        self._device, self._dtype, self._max_length = device, dtype, max_length
        self._max_batch_tokens, self._window_overlap = max_batch_tokens, window_overlap
        self._spread, self._trust_remote_code = spread, trust_remote_code
        self._loaded: _Loaded | None = None
        self._lock = threading.RLock()

    @property
    def model(self) -> str:
        """The model's name as it was given."""
        return self._name

    @property
    def spread(self) -> float | None:
        """The unit of the language preference, None where it is not known."""
        return self._spread

    def score(
        self,
        query: str,
        documents: Sequence[Document],
        *,
        query_language: str = UNDETERMINED,
        long_documents: LongDocuments = "truncate",
    ) -> Scored:
        """Return raw logits, shape (n,), in the order of `documents`; `query_language` is not used."""
        if not documents:
            return Scored(np.zeros(0, dtype=np.float32), np.zeros(0, dtype=np.bool_))
        loaded = self._load()
        in_windows = long_documents == "windows"
        limit = None if in_windows else CHARACTERS_PER_TOKEN * loaded.max_length
        texts = [replace_surrogates(document.text[:limit]) for document in documents]
        pairs, owners, truncated = self._encode(loaded, replace_surrogates(query), texts, in_windows)
        truncated |= np.array([limit is not None and len(d.text) > limit for d in documents], dtype=np.bool_)
        logits = self._forward(loaded, pairs)
        starts = np.flatnonzero(np.diff(owners, prepend=-1))  # every document has at least one pair
        scores = np.maximum.reduceat(logits, starts)  # a NaN wins here, and is found below
        return Scored(checked_scores(scores, self._name, documents), truncated)

    def close(self) -> None:
        """Free the model's memory; the next call loads it again."""
        with self._lock:
            self._loaded = None
        free_memory()

    def _encode(
        self, loaded: _Loaded, query: str, texts: Sequence[str], in_windows: bool
    ) -> tuple[list[Encoding], list[int], np.ndarray[tuple[int], np.dtype[np.bool_]]]:
        """Return the pairs, the document of each pair, and which documents (or all, by the query) were cut."""
        tokenizer = loaded.tokenizer
        query_limit = int(_QUERY_SHARE * (loaded.max_length - loaded.specials))
        query_tokens = tokenizer.encode(
            query[: CHARACTERS_PER_TOKEN * loaded.max_length], add_special_tokens=False
        )
        query_cut = len(query_tokens) > query_limit or len(query) > CHARACTERS_PER_TOKEN * loaded.max_length
        query_tokens.truncate(query_limit)
        room = loaded.max_length - loaded.specials - len(query_tokens)
        truncated = np.full(len(texts), query_cut, dtype=np.bool_)
        pairs, owners = [], []
        for row, encoding in enumerate(tokenizer.encode_batch(list(texts), add_special_tokens=False)):
            pieces = [encoding]
            if len(encoding) > room and in_windows:
                # `truncate` keeps the rest in `overflowing`; the spans only say how many windows there are
                overlap = min(self._window_overlap, room - 1)
                count = len(window_spans(len(encoding), room, overlap))
                encoding.truncate(room, stride=overlap)
                pieces = [encoding, *encoding.overflowing][:count]
            elif len(encoding) > room:
                encoding.truncate(room)
                truncated[row] = True
            for piece in pieces:
                pairs.append(tokenizer.post_process(query_tokens, piece))
                owners.append(row)
        return pairs, owners, truncated

    def _forward(self, loaded: _Loaded, pairs: Sequence[Encoding]) -> FloatArray:
        import torch

        logits = np.empty(len(pairs), dtype=np.float32)
        lengths = np.array([len(pair.ids) for pair in pairs])
        for rows in token_batches(lengths, self._max_batch_tokens):
            batch = _padded([pairs[row] for row in rows], loaded)
            with self._lock, torch.inference_mode():
                inputs = {name: tensor.to(loaded.model.device) for name, tensor in batch.items()}
                logits[rows] = loaded.model(**inputs).logits[:, 0].float().cpu().numpy()
        return logits

    def _load(self) -> _Loaded:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load_now()
            return self._loaded

    def _load_now(self) -> _Loaded:
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        folder = resolve_model(self._source, trust_remote_code=self._trust_remote_code)
        options = {"trust_remote_code": self._trust_remote_code, "local_files_only": True}
        model = AutoModelForSequenceClassification.from_pretrained(
            folder, dtype=self._dtype or "auto", **options
        )
        if model.config.num_labels != 1:
            raise ValueError(
                f"model {self._name} has {model.config.num_labels} labels, expected a reranker with one: "
                "give a sequence classifier that was trained with num_labels=1"
            )
        tokenizer = AutoTokenizer.from_pretrained(folder, **options)
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            raise ValueError(
                f"model {self._name} has no fast tokenizer: save one as tokenizer.json in its folder"
            )
        backend.no_truncation()
        backend.no_padding()
        supported = _supported_length(model.config, tokenizer.model_max_length)
        if self._max_length is not None and self._max_length > supported:
            raise ValueError(
                f"got max_length={self._max_length} for model {self._name}, which reads {supported} tokens: "
                f"give at most {supported}, or None"
            )
        return _Loaded(
            model.eval().to(torch_device(self._device)),
            backend,
            pad_id=tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0,
            type_ids="token_type_ids" in tokenizer.model_input_names,
            max_length=self._max_length or supported,
            specials=backend.num_special_tokens_to_add(True),
        )


def _supported_length(config: Any, tokenizer_limit: int) -> int:
    positions = getattr(config, "max_position_embeddings", None)
    if positions is not None and config.model_type in {"xlm-roberta", "roberta", "camembert"}:
        positions -= config.pad_token_id + 1  # these count positions from the padding id on
    return min(limit for limit in (positions, tokenizer_limit) if limit is not None)


def _padded(pairs: Sequence[Encoding], loaded: _Loaded) -> dict[str, torch.Tensor]:
    """Return tensors of shape (b, t), padded on the right to the longest pair of the batch."""
    import torch

    longest = max(len(pair.ids) for pair in pairs)
    ids = torch.full((len(pairs), longest), loaded.pad_id, dtype=torch.long)
    mask = torch.zeros((len(pairs), longest), dtype=torch.long)
    types = torch.zeros((len(pairs), longest), dtype=torch.long)
    for row, pair in enumerate(pairs):
        ids[row, : len(pair.ids)] = torch.tensor(pair.ids)
        mask[row, : len(pair.ids)] = 1
        types[row, : len(pair.ids)] = torch.tensor(pair.type_ids)
    batch = {"input_ids": ids, "attention_mask": mask}
    return {**batch, "token_type_ids": types} if loaded.type_ids else batch
