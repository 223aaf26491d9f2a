"""The fields of the classes that return the best documents."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Any

from pydantic import Field, StrictFloat, StrictInt, StrictStr, field_validator

from lamar_rag.languages import UNDETERMINED, normalize_language
from lamar_rag.reranker import Reranker
from lamar_rag.reranker_fields import RerankerFields
from lamar_rag.reranker_options import RerankKeywords, check_cut


class RankingFields(RerankerFields):
    """Options of a reranker with those that cut its result."""

    top_n: StrictInt | None = Field(
        default=3, description="Documents to return; None: as many as the reranker does, by default all."
    )
    score_threshold: StrictFloat | None = Field(
        default=None,
        description="Documents whose relevance is below it are left out; None: those that the reranker leaves out.",
    )
    language_key: StrictStr | None = Field(
        default="language",
        description="Metadata key that states a document's language; None: it is always detected.",
    )

    def call_options(self) -> RerankKeywords:
        """Return what every call of the reranker is told."""
        return {**super().call_options(), "top_n": self.top_n, "score_threshold": self.score_threshold}

    def stated_language(self, metadata: Mapping[str, Any]) -> str | None:
        """Return the code of the language that the metadata states; None where it is to be detected."""
        value = metadata.get(self.language_key) if self.language_key is not None else None
        # the string enums that loaders write name programming languages: "ts" there is not Tsonga
        return _code(value) if isinstance(value, str) and value and not isinstance(value, Enum) else None

    @classmethod
    def _options_of(cls, reranker: Reranker) -> dict[str, Any]:
        cut = {"top_n": reranker.top_n, "score_threshold": reranker.score_threshold}
        return super()._options_of(reranker) | {
            name: value for name, value in cut.items() if value is not None
        }

    @field_validator("top_n")
    @classmethod
    def _checked_top_n(cls, value: int | None) -> int | None:
        check_cut(value, None)
        return value

    @field_validator("score_threshold")
    @classmethod
    def _checked_threshold(cls, value: float | None) -> float | None:
        check_cut(None, value)
        return value


@lru_cache(maxsize=1024)
def _code(text: str) -> str | None:
    try:
        code = normalize_language(text)
    except ValueError:  # loaders write more than codes there: "No language found.", "python"
        return None
    return None if code == UNDETERMINED else code
