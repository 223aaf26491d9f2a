"""What a reranker is asked in an evaluation: a query, its candidates, and which documents are relevant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lamar_rag.evaluation.parallel_corpus import ParallelQuery, document_id

if TYPE_CHECKING:
    from lamar_rag.evaluation.first_stage import FirstStage
    from lamar_rag.evaluation.parallel_corpus import ParallelCorpus
    from lamar_rag.types import Document


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A query with its candidates in the first stage's order; `relevant` are ids, also of what is no candidate."""

    query: ParallelQuery
    candidates: tuple[Document, ...]
    relevant: frozenset[str]

    @property
    def id(self) -> str:
        """The query's id in one language, such as "56beb4343aeaaa14008c925b.de"."""
        return f"{self.query.id}.{self.query.language}"


def coherence_queries(corpus: ParallelCorpus) -> list[JudgedQuery]:
    """Return the oracle task: the gold passage in every language, the one in the query's being relevant.

    Candidates stand in the corpus's order of languages, which decides ties (LAMAR, section 5.1).
    """
    by_group: dict[str, list[Document]] = {}
    for document in corpus.documents():
        by_group.setdefault(str(document.metadata["group"]), []).append(document)
    return [
        JudgedQuery(query, tuple(by_group[query.group]), frozenset([document_id(query.group, language)]))
        for language, queries in corpus.queries.items()
        for query in queries
    ]


def retrieval_queries(stage: FirstStage) -> list[JudgedQuery]:
    """Return the first stage's candidates; relevant is the gold passage in the query's language (table 6)."""
    documents = stage.corpus.documents()
    return [
        JudgedQuery(
            query,
            tuple(documents[place] for place in order),
            frozenset([document_id(query.group, language)]),
        )
        for language, queries in stage.corpus.queries.items()
        for query, order in zip(queries, stage.orders(language, stage.candidates).tolist(), strict=True)
    ]


def rescue_queries(stage: FirstStage) -> list[JudgedQuery]:
    """Return candidates of a corpus without the gold passage in the query's language; relevant are its translations."""
    documents = stage.corpus.documents()
    judged = []
    for language, queries in stage.corpus.queries.items():
        others = [k for k in stage.corpus.languages if k != language]
        orders = stage.orders(language, stage.candidates + 1).tolist()
        for query, order in zip(queries, orders, strict=True):
            gold = document_id(query.group, language)
            kept = _without(documents, order, gold)[: stage.candidates]
            relevant = frozenset(document_id(query.group, other) for other in others)
            judged.append(JudgedQuery(query, tuple(kept), relevant))
    return judged


def _without(documents: Sequence[Document], order: Sequence[int], gold: str) -> list[Document]:
    return [documents[place] for place in order if documents[place].id != gold]
