"""The user's cache: ordinary model folders that are built once and shared by every process.

A folder appears whole or not at all: it is written under a temporary name, described by a manifest of
checksums, and renamed. Two processes that start at once wait for one build.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

logger = logging.getLogger(__name__)

MANIFEST = "lamar-manifest.json"
_STALE_PREFIX = ".building-"


def cache_dir() -> Path:
    """Return the cache folder: `$LAMAR_CACHE`, else the platform's own cache directory."""
    override = os.environ.get("LAMAR_CACHE")
    if override:
        return Path(override).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("lamar-rag"))


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def materialize(name: str, build: Callable[[Path], None], *, source: Mapping[str, str]) -> Path:
    """Return the cached model folder `name`, building it first where it is absent or not whole.

    Args:
        name: folder name below `<cache>/models`.
        build: writes the folder's files into the (empty) folder that it is given.
        source: where the content comes from (package, version, ...); kept in the manifest, and a
            folder made from another source is built anew.

    Raises:
        OSError: the cache cannot be written. Whatever `build` raises passes through, and leaves
            nothing behind.
    """
    models = cache_dir() / "models"
    target = models / name
    if _is_whole(target, source):
        return target
    models.mkdir(parents=True, exist_ok=True)
    from filelock import FileLock

    with FileLock(models / f".{name}.lock"):
        if _is_whole(target, source):  # another process was faster
            return target
        if target.exists():
            logger.warning("%s is damaged or was made from another source: building it anew", target)
        _remove_stale(models, name)
        temporary = Path(tempfile.mkdtemp(prefix=f"{_STALE_PREFIX}{name}-", dir=models))
        try:
            build(temporary)
            _write_manifest(temporary, source)
            _open_permissions(temporary)
            if target.exists():
                shutil.rmtree(target)
            temporary.rename(target)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return target


def verify(folder: Path) -> list[str]:
    """Return what is wrong with a cached folder, file by file: its checksums are computed again."""
    manifest = _read_manifest(folder)
    if manifest is None:
        return [f"{folder}: no readable {MANIFEST}"]
    problems = []
    for name, entry in manifest["files"].items():
        path = folder / name
        if not path.is_file():
            problems.append(f"{path}: missing")
        elif file_sha256(path) != entry["sha256"]:
            problems.append(f"{path}: checksum differs (delete {folder} to have it built anew)")
    return problems


def _read_manifest(folder: Path) -> dict[str, Any] | None:
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return manifest if isinstance(manifest, dict) and isinstance(manifest.get("files"), dict) else None


def _is_whole(folder: Path, source: Mapping[str, str]) -> bool:
    """Sizes only: hashing half a gigabyte at every start would cost more than it protects."""
    manifest = _read_manifest(folder)
    if manifest is None or manifest.get("source") != dict(source):
        return False
    for name, entry in manifest["files"].items():
        path = folder / name
        if not path.is_file() or path.stat().st_size != entry["bytes"]:
            return False
    return True


def _write_manifest(folder: Path, source: Mapping[str, str]) -> None:
    files = {
        path.relative_to(folder).as_posix(): {"bytes": path.stat().st_size, "sha256": file_sha256(path)}
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    content = {"source": dict(source), "files": files}
    (folder / MANIFEST).write_text(json.dumps(content, indent=1, sort_keys=True), encoding="utf-8")


def _open_permissions(folder: Path) -> None:
    """Give what mkdtemp and safetensors wrote for the owner alone the rights that the umask allows."""
    allowed = (folder / MANIFEST).stat().st_mode & 0o666
    for path in [folder, *folder.rglob("*")]:
        path.chmod(allowed | (allowed & 0o444) >> 2 if path.is_dir() else allowed)


def _remove_stale(models: Path, name: str) -> None:
    """Sweep what a killed build of this name left; the lock is held, so nobody is writing there."""
    for leftover in models.glob(f"{_STALE_PREFIX}{name}-*"):
        shutil.rmtree(leftover, ignore_errors=True)
