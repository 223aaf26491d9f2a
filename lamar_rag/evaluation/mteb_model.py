"""A reranker as mteb runs models: it orders the candidates that mteb's reranking tasks name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lamar_rag.document_languages import located_documents
from lamar_rag.evaluation.named_model import file_name
from lamar_rag.extras import require
from lamar_rag.languages import UNDETERMINED, detect_language, normalize_language
from lamar_rag.progress import progress_bar
from lamar_rag.scoring.checks import checked_result
from lamar_rag.types import BatchScorer, Document, ScoringRequest

if TYPE_CHECKING:
    from lamar_rag.reranker import Reranker
    from lamar_rag.types import RankedDocument

_CHUNK = 8  # queries that are scored together; fixed, so that equal runs make equal batches and equal scores


class MtebReranker:
    """A reranker, with its language preference, as mteb's `SearchProtocol`.

    Documents that the reranker's `top_n` or `score_threshold` leaves out count as not found. Scores that mteb
    gets are ranks, so its nAUC figures, which read confidence from scores, say nothing.

    Args:
        reranker: orders the documents.
        label: the model's name in results; by default the reranker's.
        setting: what else decides the scores, such as the options of a scorer. mteb's cache tells results apart
            by the label, this, and the reranker's own options.
        progress: show a progress bar on stderr.
    """

    def __init__(
        self,
        reranker: Reranker,
        *,
        label: str | None = None,
        setting: Mapping[str, Any] | None = None,
        progress: bool = False,
    ) -> None:
        self.reranker, self.label, self.setting = reranker, label or reranker.model, dict(setting or {})
        self._progress = progress
        self._corpus: Any = None
        self._places: dict[str, int] = {}
        self._meta: Any = None

    @property
    def mteb_model_meta(self) -> Any:
        """mteb's `ModelMeta`; its revision stands for everything that decides the scores."""
        if self._meta is None:
            models = require("mteb.models.model_meta", extra="eval", purpose="MTEB tasks")
            self._meta = models.ModelMeta.create_empty(
                {
                    "name": f"lamar-rag/{file_name(self.label)}",
                    "revision": self._revision(),
                    "model_type": ["cross-encoder"],
                }
            )
        return self._meta

    def index(self, corpus: Any, **_: Any) -> None:
        """Keep the corpus: a data set with the columns id, text and, if there are titles, title."""
        self._corpus = corpus
        self._places = {document: place for place, document in enumerate(corpus["id"])}

    def search(
        self,
        queries: Any,
        *,
        task_metadata: Any,
        hf_subset: str,
        top_ranked: Mapping[str, Sequence[str]] | None = None,
        **_: Any,
    ) -> dict[str, dict[str, float]]:
        """Return query id -> document id -> a score that falls by one a rank.

        Args:
            queries: a data set with the columns id, text and, if there are any, instruction.
            task_metadata: mteb's, which knows the languages of a subset.
            hf_subset: the subset, mostly named by its language.
            top_ranked: query id -> ids of its candidates.

        Raises:
            ValueError: a task without candidates, a candidate that is not in the corpus, or a query that is no text.
        """
        if top_ranked is None:
            raise ValueError(
                f"got task {task_metadata.name} without candidates (top_ranked), expected a reranking task: "
                "task.convert_to_reranking makes one of a retrieval task"
            )
        language = subset_language(task_metadata, hf_subset)
        texts = _query_texts(queries)
        found: dict[str, dict[str, float]] = {query: {} for query in texts}
        asked = [query for query in texts if top_ranked.get(query)]
        total = sum(len(top_ranked[query]) for query in asked)
        with progress_bar(f"{task_metadata.name} {hf_subset}", total, shown=self._progress) as advance:
            for start in range(0, len(asked), _CHUNK):
                chunk = asked[start : start + _CHUNK]
                requests = [self._request(texts[query], top_ranked[query], language) for query in chunk]
                for query, ranked in zip(chunk, self._ranked(requests), strict=True):
                    # strictly falling, because trec_eval orders equal scores by id and keeps 24 bits of a score:
                    # the scores themselves, with or without a bonus, could come out in another order than ours
                    found[query] = {row.document.id: float(len(ranked) - row.rank) for row in ranked}
                advance(sum(len(top_ranked[query]) for query in chunk))
        return found

    def _request(self, text: str, candidates: Sequence[str], language: str | None) -> ScoringRequest:
        # Relevant documents come first in mteb's lists of candidates, so that ties broken by their order would
        # lift them. Given by falling id, ties come out as trec_eval, and so mteb, has them for every other model.
        documents = self._documents(sorted(set(candidates), reverse=True))
        if self.reranker.preference.weight:  # as Reranker.rerank does: told once, for scorer and dial
            documents = located_documents(documents)
        code = language if language is not None else detect_language(text)
        return ScoringRequest(text, documents, replace(self.reranker.scoring, query_language=code))

    def _documents(self, ids: Sequence[str]) -> list[Document]:
        unknown = [document for document in ids if document not in self._places]
        if unknown:
            raise ValueError(f"got candidate {unknown[0]}, expected the id of a document of the corpus")
        rows = self._corpus[[self._places[document] for document in ids]]
        titles = rows.get("title") or [None] * len(ids)
        # title and text as mteb joins them for every model
        return [
            Document(f"{title} {text}".strip() if title else text.strip(), id=document)
            for document, title, text in zip(ids, titles, rows["text"], strict=True)
        ]

    def _ranked(self, requests: Sequence[ScoringRequest]) -> list[list[RankedDocument]]:
        """Return what `Reranker.rerank` returns for each request, scored together where the scorer can."""
        reranker = self.reranker
        scorer = reranker.scorer
        if not isinstance(scorer, BatchScorer):
            return [
                reranker.rerank(
                    request.query, request.documents, query_language=request.options.query_language
                )
                for request in requests
            ]
        rankings = []
        for request, result in zip(requests, scorer.score_many(requests), strict=True):
            if isinstance(result, Exception):
                raise result
            scored = checked_result(result, reranker.model, request.documents)
            rankings.append(reranker.order(request.documents, scored, request.options.query_language))
        return rankings

    def _revision(self) -> str:
        reranker = self.reranker
        preference, scoring = reranker.preference, reranker.scoring
        deciding: dict[str, Any] = {
            "label": self.label,
            "setting": self.setting,
            "preference": [preference.weight, preference.preferred, preference.floor],
            "unit": reranker.scorer.spread if preference.weight else None,
            "scoring": [scoring.long_documents, scoring.max_length, scoring.instruction],
            "cut": [reranker.top_n, reranker.score_threshold],
        }
        with suppress(
            ValueError
        ):  # options of a Scorer object cannot be read: label and setting tell it apart
            deciding["options"] = reranker.to_dict()
        written = json.dumps(deciding, sort_keys=True, default=str)
        digest = hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()
        return f"dial-{preference.weight:g}-{digest[:12]}"


def subset_language(metadata: Any, subset: str) -> str | None:
    """Return the code of a subset's language, None where it has several, such as "de-en", or names none.

    mteb's metadata decide, for a subset may be called "default", or "all", which is a language too.

    Args:
        metadata: mteb's `TaskMetadata`.
        subset: such as "de".
    """
    tags = metadata.hf_subsets_to_langscripts.get(subset, ())
    stated = {code for tag in tags if (code := _code(tag)) is not None}
    if len(stated) == 1:
        return stated.pop()
    code = _code(subset) if subset.isalpha() else None
    return code if code in stated or not stated else None


def _code(tag: str) -> str | None:
    try:
        code = normalize_language(tag)
    except ValueError:
        return None
    return None if code == UNDETERMINED else code


def _query_texts(queries: Any) -> dict[str, str]:
    """Return query id -> its text and, as mteb joins them, its instruction."""
    texts = list(queries["text"])
    if "instruction" in queries.column_names:
        told = zip(texts, queries["instruction"], strict=True)
        texts = [text if instruction is None else f"{text} {instruction}" for text, instruction in told]
    for text in texts:
        if not isinstance(text, str):
            raise ValueError(
                f"got a query of type {type(text).__name__}, expected a task whose queries are texts"
            )
    return dict(zip(queries["id"], texts, strict=True))
