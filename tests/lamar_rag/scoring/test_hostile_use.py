"""What careless and hostile users, files and servers do: one clear line, and nothing that hangs or runs on."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from tiny_models import TableScorer, tiny_cross_encoder
from tiny_rerankers import tiny_jina_v3, tiny_qwen3

from lamar_rag import (
    Document,
    LanguagePreference,
    PromptFrame,
    Recipe,
    RemoteScorer,
    Reranker,
    ScoringCancelledError,
    ScoringOptions,
    register_recipe,
)
from lamar_rag.cli.main import main
from lamar_rag.scorer_factory import build_scorer
from lamar_rag.scoring.remote_errors import RemoteScoringError

QUERY = "the cat sat on a mat"
FRAME = PromptFrame(head=("{query}",))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_cross_encoder(tmp_path_factory.mktemp("cross-encoder"))


@pytest.fixture
def copy(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "copy")


def change(path, **values):
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


DAMAGES = {
    "no tokenizer": (lambda f: [p.unlink() for p in f.glob("tokenizer*")], "has no tokenizer in"),
    "half the weights": (lambda f: truncate(f / "model.safetensors"), "cannot be loaded from"),
    "empty tokenizer": (lambda f: (f / "tokenizer.json").write_text("{}"), "cannot be loaded from"),
    "broken tokenizer": (lambda f: (f / "tokenizer.json").write_text("{"), "cannot be loaded from"),
    "weights of another shape": (
        lambda f: change(f / "config.json", hidden_size=64),
        "cannot be loaded from",
    ),
    "fewer layers": (lambda f: change(f / "config.json", num_hidden_layers=1), r"layer\.1\.attention"),
    "small vocabulary": (lambda f: change(f / "config.json", vocab_size=7), r"has \d+ tokens, its network 7"),
    "architectures 5": (lambda f: change(f / "config.json", architectures=5), "not readable as a model's"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_folder_is_one_clear_line(copy, damage, tmp_path, monkeypatch, capsys):
    damaging, message = DAMAGES[damage]
    damaging(copy)
    with pytest.raises(ValueError, match=message) as raised:
        Reranker(copy, device="cpu").score(QUERY, ["cat"])
    assert "\n" not in str(raised.value)
    (tmp_path / "documents.jsonl").write_text('{"text": "cat"}\n')
    words = ["lamar", "rerank", QUERY, str(tmp_path / "documents.jsonl"), "--model", str(copy)]
    monkeypatch.setattr("sys.argv", words)
    with pytest.raises(SystemExit) as exited:
        main()
    assert exited.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("lamar: ")


@pytest.mark.parametrize("value", ["False", "no", 1, None, []])
def test_only_true_and_false_say_whether_code_is_trusted(folder, value):
    with pytest.raises(ValueError, match="got trust_remote_code="):
        build_scorer(folder, trust_remote_code=value)


@pytest.mark.parametrize("device", ["meta", "xpu", "mps", "cpux"])
def test_a_device_that_cannot_compute_is_named(folder, device):
    with pytest.raises(ValueError, match=f"got device='{device}'"):
        Reranker(folder, device=device).score(QUERY, ["cat"])


@pytest.mark.parametrize("spread", [float("nan"), float("inf"), -1.0, "x"])
def test_the_spread_of_a_scorer_of_ones_own_is_checked(spread):
    reranker = Reranker(TableScorer({"a": 1.0}, spread=spread), preference=LanguagePreference(weight=1.0))
    with pytest.raises(ValueError, match="got spread="):
        reranker.rerank("q", ["a"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"vocabulary_id": -1},
        {"vocabulary_id": True},
        {"vocabulary_id": "5"},
        {"positive": "yes", "negative": "yes"},
        {"positive": 5},
        {"positive": "\ud800"},
        {"positive": "yes", "instruction": 5},
        {"positive": "yes", "probability_scale": float("inf")},
        {"positive": "yes", "probability_scale": "2"},
        {"positive": "yes", "max_length": 3},
        {"positive": "yes", "max_length": "512"},
        {"positive": "yes", "model": 5},
        {},
    ],
)
def test_a_recipe_with_a_wrong_field_is_refused(wrong):
    with pytest.raises(ValueError, match="got "):
        Recipe(**{"model": "m", "scoring": "causal_lm", "frame": FRAME, **wrong})


@pytest.mark.parametrize(
    "wrong",
    [
        {"head": "{query}"},
        {"head": None},
        {"head": ("no field",)},
        {"head": ("{query}", "{document}")},
        {"head": ("{query}",), "lead": 5},
        {"head": ("{query}\udfff",)},
    ],
)
def test_a_frame_with_a_wrong_field_is_refused(wrong):
    with pytest.raises(ValueError, match="got "):
        PromptFrame(**wrong)


def test_what_is_no_recipe_is_not_registered():
    with pytest.raises(ValueError, match="got a dict, expected a Recipe"):
        register_recipe({"model": "m"})


def test_an_id_beyond_the_vocabulary_is_named(tmp_path):
    recipe = Recipe("x", "causal_lm", frame=FRAME, vocabulary_id=10**7)
    with pytest.raises(ValueError, match="whose vocabulary has 1500 entries"):
        build_scorer(tiny_qwen3(tmp_path), recipe=recipe, device="cpu").score("q", [Document("d")])


def test_a_listwise_instruction_has_a_limit(tmp_path):
    scorer = build_scorer(tiny_jina_v3(tmp_path), recipe="jina-reranker-v3", device="cpu")
    with pytest.raises(ValueError, match="instruction of more than 512 tokens"):
        scorer.score("q", [Document("d")], ScoringOptions(instruction="abc " * 22_000))
    with pytest.raises(ValueError, match=r"max_length=2 .*give 16 to 2048"):
        scorer.score("q", [Document("d")], ScoringOptions(max_length=2))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_beside_a_thread_that_scores_leaves_no_lock_behind(folder):
    import torch

    torch.set_num_threads(1)  # what a fork does to a pool of threads is torch's own matter
    reranker = Reranker(folder, device="cpu")
    expected = float(reranker.score(QUERY, ["cat"])[0])
    stop = threading.Event()

    def scoring():
        while not stop.is_set():
            reranker.score(QUERY, ["dog", "moon", "mat"])

    thread = threading.Thread(target=scoring)
    thread.start()
    try:
        for _ in range(8):
            assert abs(_score_of_a_child(reranker) - expected) < 1e-5
    finally:
        stop.set()
        thread.join()


def _score_of_a_child(reranker):
    """Return the score that a forked process finds; NaN where it does not answer in time."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # nothing of pytest may run here
        os.write(write, str(float(reranker.score(QUERY, ["cat"])[0])).encode())
        os._exit(0)
    os.close(write)
    os.set_blocking(read, False)
    deadline, said = time.monotonic() + 30, b""
    while not said and time.monotonic() < deadline:
        time.sleep(0.01)
        try:
            said = os.read(read, 100)
        except BlockingIOError:
            continue
    if not said:
        os.kill(child, 9)
    os.waitpid(child, 0)
    os.close(read)
    return float(said or b"nan")


@pytest.fixture
def server():
    """A server whose answer the test writes: `server.answer(handler)`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.server.seen.append(dict(self.headers))
            self.server.answer(self)

        def log_message(self, *_):
            pass

    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.seen = []
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def remote_scorer(server, **options):
    url = f"http://127.0.0.1:{server.server_address[1]}"
    return RemoteScorer(url, shape="tei", backoff=0.0, retries=0, **options)


def test_an_answer_that_was_packed_twice_is_not_unpacked(server):
    packed = gzip.compress(gzip.compress(b"0" * 10_000_000))

    def answer(handler):
        handler.send_response(200)
        handler.send_header("Content-Encoding", "gzip, gzip")
        handler.send_header("Content-Length", str(len(packed)))
        handler.end_headers()
        handler.wfile.write(packed)

    server.answer = answer
    with pytest.raises(RemoteScoringError, match="content-encoding gzip, gzip, which was not asked for"):
        remote_scorer(server).score("q", [Document("d")])
    assert server.seen[0]["Accept-Encoding"] == "identity"


def test_a_call_that_is_cancelled_does_not_wait_for_a_server_that_drips(server):
    released = threading.Event()

    def answer(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while not released.wait(0.05):
            handler.wfile.write(b"a")

    server.answer = answer
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    start = time.monotonic()
    try:
        with pytest.raises(ScoringCancelledError):
            remote_scorer(server).score("q", [Document("d")], ScoringOptions(cancel=cancel))
        assert time.monotonic() - start < 10  # the server drips until it is released
    finally:
        released.set()


@pytest.mark.parametrize("name", ["Content-Length", "transfer-encoding", "Host", "Accept-Encoding"])
def test_headers_that_frame_a_request_are_refused(name):
    with pytest.raises(ValueError, match="which the HTTP client sets itself"):
        RemoteScorer("http://localhost:1", headers={name: "5"})


def test_numbers_that_no_float_holds_are_refused():
    with pytest.raises(ValueError, match="got score_threshold="):
        Reranker(TableScorer({}), score_threshold=10**400)
    assert np.isfinite(Reranker(TableScorer({"a": 1.0}), score_threshold=10**300).score("q", ["a"])).all()


def test_settings_that_were_not_written_by_it_are_refused():
    for wrong in ({"preference": 5}, {"recipe": {"frame": {"lead": ""}}}, {"recipe": {"model": "m"}}):
        with pytest.raises(ValueError, match=r"that Reranker\.to_dict did not write"):
            Reranker.from_dict({"model": "m", **wrong})


def test_a_dropped_reranker_leaves_no_thread_waiting(folder):
    import asyncio
    import gc

    def used():
        with Reranker(folder, device="cpu") as reranker:
            scorer = reranker.scorer
        other = Reranker(scorer)
        asyncio.run(other.arerank(QUERY, ["cat"]))

    used()
    gc.collect()
    deadline = time.monotonic() + 3  # the queue's own patience is 5 s
    while any("lamar-request-queue" in t.name for t in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
