"""Plain e5 on real corpora: the library's figures agree with a computation written from the definitions alone."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import independent_figures
import numpy as np
import pytest

from lamar_rag import Reranker
from lamar_rag.evaluation import (
    FirstStage,
    ParallelCorpus,
    evaluate_coherence,
    evaluate_rescue,
    evaluate_retrieval,
    open_corpus,
)
from lamar_rag.evaluation.model_opening import ModelOpener

LANGUAGES = {"xquad": ["ar", "en", "th"], "belebele": ["arb_Arab", "eng_Latn", "zho_Hans"]}
PASSAGES = 60  # a language


@pytest.fixture(scope="module", params=["xquad", "belebele"])
def both(request, data_dir, tmp_path_factory):
    """The library's corpus and opener, and the other's corpus with vectors that it asked for itself."""
    opener = ModelOpener(tmp_path_factory.mktemp("vectors"))
    embedder = opener.embedder("multilingual-e5-small@plain")
    corpus = beginning(open_corpus(request.param, data_dir, languages=LANGUAGES[request.param]))
    read = getattr(independent_figures, f"read_{request.param}")(data_dir / request.param)
    languages = [language for language in read.languages if language in corpus.languages]
    other = replace(
        read,
        languages=languages,
        passages={k: read.passages[k][:PASSAGES] for k in languages},
        queries={k: [row for row in read.queries[k] if row[1] < PASSAGES] for k in languages},
    )
    documents = [text for k in languages for text in other.passages[k]]
    matrix = embedder.embed(documents, "passage").astype(np.float64)

    def similarities(language: str):
        queries = embedder.embed([text for text, _ in other.queries[language]], "query")
        return queries.astype(np.float64) @ matrix.T

    return corpus, opener, other, similarities


def beginning(corpus: ParallelCorpus) -> ParallelCorpus:
    """The first passages of a corpus, with their questions."""
    passages = {k: dict(islice(texts.items(), PASSAGES)) for k, texts in corpus.passages.items()}
    queries = {k: [q for q in rows if q.group in passages[k]] for k, rows in corpus.queries.items()}
    return replace(corpus, passages=passages, queries=queries)


@pytest.mark.slow
def test_three_figures_agree(both):
    corpus, opener, other, similarities = both
    reranker = Reranker(opener.scorer("multilingual-e5-small@plain"))
    stage = FirstStage(corpus, opener.embedder("multilingual-e5-small@plain"))
    coherence = evaluate_coherence(reranker, corpus)
    assert independent_figures.coherence(other, similarities) == pytest.approx(dict(coherence.avg), abs=1e-6)
    retrieval = evaluate_retrieval(reranker, stage)
    expected = independent_figures.retrieval(other, similarities)
    assert expected == pytest.approx({**retrieval.first_stage, **retrieval.recall}, abs=1e-6)
    assert expected == pytest.approx({**retrieval.avg, **retrieval.recall}, abs=1e-6)
    rescue = evaluate_rescue(reranker, stage)
    assert independent_figures.rescue(other, similarities) == pytest.approx(dict(rescue.avg), abs=1e-6)
