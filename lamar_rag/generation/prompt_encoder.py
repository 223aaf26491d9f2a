"""From a question and its contexts to the token ids that a causal language model continues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from lamar_rag.generation.context_fitting import fit_contexts
from lamar_rag.generation.prompts import prompt_for
from lamar_rag.generation.special_tokens import special_token_breaker
from lamar_rag.text import replace_surrogates

PromptStyle = Literal["auto", "chat", "example"]


class PromptEncoder:
    """Writes prompts for one tokenizer: through its chat template, or with one worked example.

    Args:
        tokenizer: a transformers tokenizer.
        style: "auto" is chat where the tokenizer has a template.
        budget: most tokens of a prompt; contexts are cut to fit, the last one first.

    Raises:
        ValueError: style "chat" for a tokenizer without a chat template.
    """

    def __init__(self, tokenizer: Any, *, style: PromptStyle, budget: int) -> None:
        has_template = bool(tokenizer.chat_template)
        if style == "chat" and not has_template:
            raise ValueError(
                "got prompt_style='chat' for a tokenizer without a chat template: use prompt_style='example'"
            )
        self.one_line = style == "example" or (style == "auto" and not has_template)
        self._tokenizer = tokenizer
        self._budget = budget
        self._break_special_tokens = special_token_breaker(tokenizer)

    def encode(self, question: str, contexts: Sequence[str], language: str) -> list[int]:
        """Return the prompt's token ids, special tokens included, at most `budget` of them.

        Raises:
            ValueError: the prompt is too long without any context.
        """
        template = prompt_for(language)
        question = self._clean(question)

        def token_ids(kept: Sequence[str]) -> list[int]:
            if self.one_line:
                ids: list[int] = self._tokenizer(template.completion(question, kept)).input_ids
                return ids
            return self._chat_ids(template.messages(question, kept))

        texts = [self._clean(text) for text in contexts]
        return token_ids(fit_contexts(texts, self._budget, lambda kept: len(token_ids(kept))))

    def _clean(self, text: str) -> str:
        return self._break_special_tokens(replace_surrogates(text))

    def _chat_ids(self, messages: list[dict[str, str]]) -> list[int]:
        """A template that knows no system role gets the instruction in the user's message."""
        from jinja2.exceptions import TemplateError

        options = {"tokenize": False, "add_generation_prompt": True, "enable_thinking": False}
        try:
            text = self._tokenizer.apply_chat_template(messages, **options)
        except TemplateError:
            content = "\n\n".join(message["content"] for message in messages)
            text = self._tokenizer.apply_chat_template([{"role": "user", "content": content}], **options)
        # the template has written the special tokens already
        ids: list[int] = self._tokenizer(text, add_special_tokens=False).input_ids
        return ids
