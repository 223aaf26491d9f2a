"""The paper's corpora: read from files and tables as the hub has them."""

from __future__ import annotations

import pytest
from datasets import Dataset
from lamar_trainers.hub_sources import mmarco_corpus, rlhn_queries, triplet_table


def write_mmarco(folder):
    files = {
        "data/triples.train.ids.small.tsv": "7\t100\t101\n8\t102\t100\n7\t103\t101\n",
        "data/google/queries/train/english_queries.train.tsv": "9\tunused\n7\twhat is a cat\n8\twho barks\n",
        "data/google/queries/train/german_queries.train.tsv": "7\twas ist eine Katze\n8\twer bellt\n9\tegal\n",
        "data/google/collections/english_collection.tsv": "100\ta pet\twith a tab\n101\tx\n102\ta dog\n103\ty\n",
        "data/google/collections/german_collection.tsv": "100\tein Haustier\n101\tx\n102\tein Hund\n103\ty\n",
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_mmarco_s_queries_have_their_first_positive_in_every_language(tmp_path):
    write_mmarco(tmp_path / "hub")
    corpus = mmarco_corpus(
        "unicamp-dl/mmarco",
        languages={"en": "english", "de": "german"},
        cache=tmp_path / "cache",
        download=lambda repository, file: str(tmp_path / "hub" / file),
    )
    assert (len(corpus), corpus.languages) == (2, ("en", "de"))
    assert [corpus.text("query", row, "de") for row in (0, 1)] == ["was ist eine Katze", "wer bellt"]
    assert [corpus.text("positive", row, "en") for row in (0, 1)] == ["a pet\twith a tab", "a dog"]
    with pytest.raises(ValueError, match="got negative 0 in en"):
        corpus.text("negative", 0, "en")


def test_a_broken_line_is_named(tmp_path):
    write_mmarco(tmp_path)
    (tmp_path / "data/triples.train.ids.small.tsv").write_text("7 100 101\n")
    with pytest.raises(ValueError, match="line 1, expected 3 columns with tabs"):
        mmarco_corpus("r", cache=tmp_path / "cache", download=lambda _, file: str(tmp_path / file))


def test_triplets_get_the_columns_of_a_parallel_corpus():
    table = Dataset.from_dict({"anchor": ["q"], "positive": ["p"], "negative": ["n"], "more": [1]})
    assert triplet_table(table, "here").to_list() == [
        {"id": "0", "query": "q", "positive": "p", "negative": "n"}
    ]
    named = Dataset.from_dict({"id": ["x"], "query": ["q"], "positive": ["p"], "negative": ["n"]})
    assert triplet_table(named, "here").to_list() == named.to_list()
    with pytest.raises(ValueError, match=r"got columns anchor in here, expected also positive, negative"):
        triplet_table(Dataset.from_dict({"anchor": ["q"]}), "here")


def test_rlhn_leaves_msmarco_out_and_keeps_every_passage():
    def passage(text, title=""):
        return {"docid": "1", "text": text, "title": title}

    rows = [
        {
            "query": "q",
            "subset": "hotpotqa",
            "positive_passages": [passage("a", "T"), passage("b")],
            "negative_passages": [passage("c")],
        },
        {"query": "r", "subset": "msmarco", "positive_passages": [passage("d")], "negative_passages": []},
    ]
    (found,) = rlhn_queries("rlhn/rlhn-250K", rows=rows)
    assert (found.query, found.positives, found.negatives, found.language) == (
        "q",
        ("T a", "b"),
        ("c",),
        "en",
    )
