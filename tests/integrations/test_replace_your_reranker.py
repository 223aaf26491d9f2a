"""The lines of examples/replace_your_reranker.md: both sides are run where both are installed, and agree."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import REPOSITORY
from langchain_core.documents import Document
from llama_index.core.schema import NodeWithScore, TextNode
from tiny_models import tiny_cross_encoder

TEXT = (REPOSITORY / "examples" / "replace_your_reranker.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```diff\n(.*?)```", TEXT, re.DOTALL)
QUERY = "the cat sat"
DOCUMENTS = [
    "the dog barked at the moon",
    "le chat est assis",
    "the cat sat on a mat",
    "die katze sitzt",
    "a mat",
]
NEEDS_A_SERVICE = ("cohere", "FlagEmbedding")


def side(block: str, sign: str) -> str:
    """The code before ("-") or after ("+") the change."""
    return "\n".join(line[1:] for line in block.splitlines() if line[:1] in (sign, " ", ""))


def run(code: str, model: Path) -> dict[str, Any]:
    """What a block leaves behind, its model replaced by a tiny one and half precision by single."""
    for name in ("nlpai-lab/LAMAR-600m", "BAAI/bge-reranker-v2-m3"):
        code = code.replace(name, str(model))
    names: dict[str, Any] = {"query": QUERY, "documents": DOCUMENTS}
    if "CrossEncoderReranker" in code or "langchain_lamar" in code:
        names["candidates"] = [Document(text, id=text) for text in DOCUMENTS]
    else:
        names["candidates"] = [NodeWithScore(node=TextNode(text=text), score=0.5) for text in DOCUMENTS]
    exec(code.replace('dtype="float16"', 'dtype="float32"'), names)
    return names


def order(names: dict[str, Any]) -> list[str]:
    if "nodes" in names:
        return [node.text for node in names["nodes"]]
    if "results" in names:
        return [DOCUMENTS[index] for index, _ in names["results"]]
    if names["documents"] is not DOCUMENTS:
        return [document.page_content for document in names["documents"]]
    return [DOCUMENTS[i] for i in np.argsort(-np.asarray(names["scores"]))][:3]


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return tiny_cross_encoder(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def reference(model: Path) -> list[str]:
    from sentence_transformers import CrossEncoder

    scores = CrossEncoder(str(model), device="cpu").predict([(QUERY, text) for text in DOCUMENTS])
    return [DOCUMENTS[i] for i in np.argsort(-scores)][:3]


def test_every_library_is_there():
    assert len(BLOCKS) == 7
    assert re.findall(r"^## (.*)$", TEXT, re.MULTILINE) == [
        "Cohere, in LangChain",
        "Cohere, in LlamaIndex",
        "Cohere, its own client",
        "sentence-transformers",
        "FlagEmbedding",
    ]


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_the_new_lines_run_and_rank_as_the_model_does(block, model, reference):
    assert sum(line.startswith("+") for line in block.splitlines()) < 5
    assert order(run(side(block, "+"), model)) == reference


@pytest.mark.parametrize(
    "block", [block for block in BLOCKS if not any(name in block for name in NEEDS_A_SERVICE)], ids=range(3)
)
def test_the_old_lines_run_and_rank_the_same(block, model, reference):
    assert order(run(side(block, "-"), model)) == reference


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_the_old_lines_are_python(block):
    compile(side(block, "-"), "before", "exec")
