"""Every row of the registry, on a tiny random model of its architecture, against its straight line."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from straight_lines import (
    contextual_logits,
    gemma_yes,
    jina_cosines,
    pair_logits,
    prism_margins,
    qwen3_margins,
    single_string_logits,
    zerank_yes,
)
from tiny_rerankers import (
    tiny_gemma,
    tiny_gte,
    tiny_jina_v3,
    tiny_nemotron,
    tiny_qwen3,
    tiny_qwen35,
    tiny_xlmr,
)

from lamar_rag import Document
from lamar_rag.scorer_factory import build_scorer
from lamar_rag.scoring.registry import RECIPES

ROWS = {
    "nlpai-lab/LAMAR-600m": (tiny_xlmr, pair_logits),
    "BAAI/bge-reranker-v2-m3": (tiny_xlmr, pair_logits),
    "BAAI/bge-reranker-v2-gemma": (tiny_gemma, gemma_yes),
    "jinaai/jina-reranker-v2-base-multilingual": (tiny_xlmr, pair_logits),
    "jinaai/jina-reranker-v3": (tiny_jina_v3, jina_cosines),
    "Alibaba-NLP/gte-multilingual-reranker-base": (tiny_gte, pair_logits),
    "Qwen/Qwen3-Reranker-0.6B": (tiny_qwen3, qwen3_margins),
    "Qwen/Qwen3-Reranker-4B": (tiny_qwen3, qwen3_margins),
    "nvidia/llama-nemotron-rerank-1b-v2": (tiny_nemotron, single_string_logits),
    "ContextualAI/ctxl-rerank-v2-instruct-multilingual-1b": (tiny_qwen3, contextual_logits),
    "zeroentropy/zerank-2-reranker": (tiny_qwen3, zerank_yes),
    "infgrad/Prism-Qwen3.5-Reranker-0.8B": (tiny_qwen35, prism_margins),
    "infgrad/Prism-Qwen3.5-Reranker-2B": (tiny_qwen35, prism_margins),
    "infgrad/Prism-Qwen3.5-Reranker-4B": (tiny_qwen35, prism_margins),
}
QUERIES = ["What does the cat eat?", "  多くの猫は? \n", "¿{instruction} {query}?"]
# edges where tokens could join over the seam between prompt and document
DOCUMENTS = [
    "The cat eats fish.",
    " a leading blank, and a trailing one ",
    "\n\nleading newlines and trailing ones\n\n",
    "...!? punctuation first and last :\n",
    "'s and 123456 and 🙂👩‍👩‍👧 e\u0301 \u0301",
    "\u0301a combining mark first",
    "猫は魚を食べる。",
    "القطة تأكل السمك",
    "",
    " ",
    "\t\r\n",
    "The cat eats fish.",
    "one two three four five six seven eight nine ten " * 6,
]


def test_every_row_has_its_test():
    assert list(ROWS) == [recipe.model for recipe in RECIPES]
    assert len({recipe.short_name for recipe in RECIPES}) == 14


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory):
    made = {}

    def folder(build):
        if build not in made:
            made[build] = build(tmp_path_factory.mktemp(build.__name__))
        return made[build]

    return folder


@pytest.fixture(scope="module")
def expected_of(folder_of):
    @lru_cache  # sizes of one model share their architecture
    def expected(build, straight_line, query):
        return np.array(straight_line(folder_of(build), query, DOCUMENTS))

    return expected


@pytest.mark.slow
@pytest.mark.parametrize("model", ROWS)
def test_scores_are_those_of_the_straight_line(model, folder_of, expected_of):
    build, straight_line = ROWS[model]
    folder = folder_of(build)
    with build_scorer(folder, recipe=model, trust_remote_code=build is tiny_nemotron, device="cpu") as scorer:
        for query in QUERIES:
            expected = expected_of(build, straight_line, query)
            assert np.ptp(expected) > 0.05  # the random model tells the documents apart
            scored = scorer.score(query, [Document(text) for text in DOCUMENTS])
            assert np.abs(scored.scores - expected).max() < 1e-5
            assert not scored.truncated.any()
