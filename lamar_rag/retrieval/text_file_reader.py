"""Read .txt, .md and .pdf files as documents: one a chunk."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lamar_rag.extras import require
from lamar_rag.retrieval.row_errors import BadRowError
from lamar_rag.types import Document

Split = Callable[[str], list[str]]


def read_text_file(path: Path, file: str, split: Split) -> Iterator[Document]:
    """Yield the chunks of a file; ids are `<file>#<chunk>`, chunks are counted over the file, from 0.

    Metadata: `source` (the file), `chunk`, and for a PDF `page` (from 1).

    Raises:
        BadRowError: if the file is not UTF-8, not readable as PDF, encrypted, or without text.
    """
    is_pdf = path.suffix.lower() == ".pdf"
    pages = _read_pdf_pages(path, file) if is_pdf else [_read_utf8(path, file)]
    chunk = 0
    for page, text in enumerate(pages, start=1):
        for piece in split(text):
            place: dict[str, Any] = {"source": file, "page": page} if is_pdf else {"source": file}
            yield Document(text=piece, id=f"{file}#{chunk}", metadata={**place, "chunk": chunk})
            chunk += 1
    if chunk == 0:
        fix = "run text recognition (OCR) on it" if is_pdf else "give the file a text or remove it"
        raise BadRowError(file, None, "no text" + (" in any page (a scan?)" if is_pdf else ""), fix)


def _read_utf8(path: Path, file: str) -> str:
    content = path.read_bytes().removeprefix(codecs.BOM_UTF8)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadRowError(
            file, line, f"invalid UTF-8 at byte {error.start}", "save the file as UTF-8"
        ) from error
    return text.replace("\r\n", "\n")


def _read_pdf_pages(path: Path, file: str) -> list[str]:
    """Return the text of each page."""
    pypdf = require("pypdf", extra="rag", purpose="reading PDF files")
    try:
        reader = pypdf.PdfReader(path)
        # Many PDFs are encrypted with an empty password, only to forbid printing or copying.
        locked = reader.is_encrypted and not reader.decrypt("")
        pages = [] if locked else [page.extract_text() for page in reader.pages]
    except Exception as error:  # a damaged PDF makes pypdf raise nearly anything
        first_line = (str(error).splitlines() or [""])[0]
        reason = f"not readable as PDF: {type(error).__name__}: {first_line}"
        raise BadRowError(file, None, reason, "repair or remove the file") from error
    if locked:
        raise BadRowError(file, None, "the PDF is encrypted", "save it without a password")
    return pages
