"""Read SQuAD-format JSON as documents: one a paragraph. Questions and answers are left out."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lamar_rag.languages import normalize_language
from lamar_rag.retrieval.row_errors import BadRowError, RowErrors
from lamar_rag.types import Document

_NAME = re.compile(r"xquad\.(?P<language>[A-Za-z-]+)\.json")


def load_squad(path: Path, file: str) -> list[Any] | None:
    """Return the articles of a SQuAD-format file; None where the JSON is something else.

    Raises:
        BadRowError: if the file is not UTF-8 or not JSON.
    """
    try:
        content = json.loads(path.read_bytes().removeprefix(codecs.BOM_UTF8).decode("utf-8"))
    except UnicodeDecodeError as error:
        reason = f"invalid UTF-8 at byte {error.start}"
        raise BadRowError(file, None, reason, "save the file as UTF-8") from error
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        raise BadRowError(file, line, f"invalid JSON: {error}", "repair the file") from error
    articles = content.get("data") if isinstance(content, dict) else None
    is_squad = isinstance(articles, list) and all(
        isinstance(article, dict) and isinstance(article.get("paragraphs"), list) for article in articles
    )
    return articles if is_squad else None


def read_squad(articles: list[Any], path: Path, file: str, errors: RowErrors) -> Iterator[Document]:
    """Yield one document a paragraph, in file order; paragraphs are counted over the file, from 0.

    The language is that of a file named `xquad.<language>.json`, None for other names. Ids are
    `<language>:<paragraph>`, or `<file name without .json>:<paragraph>`. Texts stay exactly as they
    are, because answers are given as positions in them.
    """
    match = _NAME.fullmatch(path.name)
    try:
        language = normalize_language(match["language"]) if match else None
    except ValueError as error:
        raise BadRowError(file, None, f"in the file's name: {error}", "rename the file") from error
    number = -1
    for article in articles:
        for paragraph in article["paragraphs"]:
            number += 1
            context = paragraph.get("context") if isinstance(paragraph, dict) else None
            if not isinstance(context, str) or not context.strip():
                reason = f"paragraph {number} has no 'context' with text"
                errors.add(BadRowError(file, None, reason, "give the paragraph a context"))
                continue
            title = article.get("title")
            yield Document(
                text=context,
                id=f"{language or path.stem}:{number}",
                language=language,
                title=title if isinstance(title, str) else None,
                metadata={"source": file, "paragraph": number},
            )
