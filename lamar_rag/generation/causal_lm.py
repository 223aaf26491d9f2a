"""A causal language model with its tokenizer: loaded, turned to greedy decoding, run on token ids."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lamar_rag.hub import resolve_model
from lamar_rag.torch_options import torch_device

logger = logging.getLogger(__name__)

# What ends a turn in common chat formats; not every model's generation config names its own.
_TURN_ENDS = ("<|im_end|>", "<|eot_id|>", "<|end|>", "<end_of_turn>", "<|end_of_text|>", "<|endoftext|>")

NewTokens = Callable[[Sequence[Sequence[int]]], Sequence[bool]]


@dataclass(frozen=True, slots=True)
class CausalLM:
    """A loaded model. `window` is the longest sequence that it was made for, None where it is not said."""

    tokenizer: Any
    model: Any
    stop_ids: tuple[int, ...]
    pad_id: int
    window: int | None

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of generated tokens, without special ones."""
        text: str = self.tokenizer.decode(
            list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return text

    def complete(
        self, prompts: Sequence[Sequence[int]], max_new_tokens: int, watch: NewTokens
    ) -> list[list[int]]:
        """Continue each prompt greedily and return the new tokens, without the one that stopped it.

        `watch` is called after each step with every row's tokens so far and says which rows are done.
        Prompts are padded on the left, so a row gets the text that it would get alone.
        """
        import torch
        from transformers import StoppingCriteriaList

        longest = max(map(len, prompts))
        padded = [[self.pad_id] * (longest - len(prompt)) + list(prompt) for prompt in prompts]
        mask = [[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts]
        device = self.model.device

        def stop(input_ids: torch.Tensor, _: object, **__: object) -> torch.Tensor:
            rows = [self._until_stop(row) for row in input_ids[:, longest:].tolist()]
            return torch.tensor(watch(rows), dtype=torch.bool, device=input_ids.device)

        with torch.inference_mode():
            output = self.model.generate(
                input_ids=torch.tensor(padded, device=device),  # (B, T)
                attention_mask=torch.tensor(mask, device=device),
                max_new_tokens=max_new_tokens,
                stopping_criteria=StoppingCriteriaList([stop]),
            )
        return [self._until_stop(row) for row in output[:, longest:].tolist()]

    def _until_stop(self, row: Sequence[int]) -> list[int]:
        ends = (i for i, token in enumerate(row) if token in self.stop_ids)
        return list(row[: next(ends, len(row))])


def load_causal_lm(model: str | Path, *, device: str | None, dtype: str, trust_remote_code: bool) -> CausalLM:
    """Load a model by folder, embedded name or hub id (see `lamar_rag.hub.resolve_model`).

    Raises:
        ValueError: the folder holds no causal language model.
        FileNotFoundError: the model is not on this machine and cannot be fetched.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

    folder = resolve_model(model, trust_remote_code=trust_remote_code)
    chosen = torch_device(device)
    logger.info("loading %s on %s as %s", model, chosen, dtype)
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=trust_remote_code)
        network: Any = AutoModelForCausalLM.from_pretrained(
            folder, dtype=dtype, trust_remote_code=trust_remote_code
        )
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).strip().split("\n", 1)[0]
        raise ValueError(
            f"got model '{model}', which does not load as a causal language model ({reason}): "
            "give the folder or hub id of one"
        ) from error
    network.to(chosen)
    network.eval()
    stop_ids = tuple(sorted(set(_stop_ids(tokenizer, network.generation_config))))
    pads = (tokenizer.pad_token_id, *stop_ids, 0)
    pad_id = next(pad for pad in pads if pad is not None)
    # A fresh config: a checkpoint's own may bring sampling or repetition penalties, and is not greedy then.
    network.generation_config = GenerationConfig(  # type: ignore[no-untyped-call]
        do_sample=False, eos_token_id=list(stop_ids) or None, pad_token_id=pad_id
    )
    window = getattr(network.config.get_text_config(), "max_position_embeddings", None)
    return CausalLM(tokenizer, network, stop_ids, pad_id, window)


def _stop_ids(tokenizer: Any, config: Any) -> Iterator[int]:
    for ids in (config.eos_token_id, tokenizer.eos_token_id):
        if ids is not None:
            yield from [ids] if isinstance(ids, int) else ids
    added = tokenizer.get_added_vocab()
    yield from (added[token] for token in _TURN_ENDS if token in added)
