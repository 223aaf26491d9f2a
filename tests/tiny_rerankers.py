"""Tiny rerankers of the registry's architectures, with random weights and real tokenizers, built in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from tiny_models import WORDS, tiny_cross_encoder, tiny_tokenizer

# The pre-tokenizers' rules that Qwen's and Llama 3's tokenizer.json hold.
QWEN_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LLAMA3_SPLIT = QWEN_SPLIT.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
CHAT_SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>"]
JINA_SPECIALS = [*CHAT_SPECIALS, "<|embed_token|>", "<|rerank_token|>"]
LLAMA_SPECIALS = ["<|begin_of_text|>", "<|end_of_text|>"]
GEMMA_SPECIALS = ["<pad>", "<eos>", "<bos>", "<unk>"]
SMALL = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
DECODER = {**SMALL, "num_key_value_heads": 2, "head_dim": 8, "initializer_range": 0.3}


def training_texts() -> Iterator[str]:
    """The texts that tokenizers are trained on: the shipped sample corpus, and the words of the prompts."""
    from lamar_rag.sample_corpus import sample_documents

    yield from (document.text for document in sample_documents())
    yield from ["yes", "no", "Yes", "No"] * 500  # answers are read off one token
    yield from ["Query Document Instruct passage question query user system assistant"] * 50


def byte_level_tokenizer(split: str, specials: list[str], *, begin: str | None = None):
    """A byte-level BPE tokenizer as Qwen and Llama 3 have it, trained on the sample corpus."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    backend.normalizer = normalizers.NFC()
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(split), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=1500, special_tokens=specials, initial_alphabet=alphabet, show_progress=False
    )
    backend.train_from_iterator(training_texts(), trainer)
    if begin is not None:
        backend.post_processor = processors.TemplateProcessing(
            single=f"{begin} $A", special_tokens=[(begin, backend.token_to_id(begin))]
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token=begin, eos_token=specials[0] if begin is None else specials[1]
    )


def gemma_tokenizer():
    """A BPE tokenizer over whole texts with blanks as `▁`, as Gemma has it."""
    from tokenizers import Tokenizer, models, normalizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE(unk_token="<unk>"))
    backend.normalizer = normalizers.Replace(" ", "▁")
    trainer = trainers.BpeTrainer(
        vocab_size=1500, special_tokens=GEMMA_SPECIALS, max_token_length=8, show_progress=False
    )
    backend.train_from_iterator(training_texts(), trainer)
    backend.post_processor = processors.TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", 2)])
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<bos>", eos_token="<eos>", pad_token="<pad>", unk_token="<unk>"
    )


def _save(folder: Path, model, tokenizer, *, pad: str | None = None) -> Path:
    tokenizer.pad_token = pad or tokenizer.pad_token or tokenizer.eos_token
    tokenizer.padding_side = "left"
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def tiny_qwen3(folder: Path, specials: list[str] = CHAT_SPECIALS) -> Path:
    """Save a random Qwen3 causal language model."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(1)
    tokenizer = byte_level_tokenizer(QWEN_SPLIT, specials)
    config = Qwen3Config(
        vocab_size=len(tokenizer), max_position_embeddings=40960, tie_word_embeddings=True, **DECODER
    )
    return _save(folder, Qwen3ForCausalLM(config), tokenizer)


def tiny_qwen35(folder: Path) -> Path:
    """Save a random Qwen3.5 text model: linear attention in three layers of four."""
    import torch
    from transformers import Qwen3_5ForCausalLM, Qwen3_5TextConfig

    torch.manual_seed(2)
    tokenizer = byte_level_tokenizer(QWEN_SPLIT, CHAT_SPECIALS)
    config = Qwen3_5TextConfig(
        vocab_size=len(tokenizer),
        **{**DECODER, "num_hidden_layers": 4, "initializer_range": 0.1},
        linear_num_key_heads=2,
        linear_num_value_heads=4,
        linear_key_head_dim=8,
        linear_value_head_dim=8,
        max_position_embeddings=40960,
    )
    return _save(folder, Qwen3_5ForCausalLM(config), tokenizer)


def tiny_gemma(folder: Path) -> Path:
    """Save a random Gemma causal language model."""
    import torch
    from transformers import GemmaConfig, GemmaForCausalLM

    torch.manual_seed(3)
    tokenizer = gemma_tokenizer()
    config = GemmaConfig(
        vocab_size=len(tokenizer), max_position_embeddings=8192, pad_token_id=0, eos_token_id=1, **DECODER
    )
    return _save(folder, GemmaForCausalLM(config), tokenizer)


def tiny_gte(folder: Path) -> Path:
    """Save a random gte sequence classifier with an XLM-R tokenizer."""
    import torch
    from transformers import GteConfig, GteForSequenceClassification

    torch.manual_seed(4)
    tokenizer = tiny_tokenizer()
    tokenizer.model_max_length = 8192
    config = GteConfig(vocab_size=len(tokenizer), num_labels=1, initializer_range=0.3, **SMALL)
    GteForSequenceClassification(config).eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def tiny_jina_v3(folder: Path) -> Path:
    """Save a random Qwen3 body with the projector of jina-reranker-v3 beside it."""
    import torch
    from safetensors.torch import load_file, save_file

    tiny_qwen3(folder, JINA_SPECIALS)
    path = folder / "model.safetensors"
    generator = torch.Generator().manual_seed(5)
    projector = {
        "projector.0.weight": torch.randn(16, 32, generator=generator) * 0.3,
        "projector.2.weight": torch.randn(16, 16, generator=generator) * 0.3,
    }
    save_file({**load_file(path), **projector}, path, metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    # as on the hub: a class of the repository's own, which is not needed
    config |= {"architectures": ["JinaForRanking"], "auto_map": {"AutoModel": "modeling.JinaForRanking"}}
    (folder / "config.json").write_text(json.dumps(config))
    tokenizer_config = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer_config | {"model_max_length": 131072}))
    return folder


# A repository's own code in the form of nvidia's: a Llama that sees both ways, mean pooling, one logit.
BIDIRECTIONAL_LLAMA = """
import torch
from torch import nn
from transformers import LlamaConfig, LlamaModel, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput


class BidirectionalConfig(LlamaConfig):
    model_type = "tiny_bidirectional_llama"


class BidirectionalForSequenceClassification(PreTrainedModel):
    config_class = BidirectionalConfig

    def __init__(self, config):
        super().__init__(config)
        self.model = LlamaModel(config)
        for layer in self.model.layers:
            layer.self_attn.is_causal = False
        self.score = nn.Linear(config.hidden_size, config.num_labels, bias=False)
        self.post_init()

    def forward(self, input_ids, attention_mask=None, position_ids=None, **kwargs):
        seen = attention_mask[:, None, None, :].to(self.dtype).expand(-1, 1, input_ids.shape[1], -1)
        mask = (1.0 - seen) * torch.finfo(self.dtype).min
        hidden = self.model(
            input_ids=input_ids, attention_mask=mask, position_ids=position_ids
        ).last_hidden_state
        weights = attention_mask[..., None].to(hidden.dtype)
        pooled = (hidden * weights).sum(1) / weights.sum(1)
        return SequenceClassifierOutput(logits=self.score(pooled))
"""


def tiny_nemotron(folder: Path) -> Path:
    """Save a random bidirectional Llama that is loaded by the folder's own code."""
    import importlib.util

    import torch

    torch.manual_seed(6)
    tokenizer = byte_level_tokenizer(LLAMA3_SPLIT, LLAMA_SPECIALS, begin="<|begin_of_text|>")
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "modeling_bidirectional.py"
    source.write_text(BIDIRECTIONAL_LLAMA)
    spec = importlib.util.spec_from_file_location("modeling_bidirectional", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    config = module.BidirectionalConfig(
        vocab_size=len(tokenizer), num_labels=1, max_position_embeddings=8192, **DECODER
    )
    _save(folder, module.BidirectionalForSequenceClassification(config), tokenizer)
    settings = json.loads((folder / "config.json").read_text())
    settings["auto_map"] = {
        "AutoConfig": "modeling_bidirectional.BidirectionalConfig",
        "AutoModelForSequenceClassification": "modeling_bidirectional.BidirectionalForSequenceClassification",
    }
    (folder / "config.json").write_text(json.dumps(settings))
    return folder


def tiny_xlmr(folder: Path, *, hidden: int = 32, heads: int = 4, words: Sequence[str] = WORDS) -> Path:
    """Save a random XLM-R sequence classifier that reads 512 tokens."""
    tiny_cross_encoder(folder, positions=512, hidden=hidden, heads=heads, words=words)
    tokenizer = tiny_tokenizer(words)
    tokenizer.model_max_length = 512
    tokenizer.save_pretrained(folder)
    return folder
