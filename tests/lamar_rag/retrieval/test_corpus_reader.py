from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from hash_embedder import HashEmbedder

from lamar_rag.retrieval.corpus_reader import read_corpus
from lamar_rag.retrieval.faiss_index import FaissIndex
from lamar_rag.retrieval.row_errors import BadRowError
from lamar_rag.types import Document


def write_jsonl(path: Path, *rows: object) -> Path:
    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def make_pdf(*texts: str) -> bytes:
    """A PDF with one page a text, written by hand."""
    pages = " ".join(f"{4 + 2 * i} 0 R" for i in range(len(texts)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{pages}] /Count {len(texts)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for i, text in enumerate(texts):
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode() if text else b""
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * i} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n".encode() + stream + b"\nendstream")
    content, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(content))
        content += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    trailer = f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(content)}\n%%EOF\n"
    return content + f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{trailer}".encode()


def test_jsonl_rows(tmp_path: Path) -> None:
    path = write_jsonl(
        tmp_path / "corpus.jsonl",
        b"\xef\xbb\xbf" + json.dumps({"text": "first"}).encode(),
        b"",
        b"   \r",
        {"id": 7, "text": " مرحبا ", "language": "arb_Arab", "title": "t", "metadata": {"a": 1}, "url": "u"},
        {"id": None, "text": "last", "language": None, "title": None, "metadata": None},
    )
    reader = read_corpus(path)
    expected = [
        Document("first"),
        Document(" مرحبا ", id="7", language="ar", title="t", metadata={"url": "u", "a": 1}),
        Document("last"),
    ]
    assert list(reader) == expected
    assert list(reader) == expected  # a second pass reads again
    assert (reader.skipped, reader.errors, reader.repaired, reader.ignored) == (0, [], 0, [])


BAD_ROWS = [
    (b'{"text": "x"', "invalid JSON"),
    (b"[1]", "got a JSON list, expected an object"),
    (b"null", "got a JSON null"),
    (b'{"id": "a"}', r"no 'text' \(got 'id'\)"),
    (b'{"text": 3}', "'text' is a number, expected a string"),
    (b'{"text": null}', "'text' is a null, expected a string"),
    (b'{"text": "  "}', "'text' is empty"),
    (b'{"text": "x", "id": 1.5}', "'id' is a number, expected a string or an integer"),
    (b'{"text": "x", "id": true}', "'id' is a boolean"),
    (b'{"text": "x", "title": []}', "'title' is a list, expected a string"),
    (b'{"text": "x", "metadata": "m"}', "'metadata' is a string, expected an object"),
    (b'{"text": "x", "language": "klingonish"}', "'language': unknown language code"),
    (b'{"text": "x", "language": 5}', "'language' is a number"),
    (b'{"text": "\xff"}', "invalid UTF-8 at byte 10"),
    (b'{"text": "x", "id": "good"}', "the id 'good' is already used at corpus.jsonl:1"),
    (b"[" * 200_000, "invalid JSON"),
]


@pytest.mark.parametrize(("row", "message"), BAD_ROWS)
def test_bad_rows_name_file_and_line(tmp_path: Path, row: bytes, message: str) -> None:
    path = write_jsonl(tmp_path / "corpus.jsonl", {"id": "good", "text": "x"}, b"", row)
    with pytest.raises(ValueError, match=rf"^corpus\.jsonl:3: {message}.*\(fix: .*--skip-bad\)$") as caught:
        list(read_corpus(path))
    assert "\n" not in str(caught.value)


def test_skip_bad_counts_and_lists(tmp_path: Path) -> None:
    path = write_jsonl(
        tmp_path / "corpus.jsonl",
        {"id": "good", "text": "x"},
        *[row for row, _ in BAD_ROWS],
        {"id": "also good", "text": "y"},
    )
    reader = read_corpus(path, skip_bad=True)
    for _ in range(2):
        assert [d.id for d in reader] == ["good", "also good"]
        assert reader.skipped == len(BAD_ROWS)
        assert [(error.file, error.line) for error in reader.errors] == [
            ("corpus.jsonl", 2 + i) for i in range(len(BAD_ROWS))
        ]


def test_other_text_key(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "c.jsonl", {"passage": "p", "text": "kept"})
    assert list(read_corpus(path, text_key="passage")) == [Document("p", metadata={"text": "kept"})]


def test_stdin_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"text": "a"}\n{"text": 1}\n')))
    reader = read_corpus("-", skip_bad=True)
    assert [d.text for d in reader] == ["a"]
    assert (reader.errors[0].file, reader.errors[0].line) == ("<stdin>", 2)
    with pytest.raises(ValueError, match="stdin was already read"):
        list(reader)


def test_lone_surrogates_are_replaced_and_counted(tmp_path: Path) -> None:
    path = write_jsonl(
        tmp_path / "c.jsonl",
        b'{"text": "a\\ud800b", "id": "\\udc00", "metadata": {"k\\ud800": ["\\udfff", 1, null]}}',
        b'{"text": "\\ud83d\\ude00 whole"}',
    )
    reader = read_corpus(path)
    documents = list(reader)
    assert documents[0] == Document("a\ufffdb", id="\ufffd", metadata={"k\ufffd": ["\ufffd", 1, None]})
    assert documents[1].text == "😀 whole"
    assert reader.repaired == 1
    with FaissIndex.build(documents, HashEmbedder()) as index:
        assert index.search("a\ud800b")[0].document.text is not None


def test_folder_of_texts(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "two.md").write_text("# Heading\n\n" + "A sentence of some words. " * 30)
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo")
    (tmp_path / "c.PDF").write_bytes(make_pdf("Hello page one", "", "Hello page three"))
    (tmp_path / "photo.jpg").write_bytes(b"x")
    (tmp_path / "package.json").write_text('{"name": "x"}')
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "hidden.txt").write_text("hidden")
    reader = read_corpus(tmp_path, chunk_tokens=60)
    documents = list(reader)
    assert documents[0] == Document("one\ntwo", id="a.txt#0", metadata={"source": "a.txt", "chunk": 0})
    middle = [d for d in documents if d.metadata["source"] == "b/two.md"]
    assert [d.id for d in middle] == [f"b/two.md#{i}" for i in range(len(middle))]
    # The heading; then 30 sentences of 26 characters, nine of them in 60 * 4.
    assert [d.text.count(".") for d in middle] == [0, 9, 9, 9, 3]
    assert documents[-2:] == [
        Document("Hello page one", id="c.PDF#0", metadata={"source": "c.PDF", "page": 1, "chunk": 0}),
        Document("Hello page three", id="c.PDF#1", metadata={"source": "c.PDF", "page": 3, "chunk": 1}),
    ]
    assert [d.metadata["source"] for d in documents] == sorted(d.metadata["source"] for d in documents)
    assert reader.ignored == ["package.json", "photo.jpg"]


def test_single_text_file(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("word " * 100)
    documents = list(read_corpus(tmp_path / "a.md", chunk_tokens=10, count_tokens=lambda t: len(t.split())))
    assert [d.id for d in documents] == [f"a.md#{i}" for i in range(10)]


def encrypted_pdf() -> bytes:
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(make_pdf("secret"))))
    writer.encrypt("password", algorithm="RC4-128")
    target = io.BytesIO()
    writer.write(target)
    return target.getvalue()


def broken_pdf() -> bytes:
    return make_pdf("text")[:300]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.pdf", lambda: b"not a pdf at all", r"x\.pdf: not readable as PDF"),
        ("x.pdf", lambda: b"", r"x\.pdf: not readable as PDF"),
        ("x.pdf", lambda: make_pdf("", ""), r"x\.pdf: no text in any page \(a scan\?\)"),
        ("x.pdf", encrypted_pdf, r"x\.pdf: the PDF is encrypted"),
        ("x.pdf", broken_pdf, r"x\.pdf: (not readable as PDF|no text)"),
        ("x.txt", lambda: b"fine\nfine\n\xff", r"x\.txt:3: invalid UTF-8 at byte 10"),
        ("x.txt", lambda: b" \n", r"x\.txt: no text"),
        ("xquad.de.json", lambda: b'{"data": [\n,', r"xquad\.de\.json:2: invalid JSON"),
        ("xquad.de.json", lambda: b"\xff", r"xquad\.de\.json: invalid UTF-8"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, content, message: str) -> None:
    (tmp_path / name).write_bytes(content())
    for path in (tmp_path, tmp_path / name):
        with pytest.raises(ValueError, match=f"^{message}"):
            list(read_corpus(path))
    reader = read_corpus(tmp_path, skip_bad=True)
    assert list(reader) == []
    assert (reader.skipped, reader.errors[0].file) == (1, name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("x.docx", r"got '\.docx', expected a \.jsonl file"),
        ("other.json", "not SQuAD-format JSON"),
        ("missing", "no such file or folder"),
        ("folder", "no documents in"),
    ],
)
def test_nothing_to_read(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "x.docx").write_bytes(b"x")
    (tmp_path / "other.json").write_text('{"name": []}')
    (tmp_path / "folder").mkdir()
    with pytest.raises(ValueError, match=message):
        list(read_corpus(tmp_path / name))


def test_squad_files(tmp_path: Path) -> None:
    articles = [
        {"title": "T", "paragraphs": [{"context": "\ufeffeins", "qas": []}, {"context": "zwei", "qas": []}]},
        {"paragraphs": [{"context": "eins", "qas": []}]},
    ]
    (tmp_path / "xquad.de.json").write_text(json.dumps({"data": articles}), encoding="utf-8-sig")
    (tmp_path / "train.json").write_text(json.dumps({"data": articles[1:]}))
    (tmp_path / "README.md").write_text("about the data")
    reader = read_corpus(tmp_path)
    source = {"source": "xquad.de.json"}
    assert list(reader) == [
        Document("eins", id="train:0", metadata={"source": "train.json", "paragraph": 0}),
        Document("\ufeffeins", id="de:0", language="de", title="T", metadata={**source, "paragraph": 0}),
        Document("zwei", id="de:1", language="de", title="T", metadata={**source, "paragraph": 1}),
        Document("eins", id="de:2", language="de", metadata={**source, "paragraph": 2}),
    ]
    assert reader.ignored == ["README.md"]


def test_squad_paragraph_without_context(tmp_path: Path) -> None:
    (tmp_path / "xquad.de.json").write_text(
        '{"data": [{"paragraphs": [{"context": "a"}, {}, {"context": "c"}]}]}'
    )
    with pytest.raises(ValueError, match=r"^xquad\.de\.json: paragraph 1 has no 'context'"):
        list(read_corpus(tmp_path))
    assert [d.id for d in read_corpus(tmp_path, skip_bad=True)] == ["de:0", "de:2"]


def test_ids_repeated_in_another_file(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", {"id": "x", "text": "1"})
    write_jsonl(tmp_path / "b.jsonl", {"id": "y", "text": "2"}, {"id": "x", "text": "3"})
    with pytest.raises(ValueError, match=r"^b\.jsonl:2: the id 'x' is already used at a\.jsonl:1"):
        list(read_corpus(tmp_path))


def test_xquad_has_2880_paragraphs(data_dir: Path) -> None:
    reader = read_corpus(data_dir / "xquad")
    documents = list(reader)
    assert len(documents) == 2880
    assert reader.ignored == ["SOURCE.md"]
    codes = ["ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh"]
    assert [documents[240 * i].language for i in range(12)] == codes
    english = json.loads((data_dir / "xquad" / "xquad.en.json").read_text(encoding="utf-8"))
    contexts = [p["context"] for article in english["data"] for p in article["paragraphs"]]
    assert [d.text for d in documents if d.language == "en"] == contexts
    assert documents[240 * 3 + 239].id == "en:239"


def test_null_as_another_text_key_and_nan_are_bad_rows(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"title": null}\n')
    with pytest.raises(BadRowError, match=r"corpus\.jsonl:1: 'title' is a null, expected a string"):
        list(read_corpus(path, text_key="title"))
    path.write_text('{"text": "x", "metadata": {"a": NaN}}\n')
    with pytest.raises(BadRowError, match=r"corpus\.jsonl:1: invalid JSON: NaN is no JSON number"):
        list(read_corpus(path))


def test_deep_metadata_is_a_bad_row_and_can_be_skipped(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"text": "good"}\n{"text": "a", "x": ' + "[" * 800 + "]" * 800 + "}\n")
    with pytest.raises(BadRowError, match=r"corpus\.jsonl:2: .*nested too deeply"):
        list(read_corpus(path))
    reader = read_corpus(path, skip_bad=True)
    assert [document.text for document in reader] == ["good"]
    assert reader.skipped == 1


def test_closed_stdin_and_an_empty_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(ValueError, match="stdin is closed"):
        list(read_corpus("-"))
    with pytest.raises(ValueError, match="empty path"):
        read_corpus("")
