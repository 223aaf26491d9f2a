"""What a reranking notes in the metadata of the nodes that it returns, and that no model reads it."""

from __future__ import annotations

import pytest
from llama_index.core.schema import MetadataMode
from llama_index.postprocessor.lamar import LamarReranker
from llama_index_parts import LengthScorer, embed_text, outcome, scored_node, unchanged
from tiny_models import tiny_cross_encoder

from lamar_rag import Reranker

LONG = "the cat sat on a mat " * 50  # beyond the tiny model's 96 tokens


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    with LamarReranker(model=str(tiny_cross_encoder(tmp_path_factory.mktemp("tiny")))) as reranker:
        yield reranker


def model_texts(node):
    return [node.get_content(metadata_mode=mode) for mode in (MetadataMode.EMBED, MetadataMode.LLM)]


def test_a_node_that_was_not_read_to_its_end_says_so_where_no_model_reads_it(model):
    nodes = [
        scored_node("the dog barked", id_="short", metadata={"page": 1}),
        scored_node(LONG, id_="long", metadata={"page": 2}, excluded_llm_metadata_keys=["page"]),
    ]
    with unchanged(nodes):
        found = {row.node_id: row for row in model.postprocess_nodes(nodes, query_str="a cat")}
    assert found["long"].metadata == {"page": 2, "truncated": True}
    assert found["short"].metadata == {"page": 1}
    assert model_texts(found["long"]) == model_texts(nodes[1])
    assert model_texts(found["short"]) == model_texts(nodes[0])
    # an id, an embedding, relationships: nothing else differs
    dump = found["long"].node.to_dict()
    for name, value in nodes[1].node.to_dict().items():
        if name not in ("metadata", "excluded_embed_metadata_keys", "excluded_llm_metadata_keys"):
            assert dump[name] == value


def test_reranking_again_gives_the_same_scores_whatever_was_noted(model):
    nodes = [scored_node(LONG, 0.7, id_="long"), scored_node("the dog barked", 0.6, id_="short")]
    keeping = model.model_copy(update={"keep_retrieval_score": True})
    first = keeping.postprocess_nodes(nodes, query_str="a cat")
    again = keeping.postprocess_nodes(first, query_str="a cat")
    assert outcome(again) == outcome(first)
    assert [row.metadata for row in again] == [row.metadata for row in first]
    assert {row.node_id: row.metadata for row in again} == {
        "long": {"retrieval_score": 0.7, "truncated": True},
        "short": {"retrieval_score": 0.6},
    }


@pytest.mark.parametrize("score", [0.25, -3.0, None])
def test_the_retrievers_score_is_kept_on_request_and_read_by_no_model(score):
    scorer = LengthScorer()
    reranker = LamarReranker(reranker=Reranker(scorer), keep_retrieval_score=True)
    node = scored_node("cat", score, metadata={"page": 1})
    (row,) = reranker.postprocess_nodes([node], query_str="q")
    assert row.score == float(len("page: 1\n\ncat"))
    assert row.metadata == {"page": 1, "retrieval_score": score}
    assert model_texts(row) == ["page: 1\n\ncat"] * 2
    reranker.postprocess_nodes([row], query_str="q")
    assert [seen[1][0].text for seen in scorer.seen] == ["page: 1\n\ncat"] * 2


def test_nothing_is_noted_unless_asked():
    node = scored_node("cat", metadata={"page": 1})
    (row,) = LamarReranker(reranker=Reranker(LengthScorer())).postprocess_nodes([node], query_str="q")
    assert row.metadata == {"page": 1}
    assert row.node.excluded_embed_metadata_keys == node.node.excluded_embed_metadata_keys == []
    assert row.node.excluded_llm_metadata_keys == []


def test_two_rerankers_in_a_row_keep_the_score_of_the_retriever():
    options = {"keep_retrieval_score": True, "top_n": None}
    nodes = [scored_node("a long cat", 0.8, id_="1"), scored_node("dog", 0.3, id_="2")]
    found = nodes
    for cut in (("long",), ()):
        found = LamarReranker(reranker=Reranker(LengthScorer(cut)), **options).postprocess_nodes(
            found, query_str="q"
        )
    assert {row.node_id: row.metadata["retrieval_score"] for row in found} == {"1": 0.8, "2": 0.3}
    assert [embed_text(row) for row in found] == ["a long cat", "dog"]


def test_a_node_without_marks_keeps_every_key_of_its_own():
    own = {"truncation": "no", "score": 1, "nested": {"a": [1, 2]}, "": "empty key"}
    node = scored_node("cat", metadata=own)
    (row,) = LamarReranker(reranker=Reranker(LengthScorer(("cat",)))).postprocess_nodes([node], query_str="q")
    assert row.metadata == {**own, "truncated": True}


def test_a_mark_of_an_earlier_reranking_goes_when_the_next_model_reads_to_the_end():
    nodes = [scored_node("a long cat", metadata={"page": 1})]
    cutting, whole = (LamarReranker(reranker=Reranker(LengthScorer(cut))) for cut in (("long",), ()))
    first = cutting.postprocess_nodes(nodes, query_str="q")
    again = cutting.postprocess_nodes(first, query_str="q")
    with unchanged(first):
        last = whole.postprocess_nodes(first, query_str="q")
    assert [row.metadata for row in (*first, *again, *last)] == [
        {"page": 1, "truncated": True},
        {"page": 1, "truncated": True},
        {"page": 1},
    ]
    assert again[0].node.excluded_embed_metadata_keys == ["truncated"]  # once, however often it is reranked
    assert again[0].node.excluded_llm_metadata_keys == ["truncated"]
