"""The first stage of an evaluation: what an embedder finds among all passages in all languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lamar_rag.checks import check_count
from lamar_rag.evaluation.parallel_corpus import ParallelCorpus

if TYPE_CHECKING:
    import numpy.typing as npt

    from lamar_rag.types import Embedder

CANDIDATES = 20


class FirstStage:
    """Exact search over a parallel corpus by cosine; ties go to the document that comes first in the corpus.

    Args:
        corpus: whose passages are searched and whose queries are asked.
        embedder: a `CachedEmbedder` embeds everything once for all runs.
        candidates: that a query gets (LAMAR, table 6: 20).
        name: as results call it; by default the embedder's, with the centring where there is one.
        progress: show a progress bar on stderr while texts are embedded.
    """

    def __init__(
        self,
        corpus: ParallelCorpus,
        embedder: Embedder,
        *,
        candidates: int = CANDIDATES,
        name: str | None = None,
        progress: bool = False,
    ) -> None:
        check_count("candidates", candidates)
        self.corpus, self.embedder, self.candidates = corpus, embedder, candidates
        self._name, self._progress = name, progress
        self._passages: npt.NDArray[np.float64] | None = None

    @property
    def name(self) -> str:
        """What results call it."""
        return self._name or self.embedder.model + (
            f" ({self.embedder.centring})" if self.embedder.centring else ""
        )

    @property
    def setting(self) -> dict[str, str | int]:
        """What a result says of its first stage."""
        return {"first_stage": self.name, "candidates": self.candidates}

    def similarities(self, language: str) -> npt.NDArray[np.float64]:
        """Return the cosines of a language's queries with all documents, shape (queries, documents)."""
        if self._passages is None:
            documents = self.corpus.documents()
            vectors = self.embedder.embed(
                [document.text for document in documents],
                "passage",
                languages=[str(document.language) for document in documents],
                progress=self._progress,
            )
            self._passages = vectors.astype(np.float64)
        texts = [query.text for query in self.corpus.queries[language]]
        queries = self.embedder.embed(
            texts, "query", languages=[language] * len(texts), progress=self._progress
        )
        return np.asarray(queries.astype(np.float64) @ self._passages.T)

    def orders(self, language: str, count: int) -> npt.NDArray[np.intp]:
        """Return the places in `corpus.documents()` of each query's best documents, shape (queries, count)."""
        similarities = self.similarities(language)
        return np.argsort(-similarities, axis=1, kind="stable")[:, :count]
