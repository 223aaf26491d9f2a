from __future__ import annotations

import json
import math

import numpy as np
import pytest
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import (
    Document,
    ImageNode,
    IndexNode,
    MetadataMode,
    NodeWithScore,
    QueryBundle,
    TextNode,
)
from llama_index.postprocessor.lamar import LamarReranker
from llama_index_parts import (
    GERMAN_QUERY,
    PASSAGES,
    LengthScorer,
    NumbersScorer,
    embed_text,
    outcome,
    scored_node,
    unchanged,
)
from rerank_server import RerankServer
from tiny_models import TableScorer, tiny_cross_encoder

import lamar_rag
from lamar_rag import LanguagePreference, Reranker

# How a server says what it is.
TEI = {"/info": {"model_id": "m", "model_type": {"reranker": {}}, "max_client_batch_size": 32}}
TABLE = {"low": 1.0, "high": 3.0, "middle": 2.0, "also middle": 2.0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(tiny_cross_encoder(tmp_path_factory.mktemp("tiny")))


def table_nodes():
    return [scored_node(text, 0.9 - i / 10, id_=text) for i, text in enumerate(TABLE)]


def of_scorer(scorer, **options):
    return LamarReranker(reranker=Reranker(scorer), **options)


def texts(nodes):
    return [node.node.text for node in nodes]


def passages():
    """One passage a language, with metadata in English as loaders write it."""
    return [
        scored_node(text, id_=code, metadata={"file_name": f"report {code}.pdf", "page": i})
        for i, (code, text) in enumerate(PASSAGES.items())
    ]


def test_it_is_a_node_postprocessor_and_orders_like_the_table():
    reranker = of_scorer(TableScorer(TABLE), top_n=None)
    assert isinstance(reranker, BaseNodePostprocessor)
    found = reranker.postprocess_nodes(table_nodes(), query_str="q")
    # equal scores keep the order of the input
    assert outcome(found) == [("high", 3.0), ("middle", 2.0), ("also middle", 2.0), ("low", 1.0)]


def test_scores_are_python_floats_that_json_takes(folder):
    found = LamarReranker(model=folder).postprocess_nodes(passages(), query_str=GERMAN_QUERY)
    assert [type(node.score) for node in found] == [float] * 3
    written = json.loads(json.dumps([node.to_dict() for node in found]))
    assert [row["score"] for row in written] == [node.score for node in found]


@pytest.mark.parametrize("keep_retrieval_score", [False, True])
@pytest.mark.parametrize("cut", [(), ("cat",)])
def test_the_input_stays_as_it_is_and_a_second_call_equals_the_first(keep_retrieval_score, cut):
    reranker = of_scorer(LengthScorer(cut), keep_retrieval_score=keep_retrieval_score, top_n=None)
    nodes = passages()
    with unchanged(nodes):
        first = reranker.postprocess_nodes(nodes, query_str="q")
        frozen = [node.to_dict() for node in first]
        second = reranker.postprocess_nodes(nodes, query_str="q")
        reranker.postprocess_nodes(nodes[::-1], query_str="another query")
    assert [node.to_dict() for node in second] == frozen
    assert [node.to_dict() for node in first] == frozen  # a later call does not reach into an earlier result
    given = {id(node) for node in nodes}
    assert not given & {id(node) for node in [*first, *second]}
    assert {node.score for node in nodes} == {0.5}


OPTIONS = {
    "plain": {},
    "top": {"top_n": 2},
    "weight": {"language_weight": 5.0},
    "down": {"language_weight": -5.0},
    "preferred": {"language_weight": 5.0, "preferred_languages": ["fr", "es"]},
    "floor": {
        "language_weight": 5.0,
        "preferred_languages": ["de", "fr", "es"],
        "language_floor": "median",
    },
    "threshold": {"score_threshold": "median"},
    "all": {
        "language_weight": 5.0,
        "preferred_languages": ["es", "en", "de"],
        "language_floor": "median",
        "score_threshold": "median",
        "top_n": 1,
    },
}


@pytest.mark.parametrize("case", OPTIONS)
def test_order_and_scores_equal_those_of_reranker_on_the_embed_texts(folder, case):
    nodes = passages()
    documents = [lamar_rag.Document(embed_text(node), language=node.node_id) for node in nodes]
    with Reranker(folder) as reference:
        middle = float(np.median(reference.score(GERMAN_QUERY, documents)))
        options = {
            "top_n": None,
            **{name: middle if value == "median" else value for name, value in OPTIONS[case].items()},
        }
        ranked = reference.rerank(
            GERMAN_QUERY,
            documents,
            top_n=options["top_n"],
            score_threshold=options.get("score_threshold"),
            preference=LanguagePreference(
                options.get("language_weight", 0.0),
                options.get("preferred_languages"),
                options.get("language_floor"),
            ),
        )
        plain = reference.rerank(GERMAN_QUERY, documents)
    with LamarReranker(model=folder, **options) as reranker:
        found = reranker.postprocess_nodes(nodes, QueryBundle(GERMAN_QUERY))
    expected = [(row.document.language, row.score) for row in ranked]
    assert outcome(found) == expected
    # every option counts for something in this corpus
    assert (expected == [(row.document.language, row.score) for row in plain]) == (case == "plain")


def test_three_nodes_are_returned_unless_told_otherwise():
    nodes = [scored_node("x" * n) for n in range(1, 6)]
    assert [
        len(of_scorer(LengthScorer(), **options).postprocess_nodes(nodes, query_str="q"))
        for options in ({}, {"top_n": 4}, {"top_n": 9}, {"top_n": None})
    ] == [3, 4, 5, 5]


def test_nothing_in_nothing_out_without_loading_a_model():
    reranker = LamarReranker(model="no/such-model")
    assert reranker.postprocess_nodes([], query_str="q") == []
    assert reranker.postprocess_nodes([], QueryBundle("q")) == []
    with pytest.raises(Exception, match="no/such-model"):  # it would have been noticed
        reranker.postprocess_nodes([scored_node("text")], query_str="q")


def test_the_query_comes_as_text_or_bundle_and_its_absence_is_an_error():
    scorer = TableScorer(TABLE)
    reranker = of_scorer(scorer)
    by_text = reranker.postprocess_nodes(table_nodes(), query_str="q")
    bundle = QueryBundle("q", custom_embedding_strs=["a made-up passage"], embedding=[1.0])
    assert outcome(reranker.postprocess_nodes(table_nodes(), bundle)) == outcome(by_text)
    assert [seen[0] for seen in scorer.seen] == ["q", "q"]
    with pytest.raises(ValueError, match="query bundle"):
        reranker.postprocess_nodes(table_nodes())


def test_one_node_duplicates_and_empty_texts_all_get_a_place():
    scorer = LengthScorer()
    reranker = of_scorer(scorer, top_n=None)
    assert outcome(reranker.postprocess_nodes([scored_node("one", id_="1")], query_str="q")) == [("1", 3.0)]
    twice, empty = scored_node("same", id_="a"), scored_node("", id_="empty")
    nodes = [empty, twice, scored_node("same", id_="b"), twice]
    with unchanged(nodes):
        found = reranker.postprocess_nodes(nodes, query_str="q")
    assert outcome(found) == [("a", 4.0), ("b", 4.0), ("a", 4.0), ("empty", 0.0)]


def test_negative_scores_sort_by_value_and_a_nodes_own_score_may_be_missing():
    nodes = [scored_node(name, None, id_=name) for name in "abc"]
    found = of_scorer(NumbersScorer([-7.0, -0.5, -3.0])).postprocess_nodes(nodes, query_str="q")
    assert outcome(found) == [("b", -0.5), ("c", -3.0), ("a", -7.0)]
    assert [node.score for node in nodes] == [None] * 3


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_score_that_is_no_number_names_the_model_and_the_node(bad):
    reranker = of_scorer(NumbersScorer([1.0, bad]))
    with pytest.raises(ValueError, match=f"model numbers returned {bad} for document 1 .*node-b"):
        reranker.postprocess_nodes([scored_node("a"), scored_node("b", id_="node-b")], query_str="q")


def test_every_kind_of_node_is_read_and_returned_as_it_is():
    kinds = [
        TextNode(text="text", id_="1"),
        IndexNode(text="index node", index_id="somewhere", id_="2"),
        ImageNode(image_path="cat.png", id_="3"),
        ImageNode(text="a caption of an image", image_path="cat.png", id_="4"),
        Document(text="document", id_="5"),
    ]
    nodes = [NodeWithScore(node=node, score=0.1) for node in kinds]
    with unchanged(nodes):
        found = of_scorer(LengthScorer(), top_n=None).postprocess_nodes(nodes, query_str="q")
    assert outcome(found) == [("4", 21.0), ("2", 10.0), ("5", 8.0), ("1", 4.0), ("3", 0.0)]
    by_id = {node.id_: node for node in kinds}
    assert all(row.node is by_id[row.node_id] for row in found)


def test_marks_survive_on_every_kind_of_node():
    kinds = [
        IndexNode(text="a long one", index_id="somewhere"),
        Document(text="a long two"),
        ImageNode(text="a long three", image_path="cat.png"),
    ]
    reranker = of_scorer(LengthScorer(cut=("long",)), keep_retrieval_score=True)
    found = reranker.postprocess_nodes(
        [NodeWithScore(node=node, score=0.25) for node in kinds], query_str="q"
    )
    assert {type(row.node) for row in found} == {IndexNode, Document, ImageNode}
    assert {row.node.index_id for row in found if isinstance(row.node, IndexNode)} == {"somewhere"}
    for row in found:
        assert row.metadata == {"retrieval_score": 0.25, "truncated": True}
        for mode in (MetadataMode.EMBED, MetadataMode.LLM):
            assert row.get_content(metadata_mode=mode).startswith("a long")


def test_a_rerank_server_is_the_same_argument_and_its_sorted_answer_is_matched_by_index(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    nodes = [scored_node(text, id_=text) for text in ("d3", "d9", "d1", "d7")]
    with RerankServer("tei", pages=TEI) as server, LamarReranker(model=server.url, top_n=None) as reranker:
        found = reranker.postprocess_nodes(nodes, query_str="q")
        assert server.posts[0].texts == ["d3", "d9", "d1", "d7"]
    # "d9" scores 0.09: the number in hundredths
    assert [node.node_id for node in found] == ["d9", "d7", "d3", "d1"]
    assert [node.score for node in found] == pytest.approx([0.09, 0.07, 0.03, 0.01])


def test_an_unreachable_server_is_not_asked_for_an_empty_list():
    with RerankServer("tei") as server:
        url = server.url
    assert LamarReranker(model=url).postprocess_nodes([], query_str="q") == []


class PagedNode(NodeWithScore):
    """A user's own result."""

    page: int = 0


def test_a_node_with_fields_of_its_own_keeps_them():
    given = PagedNode(node=TextNode(text="a", id_="a"), score=0.5, page=7)
    (found,) = LamarReranker(reranker=Reranker(TableScorer({"a": 2.0}))).postprocess_nodes(
        [given], query_str="q"
    )
    assert (type(found), found.page, found.score, given.score) == (PagedNode, 7, 2.0, 0.5)


def test_nodes_may_come_from_a_generator():
    nodes = (scored_node(text, id_=text) for text in ("a", "b"))
    reranker = LamarReranker(reranker=Reranker(TableScorer({"a": 1.0, "b": 2.0})))
    assert outcome(reranker.postprocess_nodes(nodes, query_str="q")) == [("b", 2.0), ("a", 1.0)]
