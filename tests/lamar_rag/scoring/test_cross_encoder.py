from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tiny_models import WORDS, tiny_cross_encoder

from lamar_rag import Document, Reranker
from lamar_rag.scoring.cross_encoder import CrossEncoderScorer
from lamar_rag.types import Scorer, ScoringOptions

QUERY = "the cat sat on a mat"


def documents(count: int = 23, seed: int = 3) -> list[Document]:
    random = np.random.default_rng(seed)
    return [
        Document(" ".join(random.choice(WORDS, size=n)), id=str(n)) for n in random.integers(0, 60, count)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_cross_encoder(tmp_path_factory.mktemp("cross-encoder"))


@pytest.fixture(scope="module")
def straight_line(folder):
    """The oracle: plain transformers calls, one pair at a time, the document cut by `only_second`."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()

    def score(query: str, texts: list[str], max_length: int = 96) -> np.ndarray:
        tokenizer = AutoTokenizer.from_pretrained(folder)
        scores = []
        for text in texts:
            inputs = tokenizer(
                query, text, truncation="only_second", max_length=max_length, return_tensors="pt"
            )
            with torch.inference_mode():
                scores.append(model(**inputs).logits[0, 0].item())
        return np.array(scores, dtype=np.float32)

    return score


def test_equals_the_straight_line(folder, straight_line):
    pool = documents()
    expected = straight_line(QUERY, [document.text for document in pool])
    assert np.ptp(expected) > 0.5  # the random model tells the documents apart
    for budget in (1, 100, 16384):
        scored = CrossEncoderScorer(folder, device="cpu", max_batch_tokens=budget).score(QUERY, pool)
        assert np.abs(scored.scores - expected).max() < 1e-5
        assert not scored.truncated.any()


def test_equals_sentence_transformers(folder):
    from sentence_transformers import CrossEncoder
    from torch import nn

    pool = documents()
    theirs = CrossEncoder(str(folder), device="cpu", activation_fn=nn.Identity(), max_length=96).predict(
        [(QUERY, document.text) for document in pool]
    )
    ours = CrossEncoderScorer(folder, device="cpu").score(QUERY, pool).scores
    assert np.abs(ours - theirs).max() < 1e-5


def test_only_the_document_is_cut_and_it_is_said(folder, straight_line):
    pool = [Document("dog " * 200), Document("dog " * 5)]
    scored = CrossEncoderScorer(folder, device="cpu", max_length=32).score(QUERY, pool)
    assert scored.truncated.tolist() == [True, False]
    assert np.abs(scored.scores - straight_line(QUERY, [d.text for d in pool], 32)).max() < 1e-5


def test_a_query_beyond_its_share_is_cut_and_every_result_says_so(folder, straight_line):
    scored = CrossEncoderScorer(folder, device="cpu", max_length=32).score(
        " ".join(["cat"] * 500), [Document("dog")]
    )
    assert scored.truncated.tolist() == [True]
    # by hand: three quarters of the 28 tokens beside the 4 special ones are 21 words of the query
    assert np.abs(scored.scores - straight_line(" ".join(["cat"] * 21), ["dog"], 32)).max() < 1e-5
    short = CrossEncoderScorer(folder, device="cpu", max_length=16)
    texts = ["dog", "moon", "mat"]  # even the shortest limit leaves the documents some room
    for mode in ("truncate", "windows"):
        scores = short.score(
            "cat " * 50, [Document(text) for text in texts], ScoringOptions(long_documents=mode)
        ).scores
        assert np.abs(scores - straight_line(" ".join(["cat"] * 9), texts, 16)).max() < 1e-5


def test_windows_take_the_best_piece(folder, straight_line):
    words = list(np.random.default_rng(1).choice(WORDS, size=70))
    scorer = CrossEncoderScorer(folder, device="cpu", max_length=32, window_overlap=5)
    scored = scorer.score(
        QUERY, [Document(" ".join(words)), Document("dog")], ScoringOptions(long_documents="windows")
    )
    # by hand: 32 tokens less 4 special ones and 6 of the query leave 22 a window, each 17 further on; the
    # last is moved back so that it is whole
    pieces = [" ".join(words[start : start + 22]) for start in (0, 17, 34, 48)]
    assert scored.truncated.tolist() == [False, False]
    assert np.isclose(scored.scores[0], straight_line(QUERY, pieces, 96).max(), atol=1e-5)
    assert np.isclose(scored.scores[1], straight_line(QUERY, ["dog"], 96)[0], atol=1e-5)


def test_threads_with_different_lengths_get_what_they_would_get_alone(folder):
    scorer = CrossEncoderScorer(folder, device="cpu")
    pools = [documents(5, seed) for seed in range(6)]
    modes = ["truncate", "windows"]
    jobs = [(pool, mode) for pool in pools for mode in modes]
    alone = [scorer.score(QUERY, pool, ScoringOptions(long_documents=mode)).scores for pool, mode in jobs]
    with ThreadPoolExecutor(8) as threads:
        together = list(
            threads.map(
                lambda job: scorer.score(QUERY, job[0], ScoringOptions(long_documents=job[1])).scores,
                jobs * 10,
            )
        )
    for row, scores in enumerate(together):
        assert np.abs(scores - alone[row % len(jobs)]).max() < 1e-5


def test_odd_documents_get_a_score(folder):
    odd = ["", " ", "\0", "\ud800", "🙂", "e\u0301", "‮abc", "a" * 1_000_000, "cat", "cat"]
    scored = CrossEncoderScorer(folder, device="cpu").score(QUERY, [Document(text) for text in odd])
    assert np.isfinite(scored.scores).all()
    assert np.isclose(scored.scores[8], scored.scores[9], atol=1e-5)
    assert scored.truncated.tolist() == [False] * 7 + [True, False, False]
    assert np.isfinite(CrossEncoderScorer(folder, device="cpu").score("", [Document("")]).scores).all()


def test_a_nan_names_the_model_and_the_document(folder, tmp_path):
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(folder)
    with torch.no_grad():
        model.classifier.out_proj.bias.fill_(float("nan"))
    model.save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(folder).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=rf"model {tmp_path} returned nan for document 0 \(doc-7\)"):
        CrossEncoderScorer(tmp_path, device="cpu").score(QUERY, [Document("cat", id="doc-7")])


def test_the_reranker_finds_the_way_of_scoring_by_the_folder(folder, straight_line):
    pool = documents()
    expected = straight_line(QUERY, [document.text for document in pool])
    with Reranker(folder, device="cpu") as reranker:
        ranked = reranker.rerank(QUERY, pool)
        assert isinstance(reranker.scorer, Scorer)
    assert [row.index for row in ranked] == np.argsort(-expected, kind="stable").tolist()


def test_close_frees_the_model_and_the_next_call_loads_it(folder):
    scorer = CrossEncoderScorer(folder, device="cpu")
    before = scorer.score(QUERY, documents()).scores
    scorer.close()
    assert scorer._loaded is None
    assert np.array_equal(scorer.score(QUERY, documents()).scores, before)


def test_empty(folder):
    scored = CrossEncoderScorer(folder).score(QUERY, [])
    assert scored.scores.shape == scored.truncated.shape == (0,)


def test_wrong_options_and_models_are_named(tmp_path):
    with pytest.raises(ValueError, match="max_length=3"):
        CrossEncoderScorer("x", max_length=3)
    with pytest.raises(ValueError, match="max_batch_tokens=0"):
        CrossEncoderScorer("x", max_batch_tokens=0)
    with pytest.raises(ValueError, match="window_overlap=-1"):
        CrossEncoderScorer("x", window_overlap=-1)
    with pytest.raises(ValueError, match="dtype='flaot32', expected one of float32"):
        CrossEncoderScorer("x", dtype="flaot32")
    one = tiny_cross_encoder(tmp_path / "one")
    with pytest.raises(ValueError, match=r"max_length=97 for model .*, which reads 96 tokens"):
        CrossEncoderScorer(one, device="cpu", max_length=97).score("q", [Document("d")])
    with pytest.raises(ValueError, match="device='cpux'"):
        CrossEncoderScorer(one, device="cpux").score("q", [Document("d")])
    two = tiny_cross_encoder(tmp_path / "two", labels=2)
    with pytest.raises(ValueError, match="has 2 labels, expected a reranker with one"):
        CrossEncoderScorer(two, device="cpu").score("q", [Document("d")])
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="expected a sequence classifier"):
        Reranker(tmp_path / "empty").rerank("q", ["d"])
