"""The options of a Reranker as pydantic fields: what the classes for LangChain and LlamaIndex share.

pydantic comes with either framework; nothing else of the library imports this module.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    WithJsonSchema,
    field_serializer,
    field_validator,
)

from lamar_rag.closing import Closing
from lamar_rag.field_errors import one_line_errors
from lamar_rag.languages import normalize_language
from lamar_rag.preference import LanguagePreference
from lamar_rag.reranker import DEFAULT_MODEL, Reranker
from lamar_rag.reranker_options import RerankKeywords
from lamar_rag.types import LongDocuments

# Decided when the model is loaded; the others may be assigned at any time and count from the next call.
_OF_THE_MODEL = (
    "recipe",
    "device",
    "dtype",
    "max_length",
    "max_batch_tokens",
    "trust_remote_code",
)


class RerankerFields(BaseModel, Closing):
    """Options of a `lamar_rag.Reranker`, which is made of them, or a `reranker` that exists.

    Nothing is loaded before the first document is scored. With `reranker=`, options that are not given are
    those of that reranker.

    Raises:
        ValueError: an option out of range or unknown, or one of the model's beside `reranker`.
    """

    model_config = ConfigDict(
        arbitrary_types_allowed=True, extra="forbid", validate_assignment=True, protected_namespaces=()
    )

    model: StrictStr = Field(
        default=DEFAULT_MODEL,
        frozen=True,
        description="A name that `lamar models` lists, a hub id, a model folder or the URL of a rerank server.",
    )
    language_weight: StrictFloat = Field(
        default=0.0, description="How much a document's language counts beside its relevance; 0: not at all."
    )
    preferred_languages: Sequence[str] | None = Field(
        default=None, description="Languages in order of preference; None: the query's own."
    )
    language_floor: StrictFloat | None = Field(
        default=None, description="Relevance below which no document is lifted for its language."
    )
    query_language: StrictStr | None = Field(
        default=None, description="The language of every query; None: detected for each."
    )
    long_documents: LongDocuments = Field(
        default="truncate",
        description='"truncate" reads the beginning of a long document, "windows" scores pieces of it.',
    )
    instruction: StrictStr | None = Field(
        default=None,
        description="What counts as relevant, for the models that take an instruction; None: what the reranker says.",
    )
    recipe: StrictStr | None = Field(
        default=None, frozen=True, description="Score by this recipe, whatever the model's name is."
    )
    device: StrictStr | None = Field(
        default=None, frozen=True, description='"cpu", "cuda", "cuda:1", "mps"; None: a GPU if there is one.'
    )
    dtype: StrictStr | None = Field(
        default=None, frozen=True, description='"float32", "bfloat16", "float16", "int8"; None: as saved.'
    )
    max_length: StrictInt | None = Field(
        default=None, frozen=True, description="Tokens that a query with its document may have."
    )
    max_batch_tokens: StrictInt | None = Field(
        default=None, frozen=True, description="Tokens that are scored at once."
    )
    trust_remote_code: StrictBool = Field(
        default=False, frozen=True, description="Run the Python code that the model's repository brings."
    )
    reranker: Annotated[Reranker | None, WithJsonSchema({"type": ["object", "null"]})] = Field(
        default=None, frozen=True, description="A lamar_rag.Reranker to use, instead of one of these options."
    )
    _reranker: Reranker = PrivateAttr()

    if not TYPE_CHECKING:  # type checkers and editors see the fields as keywords

        def __init__(self, **options: Any) -> None:
            with one_line_errors(type(self)):
                super().__init__(**self._completed(options))

        def __setattr__(self, name: str, value: Any) -> None:
            with one_line_errors(type(self)):
                super().__setattr__(name, value)

    def model_post_init(self, context: Any) -> None:
        """Make the reranker, which loads nothing yet."""
        super().model_post_init(context)
        self._reranker = self._made()

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy; it shares the loaded model unless `update` names another.

        Raises:
            ValueError: `update` is wrong, or names a model, or an option of one, beside the `reranker` that the
                object has.
        """
        changes = self._changes(update or {})
        fields = type(self).model_fields
        frozen = {name: value for name, value in changes.items() if name in fields and fields[name].frozen}
        copied = super().model_copy(update=frozen, deep=deep)
        if frozen:
            copied._reranker = copied._made()
        for name in changes.keys() - frozen.keys():
            setattr(copied, name, changes[name])
        return copied

    def _changes(self, update: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a copy is told, with the options of another reranker."""
        changes = dict(update)
        if isinstance(changes.get("reranker"), Mapping):
            changes["reranker"] = Reranker.from_dict(changes["reranker"])
        given = changes.get("reranker")
        if given is None and "reranker" in changes and "model" not in changes and self.reranker is not None:
            raise ValueError("got reranker=None and no model, expected one of them: model='...'")
        if "model" in changes:
            changes["model"] = self._path_as_text(changes["model"])
        return self._options_of(given) | changes if isinstance(given, Reranker) else changes

    def close(self) -> None:
        """Free the model's memory, also that of a `reranker` that was passed in; the next call loads it again."""
        self._reranker.close()

    @property
    def preference(self) -> LanguagePreference:
        """The language dial that the fields describe."""
        preferred = None if self.preferred_languages is None else tuple(self.preferred_languages)
        return LanguagePreference(self.language_weight, preferred, self.language_floor)

    def call_options(self) -> RerankKeywords:
        """Return what every call of the reranker is told."""
        return {
            "preference": self.preference,
            "query_language": self.query_language,
            "long_documents": self.long_documents,
            "instruction": self.instruction,
        }

    @classmethod
    def _completed(cls, options: dict[str, Any]) -> dict[str, Any]:
        """Return the options with those of a given reranker, where they are not given."""
        given = options.get("reranker")
        if isinstance(given, Mapping):
            given = Reranker.from_dict(given)
        if not isinstance(given, Reranker):
            return options
        return cls._options_of(given) | options | {"reranker": given}

    @classmethod
    def _options_of(cls, reranker: Reranker) -> dict[str, Any]:
        return {
            "model": reranker.model,
            "language_weight": float(reranker.preference.weight),
            "preferred_languages": reranker.preference.preferred,
            "language_floor": reranker.preference.floor,
            "long_documents": reranker.scoring.long_documents,
            "instruction": reranker.scoring.instruction,
        }

    def _made(self) -> Reranker:
        options = {name: getattr(self, name) for name in _OF_THE_MODEL}
        if self.reranker is None:
            return Reranker(self.model, **options)
        if self.model != self.reranker.model:
            raise ValueError(f"got model={self.model!r} beside reranker, which has its own: leave one out")
        beside = [name for name, value in options.items() if value is not None and value is not False]
        if beside:
            raise ValueError(
                f"got {', '.join(beside)} beside reranker, which has its own: set them where the reranker is made"
            )
        return self.reranker

    @field_validator("model", mode="before")
    @classmethod
    def _path_as_text(cls, value: object) -> object:
        return str(value) if isinstance(value, Path) else value

    @field_validator("preferred_languages", mode="before")
    @classmethod
    def _checked_languages(cls, value: Any) -> Any:
        with _named("preferred_languages"):
            return LanguagePreference(preferred=value).preferred

    @field_validator("language_weight")
    @classmethod
    def _checked_weight(cls, value: float) -> float:
        with _named("language_weight"):
            return LanguagePreference(weight=value).weight

    @field_validator("language_floor")
    @classmethod
    def _checked_floor(cls, value: float | None) -> float | None:
        with _named("language_floor"):
            return LanguagePreference(floor=value).floor

    @field_validator("query_language")
    @classmethod
    def _normalized_language(cls, value: str | None) -> str | None:
        with _named("query_language"):
            return None if value is None else normalize_language(value)

    @field_serializer("reranker")
    def _reranker_options(self, reranker: Reranker | None) -> dict[str, Any] | None:
        return None if reranker is None else reranker.to_dict()


@contextmanager
def _named(field: str) -> Iterator[None]:
    """Let errors begin with the field's name: the library's own argument has another."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{field}: {error}") from error
