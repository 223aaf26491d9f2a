"""Answers from any causal language model that transformers loads."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from lamar_rag.closing import Closing
from lamar_rag.generation.causal_lm import CausalLM, load_causal_lm
from lamar_rag.generation.prompt_encoder import PromptEncoder, PromptStyle
from lamar_rag.generation.prompts import not_found_reply
from lamar_rag.generation.replies import ReplyStream, read_reply, reply_is_complete, trimmed_reply
from lamar_rag.torch_options import free_memory
from lamar_rag.types import GeneratedText, RankedDocument

Dtype = Literal["float32", "bfloat16", "float16", "auto"]
Item = tuple[str, Sequence[RankedDocument], str]  # question, contexts, language


class TransformersGenerator(Closing):
    """Writes answers with a causal language model, greedily, in the question's language.

    The model is loaded on first use. Threads may share a generator: their calls wait for each other.
    As a context manager it frees the model at the end.

    Args:
        model: a folder, an embedded model's name ("smollm2-135m-instruct", "gemma3-270m") or a hub id.
        device: torch device; the GPU if there is one, when None.
        dtype: the weights' type; "auto" takes the checkpoint's own.
        max_new_tokens: most tokens of a reply.
        batch_size: questions answered at once by `generate_many`.
        prompt_style: "chat" uses the tokenizer's chat template, "example" shows one worked example and
            takes the first line of what follows (base models); "auto" is chat where there is a template.
        max_input_tokens: longest prompt; the model's own window where that is shorter. Contexts are cut
            to fit, the last one first; instructions and question never are.
        trust_remote_code: run code that the checkpoint brings along.

    Raises:
        ValueError: an option outside its range. On first use: what `load_causal_lm` raises.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        device: str | None = None,
        dtype: Dtype = "float32",
        max_new_tokens: int = 64,
        batch_size: int = 8,
        prompt_style: PromptStyle = "auto",
        max_input_tokens: int = 4096,
        trust_remote_code: bool = False,
    ) -> None:
        counts = {
            "max_new_tokens": max_new_tokens,
            "batch_size": batch_size,
            "max_input_tokens": max_input_tokens,
        }
        for option, count in counts.items():
            if count < 1:
                raise ValueError(f"got {option}={count}, expected at least 1")
        _check_choice("prompt_style", prompt_style, get_args(PromptStyle))
        _check_choice("dtype", dtype, get_args(Dtype))
        self._model = model
        self._options: dict[str, Any] = {
            "device": device,
            "dtype": dtype,
            "trust_remote_code": trust_remote_code,
        }
        self._max_new_tokens = max_new_tokens
        self._batch_size = batch_size
        self._prompt_style = prompt_style
        self._max_input_tokens = max_input_tokens
        self._lock = threading.RLock()
        self._loaded: tuple[CausalLM, PromptEncoder] | None = None

    @property
    def name(self) -> str:
        """The model's name, as it was given."""
        return str(self._model)

    def generate(self, question: str, contexts: Sequence[RankedDocument], *, language: str) -> GeneratedText:
        """Answer one question from the contexts, in `language`.

        Without contexts the reply is the language's not-found reply, and the model isn't asked.

        Raises:
            ValueError: the question alone does not fit into the model.
        """
        return self.generate_many([(question, contexts, language)])[0]

    def generate_many(self, items: Sequence[Item]) -> list[GeneratedText]:
        """Answer many questions in batches: items are (question, contexts, language), results in order.

        The texts are those that `generate` gives one by one.
        """
        results = {
            i: GeneratedText(not_found_reply(language), found=False)
            for i, (_, contexts, language) in enumerate(items)
            if not _has_text(contexts)
        }
        asked = [i for i in range(len(items)) if i not in results]
        if asked:
            with self._lock:
                self._answer(items, asked, results)
        return [results[i] for i in range(len(items))]

    def stream(self, question: str, contexts: Sequence[RankedDocument], *, language: str) -> Iterator[str]:
        """Yield the pieces of the text that `generate` returns, as they are written.

        Closing the iterator early stops the model.
        """
        if not _has_text(contexts):
            yield not_found_reply(language)
            return
        pieces: queue.SimpleQueue[str | BaseException | None] = queue.SimpleQueue()
        cancelled = threading.Event()
        # The model runs in a thread of its own, so that the lock is never held by a slow reader.
        worker = threading.Thread(
            target=self._stream_into, args=(pieces, cancelled, (question, contexts, language)), daemon=True
        )
        worker.start()
        try:
            while (piece := pieces.get()) is not None:
                if isinstance(piece, BaseException):
                    raise piece
                yield piece
        finally:
            cancelled.set()
            worker.join()

    def close(self) -> None:
        """Free the model's memory; the next call loads it again."""
        with self._lock:
            self._loaded = None
        free_memory()

    def _load(self) -> tuple[CausalLM, PromptEncoder]:
        """Return the model and the writer of its prompts; the caller holds the lock."""
        if self._loaded is None:
            model = load_causal_lm(self._model, **self._options)
            budget = self._max_input_tokens
            if model.window is not None:
                budget = min(budget, model.window - self._max_new_tokens)
            self._loaded = model, PromptEncoder(model.tokenizer, style=self._prompt_style, budget=budget)
        return self._loaded

    def _answer(self, items: Sequence[Item], asked: Sequence[int], results: dict[int, GeneratedText]) -> None:
        model, encoder = self._load()
        one_line = encoder.one_line
        prompts = {i: _prompt(encoder, items[i]) for i in asked}
        order = sorted(asked, key=lambda i: len(prompts[i]))  # alike lengths together: little padding

        def watch(rows: Sequence[Sequence[int]]) -> list[bool]:
            return [one_line and reply_is_complete(model.decode(row)) for row in rows]

        for start in range(0, len(order), self._batch_size):
            batch = order[start : start + self._batch_size]
            rows = model.complete([prompts[i] for i in batch], self._max_new_tokens, watch)
            for i, row in zip(batch, rows, strict=True):
                text = trimmed_reply(model.decode(row), one_line=one_line)
                results[i] = read_reply(text, items[i][1], items[i][2])

    def _stream_into(
        self, pieces: queue.SimpleQueue[str | BaseException | None], cancelled: threading.Event, item: Item
    ) -> None:
        try:
            with self._lock:
                self._stream(pieces, cancelled, item)
            pieces.put(None)
        except BaseException as error:  # handed to the reader's thread, which raises it
            pieces.put(error)

    def _stream(
        self, pieces: queue.SimpleQueue[str | BaseException | None], cancelled: threading.Event, item: Item
    ) -> None:
        model, encoder = self._load()
        reply = ReplyStream(model.decode, one_line=encoder.one_line)

        def watch(rows: Sequence[Sequence[int]]) -> list[bool]:
            if piece := reply.push(rows[0][reply.count :]):
                pieces.put(piece)
            return [reply.is_complete or cancelled.is_set()]

        model.complete([_prompt(encoder, item)], self._max_new_tokens, watch)
        if piece := reply.finish():
            pieces.put(piece)


def _prompt(encoder: PromptEncoder, item: Item) -> list[int]:
    question, contexts, language = item
    return encoder.encode(question, [context.document.text for context in contexts], language)


def _has_text(contexts: Sequence[RankedDocument]) -> bool:
    return any(context.document.text.strip() for context in contexts)


def _check_choice(option: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise ValueError(f"got {option}='{value}', expected one of: {', '.join(choices)}")
