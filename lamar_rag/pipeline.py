"""RagPipeline: retrieve, rerank, generate."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lamar_rag.closing import Closing
from lamar_rag.languages import detect_language, normalize_language
from lamar_rag.preference import LanguagePreference
from lamar_rag.profiles import DEFAULT_PROFILE, Profile, get_profile
from lamar_rag.reranker import Reranker
from lamar_rag.types import Answer, Candidate, Generator, RankedDocument, Retriever

if TYPE_CHECKING:
    from collections.abc import Iterator


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
        generator = self._generator()
        kept = self.top_n if top_n is None else top_n
        _check_numbers(kept, self.candidates)
        timings: dict[str, float] = {}
        with _stage(timings, "language"):
            code = normalize_language(language) if language else detect_language(question)
        with _stage(timings, "retrieve"):
            found = self.retriever.search(question, self.candidates, query_language=code)
        with _stage(timings, "rerank"):
            contexts = self._rerank(question, found, code, kept, preference)
        with _stage(timings, "generate"):
            text = generator.generate(question, contexts, language=code)
        timings["total"] = sum(timings.values())
        return Answer(
            question=question,
            answer=text.text,
            found=text.found,
            language=code,
            contexts=tuple(contexts),
            candidates=tuple(found),
            timings_ms=timings,
            source=text.source,
        )

    def ask_many(
        self, questions: Sequence[str], *, languages: Sequence[str] | None = None, progress: bool = False
    ) -> list[Answer]:
        """Return the answers to several questions, in their order; each equals what `ask` returns.

        Raises:
            ValueError: another number of languages than of questions.
        """
        if languages is not None and len(languages) != len(questions):
            raise ValueError(
                f"got {len(languages)} languages for {len(questions)} questions: give one code a question"
            )
        codes = list(languages) if languages is not None else [None] * len(questions)
        if not progress:
            return [self.ask(q, language=code) for q, code in zip(questions, codes, strict=True)]
        from lamar_rag.progress import progress_bar

        answers = []
        with progress_bar("answering", len(questions)) as advance:
            for question, code in zip(questions, codes, strict=True):
                answers.append(self.ask(question, language=code))
                advance(1)
        return answers

    def close(self) -> None:
        """Free the memory of the models and the index."""
        self.reranker.close()
        for part in (self.generator, getattr(self.retriever, "embedder", None), self.retriever):
            close = getattr(part, "close", None)
            if close is not None:
                close()

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


@contextmanager
def _stage(timings: dict[str, float], name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    timings[name] = (time.perf_counter() - start) * 1000.0
