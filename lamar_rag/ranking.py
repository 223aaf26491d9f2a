"""The order of scored documents: language preference, threshold, ties by position, the best n."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lamar_rag.document_languages import located_documents
from lamar_rag.languages import normalize_language
from lamar_rag.preference import LanguagePreference
from lamar_rag.scoring.checks import check_spread
from lamar_rag.types import Document, RankedDocument, Scored, Scorer


def ranked_documents(
    documents: Sequence[Document],
    scored: Scored,
    scorer: Scorer,
    preference: LanguagePreference,
    query_language: str,
    *,
    top_n: int | None,
    score_threshold: float | None,
) -> list[RankedDocument]:
    """Return the documents that are kept, the best first.

    Languages are told of all documents where the preference needs them, else of those that are returned.

    Args:
        documents: in the order of the scores.
        scored: raw scores.
        scorer: whose spread is the preference's unit, and who knows its scores' probabilities.
        preference: the language dial.
        query_language: a code.
        top_n: documents to return at most; None returns all.
        score_threshold: documents whose relevance is below it are left out.

    Raises:
        ValueError: another number of scores than of documents.
    """
    if len(scored.scores) != len(documents):
        raise ValueError(
            f"got {len(scored.scores)} scores for {len(documents)} documents: give one a document"
        )
    final = scored.scores
    if preference.weight and len(documents):
        documents = located_documents(documents)
        languages = [normalize_language(str(document.language)) for document in documents]
        language = normalize_language(query_language)
        check_spread(scorer.spread)
        final = preference.apply(final, languages, language, spread=scorer.spread)
    order = np.argsort(-final, kind="stable").tolist()
    kept = [i for i in order if score_threshold is None or scored.scores[i] >= score_threshold][:top_n]
    probabilities = scorer.probability(scored.scores[kept]) if kept else None
    return [
        RankedDocument(
            document=document,
            score=float(final[i]),
            rank=row + 1,
            index=i,
            language=normalize_language(str(document.language)),
            truncated=bool(scored.truncated[i]),
            relevance=float(scored.scores[i]),
            probability=None if probabilities is None else float(probabilities[row]),
        )
        for row, (document, i) in enumerate(
            zip(located_documents([documents[i] for i in kept]), kept, strict=True)
        )
    ]
