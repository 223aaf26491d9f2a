from __future__ import annotations

import numpy as np
import pytest
from tiny_models import WORDS, tiny_cross_encoder
from tiny_rerankers import tiny_jina_v3, tiny_qwen3

from lamar_rag import Document, Reranker
from lamar_rag.scorer_factory import build_scorer
from lamar_rag.scoring.activation import logit_probability
from lamar_rag.scoring.causal_lm import CausalLMScorer
from lamar_rag.scoring.cross_encoder import CrossEncoderScorer
from lamar_rag.scoring.listwise import ListwiseScorer
from lamar_rag.scoring.registry import RECIPES, find_recipe

QUERY = "the cat sat on a mat"
CAUSAL = {"recipe": "qwen3-reranker-0.6b", "device": "cpu"}


def documents(count: int = 60) -> list[Document]:
    random = np.random.default_rng(4)
    return [Document(" ".join(random.choice(WORDS, size=n))) for n in random.integers(1, 50, count)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A cross-encoder whose logits lie around 8, where bfloat16 has steps of 1/16 or 1/32."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    plain = tiny_cross_encoder(tmp_path_factory.mktemp("plain"))
    mean = float(CrossEncoderScorer(plain, device="cpu").score(QUERY, documents()).scores.mean())
    model = AutoModelForSequenceClassification.from_pretrained(plain)
    with torch.no_grad():
        model.classifier.out_proj.bias.add_(8.0 - mean)
    made = tmp_path_factory.mktemp("around-8")
    model.save_pretrained(made)
    AutoTokenizer.from_pretrained(plain).save_pretrained(made)
    return made


@pytest.fixture(scope="module")
def full(folder):
    """The scores in float32."""
    return CrossEncoderScorer(folder, device="cpu", dtype="float32").score(QUERY, documents()).scores


@pytest.fixture(scope="module")
def qwen3(tmp_path_factory):
    return tiny_qwen3(tmp_path_factory.mktemp("qwen3"))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_gives_float32_scores_and_no_probability_of_one(folder, full, dtype):
    import torch

    scorer = CrossEncoderScorer(folder, device="cpu", dtype=dtype)
    scores = scorer.score(QUERY, documents()).scores
    assert {p.dtype for p in scorer._load().forward.model.parameters()} == {getattr(torch, dtype)}
    assert scores.dtype == np.float32
    assert abs(scores.mean() - 8) < 0.2
    assert np.corrcoef(scores, full)[0, 1] > 0.9
    probabilities = scorer.probability(scores)
    assert probabilities.dtype == np.float32
    assert len(np.unique(scores)) > 5
    assert len(np.unique(probabilities)) == len(np.unique(scores))
    assert probabilities.max() < 1
    # a sigmoid in bfloat16 makes them all equal
    assert torch.sigmoid(torch.tensor(scores).bfloat16()).unique().tolist() == [1.0]


@pytest.mark.slow
def test_two_documents_a_tenth_apart_keep_their_order_and_their_probabilities(folder, full):
    pool = documents()
    pair = min(
        ((a, b) for a in range(len(pool)) for b in range(len(pool)) if full[a] > full[b]),
        key=lambda pair: abs(full[pair[0]] - full[pair[1]] - 0.1) + abs(full[pair[1]] - 8) / 10,
    )
    assert abs(full[pair[0]] - full[pair[1]] - 0.1) < 0.02
    with Reranker(folder, device="cpu", dtype="bfloat16") as reranker:
        first, second = reranker.rerank(QUERY, [pool[i] for i in pair])
    assert first.probability > second.probability  # in bfloat16 both would be 1.0
    for row in (first, second):
        assert abs(row.probability - 1 / (1 + np.exp(-row.relevance))) < 1e-6
        assert 7 < row.relevance < 9


@pytest.mark.slow
def test_the_margin_of_two_answers_is_taken_in_float32():
    import torch

    from lamar_rag.scoring.heads import AnswerHead

    # by hand: 24.125 - 0.0078125 = 24.1171875 needs 12 bits, bfloat16 has 8 and would give 24.125
    logits = torch.tensor([[24.125, 0.0078125]], dtype=torch.bfloat16)
    assert AnswerHead(0, 1)._read(logits).tolist() == [24.1171875]
    assert AnswerHead(0)._read(logits).dtype == torch.float32


@pytest.mark.slow
@pytest.mark.parametrize("build", [tiny_qwen3, tiny_jina_v3])
def test_other_ways_of_scoring_give_float32_in_half_precision(build, tmp_path):
    name = "qwen3-reranker-0.6b" if build is tiny_qwen3 else "jina-reranker-v3"
    made, pool = build(tmp_path), documents(30)
    scores = {
        dtype: build_scorer(made, recipe=name, device="cpu", dtype=dtype).score(QUERY, pool).scores
        for dtype in ("float32", "bfloat16")
    }
    assert scores["bfloat16"].dtype == np.float32
    assert np.abs(scores["bfloat16"] - scores["float32"]).max() > 1e-5  # it did run in another format
    assert np.corrcoef(scores["bfloat16"], scores["float32"])[0, 1] > 0.9


@pytest.mark.slow
def test_without_a_dtype_a_model_runs_as_it_was_saved(folder, tmp_path):
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(folder).to(torch.bfloat16)
    model.save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(folder).save_pretrained(tmp_path)
    for dtype, expected in ((None, torch.bfloat16), ("auto", torch.bfloat16), ("float32", torch.float32)):
        scorer = CrossEncoderScorer(tmp_path, device="cpu", dtype=dtype)
        assert {p.dtype for p in scorer._load().forward.model.parameters()} == {expected}


def layers(model) -> dict[str, str]:
    return {
        name: type(module).__name__
        for name, module in model.named_modules()
        if "Linear" in type(module).__name__
    }


@pytest.mark.slow
def test_int8_quantises_the_body_and_leaves_the_head(folder, full):
    scorer = CrossEncoderScorer(folder, device="cpu", dtype="int8")
    kinds = layers(scorer._load().forward.model)
    head = {name: kind for name, kind in kinds.items() if name.startswith("classifier")}
    body = {name: kind for name, kind in kinds.items() if name not in head}
    assert set(head.values()) == {"Linear"}
    assert len(head) == 2
    assert set(body.values()) == {"Int8Linear"}
    assert len(body) == 2 * 6  # two layers of query, key, value, output, and the two of the feed-forward
    scores = scorer.score(QUERY, documents()).scores
    assert scores.dtype == np.float32
    # 8 bits have steps of 1/127 of the largest value; two layers of them leave the order nearly as it was
    assert np.corrcoef(scores, full)[0, 1] > 0.99
    assert 1e-5 < np.abs(scores - full).max() < 0.1 * np.ptp(full)


@pytest.mark.slow
def test_int8_scores_of_a_causal_model_stay_close(qwen3):
    pool = documents()
    expected = build_scorer(qwen3, **CAUSAL).score(QUERY, pool).scores
    scorer = build_scorer(qwen3, dtype="int8", **CAUSAL)
    kinds = layers(scorer._load().forward.model)
    assert kinds.pop("lm_head") == "Linear"
    assert set(kinds.values()) == {"Int8Linear"}
    assert len(kinds) == 2 * 7
    scores = scorer.score(QUERY, pool).scores
    assert np.corrcoef(scores, expected)[0, 1] > 0.98
    assert np.abs(scores - expected).max() > 1e-5


@pytest.mark.slow
def test_int8_scores_do_not_depend_on_the_other_documents(folder):
    pool = documents(20)
    together = CrossEncoderScorer(folder, device="cpu", dtype="int8").score(QUERY, pool).scores
    alone = (
        CrossEncoderScorer(folder, device="cpu", dtype="int8", max_batch_tokens=1).score(QUERY, pool).scores
    )
    # within a step of rounding that float32's own error may tip, which moves a score by less than a step of 8 bits
    assert np.abs(together - alone).max() < 0.01


@pytest.mark.slow
def test_an_int8_layer_is_exact_for_whole_numbers_and_within_half_a_step_for_others():
    import torch
    from torch import nn

    from lamar_rag.scoring.quantization import Int8Linear

    linear = nn.Linear(3, 2)
    with torch.no_grad():
        linear.weight.copy_(torch.tensor([[127.0, -3.0, 0.0], [1.0, 2.0, -127.0]]))
        linear.bias.copy_(torch.tensor([0.5, -1.0]))
    x = torch.tensor([[[1.0, 127.0, -5.0], [127.0, 0.0, 1.0]]])
    # by hand: 127 - 381 + 0.5, 1 + 254 + 635 - 1; 16129 + 0.5, 127 - 127 - 1
    exact = [[[-253.5, 889.0], [16129.5, -1.0]]]
    assert np.allclose(Int8Linear(linear)(x).tolist(), exact, atol=0.01)
    generator = torch.Generator().manual_seed(0)
    for bias in (True, False):
        linear = nn.Linear(64, 32, bias=bias)
        x = torch.randn(5, 64, generator=generator) * torch.tensor([[1e-3], [1.0], [50.0], [0.0], [1.0]])
        with torch.no_grad():
            error = (Int8Linear(linear)(x) - linear(x)).abs()
            w_step = linear.weight.abs().amax(1) / 127
            x_step = x.abs().amax(1, keepdim=True) / 127
            worst = (
                x.abs().sum(1, keepdim=True) * w_step / 2
                + linear.weight.abs().sum(1) * x_step / 2
                + 64 * w_step * x_step / 4
            )
        assert (error <= worst + 1e-5).all()
        assert error.max() > 0


@pytest.mark.slow
def test_int8_elsewhere_than_on_a_cpu_is_named(folder, monkeypatch):
    import torch

    from lamar_rag.scoring import model_loading

    scorer = CrossEncoderScorer(folder, device="cuda", dtype="int8")
    expected = "dtype='int8' on device cuda" if torch.cuda.is_available() else "torch sees 0 GPUs"
    with pytest.raises(ValueError, match=expected):
        scorer.score(QUERY, documents(1))
    monkeypatch.setattr(model_loading, "torch_device", lambda _: torch.device("cuda:0"))
    with pytest.raises(
        ValueError, match=r"dtype='int8' on device cuda:0, expected a CPU: use dtype='bfloat16'"
    ):
        scorer.score(QUERY, documents(1))


def test_probabilities_by_hand():
    scores = np.array([-10.0, 0.0, 5.0, 8.0, 8.1], dtype=np.float32)
    zerank = CausalLMScorer("x", find_recipe("zerank-2")).probability(scores)
    # sigmoid of -2, 0, 1, 1.6, 1.62
    assert np.abs(zerank - [0.1192029, 0.5, 0.7310586, 0.8320184, 0.8347946]).max() < 1e-6
    lamar = CrossEncoderScorer("x", find_recipe("lamar-600m")).probability(scores)
    assert np.abs(lamar - [4.5397869e-05, 0.5, 0.9933071, 0.9996646, 0.9996965]).max() < 1e-7
    assert lamar[3] != lamar[4]
    extreme = logit_probability(np.array([-1e30, 1e30], dtype=np.float32))
    assert extreme.tolist() == [0.0, 1.0]
    assert lamar.dtype == zerank.dtype == np.float32


def test_probabilities_are_none_where_the_authors_give_none():
    scores = np.array([0.5], dtype=np.float32)
    assert CausalLMScorer("x", find_recipe("ctxl-rerank-v2-1b")).probability(scores) is None
    assert ListwiseScorer("x", find_recipe("jina-reranker-v3")).probability(scores) is None
    assert ListwiseScorer("x").probability(scores) is None
    scales = {recipe.short_name: recipe.probability_scale for recipe in RECIPES}
    assert [name for name, scale in scales.items() if scale is None] == [
        "jina-reranker-v3",
        "ctxl-rerank-v2-1b",
    ]
    assert [name for name, scale in scales.items() if scale not in (None, 1.0)] == ["zerank-2"]


@pytest.mark.slow
def test_a_reranker_hands_the_probability_on(qwen3):
    pool = documents(5)
    for recipe, scale in (("zerank-2", 5.0), ("qwen3-reranker-0.6b", 1.0), ("ctxl-rerank-v2-1b", None)):
        with Reranker(qwen3, recipe=recipe, device="cpu") as reranker:
            for row in reranker.rerank(QUERY, pool):
                if scale is None:
                    assert row.probability is None
                else:
                    assert abs(row.probability - 1 / (1 + np.exp(-row.relevance / scale))) < 1e-6
