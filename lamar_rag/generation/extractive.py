"""Answers that are quoted: the best sentence of the best context."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from lamar_rag.generation.prompts import not_found_reply
from lamar_rag.generation.sentence_splitting import split_sentences
from lamar_rag.types import Document, GeneratedText, RankedDocument, Scorer, ScoringOptions

Splitter = Callable[[str, str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class ScoredSentence:
    """A sentence of a context with the scorer's raw score. `source` is the context's position (from 0)."""

    text: str
    score: float
    source: int


class ExtractiveGenerator:
    """Quotes the best sentence of the best context, word for word; it invents nothing.

    The sentence is in its document's language, whatever the question's language is.

    Args:
        scorer: scores each sentence against the question.
        floor: raw score below which a sentence is no answer; None: it always answers.
        splitter: called with a text and its language code ("und" where it is unknown), returns sentences.

    Raises:
        ValueError: `floor` is not a number.
    """

    def __init__(
        self, scorer: Scorer, *, floor: float | None = None, splitter: Splitter = split_sentences
    ) -> None:
        if floor is not None and math.isnan(floor):
            raise ValueError("got floor=nan, expected a number in the scorer's units, or None for no floor")
        self._scorer = scorer
        self._floor = floor
        self._splitter = splitter

    @property
    def name(self) -> str:
        """The generator's name with the scorer's model."""
        return f"extractive ({self._scorer.model})"

    def scored_sentences(
        self, question: str, contexts: Sequence[RankedDocument], *, language: str
    ) -> list[ScoredSentence]:
        """Return every sentence of the contexts with its score, in reading order.

        `language` is the question's; each sentence goes to the scorer as a document in its context's.
        """
        sentences = [
            (Document(text=sentence, language=context.language), source)
            for source, context in enumerate(contexts)
            for sentence in self._splitter(context.document.text, context.language)
        ]
        if not sentences:
            return []
        documents = [document for document, _ in sentences]
        scores = self._scorer.score(question, documents, ScoringOptions(query_language=language)).scores
        return [
            ScoredSentence(document.text, float(score), source)
            for (document, source), score in zip(sentences, scores, strict=True)
        ]

    def best_sentence(
        self, question: str, contexts: Sequence[RankedDocument], *, language: str
    ) -> ScoredSentence | None:
        """Return the best sentence of the first context that has one at or above the floor; of equal ones the first.

        The contexts' order is the reranker's, language preference included: a stray sentence of a lesser context, or
        one in another language than the reranker put first, does not overrule it. None where no sentence is left.
        """
        scored = self.scored_sentences(question, contexts, language=language)
        if self._floor is not None:
            scored = [sentence for sentence in scored if sentence.score >= self._floor]
        return min(scored, key=lambda sentence: (sentence.source, -sentence.score), default=None)

    def generate(self, question: str, contexts: Sequence[RankedDocument], *, language: str) -> GeneratedText:
        """Return the best sentence and its context's position.

        Where every sentence is below the floor, and without any sentence, it is the not-found reply in `language`.
        """
        best = self.best_sentence(question, contexts, language=language)
        if best is None:
            return GeneratedText(not_found_reply(language), found=False)
        return GeneratedText(best.text, source=best.source)

    def stream(self, question: str, contexts: Sequence[RankedDocument], *, language: str) -> Iterator[str]:
        """Yield the text of `generate` in one piece."""
        yield self.generate(question, contexts, language=language).text
