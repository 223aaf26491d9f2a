from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest
from tiny_models import tiny_cross_encoder

from lamar_rag.cache import cache_dir
from lamar_rag.cli.main import main

ROWS = [
    {"id": "cat-en", "text": "The cat sleeps on the sofa in the living room.", "language": "en"},
    {
        "id": "cat-de",
        "text": "Die Katze schläft auf dem Sofa im Wohnzimmer.",
        "language": "de",
        "metadata": {"n": 1},
    },
    {"id": "rain-en", "text": "It rains a lot in November, and the streets are wet.", "language": "en"},
    {"id": "rain-de", "text": "Im November regnet es viel, und die Straßen sind nass.", "language": "de"},
    {"id": "train-ar", "text": "يغادر القطار إلى القاهرة كل صباح في الساعة السابعة.", "language": "ar"},
]


@pytest.fixture
def lamar(monkeypatch, capsys):
    """Run the command line in this process; returns exit code, stdout and stderr."""

    def run(*words: str, stdin: str | None = None) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["lamar", *words])
        if stdin is not None:
            monkeypatch.setattr(
                sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode("utf-8", "surrogatepass")))
            )
        with pytest.raises(SystemExit) as exit_:
            main()
        code = exit_.value.code
        printed = capsys.readouterr()
        return (code if isinstance(code, int) else 0), printed.out, printed.err

    return run


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "corpus.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def index(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("indexes") / "index"
    words = ["index", "build", str(corpus), "--out", str(folder), "--json"]
    result = subprocess.run(
        [sys.executable, "-m", "lamar_rag.cli.main", *words], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["documents"] == report["total"] == 5
    assert report["languages"] == {"en": 2, "de": 2, "ar": 1}
    return folder


def test_version_and_help(lamar):
    from lamar_rag import __version__

    assert lamar("--version") == (0, f"{__version__}\n", "")
    code, out, _ = lamar("--help")
    assert code == 0
    assert all(name in out for name in ("index", "search", "rerank", "ask", "models", "doctor", "quickstart"))


def test_models_as_json(lamar):
    code, out, _ = lamar("models", "--json")
    rows = {row["name"]: row for row in json.loads(out)["models"]}
    assert code == 0
    assert rows["nlpai-lab/LAMAR-600m"]["licence"] == "MIT"
    assert "embedded" in rows["multilingual-e5-small"]["install"]


def test_doctor_is_well_here_and_names_what_is_missing(lamar, monkeypatch):
    code, out, _ = lamar("doctor", "--json")
    report = json.loads(out)
    assert (code, report["ok"]) == (0, True)
    from importlib import metadata

    real = metadata.version

    def without(name: str) -> str:
        if name in ("faiss-cpu", "torch"):
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "version", without)
    code, out, _ = lamar("doctor", "--json")
    findings = {finding["subject"]: finding for finding in json.loads(out)["findings"]}
    assert code == 1
    assert findings["extra rag"]["fix"] == "pip install 'lamar-rag[rag]'"
    assert "faiss-cpu" in findings["extra rag"]["detail"]
    assert findings["core"]["fix"] == "pip install lamar-rag"


def test_doctor_names_a_damaged_model(lamar, monkeypatch, tmp_path):
    from lamar_rag.cache import materialize

    monkeypatch.setenv("LAMAR_CACHE", str(tmp_path))
    folder = materialize("multilingual-e5-small", lambda f: (f / "config.json").write_text("{}"), source={})
    (folder / "config.json").write_text("[]")
    code, out, _ = lamar("doctor", "--json")
    finding = next(f for f in json.loads(out)["findings"] if f["subject"] == "model multilingual-e5-small")
    assert code == 1
    assert "checksum differs" in finding["detail"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rerank", "q", "/no/such/file.jsonl"], "/no/such/file.jsonl"),
        (["rerank", "q", "-", "--profile", "fast"], "got profile 'fast'"),
        (["rerank", "q", "-", "--weight", "nan"], "weight=nan"),
        (["rerank", "q", "-", "--prefer", ",,"], "no language code"),
        (["rerank", "q", "-", "--model", ""], "empty model name"),
        (["rerank", "q", ""], "empty path"),
        (["rerank", "q", "-", "--top-n", "0"], "top_n=0"),
        (["rerank", "q", "-", "--language", "klingonese"], "klingonese"),
        (["rerank", "q", "-", "--model", "some/model"], "hf download some/model"),
        (["search", "q", "--index", "/no/such/index"], "lamar index build"),
        (["ask", "q", "--index", "/no/such/index"], "lamar index build"),
        (["index", "info", "/no/such/index"], "lamar index build"),
        (["index", "build", "/no/such/corpus", "--out", "unused"], "/no/such/corpus"),
    ],
)
def test_a_mistake_exits_with_2_and_one_line(lamar, words, message):
    code, out, err = lamar(*words, stdin=json.dumps(ROWS[0]))
    assert code == 2
    assert out == ""
    assert message in err
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_a_bad_row_is_named_with_its_line_and_can_be_skipped(lamar, tmp_path):
    folder = tiny_cross_encoder(tmp_path / "model")
    bad = json.dumps(ROWS[0]) + "\nnot json\n" + json.dumps({"id": "x"}) + "\n"
    code, _, err = lamar("rerank", "cat", "--model", str(folder), stdin=bad)
    assert code == 2
    assert ":2:" in err
    assert "--skip-bad" in err
    code, out, err = lamar("rerank", "cat", "--model", str(folder), "--skip-bad", "--json", stdin=bad)
    assert code == 0
    assert [row["id"] for row in json.loads(out)["results"]] == ["cat-en"]
    assert ":2: " in err
    assert ":3: " in err


def test_a_bad_target_is_found_before_the_work(lamar, corpus, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    code, _, err = lamar("index", "build", str(corpus), "--out", str(tmp_path))
    assert code == 2
    assert "holds other files ('mine.txt')" in err
    code, _, err = lamar(
        "index",
        "build",
        str(corpus),
        "--out",
        str(tmp_path / "new"),
        "--embedder",
        "BAAI/bge-m3",
        "--centring",
    )
    assert code == 2
    assert "no language means for 'BAAI/bge-m3'" in err


def test_rerank_equals_the_library(lamar, tmp_path, corpus):
    from lamar_rag import LanguagePreference, Reranker
    from lamar_rag.retrieval.corpus_reader import read_corpus

    folder = tiny_cross_encoder(tmp_path / "model")
    words = ["--model", str(folder), "--weight", "1.5", "--prefer", "de,en", "--top-n", "4", "--json"]
    code, out, _ = lamar("rerank", "the cat", str(corpus), *words)
    assert code == 0
    preference = LanguagePreference(weight=1.5, preferred=("de", "en"))
    expected = Reranker(folder, preference=preference).rerank("the cat", list(read_corpus(corpus)), top_n=4)
    results = json.loads(out)["results"]
    assert [row["id"] for row in results] == [row.document.id for row in expected]
    assert [row["score"] for row in results] == pytest.approx([row.score for row in expected], abs=1e-5)
    assert [row["rank"] for row in results] == [1, 2, 3, 4]
    assert set(results[0]) >= {
        "id",
        "score",
        "rank",
        "language",
        "text",
        "relevance",
        "rank_before",
        "truncated",
    }
    (de,) = [row for row in results if row["id"] == "cat-de"]
    assert (de["metadata"], de["language"]) == ({"n": 1}, "de")


def test_broken_characters_and_markup_print(lamar, tmp_path):
    folder = tiny_cross_encoder(tmp_path / "model")
    rows = '{"id": "a", "text": "lone \\ud800 [red]half[/red] [/x]"}\n'
    code, out, err = lamar("rerank", "[bold]cat", "--model", str(folder), stdin=rows)
    assert code == 0, err
    assert "[red]half[/red]" in out.replace("\n", "")
    assert "lone surrogates" in err


def test_a_document_cannot_steer_the_terminal(lamar, tmp_path, monkeypatch):
    folder = tiny_cross_encoder(tmp_path / "model")
    monkeypatch.setenv("COLUMNS", "50")  # a narrow terminal still shows the texts
    rows = json.dumps({"id": "\x1b[2J", "text": "kitten \x1b]0;x\x07 \u202eabc\x00"}) + "\n"
    code, out, err = lamar("rerank", "cat\x1b[31m", "--model", str(folder), stdin=rows)
    assert code == 0, err
    assert not set(out) & {"\x1b", "\x07", "\x00", "\u202e"}
    assert "kitten" in out
    code, _, err = lamar("rerank", "cat", "--model", "\x1b[2J/x/y", stdin=rows)
    assert code == 2
    assert "\x1b" not in err


@pytest.mark.slow
class TestRealIndex:
    def test_info(self, lamar, index):
        code, out, _ = lamar("index", "info", str(index), "--json")
        content = json.loads(out)
        assert code == 0
        assert (content["documents"], content["kind"], content["model"]) == (
            5,
            "flat",
            "multilingual-e5-small",
        )
        assert content["centring"] == "ntrex-51"

    def test_search(self, lamar, index):
        code, out, _ = lamar("search", "Wo schläft die Katze?", "--index", str(index), "-k", "3", "--json")
        content = json.loads(out)
        assert code == 0
        assert (content["query"], content["query_language"]) == ("Wo schläft die Katze?", "de")
        assert {row["id"] for row in content["results"][:2]} == {"cat-de", "cat-en"}
        assert [row["rank"] for row in content["results"]] == [1, 2, 3]
        _, out, _ = lamar("search", "cat", "--index", str(index), "--languages", "ar", "--json")
        assert [row["id"] for row in json.loads(out)["results"]] == ["train-ar"]
        _, out, _ = lamar("search", "cat", "--index", str(index), "--per-language", "1", "--json")
        assert sorted(row["language"] for row in json.loads(out)["results"]) == ["ar", "de", "en"]

    def test_ask_in_the_language_and_across(self, lamar, index):
        code, out, _ = lamar("ask", "Wo schläft die Katze?", "--index", str(index), "--json")
        content = json.loads(out)
        assert code == 0
        assert (content["answer"], content["source"]) == (
            "Die Katze schläft auf dem Sofa im Wohnzimmer.",
            "cat-de",
        )
        assert len(content["contexts"]) == 3
        assert set(content["timings_ms"]) == {"language", "retrieve", "rerank", "generate", "total"}
        _, out, _ = lamar("ask", "When does the train to Cairo leave?", "--index", str(index), "--json")
        assert json.loads(out)["source"] == "train-ar"

    def test_ask_for_people(self, lamar, index):
        code, out, _ = lamar("ask", "Where does the cat sleep?", "--index", str(index), "--weight", "0")
        assert code == 0
        assert "cat-en" in out
        assert "retrieve" in out

    def test_add_and_duplicates(self, lamar, index, tmp_path):
        import shutil

        copy = tmp_path / "copy"
        shutil.copytree(index, copy)
        more = tmp_path / "more.jsonl"
        more.write_text(json.dumps({"id": "new", "text": "Η γάτα κοιμάται στον καναπέ του σαλονιού."}))
        code, out, _ = lamar("index", "add", str(copy), str(more), "--json")
        assert (code, json.loads(out)["total"], json.loads(out)["documents"]) == (0, 6, 1)
        assert json.loads(out)["languages"]["el"] == 1
        code, _, err = lamar("index", "add", str(copy), str(more))
        assert code == 2
        assert "'new'" in err
        _, out, _ = lamar("index", "info", str(copy), "--json")
        assert json.loads(out)["documents"] == 6

    def test_quickstart(self, lamar, monkeypatch, tmp_path):
        (tmp_path / "models").symlink_to(
            cache_dir() / "models"
        )  # an own sample index, the models made already
        monkeypatch.setenv("LAMAR_CACHE", str(tmp_path))
        code, out, _ = lamar("quickstart")
        assert code == 0
        assert out.count("before: by relevance alone") == 6
        assert "lamar ask" in out
