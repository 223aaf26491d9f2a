from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import hash_embedder
import pytest
from hash_embedder import HashEmbedder, generation

from lamar_rag.retrieval import index_folder
from lamar_rag.retrieval.faiss_index import FaissIndex
from lamar_rag.retrieval.index_manifest import SavedFile
from lamar_rag.types import Document


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    target = tmp_path / "deep" / "index"
    with FaissIndex.build(generation(1), HashEmbedder()) as index:
        index.save(target)
    return target


def visible(folder: Path) -> list[str]:
    return sorted(path.name.split("-")[0].split(".")[0] for path in folder.iterdir() if path.name[0] != ".")


@pytest.mark.parametrize("kind", ["flat", "hnsw", "ivfpq"])
def test_round_trip(tmp_path: Path, kind: str) -> None:
    documents = [
        Document(
            f"text {i}",
            id=f"i{i}",
            language=("de", "th")[i % 2],
            title="t" * (i % 3),
            metadata={"n": [i, None]},
        )
        for i in range(10_000 if kind == "ivfpq" else 200)
    ]
    documents.append(Document("x\ud800", id="odd\udfff", language="und"))
    with FaissIndex.build(documents, HashEmbedder(), kind=kind) as index:
        index.save(tmp_path)
        with FaissIndex.load(tmp_path, HashEmbedder()) as loaded:
            assert len(loaded) == len(documents)
            assert loaded.kind == kind
            assert loaded.languages == index.languages
            assert list(loaded.iter_documents()) == documents
            for options in ({}, {"languages": ["th"]}, {"per_language": 2}):
                assert loaded.search("q", 9, query_language="en", **options) == index.search(
                    "q", 9, query_language="en", **options
                )


def test_info_needs_no_embedder(folder: Path) -> None:
    info = FaissIndex.info(folder)
    assert (info.documents, info.languages, info.kind) == (51, {"en": 51}, "flat")
    assert (info.model, info.dimension, info.centring) == ("hash", 16, None)


def test_empty_index_is_saved(tmp_path: Path) -> None:
    FaissIndex.build([], HashEmbedder()).save(tmp_path)
    with FaissIndex.load(tmp_path, HashEmbedder()) as index:
        assert index.search("x", query_language="en") == []
        index.add([Document("x", language="en")])
        assert len(index) == 1


def test_add_after_load_then_save(folder: Path) -> None:
    with FaissIndex.load(folder, HashEmbedder()) as index:
        index.add([Document("new", id="new", language="de")])
        assert FaissIndex.info(folder).documents == 51  # not before save
        index.save(folder)
        index.add([Document("newer", id="newer", language="de")])
        assert index.search("new", 1, query_language="en")[0].document.id == "new"
    with FaissIndex.load(folder, HashEmbedder()) as index:
        assert len(index) == 52
        assert index.search("new", 1, query_language="en")[0].document.id == "new"
    assert visible(folder) == ["documents", "manifest", "vectors"]


def test_failed_add_after_load(folder: Path) -> None:
    with FaissIndex.load(folder, HashEmbedder()) as index:
        with pytest.raises(ValueError, match="has the id '1-0'"):
            index.add([Document("new", id="1-0", language="de")])
        assert len(index) == 51
        assert len(list(index.iter_documents())) == 51


def test_saving_again_replaces_and_cleans_up(folder: Path) -> None:
    (folder / ".saving-vectors.faiss").write_bytes(b"killed")
    (folder / "vectors-0123456789abcdef.faiss").write_bytes(b"killed later")
    (folder / "NOTES.txt").write_text("mine")
    with FaissIndex.build(generation(2), HashEmbedder()) as index:
        index.save(folder)
    assert FaissIndex.info(folder).documents == 52
    assert visible(folder) == ["NOTES", "documents", "manifest", "vectors"]
    assert not list(folder.glob(".saving*"))
    assert (folder / "NOTES.txt").read_text() == "mine"


def test_leftovers_of_a_killed_first_save_are_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / ".saving-documents.sqlite").write_bytes(b"half")
    (tmp_path / "vectors-0123456789abcdef.faiss").write_bytes(b"whole")
    with pytest.raises(ValueError, match=r"no index in .* `lamar index build`"):
        FaissIndex.load(tmp_path, HashEmbedder())
    FaissIndex.build(generation(1), HashEmbedder()).save(tmp_path)
    assert visible(tmp_path) == ["documents", "manifest", "vectors"]


@pytest.mark.parametrize("name", ["photo.jpg", "manifest.json", "vectors.faiss", ".hidden"])
def test_foreign_folders_stay_untouched(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text('{"some": "thing"}')
    index = FaissIndex.build(generation(1), HashEmbedder())
    with pytest.raises(ValueError, match=r"holds other files|is not the manifest"):
        index.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    with pytest.raises(ValueError, match="it is a file, expected a folder"):
        index.save(tmp_path / name)


@pytest.mark.parametrize(
    ("embedder", "message"),
    [
        (
            HashEmbedder(model="other"),
            "built with model 'hash', the embedder has 'other': pass an embedder with",
        ),
        (HashEmbedder(dimension=8), "built with dimension 16, the embedder has 8"),
        (HashEmbedder(centring="means"), "built with centring None, the embedder has 'means'"),
    ],
)
def test_another_embedder(folder: Path, embedder: HashEmbedder, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FaissIndex.load(folder, embedder)


@pytest.mark.parametrize("start", ["vectors", "documents"])
@pytest.mark.parametrize("damage", ["truncated", "altered", "missing"])
def test_damaged_files(folder: Path, start: str, damage: str) -> None:
    path = next(folder.glob(f"{start}-*"))
    content = bytearray(path.read_bytes())
    if damage == "missing":
        path.unlink()
    elif damage == "truncated":
        path.write_bytes(content[:-100])
    else:
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(path.name)):
        FaissIndex.load(folder, HashEmbedder())


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("format_version", 2, "has format 2, .* reads up to 1: pip install --upgrade lamar-rag"),
        ("format", "else", "is not the manifest of a lamar index"),
        ("kind", "lsh", "is damaged .*unknown kind"),
        ("documents", 50, "do not add up"),
        ("documents", "51", "documents is '51', expected int"),
        ("dimension", None, "dimension is None"),
        ("vectors_file", {"name": "../x", "bytes": 1, "sha256": "0" * 64}, "unexpected file '../x'"),
    ],
)
def test_damaged_manifests(folder: Path, key: str, value: object, message: str) -> None:
    path = folder / "manifest.json"
    content = json.loads(path.read_text())
    content[key] = value
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=message):
        FaissIndex.load(folder, HashEmbedder())


@pytest.mark.parametrize("content", ["", '{"format": "lamar-ind', "[]", '{"format": "lamar-index"}', "\x80"])
def test_broken_manifests(folder: Path, content: str) -> None:
    (folder / "manifest.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(ValueError, match=r"manifest\.json'? is (damaged|not the manifest)"):
        FaissIndex.load(folder, HashEmbedder())


def test_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no index in .*nowhere.* `lamar index build`"):
        FaissIndex.load(tmp_path / "nowhere", HashEmbedder())


def test_an_open_index_survives_a_save_over_it(folder: Path) -> None:
    with FaissIndex.load(folder, HashEmbedder()) as old:
        FaissIndex.build(generation(2), HashEmbedder()).save(folder)
        assert {d.id.split("-")[0] for d in old.iter_documents()} == {"1"}


class Stop(BaseException):
    """Stands for a kill: nothing catches it."""


def test_a_stop_at_every_step_leaves_old_or_new(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = ("_sync", "file_sha256", "_sync_folder", "_replace_manifest", "_delete_unnamed", "_delete")
    calls, stop_at, seen = 0, 0, set()

    def counted(function):
        def step(*arguments, **options):
            nonlocal calls
            calls += 1
            if calls == stop_at:
                raise Stop
            result = function(*arguments, **options)
            calls += 1
            if calls == stop_at:
                raise Stop
            return result

        return step

    finished = False
    while not finished:
        FaissIndex.build(generation(1), HashEmbedder()).save(folder)
        stop_at, calls = stop_at + 1, 0
        with monkeypatch.context() as patch:
            for name in steps:
                patch.setattr(index_folder, name, counted(getattr(index_folder, name)))
            try:
                FaissIndex.build(generation(2), HashEmbedder()).save(folder)
                finished = True
            except Stop:
                pass
        with FaissIndex.load(folder, HashEmbedder()) as index:
            documents = list(index.iter_documents())
            assert documents in (generation(1), generation(2))
            seen.add(len(documents))
    assert stop_at > 12
    assert seen == {51, 52}


@pytest.mark.slow
def test_kill_at_random_moments_leaves_a_whole_index(tmp_path: Path) -> None:
    chance = random.Random(7)
    last = 0
    for _ in range(24):
        child = subprocess.Popen(
            [sys.executable, hash_embedder.__file__, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        child.stdout.readline()  # the first save is done; the next ones follow each other closely
        time.sleep(chance.uniform(0, 0.12))
        child.send_signal(signal.SIGKILL)
        done = [1, *(int(line) for line in child.stdout.read().split())][-1]
        child.wait()
        with FaissIndex.load(tmp_path, HashEmbedder()) as index:
            documents = list(index.iter_documents())
            number = int(documents[0].id.split("-")[0])
            assert documents == generation(number)
            assert number in (done, done + 1)
            found = index.search(documents[-1].text, 1, query_language="en")
            assert found[0].document == documents[-1]
        last = max(last, done)
    assert last > 1  # some children got past their first save
    FaissIndex.build(generation(1), HashEmbedder()).save(tmp_path)
    assert visible(tmp_path) == ["documents", "manifest", "vectors"]


@pytest.mark.slow
def test_loading_while_others_save(folder: Path) -> None:
    done = threading.Event()
    errors: list[Exception] = []

    def save() -> None:
        number = 1
        while not done.is_set():
            number += 1
            try:
                FaissIndex.build(generation(number), HashEmbedder()).save(folder)
            except Exception as error:
                errors.append(error)

    savers = [threading.Thread(target=save) for _ in range(2)]
    for saver in savers:
        saver.start()
    for _ in range(60):
        with FaissIndex.load(folder, HashEmbedder()) as index:
            documents = list(index.iter_documents())
            assert documents == generation(int(documents[0].id.split("-")[0]))
    done.set()
    for saver in savers:
        saver.join()
    assert errors == []


@pytest.mark.parametrize("overtaken", ["vectors", "documents"])
def test_a_save_between_manifest_and_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch, overtaken: str
) -> None:
    verify, saved = index_folder._verified, False

    def overtake(place: Path, file: SavedFile) -> Path:
        nonlocal saved
        if not saved and file.name.startswith(overtaken):
            saved = True
            FaissIndex.build(generation(2), HashEmbedder()).save(folder)
        return verify(place, file)

    monkeypatch.setattr(index_folder, "_verified", overtake)
    with FaissIndex.load(folder, HashEmbedder()) as index:
        assert list(index.iter_documents()) == generation(2)


def test_a_damaged_index_can_be_replaced_but_not_beside_foreign_files(folder: Path) -> None:
    (folder / "manifest.json").write_text('{"format": "lamar')
    (folder / "mine.txt").write_text("mine")
    with FaissIndex.build(generation(7), HashEmbedder()) as index:
        with pytest.raises(ValueError, match=r"other files \('mine.txt'\)"):
            index.save(folder)
        (folder / "mine.txt").unlink()
        index.save(folder)
    with FaissIndex.load(folder, HashEmbedder()) as again:
        assert list(again.iter_documents()) == generation(7)


def test_a_change_that_someone_else_saved_meanwhile_is_not_lost(folder: Path) -> None:
    with FaissIndex.load(folder, HashEmbedder()) as first, FaissIndex.load(folder, HashEmbedder()) as second:
        before = len(first)
        first.add([Document("one more", id="one more", language="en")])
        first.save(folder)
        second.add([Document("another", id="another", language="en")])
        with pytest.raises(ValueError, match="was changed since this one was loaded"):
            second.save(folder)
        first.add([Document("a third", id="a third", language="en")])
        first.save(folder)  # its own last save is no foreign change
    with FaissIndex.load(folder, HashEmbedder()) as index:
        assert len(index) == before + 2
        assert index.documents(["one more", "a third"])


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("kind", "ivfpq", "holds a IndexFlat.*, the manifest says 'ivfpq'"),
        ("kind", "hnsw", "holds a IndexFlat.*, the manifest says 'hnsw'"),
        ("languages", None, "does not hold what the manifest says"),
    ],
)
def test_a_manifest_that_is_not_the_files(folder: Path, key: str, value: object, message: str) -> None:
    path = folder / "manifest.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, key: value or {"zu": content["documents"]}}))
    with pytest.raises(ValueError, match=message):
        FaissIndex.load(folder, HashEmbedder())
