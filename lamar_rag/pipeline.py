"""RagPipeline: retrieve, rerank, generate."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from lamar_rag.closing import Closing
from lamar_rag.languages import detect_language, detect_languages, normalize_language
from lamar_rag.preference import LanguagePreference
from lamar_rag.profiles import DEFAULT_PROFILE, Profile, get_profile
from lamar_rag.progress import progress_bar
from lamar_rag.reranker import Reranker
from lamar_rag.types import Answer, Candidate, GeneratedText, Generator, RankedDocument, Retriever

if TYPE_CHECKING:
    from collections.abc import Iterator

_BATCH = 32  # questions answered together by ask_many


class RagPipeline(Closing):
    """Answers questions from a corpus: first stage, reranker, generator.

    Args:
        retriever: the first stage, such as a `FaissIndex`.
        reranker: orders all candidates; the cut to `top_n` comes after it.
        generator: writes (or quotes) the answer; None for `search` alone.
        candidates: how many documents the first stage returns.
        top_n: how many the generator reads.

    Raises:
        ValueError: `candidates` or `top_n` below 1, or `top_n` above `candidates`.
    """

    def __init__(
        self,
        retriever: Retriever,
        reranker: Reranker,
        generator: Generator | None = None,
        *,
        candidates: int = 20,
        top_n: int = 3,
    ) -> None:
        _check_numbers(top_n, candidates)
        self.retriever, self.reranker, self.generator = retriever, reranker, generator
        self.candidates, self.top_n = candidates, top_n

    @classmethod
    def from_index(cls, folder: str | Path, profile: Profile | str = DEFAULT_PROFILE) -> RagPipeline:
        """Return the pipeline of a profile over a saved index.

        Raises:
            ValueError: no index there, or one that was built with another embedder than the profile's.
        """
        from lamar_rag.pipeline_parts import build_embedder, build_generator, build_reranker
        from lamar_rag.retrieval.faiss_index import FaissIndex

        chosen = get_profile(profile) if isinstance(profile, str) else profile
        embedder = build_embedder(chosen)
        index = FaissIndex.load(folder, embedder)
        reranker = build_reranker(chosen, index, embedder)
        generator = build_generator(chosen.generator, reranker)
        return cls(index, reranker, generator, candidates=chosen.candidates, top_n=chosen.top_n)

    def search(
        self,
        query: str,
        *,
        language: str | None = None,
        candidates: int | None = None,
        top_n: int | None = None,
        preference: LanguagePreference | None = None,
    ) -> list[RankedDocument]:
        """Return the reranked documents for a query, without an answer."""
        wanted = self.candidates if candidates is None else candidates
        kept = self.top_n if top_n is None else top_n
        _check_numbers(kept, wanted)
        code = normalize_language(language) if language else detect_language(query)
        found = self.retriever.search(query, wanted, query_language=code)
        return self._rerank(query, found, code, kept, preference)

    def ask(
        self,
        question: str,
        *,
        language: str | None = None,
        top_n: int | None = None,
        preference: LanguagePreference | None = None,
    ) -> Answer:
        """Return the answer to a question, with its contexts, candidates and milliseconds per stage.

        `language` is detected where it is not given; the answer is in it where the generator can.

        Raises:
            ValueError: the pipeline has no generator, `language` is unknown, or `top_n` is out of range.
        """
        kept = self.top_n if top_n is None else top_n
        _check_numbers(kept, self.candidates)
        codes = [normalize_language(language)] if language else None
        return self._ask_batch([question], codes, kept, preference)[0]

    def ask_many(
        self, questions: Sequence[str], *, languages: Sequence[str] | None = None, progress: bool = False
    ) -> list[Answer]:
        """Return the answers to several questions, in their order: the same as one by one, sooner.

        They are retrieved and generated in batches where the parts can; `timings_ms` is then each question's
        share of its batch.

        Raises:
            ValueError: another number of languages than of questions.
        """
        if languages is not None and len(languages) != len(questions):
            raise ValueError(
                f"got {len(languages)} languages for {len(questions)} questions: give one code a question"
            )
        codes = [normalize_language(code) for code in languages] if languages is not None else None
        answers: list[Answer] = []
        with progress_bar("answering", len(questions)) if progress else nullcontext(_ignore) as advance:
            for start in range(0, len(questions), _BATCH):
                rows = slice(start, start + _BATCH)
                answers += self._ask_batch(questions[rows], codes and codes[rows], self.top_n, None)
                advance(len(answers) - start)
        return answers

    def close(self) -> None:
        """Free the memory of the models and the index."""
        self.reranker.close()
        for part in (self.generator, getattr(self.retriever, "embedder", None), self.retriever):
            close = getattr(part, "close", None)
            if close is not None:
                close()

    def _ask_batch(
        self,
        questions: Sequence[str],
        languages: Sequence[str] | None,
        top_n: int,
        preference: LanguagePreference | None,
    ) -> list[Answer]:
        generator = self._generator()
        timings: dict[str, float] = {}
        with _stage(timings, "language", len(questions)):
            codes = languages or detect_languages(questions)
        with _stage(timings, "retrieve", len(questions)):
            found = self._retrieve(questions, codes)
        with _stage(timings, "rerank", len(questions)):
            asked = list(zip(questions, found, codes, strict=True))
            contexts = [self._rerank(*one, top_n, preference) for one in asked]
        with _stage(timings, "generate", len(questions)):
            texts = _generated(generator, list(zip(questions, contexts, codes, strict=True)))
        timings["total"] = sum(timings.values())
        return [
            Answer(
                question=questions[i],
                answer=text.text,
                found=text.found,
                language=codes[i],
                contexts=tuple(contexts[i]),
                candidates=tuple(found[i]),
                timings_ms=dict(timings),
                source=text.source,
            )
            for i, text in enumerate(texts)
        ]

    def _retrieve(self, questions: Sequence[str], codes: Sequence[str]) -> list[list[Candidate]]:
        search_many = getattr(self.retriever, "search_many", None)
        if search_many is not None:
            return list(search_many(questions, self.candidates, query_languages=codes))
        return [
            self.retriever.search(question, self.candidates, query_language=code)
            for question, code in zip(questions, codes, strict=True)
        ]

    def _rerank(
        self,
        query: str,
        found: Sequence[Candidate],
        language: str,
        top_n: int,
        preference: LanguagePreference | None,
    ) -> list[RankedDocument]:
        documents = [candidate.document for candidate in found]
        return self.reranker.rerank(
            query, documents, top_n=top_n, preference=preference, query_language=language
        )

    def _generator(self) -> Generator:
        if self.generator is None:
            raise ValueError(
                "this pipeline has no generator: use search(), or give one to RagPipeline(generator=...)"
            )
        return self.generator


def _check_numbers(top_n: int, candidates: int) -> None:
    if not 1 <= top_n <= candidates:
        raise ValueError(f"got top_n={top_n} and candidates={candidates}, expected 1 <= top_n <= candidates")


def _generated(
    generator: Generator, items: Sequence[tuple[str, Sequence[RankedDocument], str]]
) -> list[GeneratedText]:
    generate_many = getattr(generator, "generate_many", None)
    if generate_many is not None:
        return list(generate_many(items))
    return [generator.generate(question, contexts, language=code) for question, contexts, code in items]


def _ignore(count: int) -> None:
    """Stand in for a progress bar that is not shown."""


@contextmanager
def _stage(timings: dict[str, float], name: str, questions: int) -> Iterator[None]:
    start = time.perf_counter()
    yield
    timings[name] = (time.perf_counter() - start) * 1000.0 / questions
