"""Loads a model, its tokenizer and their limits: what the ways of scoring share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamar_rag.hub import resolve_model
from lamar_rag.scoring.forward import BatchForward, Head
from lamar_rag.scoring.heads import Side
from lamar_rag.scoring.loading_options import LoadingOptions
from lamar_rag.scoring.packed_attention import can_pack, use_packed_attention
from lamar_rag.torch_options import torch_device

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_CPU_BATCH_TOKENS, _GPU_BATCH_TOKENS = 2048, 32768


class LoadedParts:
    """A model on its device, with its tokenizer.

    Args:
        name: as the user gave it, for messages.
        auto_class: the transformers class that loads the model, such as "AutoModelForCausalLM".

    Raises:
        ValueError: no fast tokenizer, or "int8" elsewhere than on a CPU.
    """

    def __init__(self, source: str | Path, auto_class: str, options: LoadingOptions) -> None:
        import transformers

        self.name = str(source)
        self.device = torch_device(options.device)
        int8 = options.dtype == "int8"
        if int8 and self.device.type != "cpu":
            raise ValueError(
                f"got dtype='int8' on device {self.device}, expected a CPU: use dtype='bfloat16' there"
            )
        folder = resolve_model(source, trust_remote_code=options.trust_remote_code)
        common = {"trust_remote_code": options.trust_remote_code, "local_files_only": True}
        self.tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder, **common)
        self.backend = _fast_backend(self.tokenizer, self.name)
        loader: Any = getattr(transformers, auto_class)
        dtype = "float32" if int8 else options.dtype or "auto"
        self.model: Any = loader.from_pretrained(folder, dtype=dtype, **common).eval()
        self.supported = supported_length(self.model.config, self.tokenizer.model_max_length)
        self._int8 = int8
        self._options = options

    @property
    def pad_id(self) -> int:
        """The id that fills a batch; masked, so that any will do where a tokenizer has none."""
        pad: int | None = self.tokenizer.pad_token_id
        return pad if pad is not None else self.tokenizer.eos_token_id or 0

    def limit(self, recipe_limit: int | None) -> int:
        """Return the length limit: the user's, else the recipe's, within what the model reads.

        Raises:
            ValueError: the user's is more than the model reads.
        """
        wanted = self._options.max_length
        if wanted is not None and wanted > self.supported:
            raise ValueError(
                f"got max_length={wanted} for model {self.name}, which reads {self.supported} tokens: "
                f"give at most {self.supported}, or None"
            )
        return wanted or min(self.supported, recipe_limit or self.supported)

    def forward(self, head: Head, side: Side) -> BatchForward:
        """Return the model's forward pass: packed on a CPU where the architecture allows, else padded."""
        packed = self.device.type == "cpu" and can_pack(self.model.config)
        if packed:
            use_packed_attention(self.model)
        return BatchForward(self.prepared(), head, self.pad_id, side, packed)

    def prepared(self) -> Any:
        """Return the model in its format, on its device."""
        if self._int8:
            from lamar_rag.scoring.quantization import quantize_int8

            quantize_int8(self.model)
        return self.model.to(self.device)

    @property
    def batch_tokens(self) -> int:
        """Tokens a batch."""
        default = _CPU_BATCH_TOKENS if self.device.type == "cpu" else _GPU_BATCH_TOKENS
        return self._options.max_batch_tokens or default


def _fast_backend(tokenizer: Any, name: str) -> Tokenizer:
    backend: Tokenizer | None = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ValueError(f"model {name} has no fast tokenizer: save one as tokenizer.json in its folder")
    backend.no_truncation()
    backend.no_padding()
    return backend


def supported_length(config: Any, tokenizer_limit: int) -> int:
    """Return the tokens that a model reads, special ones included."""
    positions = getattr(config, "max_position_embeddings", None)
    if positions is not None and config.model_type in {"xlm-roberta", "roberta", "camembert"}:
        positions -= config.pad_token_id + 1  # these count positions from the padding id on
    return min(limit for limit in (positions, tokenizer_limit) if limit is not None)
