"""Loads a model, its tokenizer and their limits: what the ways of scoring share."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamar_rag.hub import resolve_model
from lamar_rag.scoring.first_token_layer import trim_last_layer
from lamar_rag.scoring.forward import BatchForward, Head
from lamar_rag.scoring.heads import ClassifierHead, Side
from lamar_rag.scoring.loading_options import LoadingOptions
from lamar_rag.scoring.packed_attention import ROBERTA, can_pack, use_packed_attention
from lamar_rag.torch_options import is_out_of_memory, torch_device

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_LAYER = re.compile(r"\blayers?\.\d+\.")
_TOKENIZER_FILES = frozenset(
    {
        "tokenizer.json",
        "tokenizer.model",
        "sentencepiece.bpe.model",
        "spiece.model",
        "vocab.txt",
        "vocab.json",
    }
)
_CPU_BATCH_TOKENS, _GPU_BATCH_TOKENS = 2048, 32768


class LoadedParts:
    """A model on its device, with its tokenizer.

    Args:
        name: as the user gave it, for messages.
        auto_class: the transformers class that loads the model, such as "AutoModelForCausalLM".

    Raises:
        ValueError: no fast tokenizer, weights that are missing, a length beyond what the model reads, remote code
            that is not trusted, or "int8" elsewhere than on a CPU.
    """

    def __init__(self, source: str | Path, auto_class: str, options: LoadingOptions) -> None:
        import transformers

        self.name, self._options = str(source), options
        self.device = torch_device(options.device)
        self._int8 = options.dtype == "int8"
        if self._int8 and self.device.type != "cpu":
            raise ValueError(
                f"got dtype='int8' on device {self.device}, expected a CPU: use dtype='bfloat16' there"
            )
        folder = resolve_model(source, trust_remote_code=options.trust_remote_code)
        self._common = {"trust_remote_code": options.trust_remote_code, "local_files_only": True}
        config = self._load(transformers.AutoConfig, folder)
        self.tokenizer: Any = self._load(transformers.AutoTokenizer, folder)
        self.backend = _fast_backend(self.tokenizer, self.name)
        self._check_tokenizer(folder, config.vocab_size)
        self.supported = supported_length(config, self.tokenizer.model_max_length)
        self._check_length()  # before the weights are read
        dtype = "float32" if self._int8 else options.dtype or "auto"
        loader = getattr(transformers, auto_class)
        model, info = self._load(loader, folder, dtype=dtype, output_loading_info=True)
        self.model: Any = model.eval()
        self._check_weights(info["missing_keys"], info["unexpected_keys"])

    def _load(self, loader: Any, folder: str, **more: Any) -> Any:
        try:
            return loader.from_pretrained(folder, **self._common, **more)
        except (ImportError, MemoryError):
            raise
        except Exception as error:  # transformers, safetensors and tokenizers raise some twenty kinds
            if is_out_of_memory(error):
                raise
            if "trust_remote_code" in str(error):
                raise ValueError(
                    f"model {self.name} needs the Python code of its repository: read it, then pass "
                    "trust_remote_code=True"
                ) from error
            said = (str(error).strip().splitlines() or [""])[0]
            raise ValueError(
                f"model {self.name} cannot be loaded from {folder} ({type(error).__name__}: {said}): "
                "check its files, or save or download it again"
            ) from error

    def _check_weights(self, missing: Iterable[str], unexpected: Iterable[str]) -> None:
        lost = sorted(missing)
        if lost:
            raise ValueError(
                f"the weights of model {self.name} lack {', '.join(lost[:3])} ({len(lost)} in all): its scores "
                "would be random, give a model that was trained as a reranker"
            )
        surplus = sorted(name for name in unexpected if _LAYER.search(name))
        if surplus:
            raise ValueError(
                f"the weights of model {self.name} hold layers that its config.json does not have, such as "
                f"{surplus[0]}: take the configuration that belongs to them"
            )

    def _check_tokenizer(self, folder: str, vocabulary: int) -> None:
        if not any(path.name in _TOKENIZER_FILES for path in Path(folder).iterdir()):
            raise ValueError(f"model {self.name} has no tokenizer in {folder}: save its tokenizer.json there")
        tokens = self.backend.get_vocab_size(with_added_tokens=True)
        if tokens > vocabulary:
            raise ValueError(
                f"the tokenizer of model {self.name} has {tokens} tokens, its network {vocabulary}: take the tokenizer "
                "that belongs to it"
            )

    def _check_length(self) -> None:
        wanted = self._options.max_length
        if wanted is not None and wanted > self.supported:
            raise ValueError(
                f"got max_length={wanted} for model {self.name}, which reads {self.supported} tokens: "
                f"give at most {self.supported}, or None"
            )

    @property
    def pad_id(self) -> int:
        """The id that fills a batch; masked, so that any will do where a tokenizer has none."""
        pad: int | None = self.tokenizer.pad_token_id
        return pad if pad is not None else self.tokenizer.eos_token_id or 0

    @property
    def begin_id(self) -> int:
        """The id of the token before everything.

        Raises:
            ValueError: the tokenizer has none.
        """
        begin: int | None = self.tokenizer.bos_token_id
        if begin is None:
            raise ValueError(
                f"the tokenizer of model {self.name} has no bos token, which its recipe asks for: "
                "give a recipe whose frame has begin_token=False"
            )
        return begin

    def limit(self, recipe_limit: int | None) -> int:
        """Return the length limit: the user's, else the recipe's, within what the model reads."""
        return self._options.max_length or min(self.supported, recipe_limit or self.supported)

    def forward(self, head: Head, side: Side) -> BatchForward:
        """Return the model's forward pass: packed on a CPU where the architecture allows, else padded."""
        packed = self.device.type == "cpu" and can_pack(self.model, head.packable)
        if packed:
            use_packed_attention(self.model)
            if isinstance(head, ClassifierHead):
                trim_last_layer(self.model)
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
    if positions is not None and config.model_type in ROBERTA and config.pad_token_id is not None:
        positions -= config.pad_token_id + 1
    return min(limit for limit in (positions, tokenizer_limit) if limit is not None)
