from __future__ import annotations

import copy

import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models.fake_chat_models import ParrotFakeChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableGenerator, RunnableLambda, RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_parts import WAYS, over, over_table, scores, texts
from langchain_text_splitters import CharacterTextSplitter
from tiny_models import TableScorer, tiny_cross_encoder

from lamar_rag import Reranker

pytestmark = pytest.mark.filterwarnings("ignore:`langchain-community` is being sunset:DeprecationWarning")

QUERY = "Where does the cat sleep?"
# Scores in another order than that of the numbers, each once.
TABLE = {f"document {i}": float(i * 5 % 12) for i in range(12)}
DOCUMENTS = [
    Document(text, id=f"id{i}", metadata={"page": i, "nested": {"tags": [i]}}) for i, text in enumerate(TABLE)
]
FETCHED = 8


def in_memory():
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=16))
    store.add_documents(copy.deepcopy(DOCUMENTS))
    return store


def faiss():
    from langchain_community.vectorstores import FAISS

    return FAISS.from_documents(copy.deepcopy(DOCUMENTS), DeterministicFakeEmbedding(size=16))


def stored(store) -> dict[str, object]:
    """Return a copy of all that a store holds about its documents."""
    held = store.store if isinstance(store, InMemoryVectorStore) else store.docstore._dict
    return copy.deepcopy(held)


@pytest.fixture(params=[in_memory, faiss])
def store(request):
    return request.param()


@pytest.fixture
def retriever(store):
    return store.as_retriever(search_kwargs={"k": FETCHED})


def compressed(reranker, retriever):
    return ContextualCompressionRetriever(base_compressor=reranker, base_retriever=retriever)


def best_of(retriever, count: int = 3) -> list[str]:
    """The oracle: the texts that the store finds, sorted by their fixed scores."""
    found = texts(retriever.invoke(QUERY))
    assert len(found) == FETCHED
    best = sorted(found, key=TABLE.__getitem__, reverse=True)[:count]
    assert best != found[:count]  # otherwise the order tells nothing
    return best


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("build", [compressed, lambda reranker, retriever: reranker.after(retriever)])
def test_every_way_to_run_a_retriever_gives_the_same_documents(retriever, build, way):
    result = WAYS[way](build(over_table(TABLE), retriever), QUERY)
    assert texts(result) == best_of(retriever)
    for document in result:
        source = DOCUMENTS[document.metadata["page"]]
        assert document.id == source.id
        assert source.metadata.items() <= document.metadata.items()
    assert scores(result) == [TABLE[text] for text in texts(result)]


@pytest.mark.parametrize("build", [compressed, lambda reranker, retriever: reranker.after(retriever)])
def test_all_that_is_retrieved_is_scored_once_before_the_cut(retriever, build):
    scorer = TableScorer(TABLE)
    assert len(build(over(scorer, top_n=2), retriever).invoke(QUERY)) == 2
    ((query, documents, _, _),) = scorer.seen
    assert query == QUERY
    assert [document.text for document in documents] == texts(retriever.invoke(QUERY))


@pytest.mark.parametrize("build", [compressed, lambda reranker, retriever: reranker.after(retriever)])
def test_what_the_store_holds_is_not_changed(store, retriever, build):
    before, best = stored(store), best_of(retriever)
    chain = build(over_table(TABLE), retriever)
    for _ in range(2):
        for document in chain.invoke(QUERY):
            document.metadata["relevance_score"] = "changed by the caller"
    assert stored(store) == before
    assert texts(chain.invoke(QUERY)) == best


@pytest.mark.parametrize("way", WAYS)
def test_an_answering_chain_gets_the_best_documents_in_their_order(retriever, way):
    chain = (
        {
            "context": over_table(TABLE).after(retriever) | (lambda documents: " / ".join(texts(documents))),
            "question": RunnablePassthrough(),
        }
        | ChatPromptTemplate.from_messages([("system", "Answer."), ("user", "{question}: {context}")])
        | ParrotFakeChatModel()  # answers with what it was asked
        | StrOutputParser()
    )
    assert WAYS[way](chain, QUERY) == f"{QUERY}: {' / '.join(best_of(retriever))}"


def test_a_batch_keeps_each_querys_own_documents(retriever):
    queries = [f"query {i}" for i in range(20)]
    reranker = over_table(TABLE, top_n=2)
    expected = [sorted(texts(retriever.invoke(q)), key=TABLE.__getitem__)[:-3:-1] for q in queries]
    assert len(set(map(tuple, expected))) > 1
    for chain in (compressed(reranker, retriever), reranker.after(retriever)):
        assert [texts(result) for result in chain.batch(queries)] == expected


def test_a_query_that_comes_in_pieces_is_whole_when_it_is_scored(retriever):
    def pieces(_):
        yield from ("Where does ", "the cat ", "sleep?")

    scorer = TableScorer(TABLE)
    (result,) = (RunnableGenerator(pieces) | over(scorer).after(retriever)).stream("")
    assert texts(result) == best_of(retriever)
    assert [query for query, *_ in scorer.seen] == [QUERY]


@pytest.mark.parametrize("found", [[], DOCUMENTS[:1], DOCUMENTS])
@pytest.mark.parametrize("way", WAYS)
def test_a_function_can_be_the_retriever_and_find_any_number_of_documents(found, way):
    chain = over_table(TABLE, top_n=None).after(RunnableLambda(lambda query: found))
    expected = sorted(texts(found), key=TABLE.__getitem__, reverse=True)
    assert texts(WAYS[way](chain, QUERY)) == expected


def test_a_reranked_retriever_can_be_reranked_again(retriever):
    first, second = over_table(TABLE, top_n=5), over_table({text: -score for text, score in TABLE.items()})
    expected = best_of(retriever, 5)[::-1][:3]
    for chain in (second.after(first.after(retriever)), compressed(second, first.after(retriever))):
        assert texts(chain.invoke(QUERY)) == expected


@pytest.mark.parametrize("way", WAYS)
def test_the_reranker_alone_is_a_step_of_a_chain(way):
    reranker = over_table(TABLE)
    step = reranker.as_runnable()
    result = WAYS[way](step, {"query": QUERY, "documents": DOCUMENTS})
    assert result == reranker.compress_documents(DOCUMENTS, QUERY)
    assert texts(result) == ["document 7", "document 2", "document 9"]  # by hand: 35, 10 and 45 modulo 12
    assert step.get_name() == "LamarReranker"


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_in_a_pipeline_the_pieces_of_the_documents_are_ranked(tmp_path, way):
    folder = tiny_cross_encoder(tmp_path)
    sentences = ["the cat sat", "on a mat", "the dog barked", "at the moon", "le chat est assis", "die katze"]
    given = [Document(". ".join(sentences[i : i + 2]), metadata={"page": i}) for i in (0, 2, 4)]
    with Reranker(folder, device="cpu") as alone:
        best = [row.document.text for row in alone.rerank("the cat", sentences, top_n=3)]
        reranker = over(alone.scorer)
        splitter = CharacterTextSplitter(separator=". ", chunk_size=10, chunk_overlap=0)
        pipeline = DocumentCompressorPipeline(transformers=[splitter, reranker])
        result = WAYS[way](compressed(pipeline, RunnableLambda(lambda query: given)), "the cat")
    assert texts(result) == best
    assert [document.metadata["page"] for document in result] == [sentences.index(t) // 2 * 2 for t in best]
