"""The folder of a saved index, changed so that it always holds a whole index: the old one or the new one.

Data files carry the start of their checksum in their name and are never changed. A save writes new ones
beside the old, then replaces `manifest.json`, which names the valid ones, in one step, and only then
deletes what no manifest names any more. Whatever a killed save left behind is deleted by the next save.
A reader that is overtaken by a save finds a file gone, reads the new manifest and starts again.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from filelock import FileLock, Timeout

from lamar_rag.cache import file_sha256
from lamar_rag.retrieval.index_manifest import (
    DOCUMENTS_FILE,
    MANIFEST_NAME,
    VECTORS_FILE,
    DamagedIndexError,
    IndexManifest,
    SavedFile,
    read_manifest,
)

T = TypeVar("T")

_LOCK_NAME = ".lamar-index.lock"
_UNFINISHED = ".saving-"
_LOCK_SECONDS = 60
_RELOADS = 10


def save_folder(
    folder: Path,
    write_vectors: Callable[[Path], None],
    write_documents: Callable[[Path], None],
    describe: Callable[[SavedFile, SavedFile], IndexManifest],
    expected: IndexManifest | None = None,
) -> IndexManifest:
    """Save an index into `folder`, which is made where it is missing.

    Args:
        folder: empty, new, or holding a saved index, which is replaced.
        write_vectors: writes the vector file at the path it is given.
        write_documents: writes the document file likewise.
        describe: makes the manifest of the two files.
        expected: the manifest that this index was loaded from; a folder that has another by now is left alone.

    Returns:
        The manifest as it was written.

    Raises:
        ValueError: if the folder holds something else, was changed since the index was loaded from it, or
            another process keeps saving into it.
    """
    check_target(folder)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / _LOCK_NAME, timeout=_LOCK_SECONDS):
            check_target(folder)
            if expected is not None and read_manifest(folder) != expected:
                raise ValueError(
                    f"the index in '{folder}' was changed since this one was loaded from it: load it again and "
                    "repeat the change, or save to another folder"
                )
            _delete(folder, _UNFINISHED)
            vectors = _write_payload(folder, "vectors", ".faiss", write_vectors)
            documents = _write_payload(folder, "documents", ".sqlite", write_documents)
            _sync_folder(folder)
            manifest = describe(vectors, documents)
            _replace_manifest(folder, manifest)
            _delete_unnamed(folder, keep={vectors.name, documents.name})
            return manifest
    except Timeout as error:
        raise ValueError(
            f"another process has been saving into '{folder}' for {_LOCK_SECONDS} s: "
            "wait for it or choose another folder"
        ) from error


def load_folder(folder: Path, open_files: Callable[[IndexManifest, Path, Path], T]) -> T:
    """Check the files of a saved index and open them.

    Args:
        folder: where it was saved.
        open_files: is given the manifest and the paths of the vectors and the documents.

    Raises:
        ValueError: if there is no index, or a file is missing, truncated or altered.
    """
    manifest = read_manifest(folder)
    for _ in range(_RELOADS):
        try:
            vectors, documents = (
                _verified(folder, file) for file in (manifest.vectors_file, manifest.documents_file)
            )
            return open_files(manifest, vectors, documents)
        except (OSError, RuntimeError, ValueError, sqlite3.Error):
            current = read_manifest(folder)
            if current == manifest:
                raise
            manifest = current  # a save replaced the index while it was read
    raise ValueError(f"the index in '{folder}' is replaced faster than it can be read: load it again")


def check_target(folder: Path) -> None:
    """Make sure that an index may be saved into a folder: a new or empty one, or one that holds an index.

    A damaged index may be replaced where nothing else lies beside it.

    Raises:
        ValueError: a file, an index of a newer version, or a folder with other files.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"cannot save an index to '{folder}': it is a file, expected a folder")
    if not folder.exists():
        return
    damaged = False
    if (folder / MANIFEST_NAME).exists():
        try:
            read_manifest(folder)
        except DamagedIndexError:
            damaged = True
        else:
            return
    foreign = sorted(
        path.name
        for path in folder.iterdir()
        if not (_is_ours(path.name) or (damaged and path.name == MANIFEST_NAME))
    )
    if foreign:
        raise ValueError(
            f"'{folder}' holds other files ('{foreign[0]}') and no index: save to a new or an empty folder"
        )


def _is_ours(name: str) -> bool:
    is_payload = VECTORS_FILE.fullmatch(name) or DOCUMENTS_FILE.fullmatch(name)
    return name == _LOCK_NAME or name.startswith(_UNFINISHED) or is_payload is not None


def _write_payload(folder: Path, stem: str, suffix: str, write: Callable[[Path], None]) -> SavedFile:
    unfinished = folder / f"{_UNFINISHED}{stem}{suffix}"
    try:
        write(unfinished)
        _sync(unfinished)
        digest = file_sha256(unfinished)
        file = SavedFile(f"{stem}-{digest[:16]}{suffix}", unfinished.stat().st_size, digest)
        unfinished.replace(folder / file.name)
    finally:
        unfinished.unlink(missing_ok=True)
    return file


def _replace_manifest(folder: Path, manifest: IndexManifest) -> None:
    unfinished = folder / f"{_UNFINISHED}{MANIFEST_NAME}"
    unfinished.write_text(manifest.to_json(), encoding="ascii")
    _sync(unfinished)
    unfinished.replace(folder / MANIFEST_NAME)
    _sync_folder(folder)


def _delete(folder: Path, prefix: str) -> None:
    for path in folder.glob(f"{prefix}*"):
        path.unlink(missing_ok=True)


def _delete_unnamed(folder: Path, keep: set[str]) -> None:
    for path in folder.iterdir():
        is_payload = VECTORS_FILE.fullmatch(path.name) or DOCUMENTS_FILE.fullmatch(path.name)
        if is_payload and path.name not in keep:
            try:
                path.unlink(missing_ok=True)
            except PermissionError:
                continue  # Windows keeps a file that someone has open; the next save deletes it


def _verified(folder: Path, file: SavedFile) -> Path:
    path = folder / file.name
    if not path.is_file():
        raise ValueError(f"'{path}' is missing: build the index again")
    size = path.stat().st_size
    if size != file.bytes:
        raise ValueError(
            f"'{path}' is damaged: got {size} bytes, expected {file.bytes}: build the index again"
        )
    if file_sha256(path) != file.sha256:
        raise ValueError(f"'{path}' is damaged: its checksum is not the manifest's: build the index again")
    return path


def _sync(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Make renames in the folder last through a power cut, where the system can."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
