"""Thousands of generated inputs: whatever is written, each document gets a number, and the right one."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from straight_lines import gemma_yes, jina_cosines, pair_logits, qwen3_margins
from tiny_models import WORDS, tiny_cross_encoder
from tiny_rerankers import tiny_gemma, tiny_jina_v3, tiny_qwen3

from lamar_rag import Document, Reranker
from lamar_rag.scorer_factory import build_scorer
from lamar_rag.types import Scored, Scorer, ScoringOptions

pytestmark = pytest.mark.slow

SEED = 20240229
SPECIALS = [
    *(
        "<s>",
        "</s>",
        "<pad>",
        "<unk>",
        "<mask>",
        "<bos>",
        "<eos>",
        "<|endoftext|>",
        "<|im_start|>",
        "<|im_end|>",
    ),
    *(
        "<think>",
        "</think>",
        "<|embed_token|>",
        "<|rerank_token|>",
        "[CLS]",
        "[SEP]",
        "{query}",
        "{instruction}",
    ),
]
ODD = [
    *("", " ", "\t", "\n", "\r\n", "\0", "\u00a0", "\u200b", "\ufeff", "\u2028", "\x1b[0m", "\x7f", "\x85"),
    *("🙂", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇫🇷🇩🇪", "👍🏽", "\u200d", "\ufe0f"),
    *("e\u0301", "\u0301", "a" + "\u0300\u0323" * 40, "ﷺ", "ﬁ", "①", "Ⅳ", "㍿", "ſ", "ẞ"),
    *("\ud800", "\udfff", "a\ud83d b", "\udc80\ud800"),
    *("\ue000", "\U000f0000", "\U0010fffd", "\uffff", "\U0001ffff"),
    *("‮abc‬", "القطة cat قط", "שלום world", "\u2066cat\u2069", "\u202bcat"),
    *(
        "猫は魚を食べる。",
        "แมวกินปลา",
        "बिल्ली",
        "고양이",
        "𓀀𓃠",
        "𝓬𝓪𝓽",
        "a/b\\c|d",
        "<b>cat</b>",
        "'); DROP TABLE cats;--",
    ),
]
PLANES = [*range(4), 14, 15, 16]


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Tiny matrices gain nothing by torch's own threads, which wait long for each other on a busy machine."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def random_text(random: np.random.Generator, *, most: int = 40) -> str:
    """A text of one of many kinds."""
    kind, size = int(random.integers(10)), int(random.integers(0, most))
    if kind == 0:
        return str(random.choice(ODD))
    if kind == 1:
        return "".join(
            chr(int(random.choice(PLANES)) << 16 | int(code)) for code in random.integers(0, 65536, size)
        )
    if kind == 2:
        return "".join(chr(code) for code in random.integers(0, 0x3100, size))
    if kind == 3:
        return str(random.choice(SPECIALS)).join(random.choice(WORDS, size=min(size, 6)))
    if kind == 4:
        return "".join(random.choice(ODD, size=min(size, 12)))
    if kind == 5:
        return "".join(random.choice(list("abcdefgh"), size=20 * size))  # one very long word
    if kind == 6:
        return "".join(chr(code) for code in random.integers(0, 128, size))
    if kind == 7:
        return f"{random.choice(WORDS)} {random.choice(ODD)} {random.choice(SPECIALS)} {random.choice(WORDS)}"
    if kind == 8:
        return str(random.choice(ODD)) * size
    return " ".join(random.choice(WORDS, size=size))


def repaired(text: str) -> str:
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def listed(texts) -> list[Document]:
    return [Document(text) for text in texts]


def checked(scored: Scored, count: int) -> Scored:
    assert scored.scores.shape == scored.truncated.shape == (count,)
    assert scored.scores.dtype == np.float32
    assert scored.truncated.dtype == np.bool_
    assert np.isfinite(scored.scores).all()
    return scored


def fuzz(
    scorer: Scorer, straight_line: Callable, folder, *, calls: int, documents: int, compare: int, seed: int
) -> None:
    """Score `calls` lists of `documents` generated texts; compare `compare` of them with the straight line."""
    random = np.random.default_rng(seed)
    compared = 0
    for call in range(calls):
        query = random_text(random, most=12)
        texts = [random_text(random) for _ in range(documents - 2)]
        texts += [texts[0], texts[-1]]  # duplicates
        mode = ScoringOptions(long_documents="windows" if call % 4 == 3 else "truncate")
        scored = checked(scorer.score(query, listed(texts), mode), documents)
        assert scored.scores[-2] == scored.scores[0]
        assert scored.scores[-1] == scored.scores[-3]
        order = random.permutation(documents)
        other = checked(scorer.score(query, listed([texts[i] for i in order]), mode), documents)
        assert np.abs(other.scores - scored.scores[order]).max() < 1e-5
        assert other.truncated.tolist() == scored.truncated[order].tolist()
        if mode.long_documents == "windows":
            assert len(set(scored.truncated.tolist())) == 1  # only the query can be cut
        elif compared < compare:
            whole = [i for i in range(documents) if not scored.truncated[i]][: compare - compared]
            expected = straight_line(folder, repaired(query), [repaired(texts[i]) for i in whole])
            assert np.abs(scored.scores[whole] - np.array(expected)).max(initial=0) < 1e-5
            compared += len(whole)
    assert compared == compare


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory):
    return tiny_cross_encoder(tmp_path_factory.mktemp("cross-encoder"))


@pytest.fixture(scope="module")
def cross_scorer(cross_encoder):
    with build_scorer(cross_encoder, device="cpu") as scorer:
        yield scorer


def test_5000_inputs_of_a_cross_encoder(cross_encoder, cross_scorer):
    fuzz(cross_scorer, pair_logits, cross_encoder, calls=125, documents=40, compare=100, seed=SEED)


@pytest.mark.parametrize(
    ("build", "recipe", "straight_line"),
    [(tiny_qwen3, "qwen3-reranker-0.6b", qwen3_margins), (tiny_gemma, "bge-reranker-v2-gemma", gemma_yes)],
)
def test_400_inputs_of_a_causal_model(build, recipe, straight_line, tmp_path):
    folder = build(tmp_path)
    with build_scorer(folder, recipe=recipe, device="cpu") as scorer:
        fuzz(scorer, straight_line, folder, calls=20, documents=20, compare=60, seed=SEED + 1)


def test_200_inputs_of_a_listwise_model(tmp_path):
    folder, random = tiny_jina_v3(tmp_path), np.random.default_rng(SEED + 2)
    with build_scorer(folder, recipe="jina-reranker-v3", device="cpu") as scorer:
        for call in range(20):
            query, texts = random_text(random, most=12), [random_text(random) for _ in range(10)]
            mode = ScoringOptions(long_documents="windows" if call % 4 == 3 else "truncate", max_length=256)
            scored = checked(scorer.score(query, listed(texts), mode), 10)
            assert np.abs(scored.scores).max() <= 1 + 1e-6
            again = scorer.score(query, listed(texts), mode)
            assert np.array_equal(again.scores, scored.scores)
            if not scored.truncated.any() and mode.long_documents == "truncate":
                expected = jina_cosines(folder, unmarked(query), [unmarked(text) for text in texts])
                assert np.abs(scored.scores - np.array(expected)).max() < 1e-5


def unmarked(text: str) -> str:
    return re.sub(r"<\|(embed|rerank)_token\|>", "", repaired(text))


@pytest.mark.parametrize("mode", ["truncate", "windows"])
def test_the_whole_way_through_a_reranker(cross_encoder, mode):
    random = np.random.default_rng(SEED + 3)
    with Reranker(cross_encoder, device="cpu", long_documents=mode) as reranker:
        for _ in range(20):
            query, texts = random_text(random, most=12), [random_text(random) for _ in range(20)]
            rows = reranker.rerank(query, texts)
            assert sorted(row.index for row in rows) == list(range(20))
            assert [row.rank for row in rows] == list(range(1, 21))
            assert all(row.document.text == texts[row.index] for row in rows)
            scores = [row.score for row in rows]
            assert scores == sorted(scores, reverse=True)
            assert np.isfinite(scores).all()
            again = reranker.rerank(query, [row.document for row in rows])
            # texts of equal tokens may change places, for their scores differ by rounding alone
            assert np.abs(np.subtract([row.score for row in again], scores)).max() < 1e-5


def test_texts_of_a_megabyte(cross_encoder, cross_scorer):
    million = 1_000_000
    texts = [
        *("cat " * (million // 4), "a" * million, " " * million, "🙂" * (million // 4), "\0" * million),
        *(
            "\u0301" * (million // 2),
            "猫" * (million // 3),
            "</s>" * (million // 4),
            "\ud800" * (million // 3),
        ),
        *(" " * million + "cat", "cat"),
    ]
    scored = checked(cross_scorer.score("the cat", listed(texts)), len(texts))
    assert scored.truncated[0]
    assert scored.truncated[1]
    assert not scored.truncated[-1]
    # what is cut beyond the limit plays no part: the tokens are those of the beginning
    short = checked(cross_scorer.score("the cat", listed(["cat " * 3000, "a" * 3000])), 2)
    assert np.abs(short.scores - scored.scores[:2]).max() < 1e-5
    long_query = checked(cross_scorer.score("cat " * (million // 4), listed(["dog", ""])), 2)
    assert long_query.truncated.all()


def test_10000_documents_in_one_call(cross_encoder, cross_scorer):
    random = np.random.default_rng(SEED + 4)
    texts = [random_text(random, most=12) for _ in range(10_000)]
    scored = checked(cross_scorer.score("the cat", listed(texts)), 10_000)
    by_text: dict[str, float] = {}
    for text, score in zip(texts, scored.scores.tolist(), strict=True):
        assert by_text.setdefault(text, score) == score
    sample = [i for i in random.integers(0, 10_000, 60) if not scored.truncated[i]]
    expected = pair_logits(cross_encoder, "the cat", [repaired(texts[i]) for i in sample])
    assert len(sample) > 30
    assert np.abs(scored.scores[sample] - np.array(expected)).max() < 1e-5
