"""Inside LlamaIndex's own engines."""

from __future__ import annotations

import asyncio

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.chat_engine import CondensePlusContextChatEngine
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import RecursiveRetriever
from llama_index.core.schema import IndexNode, TextNode
from llama_index.postprocessor.lamar import LamarReranker
from llama_index_parts import LengthScorer, LetterEmbedding, embed_text, outcome

from lamar_rag import Reranker

WORDS = ["a", "on", "the", "mats", "chats", "katzen", "curious", "sleeping"]  # lengths 1 to 8
QUERY = "the sleeping cats"


def word_index():
    nodes = [TextNode(text=word, id_=word) for word in WORDS]
    return VectorStoreIndex(nodes, embed_model=LetterEmbedding())


def length_reranker(scorer=None, **options):
    return LamarReranker(reranker=Reranker(scorer or LengthScorer()), **options)


def longest(words, count):
    return sorted(((word, float(len(word))) for word in words), key=lambda row: -row[1])[:count]


def retrieved(index, query, k):
    return [row.node_id for row in index.as_retriever(similarity_top_k=k).retrieve(query)]


def seen_texts(scorer):
    return [[document.text for document in documents] for _, documents, _, _ in scorer.seen]


def ask(engine, query, how):
    return engine.query(query) if how == "sync" else asyncio.run(engine.aquery(query))


HOW = pytest.mark.parametrize("how", ["sync", "async"])


@HOW
@pytest.mark.parametrize("made", ["as_query_engine", "from_args"])
def test_a_query_engine_answers_from_the_reranked_of_all_its_candidates(how, made):
    index, scorer = word_index(), LengthScorer()
    reranker = length_reranker(scorer, top_n=2)
    if made == "as_query_engine":
        engine = index.as_query_engine(similarity_top_k=6, node_postprocessors=[reranker], llm=MockLLM())
    else:
        engine = RetrieverQueryEngine.from_args(
            index.as_retriever(similarity_top_k=6), llm=MockLLM(), node_postprocessors=[reranker]
        )
    candidates = retrieved(index, QUERY, 6)
    response = ask(engine, QUERY, how)
    assert seen_texts(scorer) == [candidates]  # all of them, and once
    assert outcome(response.source_nodes) == longest(candidates, 2)
    assert [seen[0] for seen in scorer.seen] == [QUERY]
    # MockLLM answers with its prompt: the context holds the two in their new order and nothing else
    first, second = (word for word, _ in longest(candidates, 2))
    assert f"{first}\n\n{second}\n" in str(response)


@HOW
def test_queries_one_after_another_do_not_change_each_others_results(how):
    index = word_index()
    reranker = length_reranker(keep_retrieval_score=True)
    engine = index.as_query_engine(similarity_top_k=5, node_postprocessors=[reranker], llm=MockLLM())
    queries = [QUERY, "zzz", "on a mat"]
    first = [ask(engine, query, how) for query in queries]
    frozen = [[row.to_dict() for row in response.source_nodes] for response in first]
    again = [ask(engine, query, how) for query in reversed(queries)]
    assert [[row.to_dict() for row in response.source_nodes] for response in first] == frozen
    assert [[row.to_dict() for row in response.source_nodes] for response in reversed(again)] == frozen
    assert len({str(rows) for rows in frozen}) == 3  # three queries with three results
    # the index's own nodes took nothing on
    assert all(node.metadata == {} for node in index.docstore.docs.values())
    assert "retrieval_score" not in "".join(map(str, first))


def test_the_retrievers_score_is_in_the_metadata_of_the_source_nodes():
    index = word_index()
    engine = index.as_query_engine(
        similarity_top_k=5, node_postprocessors=[length_reranker(keep_retrieval_score=True)], llm=MockLLM()
    )
    scores = {row.node_id: row.score for row in index.as_retriever(similarity_top_k=5).retrieve(QUERY)}
    rows = engine.query(QUERY).source_nodes
    assert {row.node_id: row.metadata["retrieval_score"] for row in rows} == {
        row.node_id: scores[row.node_id] for row in rows
    }


@HOW
def test_a_streaming_engine_streams_from_the_reranked(how):
    index = word_index()
    engine = index.as_query_engine(
        similarity_top_k=6, node_postprocessors=[length_reranker(top_n=2)], llm=MockLLM(), streaming=True
    )
    expected = longest(retrieved(index, QUERY, 6), 2)

    async def streamed():
        response = await engine.aquery(QUERY)
        return response, "".join([piece async for piece in response.async_response_gen()])

    if how == "sync":
        response = engine.query(QUERY)
        text = "".join(response.response_gen)
    else:
        response, text = asyncio.run(streamed())
    assert outcome(response.source_nodes) == expected
    assert f"{expected[0][0]}\n\n{expected[1][0]}\n" in text


@HOW
@pytest.mark.parametrize("mode", ["context", "condense_plus_context"])
def test_a_chat_engine_answers_from_the_reranked_turn_after_turn(how, mode):
    index, scorer = word_index(), LengthScorer()
    options = {"node_postprocessors": [length_reranker(scorer, top_n=2)], "llm": MockLLM()}
    if mode == "context":
        engine = index.as_chat_engine(chat_mode="context", similarity_top_k=6, **options)
    else:
        retriever = index.as_retriever(similarity_top_k=6)
        engine = CondensePlusContextChatEngine.from_defaults(retriever, skip_condense=True, **options)

    async def turns(messages):
        return [await engine.achat(message) for message in messages]

    messages = [QUERY, "on a mat"]
    answers = asyncio.run(turns(messages)) if how == "async" else [engine.chat(text) for text in messages]
    for message, answer in zip(messages, answers, strict=True):
        assert outcome(answer.source_nodes) == longest(retrieved(index, message, 6), 2)
    assert seen_texts(scorer) == [retrieved(index, message, 6) for message in messages]


def test_a_chat_engine_streams_from_the_reranked():
    index = word_index()
    engine = index.as_chat_engine(
        chat_mode="context",
        similarity_top_k=6,
        node_postprocessors=[length_reranker(top_n=2)],
        llm=MockLLM(),
    )
    response = engine.stream_chat(QUERY)
    expected = longest(retrieved(index, QUERY, 6), 2)
    assert outcome(response.source_nodes) == expected
    assert expected[0][0] in "".join(response.response_gen)


@HOW
def test_a_recursive_retriever_hands_over_the_nodes_that_its_index_nodes_stand_for(how):
    chapters = {f"chapter {word}": TextNode(text=f"{word} " * 3, id_=f"of {word}") for word in WORDS}
    summaries = [IndexNode(text=word, index_id=f"chapter {word}", id_=f"summary {word}") for word in WORDS]
    index = VectorStoreIndex(summaries, embed_model=LetterEmbedding())
    retriever = RecursiveRetriever(
        "summaries", retriever_dict={"summaries": index.as_retriever(similarity_top_k=5)}, node_dict=chapters
    )
    scorer = LengthScorer()
    engine = RetrieverQueryEngine.from_args(
        retriever, llm=MockLLM(), node_postprocessors=[length_reranker(scorer, top_n=2)]
    )
    response = ask(engine, QUERY, how)
    words = [name.removeprefix("summary ") for name in retrieved(index, QUERY, 5)]
    assert seen_texts(scorer) == [[f"{word} " * 3 for word in words]]
    expected = [(f"of {word}", 3 * (length + 1)) for word, length in longest(words, 2)]
    assert outcome(response.source_nodes) == expected


def test_two_rerankers_in_a_row_each_see_what_the_one_before_kept():
    index = word_index()
    wide, narrow = LengthScorer(), LengthScorer(cut=("e",))
    engine = index.as_query_engine(
        similarity_top_k=7,
        node_postprocessors=[length_reranker(wide, top_n=4), length_reranker(narrow, top_n=2)],
        llm=MockLLM(),
    )
    candidates = retrieved(index, QUERY, 7)
    response = engine.query(QUERY)
    assert seen_texts(wide) == [candidates]
    assert seen_texts(narrow) == [[word for word, _ in longest(candidates, 4)]]
    assert outcome(response.source_nodes) == longest(candidates, 2)
    assert [row.metadata for row in response.source_nodes] == [
        {"truncated": True} if "e" in word else {} for word, _ in longest(candidates, 2)
    ]


def test_top_n_assigned_between_queries_counts_from_the_next():
    index, reranker = word_index(), length_reranker(top_n=4)
    engine = index.as_query_engine(similarity_top_k=6, node_postprocessors=[reranker], llm=MockLLM())
    lengths = [len(engine.query(QUERY).source_nodes)]
    reranker.top_n = 1
    lengths.append(len(engine.query(QUERY).source_nodes))
    reranker.top_n = None
    lengths.append(len(engine.query(QUERY).source_nodes))
    assert lengths == [4, 1, 6]


def test_metadata_that_the_embedding_has_is_read_by_the_model_too():
    nodes = [
        TextNode(text=word, metadata={"word": word, "hidden": 1}, excluded_embed_metadata_keys=["hidden"])
        for word in WORDS
    ]
    index, scorer = VectorStoreIndex(nodes, embed_model=LetterEmbedding()), LengthScorer()
    rows = index.as_retriever(similarity_top_k=4).retrieve(QUERY)
    engine = index.as_query_engine(
        similarity_top_k=4, node_postprocessors=[length_reranker(scorer)], llm=MockLLM()
    )
    engine.query(QUERY)
    assert seen_texts(scorer) == [[f"word: {row.node.text}\n\n{row.node.text}" for row in rows]]
    assert seen_texts(scorer) == [[embed_text(row) for row in rows]]
