from __future__ import annotations

import threading

import numpy as np
import pytest
from straight_lines import cosines, jina_block, jina_cosines
from tiny_models import WORDS
from tiny_rerankers import tiny_jina_v3, tiny_qwen3

from lamar_rag import Document
from lamar_rag.scoring.listwise import ListwiseScorer
from lamar_rag.scoring.listwise_model import ListwiseModel
from lamar_rag.scoring.listwise_prompt import blocks, listwise_prompt, without_markers
from lamar_rag.types import BatchScorer, ScoringCancelledError, ScoringOptions

QUERY = "What does the cat eat?"
MARK, ASK = "<|embed_token|>", "<|rerank_token|>"


def listed(texts) -> list[Document]:
    return [Document(text) for text in texts]


def short_texts(count: int, seed: int = 0) -> list[str]:
    random = np.random.default_rng(seed)
    return [f"{n} " + " ".join(random.choice(WORDS, size=random.integers(1, 6))) for n in range(count)]


def cut(lengths, capacity=10**6, largest=2048, per_block=125) -> list[tuple[int, int]]:
    return [(span.start, span.stop) for span in blocks(lengths, capacity, largest, per_block)]


def test_a_block_holds_125_documents():
    assert cut([1] * 125) == [(0, 125)]
    assert cut([1] * 126) == [(0, 125), (125, 126)]
    assert cut([1] * 250) == [(0, 125), (125, 250)]
    assert cut([1] * 300) == [(0, 125), (125, 250), (250, 300)]
    assert cut([1] * 5, per_block=2) == [(0, 2), (2, 4), (4, 5)]
    assert cut([]) == []


def test_a_block_closes_when_the_largest_document_would_not_fit():
    # by hand: 100 tokens, documents of at most 20; after 4 of 20 just 20 are left, which is not more than 20
    assert cut([20] * 9, capacity=100, largest=20) == [(0, 4), (4, 8), (8, 9)]
    assert cut([20] * 9, capacity=101, largest=20) == [(0, 5), (5, 9)]
    assert cut([30, 30, 19, 1, 5], capacity=100, largest=20) == [(0, 4), (4, 5)]
    assert cut([30, 30, 20, 1, 5], capacity=100, largest=20) == [(0, 3), (3, 5)]
    assert cut([90, 90, 1], capacity=50, largest=20) == [(0, 1), (1, 2), (2, 3)]  # no block is empty


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_jina_v3(tmp_path_factory.mktemp("jina"))


@pytest.fixture(scope="module")
def scorer(folder):
    with ListwiseScorer(folder, device="cpu") as made:
        yield made


@pytest.fixture
def seen(monkeypatch):
    """The blocks that the model is given, as lists of texts."""
    texts, vectors = [], ListwiseModel.vectors

    def spy(self, query, documents, instruction):
        texts.append(list(documents))
        return vectors(self, query, documents, instruction)

    monkeypatch.setattr(ListwiseModel, "vectors", spy)
    return texts


@pytest.mark.slow
def test_two_blocks_are_merged_by_their_best_documents(folder, scorer, seen):
    texts = short_texts(130)
    scored = scorer.score(QUERY, listed(texts))
    assert seen == [texts[:125], texts[125:]]
    vectors, queries, weights = [], [], []
    for block in (texts[:125], texts[125:]):
        documents, query = jina_block(folder, QUERY, block)
        vectors.append(documents)
        queries.append(query)
        weights.append(max((1 + cosines(query, documents)) / 2))
    query = (weights[0] * queries[0] + weights[1] * queries[1]) / sum(weights)
    expected = cosines(query, np.concatenate(vectors))
    assert np.ptp(expected) > 0.1
    assert abs(weights[0] - weights[1]) > 1e-4
    assert np.abs(cosines(queries[0], vectors[0]) - expected[:125]).max() > 1e-4  # the merge matters
    assert np.abs(scored.scores - expected).max() < 1e-5
    assert scored.scores.dtype == np.float32
    assert not scored.truncated.any()


@pytest.mark.slow
def test_scores_depend_on_the_candidates_and_their_order_alone(folder, scorer):
    texts = short_texts(7, seed=1)
    scores = scorer.score(QUERY, listed(texts)).scores
    assert np.array_equal(scores, scorer.score(QUERY, listed(texts)).scores)
    swapped = [texts[1], texts[0], *texts[2:]]
    other = scorer.score(QUERY, listed(swapped)).scores
    assert np.abs(other - np.array(jina_cosines(folder, QUERY, swapped))).max() < 1e-5
    assert np.abs(other[[1, 0, *range(2, 7)]] - scores).max() > 1e-4
    alone = scorer.score(QUERY, listed(texts[3:4])).scores
    assert np.abs(alone - np.array(jina_cosines(folder, QUERY, texts[3:4]))).max() < 1e-5
    assert abs(alone[0] - scores[3]) > 1e-4
    assert not isinstance(scorer, BatchScorer)  # requests of several queries never share a block


@pytest.mark.slow
def test_texts_that_hold_the_markers_lose_them(folder, scorer):
    texts = [f"the {MARK}cat{ASK} sat", "dog", ASK]
    scores = scorer.score(f"{ASK}what {MARK}cat?", listed(texts)).scores
    expected = jina_cosines(folder, "what cat?", ["the cat sat", "dog", ""])
    assert np.abs(scores - np.array(expected)).max() < 1e-5


@pytest.mark.parametrize("outer", [MARK, ASK])
@pytest.mark.parametrize("inner", [MARK, ASK])
@pytest.mark.parametrize("depth", [1, 3])
def test_no_marker_is_left_where_one_stood_within_another(outer, inner, depth):
    text = inner
    for _ in range(depth):
        text = outer[:5] + text + outer[5:]
    cleaned = without_markers(f"cat {text} dog")
    assert MARK not in cleaned
    assert ASK not in cleaned


@pytest.mark.slow
@pytest.mark.parametrize("text", [MARK[:8] + MARK + MARK[8:], ASK[:8] + ASK + ASK[8:]])
def test_nested_markers_change_no_other_documents_place(scorer, text):
    scored = scorer.score(QUERY, listed([f"cat {text}", "dog"]))
    assert scored.scores.shape == (2,)
    assert scorer.score(f"cat {text}", listed(["dog", "cat"])).scores.shape == (2,)


@pytest.mark.slow
def test_an_instruction_is_in_the_prompt_and_its_markers_are_not(folder, scorer):
    texts = short_texts(4, seed=2)
    plain = scorer.score(QUERY, listed(texts)).scores
    told = scorer.score(QUERY, listed(texts), ScoringOptions(instruction="find birds")).scores
    assert np.abs(told - plain).max() > 1e-4
    marked = ScoringOptions(instruction=f"find {MARK}birds{ASK}")
    assert np.abs(scorer.score(QUERY, listed(texts), marked).scores - told).max() < 1e-6
    odd = ScoringOptions(instruction="find \ud800")
    same = ScoringOptions(instruction="find \ufffd")
    scores = scorer.score(QUERY, listed(texts), odd).scores
    assert np.array_equal(scores, scorer.score(QUERY, listed(texts), same).scores)


def test_the_instruction_stands_before_the_passages():
    prompt = listwise_prompt("cat", ["one", "two"], "find birds")
    assert (
        "relevance to query: cat\n<instruct>\nfind birds\n</instruct>\n"
        f'<passage id="0">\none{MARK}\n</passage>\n<passage id="1">\ntwo{MARK}\n</passage>\n'
        f"<query>\ncat{ASK}\n</query><|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
    ) in prompt
    assert "instruct>" not in listwise_prompt("cat", ["one"])


@pytest.mark.slow
def test_a_long_document_is_cut_at_its_limit(folder, scorer, seen):
    long = " ".join(f"{n} cat" for n in range(400))
    tokenizer = scorer._load().backend
    for limit in (16, 50, 300):
        scored = scorer.score(QUERY, listed(["dog", long]), ScoringOptions(max_length=limit))
        assert scored.truncated.tolist() == [False, True]
        kept = seen[-1][1]
        assert long.startswith(kept)
        assert tokenizer.encode(kept, add_special_tokens=False).ids == tokenizer.encode(long).ids[:limit]
        expected = jina_cosines(folder, QUERY, ["dog", kept])
        assert np.abs(scored.scores - np.array(expected)).max() < 1e-5
    with ListwiseScorer(folder, device="cpu", max_length=50) as short:
        assert short.score(QUERY, listed(["dog", long])).truncated.tolist() == [False, True]
        assert len(tokenizer.encode(seen[-1][1], add_special_tokens=False).ids) == 50


@pytest.mark.slow
def test_a_query_beyond_512_tokens_is_cut_and_every_document_says_so(folder, scorer):
    query = " ".join(f"{n} cat" for n in range(400))
    tokenizer = scorer._load().backend
    encoding = tokenizer.encode(query, add_special_tokens=False)
    kept = query[: encoding.offsets[511][1]]
    scored = scorer.score(query, listed(["dog", "cat"]))
    assert scored.truncated.tolist() == [True, True]
    expected = jina_cosines(folder, kept, ["dog", "cat"])
    assert np.abs(scored.scores - np.array(expected)).max() < 1e-5


@pytest.mark.slow
def test_windows_score_the_best_piece(folder, seen):
    long = " ".join(f"{n} cat" for n in range(60))
    with ListwiseScorer(folder, device="cpu", window_overlap=10) as scorer:
        options = ScoringOptions(long_documents="windows", max_length=40)
        scored = scorer.score(QUERY, listed(["dog", long, "moon"]), options)
        tokenizer = scorer._load().backend
    (texts,) = seen
    assert scored.truncated.tolist() == [False, False, False]
    pieces = texts[1:-1]
    assert (texts[0], texts[-1]) == ("dog", "moon")
    assert len(pieces) >= 3
    starts = [long.find(piece) for piece in pieces]
    assert starts[0] == 0
    assert pieces[-1] == long[-len(pieces[-1]) :]
    for i, piece in enumerate(pieces):
        assert len(tokenizer.encode(piece, add_special_tokens=False).ids) <= 40
        if i:  # a piece starts before the one in front of it ends
            assert starts[i - 1] < starts[i] < starts[i - 1] + len(pieces[i - 1])
    expected = np.array(jina_cosines(folder, QUERY, texts))
    best = [expected[0], expected[1:-1].max(), expected[-1]]
    assert np.abs(scored.scores - np.array(best)).max() < 1e-5


@pytest.mark.slow
def test_a_small_context_closes_blocks_by_tokens(folder, seen):
    texts = [f"{n} cat dog moon" for n in range(12)]
    with ListwiseScorer(folder, device="cpu") as scorer:
        loaded = scorer._load()
        backend = loaded.backend
        lengths = [len(backend.encode(text, add_special_tokens=False).ids) for text in texts]
        asked = len(backend.encode(QUERY, add_special_tokens=False).ids)
        loaded.context = 2 * asked + sum(lengths[:5]) + 16  # after five just 16 tokens are left
        scored = scorer.score(QUERY, listed(texts), ScoringOptions(max_length=16))
    assert len(seen[0]) == 5
    assert [text for block in seen for text in block] == texts
    parts = [jina_block(folder, QUERY, block) for block in seen]
    weights = [max((1 + cosines(query, documents)) / 2) for documents, query in parts]
    query = np.average([query for _, query in parts], axis=0, weights=weights)
    expected = cosines(query, np.concatenate([documents for documents, _ in parts]))
    assert np.abs(scored.scores - expected).max() < 1e-5


@pytest.mark.slow
def test_cancelling_stops_between_blocks(scorer, seen, monkeypatch):
    cancel, vectors = threading.Event(), ListwiseModel.vectors

    def cancelling(self, *args):
        cancel.set()
        return vectors(self, *args)

    monkeypatch.setattr(ListwiseModel, "vectors", cancelling)
    with pytest.raises(ScoringCancelledError):
        scorer.score(QUERY, listed(short_texts(130)), ScoringOptions(cancel=cancel))
    assert len(seen) == 1  # the second block was never run
    with pytest.raises(ScoringCancelledError):
        scorer.score(QUERY, listed(["cat"]), ScoringOptions(cancel=cancel))
    assert len(seen) == 1
    cancel.clear()
    monkeypatch.undo()
    assert scorer.score(QUERY, listed(["cat"]), ScoringOptions(cancel=cancel)).scores.shape == (1,)


@pytest.mark.slow
def test_without_memory_the_blocks_are_halved_and_it_is_said(folder, monkeypatch, caplog):
    import torch

    texts, vectors = short_texts(9, seed=3), ListwiseModel.vectors

    def narrow(self, query, documents, instruction):
        if len(documents) > 4:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return vectors(self, query, documents, instruction)

    monkeypatch.setattr(ListwiseModel, "vectors", narrow)
    with ListwiseScorer(folder, device="cpu") as scorer:
        scores = scorer.score(QUERY, listed(texts)).scores
    assert "going on with 4 documents a block, which changes scores" in caplog.text
    parts = [jina_block(folder, QUERY, texts[start : start + 4]) for start in (0, 4, 8)]
    weights = [max((1 + cosines(query, documents)) / 2) for documents, query in parts]
    query = np.average([query for _, query in parts], axis=0, weights=weights)
    expected = cosines(query, np.concatenate([documents for documents, _ in parts]))
    assert np.abs(scores - expected).max() < 1e-5


@pytest.mark.slow
def test_weights_without_the_projector_are_named(folder, tmp_path):
    from safetensors.torch import load_file, save_file
    from tiny_rerankers import JINA_SPECIALS

    tiny_qwen3(tmp_path, JINA_SPECIALS)
    with pytest.raises(ValueError, match=r"lack projector\.0\.weight, projector\.2\.weight"):
        ListwiseScorer(tmp_path, device="cpu").score(QUERY, listed(["cat"]))
    weights = load_file(tmp_path / "model.safetensors")
    weights["projector.0.weight"] = load_file(folder / "model.safetensors")["projector.0.weight"]
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match=rf"weights of model {tmp_path} lack projector\.2\.weight: it is no"):
        ListwiseScorer(tmp_path, device="cpu").score(QUERY, listed(["cat"]))


@pytest.mark.slow
def test_a_tokenizer_without_the_markers_is_named(tmp_path):
    tiny_qwen3(tmp_path)
    with pytest.raises(ValueError, match=r"has no token '<\|embed_token\|>'"):
        ListwiseScorer(tmp_path, device="cpu").score(QUERY, listed(["cat"]))


def test_empty_lists_load_nothing():
    scored = ListwiseScorer("no-such-model").score(QUERY, [])
    assert scored.scores.shape == scored.truncated.shape == (0,)
    assert scored.scores.dtype == np.float32


@pytest.mark.slow
def test_limits_out_of_range_are_named(scorer):
    with pytest.raises(ValueError, match=r"max_length=2049 for model .*: give 16 to 2048"):
        scorer.score(QUERY, listed(["cat"]), ScoringOptions(max_length=2049))
    with pytest.raises(ValueError, match="max_length=-1"):
        scorer.score(QUERY, listed(["cat"]), ScoringOptions(max_length=-1))
    with pytest.raises(ValueError, match="max_length=15"):
        ListwiseScorer("x", max_length=15)
