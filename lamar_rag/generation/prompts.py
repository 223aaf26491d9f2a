"""Prompts in the question's language. The texts are data, in `prompts.toml` beside this file."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from lamar_rag.languages import UNDETERMINED, english_name, normalize_language

FALLBACK_LANGUAGE = "en"

# A document must not be able to close its fence or to open another.
_FENCE = re.compile(r"<(?=\s*/?\s*document\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """The texts of one language.

    `language` is the language that the template is written in, `answer_language` the one that it asks
    the answer to be in. They differ where a language has no table of its own: then the English
    template asks for an answer in that language by name.
    """

    language: str
    answer_language: str
    instruction: str
    not_found: str
    context_label: str
    question_label: str
    answer_label: str
    example_context: str
    example_question: str
    example_answer: str

    def messages(self, question: str, contexts: Sequence[str]) -> list[dict[str, str]]:
        """Return the chat messages (system, user) for a question and its documents' texts.

        Each document stands in a numbered fence that its own text cannot close.
        """
        fenced = "\n".join(
            f'<document id="{number}">\n{_FENCE.sub("‹", text.strip())}\n</document>'
            for number, text in enumerate(contexts, 1)
        )
        user = f"{self.context_label}:\n{fenced}\n\n{self.question_label}: {_one_line(question)}"
        return [{"role": "system", "content": self.instruction}, {"role": "user", "content": user}]

    def completion(self, question: str, contexts: Sequence[str]) -> str:
        """Return the text that a base model continues: instruction, worked example, then the question.

        Each document is put on one numbered line, so that none can write a label of its own; the answer
        is what follows, up to the first newline.
        """
        example = self._block([self.example_context], self.example_question)
        asked = self._block(contexts, question)
        return f"{self.instruction}\n\n{example} {self.example_answer}\n\n{asked}"

    def _block(self, contexts: Sequence[str], question: str) -> str:
        lines = [f"[{number}] {_one_line(text)}" for number, text in enumerate(contexts, 1)]
        return "\n".join(
            [
                f"{self.context_label}:",
                *lines,
                f"{self.question_label}: {_one_line(question)}",
                f"{self.answer_label}:",
            ]
        )


@cache
def _tables() -> dict[str, dict[str, str]]:
    text = files("lamar_rag.generation").joinpath("prompts.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def prompt_languages() -> tuple[str, ...]:
    """Return the languages that have a template of their own."""
    return tuple(_tables())


@cache
def prompt_for(language: str) -> PromptTemplate:
    """Return the template for a question's language (any form that `normalize_language` reads).

    A language without a template of its own gets the English one, which asks for an answer in that
    language by its English name ("in the language of the question" where it is undetermined); the
    template's `language` then is "en", and its not-found reply is English.

    Raises:
        ValueError: not a language code.
    """
    code = normalize_language(language)
    written_in = code if code in _tables() else FALLBACK_LANGUAGE
    table = _tables()[written_in]
    name = "the language of the question" if code == UNDETERMINED else english_name(code)
    instruction = table["instruction"].format(language=name, not_found=table["not_found"])
    return PromptTemplate(language=written_in, answer_language=code, **{**table, "instruction": instruction})


def not_found_reply(language: str) -> str:
    """Return the fixed reply that says, in the language, that the contexts hold no answer."""
    return prompt_for(language).not_found


def is_not_found(text: str, language: str) -> bool:
    """Tell whether a generator's text says that there is no answer.

    True for the not-found reply of the language, or the English one (models fall back to it), whatever
    its case, punctuation and spacing and whatever follows it; also for a text without letters or digits.
    """
    said = _letters(text)
    return not said or said.startswith((_letters(not_found_reply(language)), _letters(not_found_reply("en"))))


def _letters(text: str) -> str:
    """Casefold, and keep letters, their marks and digits alone."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    folded = folded.replace("\u0131", "i").replace("\u0307", "")  # the Turkish i's, whose case is their own
    return "".join(char for char in folded if unicodedata.category(char)[0] in "LMN")


def _one_line(text: str) -> str:
    return " ".join(text.split())
