from __future__ import annotations

import json
import pickle
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from rerank_server import Reply, RerankServer

from lamar_rag.scoring.remote import RemoteScorer
from lamar_rag.scoring.remote_errors import RemoteScoringError, RemoteUnavailableError
from lamar_rag.types import Document, Scorer, ScoringCancelledError, ScoringOptions

MODELS = {"/v1/models": {"object": "list", "data": [{"id": "served", "object": "model"}]}}
INFO = {"/info": {"model_id": "bge", "model_type": {"reranker": {}}, "max_client_batch_size": 32}}


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name in ("VLLM_API_KEY", "CO_API_KEY", "COHERE_API_KEY", "JINA_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def documents(*numbers):
    return [Document(f"d{number}", id=f"id{number}") for number in numbers]


def scorer(server, **options):
    return RemoteScorer(server.url, **{"shape": "tei", "backoff": 0.0, **options})


LOGITS = {"use_activation": False}


@pytest.mark.parametrize(
    ("shape", "path", "options", "body"),
    [
        ("vllm", "/v1/rerank", {"model": "m"}, LOGITS | {"model": "m", "truncate_prompt_tokens": -1}),
        ("vllm", "/v1/rerank", {"max_length": 8}, LOGITS | {"model": "served", "truncate_prompt_tokens": 8}),
        ("tei", "/rerank", {}, {"raw_scores": True, "truncate": True, "return_text": False}),
        ("cohere", "/v2/rerank", {"model": "m"}, {"model": "m", "top_n": 3}),
        (
            "cohere",
            "/v2/rerank",
            {"model": "m", "max_length": 8},
            {"model": "m", "top_n": 3, "max_tokens_per_doc": 8},
        ),
        ("jina", "/v1/rerank", {"model": "m"}, {"model": "m", "top_n": 3, "return_documents": False}),
    ],
)
def test_each_api_gets_its_form_and_scores_are_in_the_order_of_the_documents(shape, path, options, body):
    with RerankServer(shape, pages=MODELS) as server:
        remote = scorer(server, shape=shape, **options)
        assert isinstance(remote, Scorer)
        scored = remote.score("q", documents(20, 70, 50))  # the server answers 70, 50, 20
    assert scored.scores.tolist() == np.array([0.2, 0.7, 0.5], dtype=np.float32).tolist()
    assert scored.scores.dtype == np.float32
    assert scored.truncated.tolist() == [False, False, False]
    (post,) = server.posts
    assert post.path == path
    texts = "texts" if shape == "tei" else "documents"
    assert post.body == {"query": "q", texts: ["d20", "d70", "d50"], **body}
    assert "authorization" not in post.headers


def test_batches_are_split_and_the_order_is_kept():
    numbers = list(range(70))[::-1]
    with RerankServer("tei") as server:
        scored = scorer(server).score("q", documents(*numbers))
    assert sorted(len(post.texts) for post in server.posts) == [6, 32, 32]
    assert scored.scores.tolist() == (np.array(numbers, dtype=np.float32) / np.float32(100)).tolist()


@pytest.mark.parametrize(("shape", "status"), [("vllm", 413), ("tei", 413), ("tei", 422)])
def test_a_batch_that_is_too_large_is_halved(shape, status):
    with RerankServer(shape, most=3, too_many=status) as server:
        remote = scorer(server, shape=shape, model="m", batch_size=10, max_concurrency=1)
        scored = remote.score("q", documents(*range(10)))
    assert [len(post.texts) for post in server.posts] == [10, 5, 2, 3, 5, 2, 3]
    assert scored.scores.tolist() == (np.arange(10, dtype=np.float32) / np.float32(100)).tolist()


def test_a_document_that_is_too_large_alone_is_named():
    with RerankServer("tei", most=0) as server, pytest.raises(RemoteScoringError) as caught:
        scorer(server, batch_size=2).score("q", documents(1, 2))
    assert "HTTP 413" in str(caught.value)
    assert "document 0 (id1), 2 characters, is too large even alone" in str(caught.value)
    assert [len(post.texts) for post in server.posts] == [2, 1]


def test_another_422_is_an_error_at_once():
    with RerankServer("tei") as server:
        server.replies = [Reply(422, b"Tokenization error")]
        with pytest.raises(RemoteScoringError, match="HTTP 422: Tokenization error"):
            scorer(server).score("q", documents(1, 2))
    assert len(server.posts) == 1


def test_equal_texts_are_sent_once_and_odd_ones_arrive():
    odd = ["", " ", "d5", "a\ud800b", "\x00\x1b", "d5", "😀"]
    with RerankServer("tei") as server:
        scored = scorer(server).score("q\udfff", [Document(text) for text in odd])
    (post,) = server.posts
    assert post.body["texts"] == ["", " ", "d5", "a\ufffdb", "\x00\x1b", "😀"]
    assert post.body["query"] == "q\ufffd"
    assert scored.scores.tolist() == np.array([0, 0, 0.05, 0, 0, 0.05, 0], dtype=np.float32).tolist()


def test_no_documents_no_request():
    with RerankServer("tei") as server:
        scored = RemoteScorer(server.url).score("q", [])
    assert (scored.scores.shape, scored.truncated.shape, server.seen) == ((0,), (0,), [])
    assert scored.scores.dtype == np.float32
    assert scored.truncated.dtype == np.bool_


def test_only_what_is_cut_here_is_marked():
    long, short = Document("x" * 65 + "9"), Document("d7")
    with RerankServer("vllm") as server:
        remote = scorer(server, shape="vllm", model="m", max_length=512)
        scored = remote.score("q" * 64, [long, short], ScoringOptions(max_length=2))  # 64 characters at most
        assert scored.truncated.tolist() == [True, False]
        assert remote.score("q" * 65, [long, short], ScoringOptions(max_length=2)).truncated.tolist() == [
            True,
            True,
        ]
        assert remote.score("q", [long, short]).truncated.tolist() == [False, False]
    bodies = [post.body for post in server.posts]
    assert bodies[0]["documents"] == ["x" * 64, "d7"]
    assert [body["truncate_prompt_tokens"] for body in bodies] == [2, 2, 512]
    assert [len(body["query"]) for body in bodies] == [64, 64, 1]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_passing_failures_are_tried_again(status):
    with RerankServer("tei") as server:
        server.replies = [Reply(status, b"busy"), Reply(hang_up=True)]
        scored = scorer(server, retries=2).score("q", documents(3))
    assert len(server.posts) == 3
    assert scored.scores.tolist() == [np.float32(0.03)]


def test_the_server_says_when_to_come_back():
    with RerankServer("tei") as server:
        server.replies = [Reply(429, headers={"Retry-After": "0.3"})]
        start = time.monotonic()
        scorer(server).score("q", documents(3))
    assert 0.3 <= time.monotonic() - start < 5.0
    assert len(server.posts) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 424])
def test_a_refusal_is_told_at_once(status):
    with RerankServer("vllm") as server:
        server.replies = [Reply(status, b"no\nsuch \x1b[31mmodel " + b"x" * 500)]
        with pytest.raises(RemoteScoringError) as caught:
            scorer(server, shape="vllm", model="my-model").score("q", documents(1))
    message = str(caught.value)
    assert len(server.posts) == 1
    assert not isinstance(caught.value, ConnectionError)
    assert (
        f"rerank server {server.url} (model my-model): got HTTP {status}: no\\nsuch \\x1b[31mmodel xxx"
        in message
    )
    assert ("check the key in VLLM_API_KEY" in message) == (status in (401, 403))
    assert message.isprintable()
    assert len(message) < 400


def test_after_the_last_attempt_the_cause_is_told():
    with RerankServer("tei") as server:
        server.replies = [Reply(503, b"overloaded")] * 3
        with pytest.raises(RemoteUnavailableError) as caught:
            scorer(server, retries=2).score("q", documents(1))
    assert isinstance(caught.value, ConnectionError)
    assert (
        str(caught.value) == f"rerank server {server.url} gave no answer in 3 attempts: HTTP 503: overloaded"
    )
    assert len(server.posts) == 3


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_nobody_there():
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(RemoteUnavailableError) as caught:
        RemoteScorer(url, shape="tei", retries=1, backoff=0.0).score("q", documents(1))
    assert str(caught.value).startswith(f"rerank server {url} gave no answer in 2 attempts: ConnectError: ")
    assert caught.value.__context__ is None  # the client's error would hold the request with its headers
    with pytest.raises(RemoteUnavailableError, match="shape="):
        RemoteScorer(url, retries=0).score("q", documents(1))


def test_a_silent_server_runs_into_the_timeout():
    release = threading.Event()
    with RerankServer("tei") as server:
        server.replies = [Reply(before=lambda: release.wait(10))]
        with pytest.raises(RemoteUnavailableError, match="1 attempt: ReadTimeout"):
            scorer(server, timeout=0.2, retries=0).score("q", documents(1))
        release.set()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<!doctype html>\n<p>Welcome", r"got a body that is not JSON, in: <!doctype html>\n<p>Welcome"),
        (b"", "got a body that is not JSON"),
        (b'{"results": []}', 'got JSON of another form than [{"index": ..., "score": ...}, ...]'),
        (b"[]", "got 0 scores for 2 documents, none for document 0 (id1)"),
        (b'[{"index": 0, "score": 1}, {"index": 0, "score": 1}]', "got two scores for document 0 (id1)"),
        (b'[{"index": 0, "score": 1}, {"index": 5, "score": 1}]', "got index 5, expected 0 to 1"),
        (b'[{"index": 0, "score": 1}, {"index": 1, "score": NaN}]', "got score nan for document 1 (id2)"),
        (
            b'[{"index": 0, "score": 1}, {"index": 1, "score": -Infinity}]',
            "got score -inf for document 1 (id2)",
        ),
        (b'[{"index": 0, "score": 1}, {"index": 1, "score": null}]', "got score null for document 1 (id2)"),
    ],
)
def test_an_answer_that_cannot_be_used_is_told(body, message):
    with RerankServer("tei") as server:
        server.replies = [Reply(200, body)]
        with pytest.raises(RemoteScoringError) as caught:
            scorer(server).score("q", documents(1, 2))
    assert str(caught.value).startswith(f"rerank server {server.url} (shape 'tei'): {message}")
    assert str(caught.value).isprintable()


def test_an_endless_answer_is_cut_off(monkeypatch):
    monkeypatch.setattr("lamar_rag.scoring.remote_client.MAX_ANSWER_BYTES", 2**20)
    with RerankServer("tei") as server:
        server.replies = [Reply(200, b" " * (2**20 + 1))]
        with pytest.raises(RemoteScoringError, match="answered more than 1 MiB"):
            scorer(server).score("q", documents(1))
    with RerankServer("tei") as server:
        server.replies = [Reply(200, b'[{"index": 0, "score": 1}]'.ljust(2**20))]
        assert scorer(server).score("q", documents(1)).scores.tolist() == [1.0]


def test_redirects_are_not_followed():
    with RerankServer("tei") as server:
        server.replies = [Reply(307, headers={"Location": "http://127.0.0.1:9/"})]
        with pytest.raises(RemoteScoringError, match=r"redirect .HTTP 307.: give the url"):
            scorer(server).score("q", documents(1))


@pytest.mark.parametrize(("shape", "pages"), [("tei", INFO), ("vllm", MODELS)])
def test_auto_asks_the_server_once(shape, pages):
    with RerankServer(shape, pages=pages) as server:
        remote = RemoteScorer(server.url)
        for _ in range(3):
            assert remote.score("q", documents(4)).scores.tolist() == [np.float32(0.04)]
        gets = [seen.path for seen in server.seen if seen.method == "GET"]
    assert gets == (["/info"] if shape == "tei" else ["/info", "/v1/models", "/v1/models"])
    assert {post.path for post in server.posts} == {"/rerank" if shape == "tei" else "/v1/rerank"}


def test_auto_keeps_a_whole_endpoint():
    with RerankServer("vllm", pages=MODELS) as server:
        RemoteScorer(f"{server.url}/rerank").score("q", documents(4))
    assert [post.path for post in server.posts] == ["/rerank"]


def test_a_server_that_tells_nothing_needs_a_shape():
    with (
        RerankServer("tei") as server,
        pytest.raises(ValueError, match=r"HTTP 404 to GET /info.*shape=.*'tei'"),
    ):
        RemoteScorer(server.url).score("q", documents(4))


@pytest.mark.parametrize(
    ("models", "error", "message"),
    [
        ({"data": [{"id": "a"}, {"id": "b"}]}, ValueError, "serves a, b: choose one with model="),
        ({"data": []}, ValueError, "serves no model: choose one with model="),
        ({"object": "list"}, RemoteScoringError, "does not tell which model it serves"),
        (None, RemoteScoringError, "does not tell which model it serves .HTTP 404"),
    ],
)
def test_which_model_is_served_must_be_clear(models, error, message):
    with RerankServer("vllm", pages={} if models is None else {"/v1/models": models}) as server:
        with pytest.raises(error, match=message):
            scorer(server, shape="vllm").score("q", documents(4))
        assert server.posts == []


KEY = "sk-Very-Secret-0123"


def chain(error):
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def test_the_key_goes_to_the_server_and_nowhere_else(monkeypatch, caplog):
    caplog.set_level("DEBUG")
    monkeypatch.setenv("MY_KEY", f"{KEY}\n")
    with RerankServer("jina") as server:
        remote = scorer(server, shape="jina", model="m", api_key_env="MY_KEY", retries=1)
        remote.score("q", documents(1))
        errors = []
        for replies in (
            [Reply(401, f"wrong key {KEY}".encode())],
            [Reply(503, KEY.encode())] * 2,
            [Reply(200, KEY.encode())],
            [Reply(200, json.dumps({"results": [{"index": 0, "relevance_score": KEY}]}).encode())],
        ):
            server.replies = replies
            with pytest.raises(RemoteScoringError, match=r"\[key\]") as caught:
                remote.score("q", documents(1))
            errors += chain(caught.value)
    assert {post.headers["authorization"] for post in server.posts} == {f"Bearer {KEY}"}
    assert "check the key in MY_KEY" in str(errors[0])
    shown = [repr(remote), remote.model, caplog.text, *map(str, errors), *map(repr, errors)]
    assert not [text for text in shown if KEY in text]
    assert "HTTP Request: POST" in caplog.text  # the client's log was on
    assert KEY.encode() not in pickle.dumps(remote)
    assert all(KEY.encode() not in pickle.dumps(error) for error in errors)
    assert KEY not in repr(vars(remote)) + repr(vars(remote._client))


@pytest.mark.parametrize(
    ("shape", "names", "sent"),
    [
        ("vllm", ["VLLM_API_KEY"], "VLLM_API_KEY"),
        ("cohere", ["COHERE_API_KEY"], "COHERE_API_KEY"),
        ("cohere", ["COHERE_API_KEY", "CO_API_KEY"], "CO_API_KEY"),
        ("jina", ["JINA_API_KEY", "CO_API_KEY"], "JINA_API_KEY"),
        ("tei", ["VLLM_API_KEY", "JINA_API_KEY"], None),
    ],
)
def test_each_shape_reads_its_own_variable_at_each_call(shape, names, sent, monkeypatch):
    with RerankServer(shape) as server:
        remote = scorer(server, shape=shape, model="m")
        remote.score("q", documents(1))
        for name in names:
            monkeypatch.setenv(name, f"of {name}")
        remote.score("q", documents(1))
    headers = [post.headers.get("authorization") for post in server.posts]
    assert headers == [None, sent and f"Bearer of {sent}"]


def test_a_guessed_server_gets_no_key(monkeypatch):
    monkeypatch.setenv("VLLM_API_KEY", KEY)
    monkeypatch.setenv("CO_API_KEY", KEY)
    with RerankServer("vllm", pages=MODELS) as server:
        RemoteScorer(server.url).score("q", documents(1))
    with RerankServer("cohere") as other:
        RemoteScorer(f"{other.url}/v2", model="m").score("q", documents(1))
    assert not [seen for seen in server.seen + other.seen if "authorization" in seen.headers]


def test_a_missing_or_broken_key_is_told_before_anything_is_sent(monkeypatch):
    with pytest.raises(ValueError, match="set the environment variable CO_API_KEY or COHERE_API_KEY"):
        RemoteScorer("https://api.cohere.com", model="m").score("q", documents(1))
    with RerankServer("tei") as server:
        remote = scorer(server, api_key_env="MY_KEY")
        with pytest.raises(ValueError, match="set the environment variable MY_KEY"):
            remote.score("q", documents(1))
        monkeypatch.setenv("MY_KEY", "sk-a\nsk-b")
        with pytest.raises(ValueError, match="set MY_KEY again") as caught:
            remote.score("q", documents(1))
        assert "sk-" not in str(caught.value)
        assert server.seen == []


def test_further_headers_are_sent():
    with RerankServer("tei") as server:
        scorer(server, headers={"X-Tenant": "blue"}).score("q", documents(1))
    assert server.posts[0].headers["x-tenant"] == "blue"


def test_threads_share_one_scorer():
    with RerankServer("vllm", pages=MODELS) as server:
        remote = scorer(server, shape="vllm", batch_size=4)
        lists = [list(range(start, start + 9)) for start in range(24)]
        with ThreadPoolExecutor(8) as pool:
            scored = list(pool.map(lambda numbers: remote.score("q", documents(*numbers)).scores, lists))
    for numbers, scores in zip(lists, scored, strict=True):
        assert scores.tolist() == (np.array(numbers, dtype=np.float32) / np.float32(100)).tolist()
    assert len(server.posts) == 24 * 3
    assert [seen.method for seen in server.seen].count("GET") == 1


def test_close_lets_requests_end_and_the_next_call_opens_again():
    arrived, release = threading.Event(), threading.Event()
    with RerankServer("tei") as server:
        remote = scorer(server, retries=0)
        server.replies = [
            Reply(200, b'[{"index": 0, "score": 9}]', before=lambda: (arrived.set(), release.wait(10)))
        ]
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(remote.score, "q", documents(1))
            assert arrived.wait(10)
            remote.close()
            assert remote.score("q", documents(2)).scores.tolist() == [np.float32(0.02)]
            release.set()
            assert running.result().scores.tolist() == [9.0]
        remote.close()
        remote.close()
        assert remote.score("q", documents(3)).scores.tolist() == [np.float32(0.03)]


def test_a_pickled_copy_scores_on_its_own():
    with RerankServer("tei") as server:
        remote = scorer(server, spread=0.5, batch_size=2)
        remote.score("q", documents(1))
        copy = pickle.loads(pickle.dumps(remote))
        remote.close()
        assert copy.score("q", documents(1, 2, 3)).scores.tolist() == (np.float32([1, 2, 3]) / 100).tolist()
    assert (copy.spread, copy.batch_size, repr(copy)) == (0.5, 2, repr(remote))


def test_a_set_event_cancels_before_anything_is_sent():
    cancel = threading.Event()
    cancel.set()
    with RerankServer("tei") as server, pytest.raises(ScoringCancelledError):
        scorer(server).score("q", documents(1), ScoringOptions(cancel=cancel))
    assert server.seen == []


def test_cancelling_ends_the_waiting_and_the_batches_that_have_not_begun():
    cancel = threading.Event()
    with RerankServer("tei") as server:
        server.on_post = lambda seen: cancel.set() if len(server.posts) == 3 else None
        remote = scorer(server, batch_size=1, max_concurrency=1)
        with pytest.raises(ScoringCancelledError):
            remote.score("q", documents(*range(10)), ScoringOptions(cancel=cancel))
        assert len(server.posts) == 3
        cancel.clear()
        server.replies = [
            Reply(503, headers={"Retry-After": "30"}, before=threading.Timer(0.2, cancel.set).start)
        ]
        server.on_post = lambda seen: None
        start = time.monotonic()
        with pytest.raises(ScoringCancelledError):
            remote.score("q", documents(1), ScoringOptions(cancel=cancel))
        assert time.monotonic() - start < 5.0


def test_the_first_failure_ends_the_others_waiting():
    with RerankServer("tei") as server:
        waiting = threading.Event()
        server.replies = [
            Reply(503, headers={"Retry-After": "30"}, before=waiting.set),
            Reply(400, b"bad", before=lambda: (waiting.wait(5), time.sleep(0.1))),
        ]
        start = time.monotonic()
        with pytest.raises(RemoteScoringError, match="HTTP 400: bad"):
            scorer(server, batch_size=1, max_concurrency=2).score("q", documents(*range(9)))
        assert time.monotonic() - start < 5.0
        assert len(server.posts) < 9


def test_no_more_requests_at_a_time_than_asked_for():
    running, most, lock = 0, 0, threading.Lock()

    def slow(_):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.05)
        with lock:
            running -= 1

    with RerankServer("tei") as server:
        server.on_post = slow
        scorer(server, batch_size=1, max_concurrency=3).score("q", documents(*range(12)))
    assert most == 3


def test_progress_counts_documents(capsys):
    with RerankServer("tei") as server:
        scorer(server, batch_size=2).score("q", documents(1, 1, 2, 3, 3), ScoringOptions(progress=True))
    assert "5/5" in capsys.readouterr().err


def test_probability_is_what_the_server_means():
    logits = np.array([0.0, 2.0, -800.0, 800.0], dtype=np.float32)
    halves = np.array([0.25, 1.0, 0.0], dtype=np.float32)
    tei = RemoteScorer("http://h", shape="tei").probability(logits)
    np.testing.assert_allclose(tei, [0.5, 0.880797, 0.0, 1.0], atol=1e-6)
    assert tei.dtype == np.float32
    np.testing.assert_array_equal(RemoteScorer("http://h", shape="vllm").probability(logits), tei)
    for shape in ("cohere", "jina"):
        remote = RemoteScorer("http://h", shape=shape, model="m")
        found = remote.probability(halves)
        assert found.tolist() == halves.tolist()
        assert found is not halves
        assert remote.probability(np.array([0.5, -0.1], dtype=np.float32)) is None


def test_what_cannot_be_done_is_told_without_a_request():
    with RerankServer("tei") as server:
        remote = scorer(server)
        with pytest.raises(ValueError, match=r"long_documents='windows'.*long_documents='truncate'"):
            remote.score("q", documents(1), ScoringOptions(long_documents="windows"))
        with pytest.raises(ValueError, match="max_length=5 for shape 'tei'"):
            remote.score("q", documents(1), ScoringOptions(max_length=5))
        with pytest.raises(ValueError, match="max_length"):
            remote.score("q", documents(1), ScoringOptions(max_length=0))
        assert server.seen == []


def test_names():
    remote = RemoteScorer("http://h:8000/v1/rerank?api-version=3", model="m", spread=0.25)
    assert (remote.model, remote.spread) == ("m", 0.25)
    assert repr(remote) == "RemoteScorer('http://h:8000/v1/rerank', shape='auto', model='m')"
    other = RemoteScorer("http://h:8000/v1/rerank?api-version=3")
    assert (other.model, other.spread) == ("http://h:8000/v1/rerank", None)


@pytest.mark.parametrize(
    "options",
    [
        {"shape": "openai"},
        {"shape": None},
        {"shape": "cohere"},  # without a model
        {"shape": "jina"},
        {"shape": "tei", "max_length": 5},
        {"shape": "jina", "model": "m", "max_length": 5},
        {"model": ""},
        {"model": "a\nb"},
        {"timeout": 0},
        {"timeout": float("inf")},
        {"timeout": "30"},
        {"backoff": -1},
        {"spread": 0.0},
        {"spread": float("nan")},
        {"retries": -1},
        {"retries": True},
        {"batch_size": 0},
        {"max_concurrency": 0},
        {"max_length": 0},
        {"headers": [("a", "b")]},
        {"headers": {"a b": "c"}},
        {"headers": {"X-A": "b\nc"}},
        {"headers": {"X-A": 3}},
        {"headers": {"Authorization": "Bearer sk-hidden"}},
        {"headers": {"x-api-key": "sk-hidden"}},
        {"api_key_env": "sk-hidden"},
        {"api_key_env": "jina_hidden"},
        {"api_key_env": ""},
    ],
)
def test_wrong_options_are_told_in_one_line(options):
    with pytest.raises(ValueError, match=r"^got ") as caught:
        RemoteScorer("http://h", **options)
    assert "\n" not in str(caught.value)
    assert "hidden" not in str(caught.value)
