"""What a saved index is: the JSON file that names its data files and says how it was made."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from lamar_rag.retrieval.index_kinds import IndexKind

if TYPE_CHECKING:
    from lamar_rag.types import Embedder

MANIFEST_NAME = "manifest.json"
FORMAT = "lamar-index"
FORMAT_VERSION = 1
VECTORS_FILE = re.compile(r"vectors-[0-9a-f]{16}\.faiss")
DOCUMENTS_FILE = re.compile(r"documents-[0-9a-f]{16}\.sqlite")
_SHA256 = re.compile(r"[0-9a-f]{64}")


class DamagedIndexError(ValueError):
    """A saved index cannot be read any more; it may be replaced."""


@dataclass(frozen=True, slots=True)
class SavedFile:
    """A data file beside the manifest."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class IndexManifest:
    """A saved index in numbers.

    `model`, `dimension` and `centring` are those of the embedder that made the vectors, `languages`
    counts the documents by language code.
    """

    kind: IndexKind
    documents: int
    languages: Mapping[str, int]
    model: str
    dimension: int
    centring: str | None
    vectors_file: SavedFile
    documents_file: SavedFile
    lamar_rag_version: str
    format: str = FORMAT
    format_version: int = FORMAT_VERSION

    def to_json(self) -> str:
        """Return the manifest file's text."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=True) + "\n"

    def check_embedder(self, embedder: Embedder, folder: Path) -> None:
        """Compare the embedder with the one that made the vectors.

        Raises:
            ValueError: naming what differs, if anything does.
        """
        for name, expected in (
            ("model", self.model),
            ("dimension", self.dimension),
            ("centring", self.centring),
        ):
            got = getattr(embedder, name)
            if got != expected:
                raise ValueError(
                    f"the index in '{folder}' was built with {name} {expected!r}, the embedder has {got!r}: "
                    f"pass an embedder with {name} {expected!r}, or build the index again with this one"
                )


def installed_version() -> str:
    """Return the version of lamar-rag that runs."""
    try:
        return metadata.version("lamar-rag")
    except metadata.PackageNotFoundError:
        return "unknown"  # run from a source tree that was not installed


def read_manifest(folder: Path) -> IndexManifest:
    """Read the manifest of a saved index.

    Raises:
        ValueError: if there is none, it is not one of ours, it is damaged, or a newer version wrote it.
    """
    path = folder / MANIFEST_NAME
    try:
        content = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ValueError(
            f"no index in '{folder}' ({MANIFEST_NAME} is missing): build one with `lamar index build`"
        ) from error
    except (ValueError, RecursionError) as error:
        raise DamagedIndexError(f"'{path}' is damaged ({error}): build the index again") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"'{path}' is not the manifest of a lamar index: name another folder")
    version = content.get("format_version")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise ValueError(
            f"the index in '{folder}' has format {version}, this lamar-rag ({installed_version()}) "
            f"reads up to {FORMAT_VERSION}: pip install --upgrade lamar-rag"
        )
    try:
        return _from_dict(content)
    except (KeyError, TypeError, ValueError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise DamagedIndexError(f"'{path}' is damaged ({reason}): build the index again") from error


def _from_dict(content: dict[str, Any]) -> IndexManifest:
    languages = _typed(content, "languages", dict)
    kind = _typed(content, "kind", str)
    if kind not in get_args(IndexKind):
        raise ValueError(f"unknown kind {kind!r}")
    if _typed(content, "format_version", int) < 1:
        raise ValueError("format_version is below 1")
    manifest = IndexManifest(
        kind=cast("IndexKind", kind),
        documents=_typed(content, "documents", int),
        languages={str(code): _typed(languages, code, int) for code in languages},
        model=_typed(content, "model", str),
        dimension=_typed(content, "dimension", int),
        centring=None if content["centring"] is None else _typed(content, "centring", str),
        vectors_file=_saved_file(_typed(content, "vectors_file", dict), VECTORS_FILE),
        documents_file=_saved_file(_typed(content, "documents_file", dict), DOCUMENTS_FILE),
        lamar_rag_version=_typed(content, "lamar_rag_version", str),
        format_version=content["format_version"],
    )
    if sum(manifest.languages.values()) != manifest.documents:
        raise ValueError("the language counts do not add up to the documents")
    return manifest


def _saved_file(content: dict[str, Any], pattern: re.Pattern[str]) -> SavedFile:
    file = SavedFile(
        _typed(content, "name", str), _typed(content, "bytes", int), _typed(content, "sha256", str)
    )
    if not pattern.fullmatch(file.name) or not _SHA256.fullmatch(file.sha256):
        raise ValueError(f"unexpected file {file.name!r}")
    return file


def _typed(content: Mapping[str, Any], key: str, kind: type) -> Any:
    value = content[key]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{key} is {value!r}, expected {kind.__name__}")
    return value
