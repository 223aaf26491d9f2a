from __future__ import annotations

import logging
from collections import Counter

import numpy as np
import pytest
from tiny_models import WORDS, tiny_cross_encoder
from tiny_rerankers import tiny_qwen3

from lamar_rag import Document
from lamar_rag.scorer_factory import build_scorer
from lamar_rag.scoring.batching import run_batches, token_batches
from lamar_rag.scoring.cross_encoder import CrossEncoderScorer
from lamar_rag.scoring.forward import BatchForward

QUERY = "the cat sat on a mat"
LENGTHS = np.array([3, 10, 4, 10, 1, 6])
CPU_MESSAGE = "[enforce fail at alloc_cpu.cpp:113] err == 0. DefaultCPUAllocator: can't allocate memory"


def listed(lengths, budget: int, *, packed: bool = False) -> list[list[int]]:
    return [rows.tolist() for rows in token_batches(np.array(lengths), budget, packed=packed)]


def out_of_memory() -> Exception:
    import torch

    return torch.OutOfMemoryError("CUDA out of memory")


def test_padded_batches_count_the_padding():
    # by hand: 10+10 fill 20; then two rows padded to 6 take 12, three would take 18, with the last 24
    assert listed(LENGTHS, 20) == [[1, 3], [5, 2, 0], [4]]
    assert listed(LENGTHS, 19) == [[1], [3], [5, 2, 0], [4]]
    assert listed(LENGTHS, 24) == [[1, 3], [5, 2, 0, 4]]


def test_packed_batches_count_tokens_alone():
    assert listed(LENGTHS, 20, packed=True) == [[1, 3], [5, 2, 0, 4]]  # 10+10, 6+4+3+1
    assert listed(LENGTHS, 19, packed=True) == [[1], [3, 5], [2, 0, 4]]  # 10, 10+6, 4+3+1
    assert listed(LENGTHS, 34, packed=True) == [[1, 3, 5, 2, 0, 4]]  # 34 in all
    assert listed(LENGTHS, 33, packed=True) == [[1, 3, 5, 2, 0], [4]]


@pytest.mark.parametrize("packed", [False, True])
def test_a_text_beyond_the_budget_goes_alone_and_equal_lengths_keep_their_order(packed):
    assert listed([7, 9, 8], 5, packed=packed) == [[1], [2], [0]]
    assert listed([2, 2, 2, 2, 2], 4, packed=packed) == [[0, 1], [2, 3], [4]]
    assert listed([], 5, packed=packed) == []


@pytest.mark.parametrize("packed", [False, True])
def test_every_row_is_in_one_batch_within_the_budget(packed):
    random = np.random.default_rng(0)
    for budget in (1, 7, 64, 1000):
        lengths = random.integers(1, 90, 200)
        batches = list(token_batches(lengths, budget, packed=packed))
        assert sorted(np.concatenate(batches).tolist()) == list(range(200))
        longest = [int(lengths[rows].max()) for rows in batches]
        assert longest == sorted(longest, reverse=True)
        for rows in batches:
            size = lengths[rows].sum() if packed else lengths[rows].max() * len(rows)
            assert size <= budget or len(rows) == 1


class Machine:
    """A `run` that has room for so many tokens; which rows it ran, and how large the batches that failed were."""

    def __init__(self, lengths, room: int, error, *, packed: bool) -> None:
        self.lengths, self.room, self.error, self.packed = lengths, room, error, packed
        self.ran: Counter[int] = Counter()
        self.failed: list[int] = []

    def __call__(self, rows) -> None:
        used = self.lengths[rows]
        size = int(used.sum() if self.packed else used.max() * len(rows))
        if size > self.room:
            self.failed.append(size)
            raise self.error()
        self.ran.update(rows.tolist())


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    "error", [out_of_memory, lambda: RuntimeError(CPU_MESSAGE), lambda: MemoryError("no room")]
)
def test_a_lack_of_memory_halves_the_budget_and_every_row_is_run_once(packed, error, caplog):
    lengths = np.random.default_rng(1).integers(1, 30, 100)
    machine = Machine(lengths, 100, error, packed=packed)
    with caplog.at_level(logging.WARNING, logger="lamar_rag"):
        enough = run_batches(lengths, 1000, machine, packed=packed)
    assert machine.ran == dict.fromkeys(range(100), 1)
    assert len(machine.failed) >= 2
    expected, budget = [], 1000
    for size in machine.failed:  # half of what was tried, which may be less than was allowed
        budget = min(budget, size) // 2
        expected.append(f"out of memory: going on with batches of {budget} tokens")
    assert [record.getMessage() for record in caplog.records] == expected
    assert enough == budget <= 100


def test_by_hand_one_halving_keeps_what_was_done():
    lengths = np.array([8, 8, 2, 2, 2, 2])
    seen: list[list[int]] = []

    def run(rows) -> None:
        seen.append(rows.tolist())
        if len(rows) > 2:
            raise out_of_memory()

    # 16 tokens: two of 8, then four of 2 that fail and use 8; with 4 they go in pairs
    assert run_batches(lengths, 16, run) == 4
    assert seen == [[0, 1], [2, 3, 4, 5], [2, 3], [4, 5]]


def test_other_errors_are_raised_at_once_as_they_are():
    for error in (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), ValueError("x"), KeyError("y")):
        calls = []

        def run(rows, error=error, calls=calls) -> None:
            calls.append(rows.tolist())
            raise error

        with pytest.raises(type(error)) as caught:
            run_batches(LENGTHS, 20, run)
        assert caught.value is error
        assert calls == [[1, 3]]


@pytest.mark.parametrize("packed", [False, True])
def test_a_lack_of_memory_for_one_text_is_raised(packed):
    machine = Machine(LENGTHS, 9, out_of_memory, packed=packed)
    with pytest.raises(type(out_of_memory()), match="out of memory"):
        run_batches(LENGTHS, 1000, machine, packed=packed)
    assert machine.failed[-1] == 10  # the longest, alone
    assert not machine.ran


def documents(count: int = 40) -> list[Document]:
    random = np.random.default_rng(2)
    return [Document(" ".join(random.choice(WORDS, size=n))) for n in random.integers(1, 60, count)]


def narrow(monkeypatch, texts: int) -> list[int]:
    """Let forward passes of more texts run out of memory; return the sizes of those that went well."""
    forward, sizes = BatchForward.__call__, []

    def patched(self, batch):
        if len(batch) > texts:
            raise out_of_memory()
        sizes.append(len(batch))
        return forward(self, batch)

    monkeypatch.setattr(BatchForward, "__call__", patched)
    return sizes


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory):
    return tiny_cross_encoder(tmp_path_factory.mktemp("cross-encoder"))


@pytest.mark.slow
def test_a_scorer_out_of_memory_gives_the_same_scores_and_remembers(cross_encoder, monkeypatch, caplog):
    pool = documents()
    expected = CrossEncoderScorer(cross_encoder, device="cpu").score(QUERY, pool)
    scorer = CrossEncoderScorer(cross_encoder, device="cpu")
    sizes = narrow(monkeypatch, 3)
    with caplog.at_level(logging.WARNING, logger="lamar_rag"):
        scored = scorer.score(QUERY, pool)
    assert np.abs(scored.scores - expected.scores).max() < 1e-5
    assert scored.truncated.tolist() == expected.truncated.tolist()
    assert sum(sizes) == len({document.text for document in pool})
    warnings = [r for r in caplog.records if "out of memory" in r.getMessage()]
    assert warnings
    longest = [pool[int(np.argmax([len(d.text.split()) for d in pool]))]] * 2
    caplog.clear()
    again = scorer.score(QUERY, longest)  # the budget that was enough is kept
    assert again.scores[0] == again.scores[1]
    assert not caplog.records
    scorer.close()
    with caplog.at_level(logging.WARNING, logger="lamar_rag"):
        scorer.score(QUERY, pool)  # a model that is loaded again starts with the whole budget
    assert len([r for r in caplog.records if "out of memory" in r.getMessage()]) == len(warnings)


@pytest.mark.slow
def test_a_causal_scorer_out_of_memory_gives_the_same_scores(tmp_path, monkeypatch):
    folder, pool = tiny_qwen3(tmp_path), documents(20)
    scorer = build_scorer(folder, recipe="qwen3-reranker-0.6b", device="cpu", max_batch_tokens=10**6)
    expected = scorer.score(QUERY, pool).scores
    narrow(monkeypatch, 1)
    assert np.abs(scorer.score(QUERY, pool).scores - expected).max() < 1e-5
    narrow(monkeypatch, 0)
    with pytest.raises(type(out_of_memory())):
        scorer.score(QUERY, pool)
