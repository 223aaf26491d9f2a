from __future__ import annotations

import pytest

from lamar_rag.profiles import get_profile


def test_the_default_is_embedded_and_offline():
    profile = get_profile()
    assert profile.name == "embedded"
    assert (profile.embedder, profile.reranker) == ("multilingual-e5-small", "lamar-mini")
    assert profile.generator == "extractive"
    assert profile.candidates == 20


def test_one_part_is_replaced_and_the_profile_itself_stays():
    assert get_profile("full", reranker="BAAI/bge-reranker-v2-m3").reranker == "BAAI/bge-reranker-v2-m3"
    assert get_profile("full").reranker == "nlpai-lab/LAMAR-600m"


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("fast", {}, "got profile 'fast', expected one of embedded, full"),
        ("embedded", {"rerankr": "x"}, "unknown setting 'rerankr'"),
        ("embedded", {"top_n": 0}, "top_n=0"),
        ("embedded", {"candidates": 0}, "candidates=0"),
        ("embedded", {"top_n": 21}, "top_n=21 above candidates=20"),
    ],
)
def test_mistakes_are_named(name, changes, message):
    with pytest.raises(ValueError, match=message):
        get_profile(name, **changes)
