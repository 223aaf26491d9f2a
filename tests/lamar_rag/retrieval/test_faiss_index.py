from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest
from hash_embedder import HashEmbedder

from lamar_rag.retrieval.faiss_index import FaissIndex
from lamar_rag.types import Candidate, Document, Embedder, Retriever

LANGUAGES = ("en", "de", "th", "ar")


def make_documents(count: int) -> list[Document]:
    """Every tenth text occurs three times, so that scores tie."""
    return [
        Document(
            f"text {i - i % 3 if i % 10 < 3 else i}",
            id=f"d{i}",
            language=LANGUAGES[i * i % len(LANGUAGES)],
            title=f"title {i}",
            metadata={"n": i},
        )
        for i in range(count)
    ]


def brute_force(
    documents: list[Document], query: str, k: int, languages: list[str] | None = None
) -> list[str]:
    embedder = HashEmbedder()
    chosen = [d for d in documents if languages is None or d.language in languages]
    vector = embedder.vector(query).astype(np.float64)
    scores = np.array([embedder.vector(d.text).astype(np.float64) @ vector for d in chosen], dtype=np.float32)
    return [chosen[i].id for i in np.argsort(-scores, kind="stable")[:k]]


def ids(candidates: list[Candidate]) -> list[str]:
    return [candidate.document.id for candidate in candidates]


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    return make_documents(300)


@pytest.fixture(scope="module")
def index(documents: list[Document]) -> Iterator[FaissIndex]:
    with FaissIndex.build(documents, HashEmbedder(), batch_size=64) as built:
        yield built


def test_protocols() -> None:
    assert isinstance(HashEmbedder(), Embedder)
    assert isinstance(FaissIndex.build([], HashEmbedder()), Retriever)


@pytest.mark.parametrize("k", [1, 3, 17, 20, 299, 300, 5000])
def test_search_equals_brute_force_with_ties(index: FaissIndex, documents: list[Document], k: int) -> None:
    for query in ("text 0", "text 30", "something else", ""):
        found = index.search(query, k, query_language="en")
        assert ids(found) == brute_force(documents, query, k)
        assert [c.rank for c in found] == list(range(1, len(found) + 1))
        assert all(type(c.score) is float for c in found)


def test_scores_are_inner_products(index: FaissIndex) -> None:
    embedder = HashEmbedder()
    for candidate in index.search("a query", 5, query_language="en"):
        expected = embedder.vector("a query") @ embedder.vector(candidate.document.text)
        assert candidate.score == pytest.approx(float(expected), abs=1e-6)


def test_ties_at_the_cut_come_in_the_order_of_insertion() -> None:
    same = [Document("same", id=f"s{i}", language="en") for i in range(400)]
    with FaissIndex.build(same, HashEmbedder()) as index:
        assert ids(index.search("same", 7)) == [f"s{i}" for i in range(7)]


def test_candidates_carry_the_whole_document(index: FaissIndex, documents: list[Document]) -> None:
    found = index.search("text 5", 1, query_language="en")[0]
    assert found.document == documents[5]


@pytest.mark.parametrize("languages", [["de"], ["deu", "en"], ["de", "sw"], ["th", "ar", "en", "de"]])
def test_language_filter_equals_brute_force(
    index: FaissIndex, documents: list[Document], languages: list[str]
) -> None:
    codes = ["de" if code == "deu" else code for code in languages]
    for query in ("text 0", "other"):
        found = index.search(query, 25, languages=languages, query_language="en")
        assert ids(found) == brute_force(documents, query, 25, codes)


def test_language_that_no_document_has_finds_nothing(index: FaissIndex) -> None:
    assert index.search("text 0", languages=["sw"]) == []
    assert index.search("text 0", languages=["sw"], per_language=2) == []


@pytest.mark.parametrize("k", [None, 4])
@pytest.mark.parametrize("languages", [None, ["de", "en"]])
def test_per_language_equals_brute_force(
    index: FaissIndex, documents: list[Document], languages: list[str] | None, k: int | None
) -> None:
    best = {
        document_id
        for code in languages or LANGUAGES
        for document_id in brute_force(documents, "text 10", 3, [code])
    }
    expected = [i for i in brute_force(documents, "text 10", 300) if i in best][:k]
    found = index.search("text 10", k, languages=languages, per_language=3, query_language="en")
    assert ids(found) == expected


def test_default_k_is_20(index: FaissIndex) -> None:
    assert len(index.search("q", query_language="en")) == 20


def test_search_many_and_vectors_equal_search(index: FaissIndex) -> None:
    queries = [f"query {i}" for i in range(40)]
    one_by_one = [index.search(q, 5, query_language="en") for q in queries]
    assert index.search_many(queries, 5, query_languages=["en"] * 40) == one_by_one
    assert index.search_vectors(HashEmbedder().embed(queries, "query"), 5) == one_by_one
    assert index.search_many([]) == []


def test_query_language_is_given_or_detected() -> None:
    embedder = HashEmbedder()
    with FaissIndex.build([Document("x", language="en")], embedder) as index:
        index.search("Wie alt ist die Erde und woher wissen wir das?")
        index.search("any", query_language="tha_Thai")
        assert embedder.calls[1:] == [("query", ["de"]), ("query", ["th"])]


def test_passages_are_text_only_with_their_languages() -> None:
    embedder = HashEmbedder()
    documents = [
        Document("Der Fluss fließt durch die ganze Stadt.", title="Fluss"),
        Document("a", language="eng_Latn"),
        Document("b", language="und"),
    ]
    with FaissIndex.build(documents, embedder) as index:
        assert embedder.calls == [("passage", ["de", "en", "und"])]
        assert index.languages == {"de": 1, "en": 1, "und": 1}
        assert index.search(documents[0].text, 1)[0].score == pytest.approx(1.0, abs=1e-6)
    with FaissIndex.build(documents[:1], embedder, detect=False) as index:
        assert index.languages == {"und": 1}


def test_empty_ids_become_free_positions() -> None:
    documents = [Document("a"), Document("b", id="0"), Document("c"), Document("d", id="0-2")]
    with FaissIndex.build(documents, HashEmbedder(), detect=False, batch_size=1) as index:
        assert [d.id for d in index.iter_documents()] == ["0-3", "0", "2", "0-2"]
        index.add([Document("e")], detect=False)
        assert next(iter(index.documents(["4"]))).text == "e"


@pytest.mark.parametrize("batch_size", [1, 2, 100])
def test_duplicate_ids_name_both_positions(batch_size: int) -> None:
    documents = [Document("a", id="x"), Document("b", id="y"), Document("c", id="y")]
    with pytest.raises(ValueError, match=r"document 2 has the id 'y', which document 1 has"):
        FaissIndex.build(documents, HashEmbedder(), batch_size=batch_size, detect=False)


def test_failed_add_changes_nothing(documents: list[Document]) -> None:
    with FaissIndex.build(documents[:5], HashEmbedder()) as index:
        before = index.search("q", query_language="en")
        bad = [Document("new", id="new", language="en"), Document("old", id="d3", language="en")]
        with pytest.raises(ValueError, match=r"document 6 has the id 'd3', which document 3 has"):
            index.add(bad, batch_size=1)
        assert len(index) == 5
        assert index.languages == FaissIndex.build(documents[:5], HashEmbedder()).languages
        assert index.search("q", query_language="en") == before
        with pytest.raises(ValueError, match="no document has the id 'new'"):
            index.documents(["new"])


def test_add_equals_build(documents: list[Document]) -> None:
    with (
        FaissIndex.build(documents[:100], HashEmbedder()) as grown,
        FaissIndex.build(documents, HashEmbedder()) as whole,
    ):
        grown.add(iter(documents[100:]), batch_size=33)
        assert len(grown) == 300
        assert grown.languages == whole.languages
        assert grown.search("text 3", 50, languages=["de"], query_language="en") == whole.search(
            "text 3", 50, languages=["de"], query_language="en"
        )


def test_documents_stream(documents: list[Document]) -> None:
    taken = 0

    class Watching(HashEmbedder):
        def embed(self, texts, kind, *, languages=None, progress=False):
            assert taken <= (len(self.calls) + 1) * 10
            return super().embed(texts, kind, languages=languages)

    def stream() -> Iterator[Document]:
        nonlocal taken
        for document in documents[:100]:
            taken += 1
            yield document

    embedder = Watching()
    with FaissIndex.build(stream(), embedder, batch_size=10) as index:
        assert len(index) == 100
        assert len(embedder.calls) == 10


def test_progress_goes_to_stderr(capsys: pytest.CaptureFixture[str], documents: list[Document]) -> None:
    FaissIndex.build(documents[:5], HashEmbedder(), progress=True).close()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "5/5" in captured.err


def test_empty_index_and_one_document() -> None:
    with FaissIndex.build([], HashEmbedder()) as index:
        assert len(index) == 0
        assert index.languages == {}
        assert index.search("x", query_language="en") == []
        assert index.search("x", per_language=2, query_language="en") == []
        index.add([Document("only", language="en")])
        assert ids(index.search("x", query_language="en")) == ["0"]


def test_odd_texts_come_back_unchanged() -> None:
    texts = ["", "  ", "a\x00b", "x\ud800y", "مرحبا بالعالم \u202eabc", "👩‍👩‍👧", "m" * 1_000_000]
    documents = [
        Document(text, id=f"i\udc00{i}", title="t\ud800", metadata={"k": "\ud83d"})
        for i, text in enumerate(texts)
    ]
    with FaissIndex.build(documents, HashEmbedder()) as index:
        assert [d.text for d in index.iter_documents()] == texts
        for document in documents:
            assert index.search(document.text, 1)[0].document.text == document.text
        stored = index.documents([documents[3].id])[0]
        assert (stored.title, stored.metadata) == ("t\ud800", {"k": "\ud83d"})


def test_known_vectors(documents: list[Document]) -> None:
    embedder = HashEmbedder()
    with FaissIndex.build(documents, embedder) as index:
        wanted = [
            documents[7],
            Document(documents[8].text, id="d9", language=documents[9].language),
            Document("unknown", id="nobody"),
            Document("no id"),
            documents[7],
        ]
        vectors, found = index.known_vectors(wanted)
        assert found.tolist() == [True, False, False, False, True]
        assert np.array_equal(vectors[0], embedder.vector(documents[7].text))
        assert np.array_equal(vectors[4], vectors[0])
        assert not vectors[1:4].any()
        assert index.known_vectors([])[0].shape == (0, 16)


def test_known_vectors_mind_the_language_when_centred(documents: list[Document]) -> None:
    other = Document(documents[0].text, id=documents[0].id, language="vi")
    for centring, expected in ((None, True), ("means", False)):
        with FaissIndex.build(documents[:3], HashEmbedder(centring=centring)) as index:
            assert index.known_vectors([other])[1].tolist() == [expected]


def test_threads_get_what_one_gets(index: FaissIndex) -> None:
    queries = [f"text {i}" for i in range(60)]
    options = [{}, {"languages": ["de"]}, {"per_language": 3}]
    expected = [index.search(q, query_language="en", **options[i % 3]) for i, q in enumerate(queries)]
    wrong: list[int] = []

    def work(start: int) -> None:
        for step in range(len(queries)):
            i = (start + step) % len(queries)
            if index.search(queries[i], query_language="en", **options[i % 3]) != expected[i]:
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(7 * n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_searches_while_documents_are_added(documents: list[Document]) -> None:
    with FaissIndex.build(documents[:50], HashEmbedder()) as index:
        errors: list[Exception] = []
        done = threading.Event()

        def work() -> None:
            try:
                while not done.is_set():
                    found = index.search("text 1", 400, query_language="en")
                    assert len(found) % 50 == 0
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for start in range(50, 300, 50):
            index.add(documents[start : start + 50])
        done.set()
        for thread in threads:
            thread.join()
        assert errors == []
        assert ids(index.search("text 1", 9, query_language="en")) == brute_force(documents, "text 1", 9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 0}, "got k=0, expected at least 1"),
        ({"k": -3}, "got k=-3"),
        ({"per_language": 0}, "got per_language=0"),
        ({"languages": []}, "empty list of languages"),
        ({"languages": "de"}, r"pass \['de'\]"),
        ({"languages": ["qqqq"]}, "unknown language code 'qqqq'"),
        ({"query_language": "qqqq"}, "unknown language code 'qqqq'"),
    ],
)
def test_mistakes_in_a_search(index: FaissIndex, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        index.search("q", **arguments)


def test_other_mistakes(index: FaissIndex) -> None:
    with pytest.raises(ValueError, match="use search"):
        index.search_many("one string")
    with pytest.raises(ValueError, match="query 1 is a int"):
        index.search_many(["a", 3])
    with pytest.raises(ValueError, match="expected a list of 2"):
        index.search_many(["a", "b"], query_languages=["en"])
    with pytest.raises(ValueError, match=r"shape \(1, 3\), expected \(queries, 16\)"):
        index.search_vectors(np.zeros((1, 3), dtype=np.float32))
    with pytest.raises(ValueError, match="not finite"):
        index.search_vectors(np.full((1, 16), np.nan, dtype=np.float32))


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("a string", "item 1 is a str, expected a Document"),
        (Document(3), "document 1 has a text of type int"),  # type: ignore[arg-type]
        (Document("x", id=4), "document 1 has a id of type int"),  # type: ignore[arg-type]
        (Document("x", language="nonsense"), "unknown language code 'nonsense'"),
        (Document("x", metadata={"f": object()}), "metadata that JSON cannot hold"),
    ],
)
def test_mistakes_in_documents(document: Document, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FaissIndex.build([Document("fine", language="en"), document], HashEmbedder())


def test_embedders_that_return_nonsense() -> None:
    class Flat(HashEmbedder):
        def embed(self, texts, kind, *, languages=None, progress=False):
            return np.zeros((len(texts), 3), dtype=np.float32)

    class Broken(HashEmbedder):
        def embed(self, texts, kind, *, languages=None, progress=False):
            return np.full((len(texts), 16), np.nan, dtype=np.float32)

    with pytest.raises(ValueError, match=r"'hash' returned the shape \(1, 3\), expected \(1, 16\)"):
        FaissIndex.build([Document("x", language="en")], Flat())
    with pytest.raises(ValueError, match="not finite for the document 'n'"):
        FaissIndex.build([Document("x", id="n", language="en")], Broken())


def test_closed_index() -> None:
    index = FaissIndex.build([Document("x", language="en")], HashEmbedder())
    index.close()
    index.close()
    for call in (
        lambda: index.search("x"),
        lambda: index.add([]),
        lambda: len(index),
        lambda: index.save("x"),
    ):
        with pytest.raises(ValueError, match="the index is closed"):
            call()


def test_documents_that_search_the_index_they_are_added_to_are_refused(index: FaissIndex) -> None:
    before = len(index)
    with pytest.raises(ValueError, match="changed by this very thread"):
        index.add(
            d for d in [Document("new", language="en")] if not index.search(d.text, 1, query_language="en")
        )
    assert len(index) == before
    assert index.search("new", 1, query_language="en")  # and the lock is free


def test_iterating_goes_on_over_an_add_and_ends_at_close(
    index: FaissIndex, documents: list[Document]
) -> None:
    iterator = index.iter_documents()
    assert next(iterator) == documents[0]
    index.add([Document("new", id="new", language="en")])
    rest = list(iterator)
    assert rest[: len(documents) - 1] == documents[1:]
    iterator = index.iter_documents()
    next(iterator)
    index.close()
    with pytest.raises(ValueError, match="closed"):
        list(iterator)


def test_metadata_that_json_cannot_hold_is_named() -> None:
    with pytest.raises(ValueError, match=r"document 0 .* has metadata that JSON cannot hold"):
        FaissIndex.build([Document("x", language="en", metadata={"n": float("nan")})], HashEmbedder())


def test_numbers_that_are_none_are_refused(index: FaissIndex) -> None:
    for options in ({"k": float("nan")}, {"k": "5"}, {"per_language": 1.5}):
        with pytest.raises(ValueError, match="expected a whole number"):
            index.search("a", **options, query_language="en")


def test_vectors_that_are_not_finite_end_in_an_error() -> None:
    class Broken(HashEmbedder):
        def embed(self, texts, kind, **options):
            return super().embed(texts, kind, **options) * np.float32("nan" if kind == "query" else 1)

    with (
        FaissIndex.build([Document(str(i), language="en") for i in range(5)], Broken()) as index,
        pytest.raises(ValueError, match="not finite"),
    ):
        index.search("a", 3, query_language="en")
