"""The sample corpus that ships with the library: short facts in twelve languages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Any

from lamar_rag.types import Document


@dataclass(frozen=True, slots=True)
class SampleQuestion:
    """A question about the sample corpus.

    `case` is "same-language" where the corpus answers it in the question's language, "other-language" where
    only a document in another language does.
    """

    id: str
    question: str
    language: str
    topic: str
    answer: str
    case: str


def sample_documents() -> list[Document]:
    """Return the passages, each with id, language, title and `metadata["topic"]`."""
    return [Document(**row) for row in _rows("corpus.jsonl")]


def sample_questions() -> list[SampleQuestion]:
    """Return the questions with their gold answers."""
    return [SampleQuestion(**row) for row in _rows("questions.jsonl")]


def _rows(name: str) -> Iterator[dict[str, Any]]:
    text = (resources.files("lamar_rag.sample") / name).read_text(encoding="utf-8")
    return (json.loads(line) for line in text.splitlines() if line.strip())
