"""What a user says about devices and number formats, checked before torch is asked for it."""

from __future__ import annotations

import gc
import sys
from typing import Any

_OUT_OF_MEMORY = (  # what libraries say that raise no class of their own
    "DefaultCPUAllocator: can't allocate memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "could not create a memory object",
    "MPS backend out of memory",
)
_DTYPES = ("float32", "float16", "bfloat16", "auto")


def check_dtype(dtype: str | None, *, int8: bool = False) -> None:
    """Raise ValueError unless `dtype` is None, "auto", a floating point format or, where allowed, "int8"."""
    known = (*_DTYPES, "int8") if int8 else _DTYPES
    if dtype is not None and dtype not in known:
        raise ValueError(f"got dtype={dtype!r}, expected one of {', '.join(known)}")


def torch_device(device: str | None) -> Any:
    """Return the `torch.device`; the best there is where none is named.

    Raises:
        ValueError: a device that torch does not know or this machine does not have.
    """
    import torch

    if device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
    except RuntimeError as error:
        raise ValueError(f"got device={device!r}, expected such as 'cpu', 'cuda' or 'cuda:1'") from error
    if chosen.type == "cuda" and (chosen.index or 0) >= torch.cuda.device_count():
        raise ValueError(
            f"got device={device!r}, but torch sees {torch.cuda.device_count()} GPUs: use 'cpu' or a CUDA build"
        )
    try:
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ValueError(
            f"got device={device!r}, which this machine or torch build lacks: use 'cpu'"
        ) from error
    if chosen.type == "meta":
        raise ValueError("got device='meta', which computes nothing: use 'cpu' or 'cuda'")
    return chosen


def has_cpu_bfloat16() -> bool:
    """Say whether this machine's CPU multiplies in bfloat16; elsewhere the format is slower than float32."""
    import torch

    read = getattr(torch.cpu, "get_capabilities", None)  # not in the oldest torch that we support
    found: dict[str, Any] = read() if read else {}
    return bool(found.get("avx512_bf16") or found.get("amx_bf16"))


def free_memory() -> None:
    """Give memory that is no longer referred to back, on the GPU too."""
    gc.collect()
    if "torch" not in sys.modules:  # then nothing of it can be held
        return
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def is_out_of_memory(error: BaseException) -> bool:
    """Say whether an error is a lack of memory, on a GPU or (torch has no class of its own for it) on the CPU."""
    import torch

    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(said in str(error) for said in _OUT_OF_MEMORY)
