from __future__ import annotations

import pytest

from lamar_rag.evaluation.paper import impossible_rows, paper_recall, paper_table


def test_lamar_row_of_table_3():
    row = paper_table("coherence")["LAMAR"]
    languages = paper_table("xquad_ndcg@1")["LAMAR"]
    # the table by language has the same mean as the one over data sets
    own = [value for language, value in languages.items() if language != "avg"]
    assert len(own) == 12
    assert sum(own) / 12 == pytest.approx(row["xquad_ndcg@1"], abs=1e-4)
    assert languages["avg"] == row["xquad_ndcg@1"]


@pytest.mark.parametrize("name", ["coherence", "mteb", "retrieval", "belebele_mrr@10"])
def test_every_table_has_fourteen_models_and_fractions(name):
    table = paper_table(name)
    assert len(table) == 14
    assert all(0 <= value <= 1 for row in table.values() for value in row.values())


def test_averages_are_those_of_their_columns():
    for row in paper_table("mteb").values():
        columns = [value for name, value in row.items() if name != "avg"]
        assert sum(columns) / 5 == pytest.approx(row["avg"], abs=2e-4)


def test_recall_of_the_first_stages():
    assert paper_recall("bge-m3") == pytest.approx(0.973)
    assert paper_recall("minilm") == pytest.approx(0.8067)


def test_rows_that_cannot_be_are_marked():
    assert {name for name in impossible_rows() if name.startswith("Prism")} == {
        "Prism-Qwen3.5-Reranker-0.8B",
        "Prism-Qwen3.5-Reranker-2B",
        "Prism-Qwen3.5-Reranker-4B",
    }
    assert "LAMAR" not in impossible_rows()


def test_unknown_tables_are_named():
    with pytest.raises(ValueError, match="expected one of coherence"):
        paper_table("table9")
