from __future__ import annotations

import re

import pytest

from lamar_rag.scoring.remote_answer import ordered_scores, parsed
from lamar_rag.scoring.remote_errors import one_line
from lamar_rag.scoring.remote_shapes import SHAPES
from lamar_rag.scoring.remote_url import server_url

RESULTS = [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.25}]


def test_bodies_say_what_each_api_wants():
    def body(shape, model="m", max_length=None):
        return SHAPES[shape].body("q", ["a", "b"], model=model, max_length=max_length)

    both = {"query": "q", "documents": ["a", "b"]}
    assert body("vllm") == {**both, "model": "m", "truncate_prompt_tokens": -1, "use_activation": False}
    assert body("vllm", None, 512) == {**both, "truncate_prompt_tokens": 512, "use_activation": False}
    flags = {"raw_scores": True, "truncate": True, "return_text": False}
    assert body("tei") == {"query": "q", "texts": ["a", "b"], **flags}
    assert body("cohere") == {**both, "model": "m", "top_n": 2}
    assert body("cohere", "m", 99) == {**both, "model": "m", "top_n": 2, "max_tokens_per_doc": 99}
    assert body("jina") == {**both, "model": "m", "top_n": 2, "return_documents": False}


@pytest.mark.parametrize("shape", ["vllm", "cohere", "jina"])
def test_results_are_matched_by_index(shape):
    assert ordered_scores(SHAPES[shape], {"results": RESULTS}, ["a", "b"]) == [0.25, 0.9]


def test_tei_answers_with_the_list_itself():
    answer = [{"index": 2, "score": 4}, {"index": 0, "score": -1.5}, {"index": 1, "score": -3.0}]
    assert ordered_scores(SHAPES["tei"], answer, ["a", "b", "c"]) == [-1.5, -3.0, 4.0]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(0, 1.0)], "got 1 scores for 2 documents, none for doc b"),
        ([(0, 1.0), (0, 2.0)], "got two scores for doc a"),
        ([(0, 1.0), (2, 2.0)], "got index 2, expected 0 to 1"),
        ([(0, 1.0), (-1, 2.0)], "got index -1, expected 0 to 1"),
        ([(0, 1.0), (True, 2.0)], "got index true, expected 0 to 1"),
        ([(0, 1.0), (1.0, 2.0)], "got index 1.0, expected 0 to 1"),
        ([(0, 1.0), ("1", 2.0)], "got index of type str, expected 0 to 1"),
        ([(0, 1.0), (1, None)], "got score null for doc b, expected a number"),
        ([(0, 1.0), (1, "0.5")], "got score of type str for doc b, expected a number"),
        ([(0, 1.0), (1, True)], "got score true for doc b, expected a number"),
        ([(0, 1.0), (1, float("nan"))], "got score nan for doc b, expected a finite 32-bit number"),
        ([(0, 1.0), (1, float("-inf"))], "got score -inf for doc b, expected a finite 32-bit number"),
        ([(0, 1.0), (1, 1e39)], "got score 1e+39 for doc b, expected a finite 32-bit number"),
        ([(0, 1.0), (1, 10**400)], "got score inf for doc b, expected a finite 32-bit number"),
        ([(0, 1.0), (10**5000, 1.0)], "got index of more than 20 digits, expected 0 to 1"),
    ],
)
def test_wrong_scores_are_told(rows, message):
    answer = {"results": [{"index": index, "relevance_score": score} for index, score in rows]}
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        ordered_scores(SHAPES["vllm"], answer, ["doc a", "doc b"])


@pytest.mark.parametrize(
    "answer", [None, [], "x", {}, {"results": {}}, {"results": [1]}, {"results": [{"index": 0}]}]
)
def test_other_json_is_told(answer):
    with pytest.raises(ValueError, match=r"got JSON of another form than .*results.*relevance_score"):
        ordered_scores(SHAPES["cohere"], answer, ["a"])


@pytest.mark.parametrize("body", [b"<html>", b"", b"\xff\xfe\xfa", b"[" * 100_000, b"1" * 5000])
def test_what_is_no_json_is_told_without_the_body(body):
    with pytest.raises(ValueError, match=r"^got a body that is not JSON$") as caught:
        parsed(body)
    assert caught.value.__context__ is None  # a parser's error would hold all of it


def test_excerpts_are_one_short_line():
    assert one_line("a\nb\x1b[31m\u2028ü") == r"a\nb\x1b[31m\u2028ü"
    assert one_line("x" * 200) == "x" * 200
    assert one_line("x" * 201) == "x" * 197 + "..."
    assert len(one_line("\x00" * 500)) == 200


@pytest.mark.parametrize(
    ("url", "shape", "endpoint"),
    [
        ("http://h:8000", "vllm", "http://h:8000/v1/rerank"),
        ("http://h:8000/", "tei", "http://h:8000/rerank"),
        ("http://h:8000/v1", "vllm", "http://h:8000/v1/rerank"),
        ("http://h:8000/v1/rerank", "vllm", "http://h:8000/v1/rerank"),
        ("http://h:8000/rerank/", "vllm", "http://h:8000/rerank"),
        ("https://api.cohere.com", "cohere", "https://api.cohere.com/v2/rerank"),
        ("https://api.jina.ai/v1", "jina", "https://api.jina.ai/v1/rerank"),
        ("https://h/x/v2/rerank?api-version=1", "cohere", "https://h/x/v2/rerank?api-version=1"),
        ("http://[::1]:80/a", "tei", "http://[::1]:80/a/rerank"),
    ],
)
def test_endpoints(url, shape, endpoint):
    assert server_url(url).endpoint(SHAPES[shape]) == endpoint


@pytest.mark.parametrize(
    ("url", "root", "shape"),
    [
        ("https://api.cohere.com", "https://api.cohere.com", "cohere"),
        ("https://API.jina.ai/v1/rerank", "https://api.jina.ai", "jina"),
        ("http://h:8000/v1/rerank", "http://h:8000", "vllm"),
        ("http://h:8000/v2", "http://h:8000", "cohere"),
        ("http://h:8000/rerank", "http://h:8000", None),
        ("http://h:8000/deep/path", "http://h:8000/deep/path", None),
    ],
)
def test_what_a_url_tells(url, root, shape):
    parts = server_url(url)
    found = parts.own_shape()
    assert (parts.root, found and found.name) == (root, shape)


@pytest.mark.parametrize(
    "url",
    [
        "h:8000",
        "ftp://h",
        "http://",
        "http://h:port",
        "http://h:99999999",
        "http://h\n.x",
        "http://ü",
        "http://sk-hidden@h",
        "http://user:sk-hidden@h",
        "http://h/rerank?key=sk-hidden",
        "http://h/rerank?sk-hidden",
        "http://h/#sk-hidden",
        "sk-hidden",
        7,
    ],
)
def test_urls_that_are_none_or_may_hold_a_secret_are_refused_unseen(url):
    with pytest.raises(ValueError, match=r"^got ") as caught:
        server_url(url)
    assert "hidden" not in str(caught.value)
    assert "\n" not in str(caught.value)
