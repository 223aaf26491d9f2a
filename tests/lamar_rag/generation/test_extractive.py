from __future__ import annotations

import pytest
from tiny_models import TableScorer

from lamar_rag.generation.extractive import ExtractiveGenerator, ScoredSentence
from lamar_rag.types import Document, GeneratedText, Generator, RankedDocument

BRIDGE = "The bridge is very old. It was built by Maria Keller. Many people cross it daily."
RIVER = "The river is quite long. It was built by Maria Keller. It has many fish."
TABLE = {
    "The bridge is very old.": 0.5,
    "It was built by Maria Keller.": 2.0,
    "Many people cross it daily.": -1.0,
    "The river is quite long.": 0.0,
    "It has many fish.": 1.0,
    "Der Fluss ist lang.": 3.0,
}


def context(text, language="en"):
    return RankedDocument(Document(text), 1.0, 1, 0, language, False, 1.0)


def generator(**options):
    return ExtractiveGenerator(TableScorer(TABLE), **options)


def test_it_is_a_generator_with_its_scorers_name():
    assert isinstance(generator(), Generator)
    assert generator().name == "extractive (table)"


def test_the_best_sentence_is_quoted_with_its_source():
    contexts = [context(BRIDGE), context("Der Fluss ist lang.", "de")]
    # the first context has the say, though the second holds a sentence with a higher score
    expected = "It was built by Maria Keller."
    assert generator().generate("Who?", contexts, language="en") == GeneratedText(expected, source=0)
    assert list(generator().stream("Who?", contexts, language="en")) == [expected]
    # above the floor only the second has one
    only = generator(floor=2.5).generate("Who?", contexts, language="en")
    assert only == GeneratedText("Der Fluss ist lang.", source=1)


def test_of_equal_sentences_the_first_wins():
    result = generator().generate("Who?", [context(RIVER), context(BRIDGE)], language="en")
    assert result == GeneratedText("It was built by Maria Keller.", found=True, source=0)


def test_scored_sentences_come_in_reading_order():
    scored = generator().scored_sentences("Who?", [context(RIVER), context(BRIDGE)], language="en")
    assert scored == [
        ScoredSentence("The river is quite long.", 0.0, 0),
        ScoredSentence("It was built by Maria Keller.", 2.0, 0),
        ScoredSentence("It has many fish.", 1.0, 0),
        ScoredSentence("The bridge is very old.", 0.5, 1),
        ScoredSentence("It was built by Maria Keller.", 2.0, 1),
        ScoredSentence("Many people cross it daily.", -1.0, 1),
    ]


def test_what_the_scorer_is_asked():
    scorer = TableScorer(TABLE)
    ExtractiveGenerator(scorer).generate(
        "Wer?", [context(RIVER), context("Der Fluss ist lang.", "de")], language="fr"
    )
    ((query, documents, query_language, _),) = scorer.seen  # all sentences in one call
    assert (query, query_language) == ("Wer?", "fr")
    assert [document.language for document in documents] == ["en", "en", "en", "de"]


@pytest.mark.parametrize(("floor", "found"), [(None, True), (1.99, True), (2.0, True), (2.01, False)])
def test_the_floor(floor, found):
    result = generator(floor=floor).generate("Wer?", [context(BRIDGE)], language="de")
    expected = GeneratedText("It was built by Maria Keller.", source=0)
    assert result == (expected if found else GeneratedText("Keine Antwort im Kontext", found=False))


@pytest.mark.parametrize("contexts", [[], [context("")], [context(" \n"), context("...")]])
def test_nothing_to_quote(contexts):
    scorer = TableScorer(TABLE)
    result = ExtractiveGenerator(scorer).generate("Who?", contexts, language="es")
    assert result == GeneratedText("No hay respuesta en el contexto", found=False)
    assert scorer.calls == 0


def test_an_own_splitter():
    split = generator(splitter=lambda text, language: [f"It has many {text}{language}."])
    assert split.generate("Who?", [context("fi", "sh")], language="en").text == "It has many fish."


def test_a_floor_that_is_no_number():
    with pytest.raises(ValueError, match="got floor=nan, expected a number"):
        generator(floor=float("nan"))
