"""What the model reads of a node, and in which language a node counts."""

from __future__ import annotations

from enum import StrEnum

import pytest
from llama_index.core.schema import MetadataMode
from llama_index.postprocessor.lamar import LamarReranker
from llama_index_parts import GERMAN_QUERY, PASSAGES, LengthScorer, embed_text, outcome, scored_node
from tiny_models import TableScorer

from lamar_rag import Reranker
from lamar_rag.languages import detect_language

# Enough English around a short text for a detector to call the whole English.
ENGLISH_METADATA = {
    "file_name": "quarterly report of the whole company.pdf",
    "file_type": "application document",
    "creation_date": "the first of January",
    "author": "someone who works in the department of finance",
}
GERMAN = "Die Katze schläft heute auf dem Sofa."
ENGLISH = "The cat is sleeping on the sofa today."


class ProgrammingLanguage(StrEnum):
    """As code loaders write it."""

    TS = "ts"


def seen_documents(node, **options):
    """What reaches the scorer of one node."""
    scorer = LengthScorer()
    reranker = LamarReranker(reranker=Reranker(scorer), **options)
    reranker.postprocess_nodes([node], query_str=GERMAN_QUERY)
    ((_, (document,), _, _),) = scorer.seen
    return document


@pytest.mark.parametrize(
    ("fields", "read"),
    [
        ({}, "cat"),
        ({"metadata": {"file": "a.txt", "page": 3}}, "file: a.txt\npage: 3\n\ncat"),
        (
            {"metadata": {"file": "a.txt", "page": 3}, "excluded_embed_metadata_keys": ["file"]},
            "page: 3\n\ncat",
        ),
        ({"metadata": {"file": "a.txt"}, "excluded_llm_metadata_keys": ["file"]}, "file: a.txt\n\ncat"),
        ({"metadata": {"file": "a.txt"}, "excluded_embed_metadata_keys": ["file"]}, "cat"),
        (
            {
                "metadata": {"file": "a.txt", "page": 3},
                "metadata_template": "{key}={value}",
                "text_template": "[{metadata_str}] {content}",
            },
            "[file=a.txt\npage=3] cat",
        ),
    ],
)
@pytest.mark.parametrize("language_weight", [0.0, 0.5])
def test_the_model_reads_the_text_that_is_embedded(fields, read, language_weight):
    document = seen_documents(scored_node("cat", **fields), language_weight=language_weight)
    assert document.text == read


def test_metadata_can_decide_the_order():
    nodes = [
        scored_node("same", id_="a", metadata={"page": 1}),
        scored_node("same", id_="b", metadata={"page": 2}),
    ]
    scorer = TableScorer({"page: 1\n\nsame": 1.0, "page: 2\n\nsame": 2.0})
    found = LamarReranker(reranker=Reranker(scorer)).postprocess_nodes(nodes, query_str="q")
    assert outcome(found) == [("b", 2.0), ("a", 1.0)]


def test_a_node_counts_in_the_language_of_its_content_and_not_of_its_metadata():
    nodes = [
        scored_node(ENGLISH, id_="en", metadata=ENGLISH_METADATA),
        scored_node(GERMAN, id_="de", metadata=ENGLISH_METADATA),
    ]
    assert [detect_language(embed_text(node)) for node in nodes] == ["en", "en"]
    table = {embed_text(nodes[0]): 2.0, embed_text(nodes[1]): 1.0}
    reranker = LamarReranker(reranker=Reranker(TableScorer(table, spread=1.0)), language_weight=3.0)
    # the query is German: 1 + 3 * 1 for the German node
    assert outcome(reranker.postprocess_nodes(nodes, query_str=GERMAN_QUERY)) == [("de", 4.0), ("en", 2.0)]
    reranker.language_weight = 0.0
    assert outcome(reranker.postprocess_nodes(nodes, query_str=GERMAN_QUERY)) == [("en", 2.0), ("de", 1.0)]


@pytest.mark.parametrize(
    ("text", "metadata", "options", "language"),
    [
        ("12345", {"language": "de"}, {}, "de"),
        ("12345", {"language": "de-DE"}, {}, "de"),
        ("12345", {"language": "deu_Latn"}, {}, "de"),
        (ENGLISH, {"language": "de"}, {}, "de"),
        (GERMAN, {"language": "python"}, {}, "de"),
        (GERMAN, {"language": "No language found."}, {}, "de"),
        (GERMAN, {"language": ""}, {}, "de"),
        (GERMAN, {"language": None}, {}, "de"),
        (GERMAN, {"language": 7}, {}, "de"),
        (GERMAN, {"language": ["en"]}, {}, "de"),
        (GERMAN, {"language": ProgrammingLanguage.TS}, {}, "de"),  # "ts" is Tsonga too
        (GERMAN, {"language": "en"}, {"language_key": None}, "de"),
        (GERMAN, {"language": "fr", "lang": "en"}, {"language_key": "lang"}, "en"),
        (GERMAN, {"lang": "en"}, {}, "de"),
    ],
)
def test_the_language_is_what_the_metadata_states_else_it_is_detected(text, metadata, options, language):
    node = scored_node(text, metadata=metadata)
    assert seen_documents(node, language_weight=1.0, **options).language == language
    # and it is what the dial goes by: weight 1 over a spread of 1
    length = len(embed_text(node))
    for wanted, score in ((language, length + 1.0), ("es", float(length))):
        reranker = LamarReranker(
            reranker=Reranker(LengthScorer()), language_weight=1.0, preferred_languages=[wanted], **options
        )
        assert [row.score for row in reranker.postprocess_nodes([node], query_str="q")] == [score]


def test_a_stated_language_that_is_hidden_from_the_embedding_still_counts():
    node = scored_node(ENGLISH, metadata={"language": "de"}, excluded_embed_metadata_keys=["language"])
    document = seen_documents(node, language_weight=1.0)
    assert (document.text, document.language) == (ENGLISH, "de")


@pytest.mark.parametrize(
    ("options", "lifted"),
    [
        ({}, {"de": 1.0}),
        ({"query_language": "fr"}, {"fr": 1.0}),
        ({"preferred_languages": ["es", "en"]}, {"es": 1.0, "en": 0.5}),
        ({"preferred_languages": ["es", "en"], "query_language": "fr"}, {"es": 1.0, "en": 0.5}),
        ({"language_floor": 2.5}, {}),  # the German node's relevance is 1
        ({"language_floor": 1.0}, {"de": 1.0}),
    ],
)
def test_the_dial_lifts_by_hand_worked_amounts(options, lifted):
    relevance = dict(zip(PASSAGES, (1.0, 2.0, 3.0, 4.0), strict=True))
    nodes = [scored_node(text, id_=code) for code, text in PASSAGES.items()]
    table = {text: relevance[code] for code, text in PASSAGES.items()}
    reranker = LamarReranker(
        reranker=Reranker(TableScorer(table, spread=2.0)), language_weight=5.0, top_n=None, **options
    )
    found = reranker.postprocess_nodes(nodes, query_str=GERMAN_QUERY)
    # weight 5 times spread 2 times the language's share
    assert dict(outcome(found)) == {code: relevance[code] + 10.0 * lifted.get(code, 0.0) for code in PASSAGES}
    assert [row.score for row in found] == sorted((row.score for row in found), reverse=True)


def test_the_threshold_is_on_the_relevance_before_the_dial():
    nodes = [scored_node(text, id_=code) for code, text in PASSAGES.items()]
    table = dict(zip(PASSAGES.values(), (1.0, 2.0, 3.0, 4.0), strict=True))
    reranker = LamarReranker(
        reranker=Reranker(TableScorer(table, spread=1.0)),
        language_weight=9.0,
        score_threshold=2.0,
        top_n=None,
    )
    found = reranker.postprocess_nodes(nodes, query_str=GERMAN_QUERY)
    assert outcome(found) == [("es", 4.0), ("en", 3.0), ("fr", 2.0)]  # the German one is 1, lifted to 10


def test_the_other_options_reach_the_scorer():
    scorer = LengthScorer()
    reranker = LamarReranker(reranker=Reranker(scorer), query_language="fra", long_documents="windows")
    reranker.postprocess_nodes([scored_node("cat")], query_str=GERMAN_QUERY)
    reranker.query_language, reranker.long_documents = None, "truncate"
    reranker.postprocess_nodes([scored_node("cat")], query_str=GERMAN_QUERY)
    assert [seen[2:] for seen in scorer.seen] == [("fr", "windows"), ("de", "truncate")]


def test_a_nodes_text_is_not_what_the_language_model_sees():
    node = scored_node("cat", metadata={"secret": "x", "file": "y"}, excluded_llm_metadata_keys=["secret"])
    assert "secret" not in node.get_content(metadata_mode=MetadataMode.LLM)
    assert seen_documents(node).text == "secret: x\nfile: y\n\ncat"


def test_relevance_does_not_depend_on_the_dial():
    """Where a scorer's numbers depend on languages, they are those of the contents, the dial on or off."""
    scorer = LengthScorer()
    scorer.reads_languages = True
    nodes = [scored_node(text, id_=text, metadata=ENGLISH_METADATA) for text in (GERMAN, ENGLISH)]
    for weight in (0.0, 0.001):
        LamarReranker(reranker=Reranker(scorer), language_weight=weight).postprocess_nodes(
            nodes, query_str="q"
        )
    told = [[document.language for document in documents] for _, documents, _, _ in scorer.seen]
    assert told == [["de", "en"]] * 2
