"""From raw corpora to training files, on small corpora in the published forms."""

from __future__ import annotations

import json
import re
from collections import Counter

import numpy as np
import pyarrow.parquet
import pytest
from hash_embedder import HashEmbedder
from lamar_trainers.development_callback import read_development
from lamar_trainers.held_out import is_held_out
from lamar_trainers.raw_corpora import read_ntrex, read_tico19
from lamar_trainers.synthesis_run import Synthesis
from lamar_trainers.training_config import TrainingConfig, load_config

from lamar_rag.retrieval.cached_embedder import CachedEmbedder
from lamar_rag.retrieval.centring import LanguageCentring

LANGUAGES = ("en", "de", "ar")


def write_ntrex(folder):
    (folder / "NTREX-128").mkdir(parents=True)
    ids = [f"doc{document}" for document in range(12) for _ in range(11)]
    (folder / "DOCUMENT_IDS.tsv").write_text("\n".join(ids) + "\n")
    for language, name in zip(LANGUAGES, ("src.eng", "ref.deu", "ref.arb"), strict=True):
        lines = [f"{language} line {number} of {name}" for number, name in enumerate(ids)]
        (folder / "NTREX-128" / f"newstest2019-{name}.txt").write_text("\n".join(lines) + "\n")


def write_tico19(folder):
    folder.mkdir()
    ids = [f"D_{document}:{line}" for document in range(6) for line in range(5)]
    (folder / "ids.txt").write_text("".join(f"{name}\thttp://x\n" for name in ids))
    for language in LANGUAGES:
        (folder / f"tico19.{language}.txt").write_text("".join(f"{language} says {name}\n" for name in ids))


def write_sections(folder):
    folder.mkdir()
    for language in LANGUAGES:
        rows = [
            {
                "id": f"file{n // 2}.md#{n % 2}",
                "title": f"title {n // 2}",
                "heading": f"{language} h{n}",
                "text": f"{language} text {n}",
            }
            for n in range(16)
        ]
        (folder / f"{language}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_questions(folder):
    folder.mkdir(parents=True)
    for language in ("de", "ar"):
        rows = [
            {
                "title": f"t{n // 2}",
                "passage": f"{language} passage {n} holds answer{n}.",
                "qas": [{"q": f"{language} question {n}?", "a": f"answer{n}."}],
            }
            for n in range(20)
        ]
        (folder / f"{language}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def data(tmp_path):
    write_ntrex(tmp_path / "ntrex")
    write_tico19(tmp_path / "tico")
    write_sections(tmp_path / "sections")
    write_questions(tmp_path / "qa" / "set")
    return tmp_path


CONFIG = TrainingConfig.model_validate(
    {
        "name": "tiny",
        "seed": 3,
        "model": {"base": "x"},
        "synthesis": {
            "negatives": 2,
            "nearest": 3,
            "repetitions": 2,
            "development_share": 0.3,
            "development_languages": ["ar", "de", "en"],
            "sources": {
                "news": {"kind": "ntrex", "path": "ntrex", "repetitions": 2, "align": True},
                "covid": {"kind": "tico19", "path": "tico", "languages": ["en", "ar"]},
                "manual": {"kind": "sections", "path": "sections", "align": True},
                "asked": {"kind": "questions", "path": "qa/*/*.jsonl", "passages": 10},
            },
        },
        "teacher": {"scorers": ["x"]},
        "distill": {"loss": "contrastive", "learning_rate": 1, "batch_size": 1},
        "align": {"loss": "alignment", "learning_rate": 1, "batch_size": 1},
    }
)


@pytest.fixture
def made(data, monkeypatch):
    means = {kind: {"*": np.zeros(16, np.float32)} for kind in ("query", "passage")}
    monkeypatch.setattr(
        "lamar_trainers.synthesis_run.shipped_centring", lambda _: LanguageCentring("none", means)
    )
    synthesis = Synthesis(CONFIG, data, data / "work")
    synthesis._embedder = CachedEmbedder(HashEmbedder(), data / "work" / "vectors")
    counts = synthesis.run()
    rows = {
        name: pyarrow.parquet.read_table(data / "work" / f"{name}.parquet").to_pylist()
        for name in ("pairs", "groups", "development")
    }
    assert counts == {name: len(found) for name, found in rows.items()}
    return rows


def test_held_out_documents_are_a_share_and_the_same_in_every_run():
    names = [f"d{n}" for n in range(4000)]
    found = [is_held_out(name, share=0.3, seed=1) for name in names]
    assert 0.27 < np.mean(found) < 0.33
    assert found == [is_held_out(name, share=0.3, seed=1) for name in names]
    assert found != [is_held_out(name, share=0.3, seed=2) for name in names]
    assert not any(is_held_out(name, share=0.0, seed=1) for name in names)


def test_published_forms_are_read_line_by_line(data):
    ids, lines = read_ntrex(data / "ntrex")
    assert (len(ids), ids[11], list(lines)) == (132, "doc1", ["en", "ar", "de"])
    assert lines["de"][11] == "de line 11 of doc1"
    ids, lines = read_tico19(data / "tico", ["en", "ar"])
    assert (ids[5], lines["ar"][5], len(ids)) == ("D_1", "ar says D_1:0", 30)
    with pytest.raises(ValueError, match="expected also fr"):
        read_ntrex(data / "ntrex", ["en", "fr"])


def test_groups_of_pairs_have_a_positive_and_negatives_that_are_not_of_its_document(made):
    groups = {}
    for row in made["pairs"]:
        groups.setdefault((row["dataset"], row["group"]), []).append(row)
    assert {name for name, _ in groups} == {"news", "covid", "manual", "asked-set-de", "asked-set-ar"}
    for (name, _), (positive, *negatives) in groups.items():
        assert len(negatives) == 2
        assert positive["document_row"] == positive["query_row"]
        assert positive["document_field"] == "positive"
        if name == "news":  # "en line 5 of doc0"
            own = {re.search(r"of (doc\d+)", positive[field])[1] for field in ("query", "document")}
            assert len(own) == 1
            assert all(f"of {min(own)}" not in negative["document"] + " " for negative in negatives)
        if name.startswith("asked"):
            number = re.search(r"question (\d+)", positive["query"])[1]
            assert f"answer{number}." in positive["document"]
            assert all(f"answer{number}." not in negative["document"] for negative in negatives)


def test_nothing_of_a_development_document_is_trained_on(made):
    held_out = {text for row in made["development"] for text in row["documents"]}
    assert held_out
    trained = {row[field] for row in made["pairs"] for field in ("document", "teacher_document")}
    trained |= {
        row[name] for row in made["groups"] for name in row if name.startswith(("positive", "negative"))
    }
    assert held_out.isdisjoint(trained)
    queries = {row["query"] for row in made["development"]}
    assert queries.isdisjoint({row["query"] for row in [*made["pairs"], *made["groups"]]})


def test_the_second_stage_takes_the_sources_that_are_marked(made):
    assert {row["dataset"] for row in made["groups"]} == {"news", "manual"}
    assert all(
        row["positive_source"].startswith(row["source"]) and row["positive_target"].startswith(row["target"])
        for row in made["groups"]
    )


def test_near_negatives_of_the_second_stage_are_other_documents_positives_in_training(made, data):
    near = CONFIG.model_copy(
        update={"synthesis": CONFIG.synthesis.model_copy(update={"near_negatives": True})}
    )
    synthesis = Synthesis(near, data, data / "work")
    synthesis._embedder = CachedEmbedder(HashEmbedder(), data / "work" / "vectors")
    groups = list(synthesis.groups())
    positives = {row["document"] for row in made["pairs"] if row["query_row"] == row["document_row"]}
    held_out = {text for row in made["development"] for text in row["documents"]}
    assert {group.dataset for group in groups} == {"news", "manual"}
    for group in groups:
        assert {group.negative_source, group.negative_target}.isdisjoint(held_out)
        if group.dataset == "news":
            assert re.search(r"of (doc\d+)", group.query)[1] not in group.negative_source.split()
    assert positives & {group.negative_source for group in groups}


def test_sources_of_one_kind_with_other_windows_hold_out_the_same_documents(made, data):
    news = CONFIG.synthesis.sources["news"]
    short = news.model_copy(update={"window": 2, "development": False, "align": False})
    sources = {"news": news, "short": short}
    both = CONFIG.model_copy(update={"synthesis": CONFIG.synthesis.model_copy(update={"sources": sources})})
    synthesis = Synthesis(both, data, data / "both")
    synthesis._embedder = CachedEmbedder(HashEmbedder(), data / "work" / "vectors")
    pairs = list(synthesis.pairs())
    used = {
        name: {re.search(r"of (doc\d+)", pair.query)[1] for pair in pairs if pair.dataset == name}
        for name in sources
    }
    assert used["short"] == used["news"] != set()
    lines = {name: Counter(p.document.count("line") for p in pairs if p.dataset == name) for name in sources}
    assert lines["short"].most_common(1)[0][0] == 2
    assert lines["news"].most_common(1)[0][0] == 4
    assert {query.dataset for query in synthesis.development()} == {"news"}


def test_development_queries_come_back_with_their_candidates(made, data):
    queries = read_development(data / "work" / "development.parquet")
    assert {query.dataset for query in queries} == {"news", "covid", "manual", "questions"}
    assert all(20 <= len(query.documents) <= 21 for query in queries)
    assert len(read_development(data / "work" / "development.parquet", limit=7)) == 7
    for query in queries:
        if query.gold is not None:
            assert query.languages[query.gold] == query.language
            assert query.documents[query.gold].startswith(query.language)


def test_shipped_configurations_are_whole():
    mini = load_config("mini")
    assert (mini.name, mini.align.weights["coherence"]) == ("lamar-mini", 0.25)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: [", "got no YAML in"),
        ("just text", "for the whole file in"),
        ("name: 3", "for name in"),
    ],
)
def test_a_wrong_configuration_is_named(tmp_path, text, message):
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(ValueError, match=message):
        load_config(tmp_path / "c.yaml")
    with pytest.raises(ValueError, match="expected a YAML file or one of mini"):
        load_config(tmp_path / "none.yaml")
