"""Tiny causal language models over bytes, built in memory: with random weights, or reciting a chain."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPECIAL = ["<s>", "</s>", "<pad>", "<|im_start|>", "<|im_end|>"]
POSITIONS = 4096


def byte_tokenizer(*, chat_template: str | None = None, bos: bool = True):
    """A tokenizer of one token a byte, with `<s>` before each text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    pieces = SPECIAL + sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Tokenizer(models.BPE(vocab={piece: i for i, piece in enumerate(pieces)}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(SPECIAL)
    if bos:
        backend.post_processor = processors.TemplateProcessing(
            single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 0)]
        )
    special = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        **special,
        chat_template=chat_template,
        model_max_length=POSITIONS,
    )


def _config(tokenizer, *, hidden: int, positions: int, **more):
    from transformers import LlamaConfig

    return LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        intermediate_size=16,
        num_hidden_layers=2,
        num_attention_heads=1,
        num_key_value_heads=1,
        max_position_embeddings=positions,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=2,
        **more,
    )


def random_causal_lm(folder: Path, *, seed: int = 0, chat_template: str | None = None) -> Path:
    """Save a Llama with random weights, whose next token depends on the whole prompt; return its folder."""
    import torch
    from transformers import LlamaForCausalLM

    torch.manual_seed(seed)
    tokenizer = byte_tokenizer(chat_template=chat_template)
    model = LlamaForCausalLM(_config(tokenizer, hidden=32, positions=POSITIONS, initializer_range=0.5))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def reciting_causal_lm(
    folder: Path,
    successors: Mapping[int, int],
    *,
    chat_template: str | None = None,
    positions: int = POSITIONS,
) -> Path:
    """Save a Llama whose next token is `successors[last token]` (`</s>` for others), whatever came before."""
    import torch
    from transformers import LlamaForCausalLM

    tokenizer = byte_tokenizer(chat_template=chat_template)
    size = len(tokenizer) + len(tokenizer) % 2
    model = LlamaForCausalLM(_config(tokenizer, hidden=size, positions=positions, tie_word_embeddings=False))
    with torch.no_grad():
        for layer in model.model.layers:  # nothing is added to the token's own vector
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        model.model.embed_tokens.weight.copy_(torch.eye(size)[: len(tokenizer)])
        model.lm_head.weight.zero_()
        for token in range(len(tokenizer)):
            model.lm_head.weight[successors.get(token, 1), token] = 1.0
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def chain(text: str, *, then: str = "</s>") -> dict[int, int]:
    """Successors that recite `text` after its first byte; no byte may occur twice in it."""
    tokenizer = byte_tokenizer(bos=False)
    ids = tokenizer(text).input_ids
    assert len(set(ids)) == len(ids), "a byte has one successor"
    return dict(zip(ids, [*ids[1:], tokenizer.convert_tokens_to_ids(then)], strict=True))
