"""Tiny models with random weights, built in memory; and fakes with scores worked out by hand."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from lamar_rag.types import Document, Scored, ScoringOptions

ENGLISH = ["the", "cat", "sat", "on", "a", "mat", "dog", "barked", "at", "moon"]
FRENCH = ["le", "chat", "est", "assis", "sur", "tapis", "chien"]
GERMAN = ["die", "katze", "sitzt", "auf", "der", "matte"]
WORDS = [*ENGLISH, *FRENCH, *GERMAN]


class TableScorer:
    """A `Scorer` whose scores are looked up by text."""

    def __init__(
        self, table: Mapping[str, float], *, spread: float | None = 1.0, model: str = "table"
    ) -> None:
        self.table, self._spread, self._model = table, spread, model
        self.calls = 0
        self.closed = 0
        self.seen: list[tuple[str, list[Document], str, str]] = []
        self._lock = threading.Lock()

    @property
    def model(self) -> str:
        return self._model

    @property
    def spread(self) -> float | None:
        return self._spread

    def score(
        self, query: str, documents: Sequence[Document], options: ScoringOptions = ScoringOptions()
    ) -> Scored:
        with self._lock:
            self.calls += 1
            self.seen.append((query, list(documents), options.query_language, options.long_documents))
        scores = np.array([self.table[document.text] for document in documents], dtype=np.float32)
        return Scored(scores, np.zeros(len(documents), dtype=np.bool_))

    def probability(self, scores):
        return None

    def close(self) -> None:
        self.closed += 1


def tiny_tokenizer(words: Sequence[str] = WORDS):
    """A fast XLM-R-shaped tokenizer (`<s> a </s> </s> b </s>`) over a small Unigram vocabulary with letters."""
    from transformers import PreTrainedTokenizerFast

    from lamar_rag.embedded.e5_tokenizer import build_xlmr_tokenizer, nmt_nfkc_charsmap

    letters = [chr(code) for code in range(97, 123)]
    pieces = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -4.0)]
    pieces += [(f"▁{word}", -3.0 - 0.01 * i) for i, word in enumerate(dict.fromkeys(words))]
    pieces += [(letter, -6.0 - 0.01 * i) for i, letter in enumerate(letters)] + [("<mask>", 0.0)]
    backend = build_xlmr_tokenizer(pieces, unk=3, charsmap=nmt_nfkc_charsmap())
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<s>",
        cls_token="<s>",
        eos_token="</s>",
        sep_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        mask_token="<mask>",
        model_max_length=96,
        model_input_names=["input_ids", "attention_mask"],
    )


def tiny_cross_encoder(
    folder: Path,
    *,
    seed: int = 0,
    labels: int = 1,
    positions: int = 96,
    hidden: int = 32,
    heads: int = 4,
    words: Sequence[str] = WORDS,
) -> Path:
    """Save a random XLM-R sequence classifier of two layers and return its folder."""
    import torch
    from transformers import XLMRobertaConfig, XLMRobertaForSequenceClassification

    torch.manual_seed(seed)
    tokenizer = tiny_tokenizer(words)
    config = XLMRobertaConfig(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        num_hidden_layers=2,
        num_attention_heads=heads,
        intermediate_size=64,
        max_position_embeddings=positions + 2,
        num_labels=labels,
        initializer_range=0.3,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
    )
    XLMRobertaForSequenceClassification(config).eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
