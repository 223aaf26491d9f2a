"""Read a corpus, whatever it is kept in, as a stream of documents."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from lamar_rag.retrieval.document_repair import repair_document
from lamar_rag.retrieval.jsonl_reader import read_jsonl
from lamar_rag.retrieval.row_errors import BadRowError, RowErrors, SkippedRow
from lamar_rag.retrieval.squad_reader import load_squad, read_squad
from lamar_rag.retrieval.text_file_reader import Split, read_text_file
from lamar_rag.retrieval.text_splitting import CHUNK_TOKENS, make_splitter
from lamar_rag.types import Document

_JSONL = (".jsonl", ".ndjson")
_TEXTS = (".txt", ".md", ".pdf")
_KINDS = "a .jsonl file, a .txt, .md or .pdf file, SQuAD-format .json, a folder of those, or - for stdin"


def read_corpus(
    path: str | Path,
    *,
    skip_bad: bool = False,
    text_key: str = "text",
    chunk_tokens: int = CHUNK_TOKENS,
    chunk_overlap: int = 0,
    count_tokens: Callable[[str], int] | None = None,
) -> CorpusReader:
    """Open a corpus for reading.

    `path` is one of:

    - a JSON Lines file, or `-` for JSON Lines on stdin: rows `{"text", "id", "language", "title",
      "metadata"}`, of which only the text must be there; other keys go into the metadata;
    - a .txt, .md or .pdf file, cut into chunks with the ids `<file>#<chunk>`;
    - a SQuAD-format .json file, such as XQuAD's: one document a paragraph;
    - a folder of such files, read in the order of their paths. A folder that holds .jsonl or SQuAD
      files is a data set, and text files in it (a README, a licence) are ignored. Hidden files are
      passed over.

    Args:
        path: what to read.
        skip_bad: leave bad rows and files out, counted, instead of raising at the first one.
        text_key: the key of a JSON Lines row that holds the text.
        chunk_tokens: most tokens in a chunk of a text file, as `split_text` counts them.
        chunk_overlap: tokens that neighbouring chunks share.
        count_tokens: counts tokens exactly, for chunks; an estimate by script when None.

    Raises:
        ValueError: if there is nothing to read at `path`, or the sizes are impossible.
        MissingExtraError: if a text file is to be cut and langchain-text-splitters is not installed.
    """
    if not str(path):
        raise ValueError("got an empty path for a corpus, expected a file, a folder, or - for stdin")
    reader = CorpusReader(path, skip_bad=skip_bad, text_key=text_key)
    if any(file.suffix.lower() in _TEXTS for file in reader.files):
        splitter = make_splitter(chunk_tokens, chunk_overlap, count_tokens)
        reader.split = splitter.split_text
    return reader


def _repaired(document: Document, file: str, line: int | None) -> Document:
    try:
        return repair_document(document)
    except RecursionError as error:
        raise BadRowError(file, line, "its metadata is nested too deeply", "flatten the metadata") from error


class CorpusReader:
    """The documents of a corpus, read one by one. Made by `read_corpus`.

    Each pass reads the files again and starts the counts anew; stdin can be read once.

    Attributes:
        files: the files to read; empty for stdin.
        ignored: files of the folder that are not read, relative to it.
        repaired: documents of this pass in which lone surrogates were replaced by U+FFFD.
    """

    def __init__(self, path: str | Path, *, skip_bad: bool, text_key: str) -> None:
        self.files: list[Path] = []
        self.ignored: list[str] = []
        self.repaired = 0
        self.split: Split | None = None
        self._stdin = str(path) == "-"
        self._stdin_read = False
        self._root = Path(path)
        self._text_key = text_key
        self._errors = RowErrors(skip_bad=skip_bad)
        if not self._stdin:
            self._find_files()

    @property
    def skipped(self) -> int:
        """Bad rows and files left out in this pass; always 0 without `skip_bad`."""
        return self._errors.skipped

    @property
    def errors(self) -> list[SkippedRow]:
        """What was left out in this pass: file, line and reason, the first 10,000 of them."""
        return list(self._errors.listed)

    def __iter__(self) -> Iterator[Document]:
        """Yield the documents.

        Raises:
            BadRowError: at the first bad row (a ValueError, `file:line: reason`), without `skip_bad`.
        """
        self._errors = RowErrors(skip_bad=self._errors.skip_bad)
        self.repaired = 0
        for document, file, line in self._rows():
            try:
                repaired = _repaired(document, file, line)
                self._errors.check_id(repaired.id, file, line)
            except BadRowError as error:
                self._errors.add(error)
                continue
            self.repaired += repaired is not document
            yield repaired

    def _find_files(self) -> None:
        if self._root.is_file():
            if self._root.suffix.lower() not in (*_JSONL, *_TEXTS, ".json"):
                raise ValueError(f"cannot read '{self._root}': got '{self._root.suffix}', expected {_KINDS}")
            self.files = [self._root]
            return
        if not self._root.is_dir():
            raise ValueError(f"no corpus at '{self._root}': no such file or folder; expected {_KINDS}")
        found = [path for path in sorted(self._root.rglob("*")) if path.is_file() and not self._hidden(path)]
        data = [path for path in found if path.suffix.lower() in _JSONL or self._is_squad(path)]
        self.files = data or [path for path in found if path.suffix.lower() in _TEXTS]
        chosen = set(self.files)
        self.ignored = [self._name(path) for path in found if path not in chosen]
        if not self.files:
            raise ValueError(f"no documents in '{self._root}': expected {_KINDS}")

    def _hidden(self, path: Path) -> bool:
        return any(part.startswith(".") for part in path.relative_to(self._root).parts)

    def _is_squad(self, path: Path) -> bool:
        if path.suffix.lower() != ".json":
            return False
        try:
            return load_squad(path, self._name(path)) is not None
        except BadRowError:
            return path.name.startswith("xquad.")  # damaged: say so when it is read

    def _name(self, path: Path) -> str:
        return path.name if path == self._root else path.relative_to(self._root).as_posix()

    def _rows(self) -> Iterator[tuple[Document, str, int | None]]:
        if self._stdin:
            if self._stdin_read:
                raise ValueError("stdin was already read: save the corpus to a file to read it twice")
            self._stdin_read = True
            if sys.stdin is None:
                raise ValueError("got - for stdin, but stdin is closed: name a file, or pipe JSON Lines in")
            yield from self._jsonl(sys.stdin.buffer, "<stdin>")
        for path in self.files:
            name = self._name(path)
            try:
                yield from self._read_file(path, name)
            except BadRowError as error:
                self._errors.add(error)

    def _read_file(self, path: Path, name: str) -> Iterator[tuple[Document, str, int | None]]:
        suffix = path.suffix.lower()
        if suffix in _JSONL:
            with path.open("rb") as lines:
                yield from self._jsonl(lines, name)
        elif suffix == ".json":
            articles = load_squad(path, name)
            if articles is None:
                raise BadRowError(name, None, "not SQuAD-format JSON", "write JSON Lines (.jsonl) instead")
            for document in read_squad(articles, path, name, self._errors):
                yield document, f"{name}, paragraph {document.metadata['paragraph']}", None
        elif self.split is not None:
            for document in read_text_file(path, name, self.split):
                yield document, f"{name}, chunk {document.metadata['chunk']}", None

    def _jsonl(self, lines: Iterable[bytes], name: str) -> Iterator[tuple[Document, str, int | None]]:
        for document, line in read_jsonl(lines, name, self._errors, text_key=self._text_key):
            yield document, name, line
