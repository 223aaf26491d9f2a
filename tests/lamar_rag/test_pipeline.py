from __future__ import annotations

import pytest
from tiny_models import TableScorer

from lamar_rag import LanguagePreference, RagPipeline, Reranker
from lamar_rag.types import Candidate, Document, GeneratedText, Generator, Retriever

DOCUMENTS = [
    Document("first", id="1", language="en"),
    Document("second", id="2", language="de"),
    Document("third", id="3", language="en"),
]
SCORES = {"first": 1.0, "second": 2.0, "third": 3.0}
QUESTION = "Where does the cat sleep during the long winter evenings?"


class ListRetriever:
    """Returns the documents in their order, and remembers what it was asked."""

    def __init__(self, documents=DOCUMENTS):
        self.documents, self.asked, self.closed = documents, [], False

    def search(self, query, k=20, *, query_language=None, languages=None, per_language=None):
        self.asked.append((query, k, query_language))
        return [
            Candidate(document, 1.0 / rank, rank) for rank, document in enumerate(self.documents[:k], start=1)
        ]

    def close(self):
        self.closed = True


class EchoGenerator:
    """Answers with the texts of its contexts."""

    name = "echo"

    def generate(self, question, contexts, *, language):
        if not contexts:
            return GeneratedText("nothing", found=False)
        return GeneratedText(f"{language}: " + " ".join(c.document.text for c in contexts), source=0)

    def stream(self, question, contexts, *, language):
        yield self.generate(question, contexts, language=language).text


def pipeline(**options) -> RagPipeline:
    return RagPipeline(ListRetriever(), Reranker(TableScorer(SCORES)), EchoGenerator(), **options)


def test_the_parts_keep_the_protocols():
    assert isinstance(ListRetriever(), Retriever)
    assert isinstance(EchoGenerator(), Generator)


def test_ask_retrieves_all_candidates_then_cuts():
    pipe = pipeline(top_n=2)
    answer = pipe.ask(QUESTION)
    assert answer.answer == "en: third second"
    assert [context.rank for context in answer.contexts] == [1, 2]
    assert [context.index for context in answer.contexts] == [2, 1]  # the rank before, from 0
    assert [candidate.document.id for candidate in answer.candidates] == ["1", "2", "3"]
    assert (answer.language, answer.found, answer.source) == ("en", True, 0)
    assert pipe.retriever.asked == [(QUESTION, 20, "en")]


def test_every_stage_is_timed():
    timings = pipeline().ask(QUESTION).timings_ms
    assert list(timings) == ["language", "retrieve", "rerank", "generate", "total"]
    assert timings["total"] == pytest.approx(sum(timings[name] for name in list(timings)[:-1]))
    assert all(type(value) is float and value >= 0 for value in timings.values())


def test_language_and_preference_can_be_given_by_call():
    preference = LanguagePreference(weight=9.0)
    answer = pipeline(top_n=1).ask(QUESTION, language="deu_Latn", preference=preference)
    assert answer.answer == "de: second"


def test_ask_many_equals_ask_one_by_one():
    questions = [QUESTION, "Wo schläft die Katze an den langen Winterabenden?"]
    together = pipeline().ask_many(questions, progress=True)
    alone = [pipeline().ask(question) for question in questions]
    assert [(a.answer, a.language, a.contexts) for a in together] == [
        (a.answer, a.language, a.contexts) for a in alone
    ]
    assert [a.language for a in pipeline().ask_many(questions, languages=["fr", "fr"])] == ["fr", "fr"]
    assert pipeline().ask_many([]) == []
    with pytest.raises(ValueError, match="1 languages for 2 questions"):
        pipeline().ask_many(questions, languages=["en"])


def test_parts_that_can_are_asked_in_batches():
    calls = []

    class Batched(ListRetriever):
        def search_many(self, queries, k, *, query_languages):
            calls.append(("search", len(queries)))
            return [
                self.search(q, k, query_language=code)
                for q, code in zip(queries, query_languages, strict=True)
            ]

    class BatchedEcho(EchoGenerator):
        def generate_many(self, items):
            calls.append(("generate", len(items)))
            return [self.generate(question, contexts, language=code) for question, contexts, code in items]

    questions = [f"{QUESTION} {i}" for i in range(40)]
    pipe = RagPipeline(Batched(), Reranker(TableScorer(SCORES)), BatchedEcho())
    answers = pipe.ask_many(questions)
    assert calls == [("search", 32), ("generate", 32), ("search", 8), ("generate", 8)]
    alone = [pipeline().ask(question) for question in questions]
    assert [(a.question, a.answer, a.contexts) for a in answers] == [
        (a.question, a.answer, a.contexts) for a in alone
    ]


def test_an_empty_corpus_is_not_found():
    pipe = RagPipeline(ListRetriever([]), Reranker(TableScorer({})), EchoGenerator())
    answer = pipe.ask(QUESTION)
    assert (answer.found, answer.contexts, answer.candidates, answer.source) == (False, (), (), None)


def test_search_needs_no_generator_and_ask_does():
    pipe = RagPipeline(ListRetriever(), Reranker(TableScorer(SCORES)))
    assert [row.document.id for row in pipe.search(QUESTION, top_n=2)] == ["3", "2"]
    with pytest.raises(ValueError, match="no generator"):
        pipe.ask(QUESTION)


def test_wrong_numbers_are_named():
    for options in ({"top_n": 0}, {"top_n": 30}):
        with pytest.raises(ValueError, match="1 <= top_n <= candidates"):
            pipeline(**options)


def test_zero_is_no_default():
    for options in ({"top_n": 0}, {"candidates": 0}, {"top_n": 50}, {"candidates": 2}):
        with pytest.raises(ValueError, match="1 <= top_n <= candidates"):
            pipeline().search(QUESTION, **options)
    with pytest.raises(ValueError, match="top_n=0"):
        pipeline().ask(QUESTION, top_n=0)


def test_close_reaches_the_parts():
    pipe = pipeline()
    with pipe:
        pass
    assert pipe.retriever.closed
    assert pipe.reranker.scorer.closed == 1
