"""How a model of this machine is loaded and run."""

from __future__ import annotations

from dataclasses import dataclass

from lamar_rag.checks import check_count, check_trust
from lamar_rag.scoring.recipe import SHORTEST
from lamar_rag.torch_options import check_dtype


@dataclass(frozen=True, slots=True)
class LoadingOptions:
    """How a model is loaded and run.

    Args:
        device: "cpu", "cuda", "cuda:1", ...; by default a GPU if there is one.
        dtype: "float32", "bfloat16", "float16", or on CPUs "int8"; by default ("auto") what the model was saved in.
        max_length: tokens a (query, document) pair may have; by default what the recipe or the model says.
            Only the document is cut, and the query only beyond three quarters of the room beside the fixed
            tokens.
        max_batch_tokens: tokens a batch, padding included; by default 2048 on a CPU, 32768 on a GPU.
        window_overlap: tokens that neighbouring windows share with `long_documents="windows"`, at most half of one.
        trust_remote_code: run the Python code that a model's repository brings.

    Raises:
        ValueError: an option out of range.
    """

    device: str | None = None
    dtype: str | None = None
    max_length: int | None = None
    max_batch_tokens: int | None = None
    window_overlap: int = 64
    trust_remote_code: bool = False

    def __post_init__(self) -> None:
        if self.max_length is not None and self.max_length < SHORTEST:
            raise ValueError(
                f"got max_length={self.max_length}, expected at least {SHORTEST} tokens (or None: the model's own)"
            )
        check_count("max_batch_tokens", self.max_batch_tokens, optional=True)
        if self.window_overlap < 0:
            raise ValueError(
                f"got window_overlap={self.window_overlap}, expected at least 0 tokens (64 is the default)"
            )
        check_dtype(self.dtype, int8=True)
        check_trust(self.trust_remote_code)
