"""Models that must be refused, folders that look like something else, and code that lies elsewhere."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest
from tiny_models import WORDS, tiny_cross_encoder, tiny_tokenizer

from lamar_rag import Document, Reranker, ScoringCancelledError, ScoringOptions, hub
from lamar_rag.scorer_factory import build_scorer
from lamar_rag.scoring.bi_encoder import BiEncoderScorer
from lamar_rag.scoring.causal_lm import CausalLMScorer
from lamar_rag.scoring.cross_encoder import CrossEncoderScorer
from lamar_rag.scoring.packed_attention import ENCODERS, can_pack

QUERY = "the cat sat on a mat"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_cross_encoder(tmp_path_factory.mktemp("cross-encoder"))


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def test_weights_without_a_head_are_refused(tmp_path):
    from transformers import XLMRobertaConfig, XLMRobertaForMaskedLM

    small = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 32}
    config = XLMRobertaConfig(vocab_size=len(tiny_tokenizer()), max_position_embeddings=98, **small)
    XLMRobertaForMaskedLM(config).save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    settings = json.loads((tmp_path / "config.json").read_text())
    write_json(tmp_path / "config.json", settings | {"num_labels": 1, "id2label": {"0": "LABEL_0"}})
    with pytest.raises(ValueError, match=r"lack classifier\.dense\.bias.*its scores would be random"):
        CrossEncoderScorer(tmp_path, device="cpu").score(QUERY, [Document("cat")])


def test_a_class_of_a_repository_is_never_packed(folder):
    from transformers import AutoModelForSequenceClassification

    model = AutoModelForSequenceClassification.from_pretrained(folder)
    assert can_pack(model, ENCODERS)
    foreign = type("Foreign", (type(model),), {"__module__": "transformers_modules.owner.modeling"})
    model.__class__ = foreign
    assert not can_pack(model, ENCODERS)


def test_code_in_another_repository_is_fetched_for_a_trusted_model_alone(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(hub, "_from_hub", lambda repository, wanted: asked.append((repository, wanted)))
    auto_map = {"AutoConfig": "configuration.C", "AutoModel": "owner/code--modeling.M"}
    write_json(tmp_path / "config.json", {"auto_map": auto_map})
    assert hub.resolve_model(tmp_path) == str(tmp_path)
    assert asked == []
    assert hub.resolve_model(tmp_path, trust_remote_code=True) == str(tmp_path)
    assert asked == [("owner/code", ["*.py", "*.json"])]


def test_a_snapshot_without_the_code_it_names_is_not_complete(tmp_path):
    write_json(tmp_path / "config.json", {"auto_map": {"AutoModel": "modeling.M", "AutoConfig": "o/r--c.C"}})
    (tmp_path / "model.safetensors").write_text("x")
    assert hub._is_complete(tmp_path)
    assert not hub._is_complete(tmp_path, with_code=True)
    (tmp_path / "modeling.py").write_text("")
    assert hub._is_complete(tmp_path, with_code=True)


def test_an_embedder_on_a_causal_body_is_an_embedder(tmp_path):
    write_json(tmp_path / "config.json", {"architectures": ["Qwen3ForCausalLM"]})
    modules = [{"type": "sentence_transformers.models.Transformer"}]
    write_json(tmp_path / "modules.json", modules)
    assert isinstance(build_scorer(tmp_path), CausalLMScorer)
    write_json(tmp_path / "modules.json", [*modules, {"type": "sentence_transformers.models.Pooling"}])
    assert isinstance(build_scorer(tmp_path), BiEncoderScorer)


def test_a_folder_goes_before_the_short_name_that_it_is_called_by(folder, tmp_path, monkeypatch):
    (tmp_path / "bge-reranker-v2-m3").symlink_to(folder)
    monkeypatch.chdir(tmp_path)
    expected = CrossEncoderScorer(folder, device="cpu").score(QUERY, [Document("cat")]).scores
    assert np.array_equal(Reranker("bge-reranker-v2-m3", device="cpu").score(QUERY, ["cat"]), expected)


def test_texts_cut_to_the_same_tokens_tie_to_the_last_digit(folder):
    scorer = CrossEncoderScorer(folder, device="cpu", max_length=32)
    words = " ".join(np.random.default_rng(0).choice(WORDS, 40))
    pool = [Document("dog"), Document(words), Document(f"{words} moon"), Document(f"{words} mat dog")]
    scores = scorer.score(QUERY, pool).scores
    assert scores[1] == scores[2] == scores[3]


def test_windows_overlap_by_half_at_most(folder):
    scorer = CrossEncoderScorer(folder, device="cpu", max_length=32, window_overlap=1000)
    encoder = scorer._load().encoder
    encoded = encoder.encode(QUERY, [" ".join(["cat"] * 220)], ScoringOptions(long_documents="windows"))
    lengths = [len(text.ids) for text in encoded.inputs]
    # by hand: 22 tokens a window, 11 further on each: (220 - 22) / 11 + 1
    assert lengths == [32] * 19


class CountingEmbedder:
    """An embedder that counts, and sets an event after its first documents."""

    model, dimension, centring = "counting", 2, None

    def __init__(self, event):
        self.event, self.embedded = event, 0

    def truncated(self, texts, kind):
        return np.zeros(len(texts), dtype=np.bool_)

    def embed(self, texts, kind, *, languages=None, progress=False):
        if kind == "passage":
            self.embedded += len(texts)
            self.event.set()
        return np.tile(np.array([[0.6, 0.8]], dtype=np.float32), (len(texts), 1))


def test_an_embedder_stops_between_its_documents_and_takes_no_length():
    event = threading.Event()
    embedder = CountingEmbedder(event)
    scorer = BiEncoderScorer(embedder)
    pool = [Document(f"d{i}", language="en") for i in range(1000)]
    with pytest.raises(ScoringCancelledError):
        scorer.score("q", pool, ScoringOptions(cancel=event))
    assert 0 < embedder.embedded < 1000
    assert np.allclose(scorer.score("q", pool).scores, 1.0)
    with pytest.raises(ValueError, match="got max_length for the embedder counting"):
        scorer.score("q", pool, ScoringOptions(max_length=64))


@pytest.mark.parametrize("spread", [-1.0, 0.0, float("nan"), "x", True])
def test_a_spread_is_a_positive_number(spread):
    with pytest.raises(ValueError, match="got spread="):
        CrossEncoderScorer("x", spread=spread)
    with pytest.raises(ValueError, match="got spread="):
        BiEncoderScorer(CountingEmbedder(threading.Event()), spread=spread)


def test_an_instruction_for_a_model_that_takes_none_is_refused(folder):
    with pytest.raises(ValueError, match="got an instruction for a model that takes none"):
        Reranker(folder, device="cpu", instruction="find cats").score(QUERY, ["cat"])
