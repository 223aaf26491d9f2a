from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from lamar_rag.embedded.e5_folder import e5_small_folder
from lamar_rag.retrieval.centring import shipped_centring
from lamar_rag.retrieval.sentence_embedder import SentenceEmbedder, known_prefixes

TEXTS = [
    "A short one.",
    "Die Katze sitzt auf der Matte und schaut aus dem Fenster, während es draußen regnet. " * 6,
    "东京是日本的首都。",
    "",
    "القاهرة هي عاصمة مصر وأكبر مدنها " * 10,
    "x",
]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("multilingual-e5-small", {"query": "query: ", "passage": "passage: "}),
        ("intfloat/multilingual-e5-large", {"query": "query: ", "passage": "passage: "}),
        ("intfloat/multilingual-e5-large-instruct", None),
        ("BAAI/bge-m3", {"query": "", "passage": ""}),
        ("sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2", {"query": "", "passage": ""}),
        ("some/other-model", None),
    ],
)
def test_known_prefixes(name, expected):
    assert known_prefixes(name) == expected


def test_wrong_options_are_named():
    with pytest.raises(ValueError, match="max_batch_tokens=0"):
        SentenceEmbedder(max_batch_tokens=0)
    with pytest.raises(ValueError, match="'query' and 'passage'"):
        SentenceEmbedder(prefixes={"query": "q"})
    with pytest.raises(ValueError, match="which does not exist"):
        SentenceEmbedder("/no/such/folder").embed(["x"], "query")


@pytest.fixture(scope="module")
def plain():
    return SentenceEmbedder(centring=None, device="cpu")


@pytest.fixture(scope="module")
def reference():
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(e5_small_folder()), device="cpu")


@pytest.mark.slow
class TestRealModel:
    @pytest.mark.parametrize("kind", ["query", "passage"])
    @pytest.mark.parametrize("budget", [16, 4096])
    def test_equals_sentence_transformers_with_the_prefix(self, reference, kind, budget):
        embedder = SentenceEmbedder(centring=None, device="cpu", max_batch_tokens=budget)
        ours = embedder.embed(TEXTS, kind)
        theirs = np.stack([reference.encode(f"{kind}: {text}", normalize_embeddings=True) for text in TEXTS])
        assert ours.dtype == np.float32
        assert np.abs(ours - theirs).max() < 1e-5
        assert np.allclose(np.linalg.norm(ours, axis=1), 1.0, atol=1e-5)

    def test_centring_is_the_shipped_means(self, plain):
        embedder = SentenceEmbedder(device="cpu")
        languages = ["en", "de", "zh", "und", "ar", "und"]
        expected = shipped_centring("multilingual-e5-small").apply(
            plain.embed(TEXTS, "passage"), "passage", languages
        )
        assert np.allclose(embedder.embed(TEXTS, "passage", languages=languages), expected, atol=1e-6)
        assert embedder.centring == "ntrex-51"
        assert plain.centring is None

    def test_nothing_in_nothing_out(self, plain):
        assert plain.embed([], "query").shape == (0, 384)
        assert plain.dimension == 384

    def test_threads_get_what_they_would_get_alone(self, plain):
        alone = [plain.embed([text], "query") for text in TEXTS]
        with ThreadPoolExecutor(8) as pool:
            together = list(pool.map(lambda text: plain.embed([text], "query"), TEXTS * 8))
        for row, vectors in enumerate(together):
            assert np.allclose(vectors, alone[row % len(TEXTS)], atol=1e-5)

    def test_truncated_says_who_is_too_long(self, plain):
        assert plain.truncated(["short", "word " * 600, "x" * 1_000_000], "passage").tolist() == [
            False,
            True,
            True,
        ]

    def test_windows_cover_the_text_and_fit(self, plain):
        text = " ".join(f"number {i}" for i in range(700))
        pieces = plain.windows(text)
        assert len(pieces) > 2
        assert not plain.truncated(pieces, "passage").any()
        covered = set()
        for piece in pieces:
            start = text.index(piece)
            covered.update(range(start, start + len(piece)))
        assert {i for i in range(len(text)) if text[i] != " "} <= covered
        assert plain.windows("short") == ["short"]

    def test_odd_texts(self, plain):
        odd = ["\ud800 lone", "\0", " " * 5000, "e\u0301" * 300, "‮rtl", "a" * 1_000_000]
        vectors = plain.embed(odd, "passage")
        assert np.isfinite(vectors).all()
        assert np.allclose(vectors[0], plain.embed(["\ufffd lone"], "passage")[0], atol=1e-6)

    def test_wrong_number_of_languages(self, plain):
        with pytest.raises(ValueError, match="1 languages for 2 texts"):
            plain.embed(["a", "b"], "query", languages=["en"])

    def test_close_frees_and_the_next_call_loads(self, reference):
        embedder = SentenceEmbedder(centring=None, device="cpu")
        before = embedder.embed(["x"], "query")
        embedder.close()
        assert embedder._loaded is None
        assert np.array_equal(embedder.embed(["x"], "query"), before)
