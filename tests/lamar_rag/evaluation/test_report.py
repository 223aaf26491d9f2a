from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from evaluation_parts import SCORES, PairScorer, VectorEmbedder, hand_corpus

from lamar_rag import LanguagePreference, Reranker
from lamar_rag.evaluation import FirstStage, evaluate_coherence, evaluate_rescue, evaluate_retrieval
from lamar_rag.evaluation.evaluation_origin import evaluation_origin
from lamar_rag.evaluation.named_model import file_name
from lamar_rag.evaluation.report import write_report
from lamar_rag.evaluation.result_files import write_result
from lamar_rag.evaluation.result_set import ResultSet, System
from lamar_rag.evaluation.summary_section import difference, estimate


def measure(folder: Path, model: str = "pairs", weight: float = 0.0, dataset: str | None = None) -> None:
    """Write the three results of the small corpus."""
    reranker = Reranker(PairScorer(SCORES), preference=LanguagePreference(weight))
    stage = FirstStage(hand_corpus(), VectorEmbedder(), candidates=2)
    about = evaluation_origin(["lamar", "eval", "x", "--output", "OUT"])
    for result in (
        evaluate_coherence(reranker, hand_corpus()),
        evaluate_retrieval(reranker, stage),
        evaluate_rescue(reranker, stage),
    ):
        value = {**result.to_dict(), "model": model, "about": about}
        value["dataset"] = dataset or value["dataset"]
        write_result(
            folder / f"{file_name(value['dataset'])}-{result.task}-{file_name(model)}-{weight}.json", value
        )


@pytest.fixture
def folder(tmp_path):
    for weight in (0.0, 0.5, 2.0):
        measure(tmp_path, weight=weight)
    measure(tmp_path, model="other <b>|*")
    return tmp_path


class Tables(HTMLParser):
    """The cells of every table of a page, and what else was seen."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: list[str] = []
        self.sources: list[str] = []
        self._inside = False

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.sources += [value for name, value in attributes if name in ("src", "href") and value]
        if tag == "tr":
            self.rows.append([])
        self._inside = tag in ("td", "th")
        if self._inside:
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        self._inside = False

    def handle_data(self, data):
        if self._inside:
            self.rows[-1][-1] += data


def test_both_files_show_the_figures(folder):
    markdown, html = write_report(folder, reference="pairs")
    # retrieval .5 and rescue .75: balanced .6; both questions have .5 and .5, 1 and .5
    assert re.search(
        r"\| pairs \| 0\.500 \[.*\| 0\.500 \[0\.500, 0\.500\] \| 0\.750 \[0\.500, 1\.000\] \| 0\.600 \[",
        markdown.read_text(encoding="utf-8"),
    )
    page = Tables()
    page.feed(html.read_text(encoding="utf-8"))
    (row,) = (row for row in page.rows if row[0] == "pairs" and len(row) == 6 and "candidates" in row[5])
    assert row[1].startswith("0.500 [")
    assert row[4].startswith("0.600 [")
    assert row[5] == "all 2 questions a language; 2 candidates of vectors"


def test_the_page_needs_nothing_else_and_escapes_names(folder):
    _, html = write_report(folder)
    text = html.read_text(encoding="utf-8")
    page = Tables()
    page.feed(text)
    assert "script" not in page.tags
    assert all(source.startswith(("data:image/svg+xml;base64,", "#")) for source in page.sources)
    assert "<b>" not in text.split("</style>")[1]
    assert any(row and row[0] == "other <b>|*" for row in page.rows)


def test_figures_lie_beside_it(folder, tmp_path):
    write_report(folder, tmp_path / "deep" / "report")
    names = {path.name for path in (tmp_path / "deep" / "report").iterdir()}
    assert {"report.md", "report.html", "hand-dial.svg", "hand-dial.png", "hand-first-language.svg"} <= names
    links = re.findall(
        r"\]\((\S+\.svg)\)", (tmp_path / "deep" / "report" / "report.md").read_text(encoding="utf-8")
    )
    assert links
    assert set(links) <= names


def test_the_same_results_give_the_same_bytes(folder):
    first = [path.read_bytes() for path in write_report(folder)]
    assert [path.read_bytes() for path in write_report(folder)] == first


def test_differences_are_paired(folder):
    results = ResultSet.read(folder)
    plain, turned = System("pairs", 0.0), System("pairs", 2.0)
    same = difference(results, "hand", "balanced@1", plain, System("other <b>|*", 0.0), seed=0)
    assert (same.value, same.low, same.high) == (0.0, 0.0, 0.0)
    # a dial of 2 makes every question's own passage first, where it is a candidate
    changed = difference(results, "hand", "retrieval nDCG@1", turned, plain, seed=0)
    own = estimate(results, "hand", "retrieval nDCG@1", turned, seed=0)
    assert changed.value == pytest.approx(own.value - 0.5)


def test_other_questions_are_not_compared(tmp_path):
    measure(tmp_path)
    measure(tmp_path, model="subset")
    for path in tmp_path.glob("*subset*.json"):
        path.write_text(
            path.read_text(encoding="utf-8").replace('"subset": ""', '"subset": "2 of 9"'), encoding="utf-8"
        )
    results = ResultSet.read(tmp_path)
    assert (
        difference(results, "hand", "rescue@1", System("subset", 0.0), System("pairs", 0.0), seed=0) is None
    )
    (markdown, _) = write_report(tmp_path, reference="pairs")
    assert "| 2 of 9; 2 candidates of vectors |" in markdown.read_text(encoding="utf-8")


def test_our_row_stands_among_the_papers(tmp_path):
    measure(tmp_path, dataset="xquad")
    markdown, _ = write_report(tmp_path)
    text = markdown.read_text(encoding="utf-8")
    table = text.split("**xquad: language coherence**")[1].split("\n\n")[1].splitlines()[2:]
    assert len(table) == 15
    values = [float(row.split("|")[2]) for row in table]
    assert values == sorted(values, reverse=True)
    (ours,) = (row for row in table if "| here |" in row)
    assert "2 of 12 languages" in ours
    assert ours.startswith("| **pairs** | 0.500")
    (lamar,) = (row for row in table if row.startswith("| LAMAR |"))
    assert "paper, table 3" in lamar
    assert all("MRR above nDCG@10" in row for row in table if "Prism" in row)
    assert "| xquad |" not in text


def test_ablations_have_their_own_figure(tmp_path):
    measure(tmp_path)
    measure(tmp_path, model="ablation: stage 1")
    measure(tmp_path, model="ablation: stage 1+2")
    markdown, _ = write_report(tmp_path)
    assert (tmp_path / "hand-ablation.svg").is_file()
    summary, _, rest = markdown.read_text(encoding="utf-8").partition("## Ablation")
    assert "stage 1+2" not in summary
    assert "difference to ablation: stage 1+2" in rest


def test_other_corpora_and_tasks_alone(tmp_path):
    measure(tmp_path / "one")
    measure(tmp_path / "one", dataset="../other name")
    for path in (tmp_path / "one").glob("*other*.json"):
        text = path.read_text(encoding="utf-8").replace('"de"', '"fr"').replace('"en"', '"it"')
        path.write_text(text, encoding="utf-8")
    write_report(tmp_path / "one")  # no language in common: no figure of shared languages
    names = {path.name for path in (tmp_path / "one").iterdir()}
    assert "other-name-first-language.svg" in names
    assert "shared-languages.svg" not in names
    result = {"task": "mteb", "dataset": "hume", "model": "m", "questions": {}}
    result["setting"] = {"weight": 0.0, "subset": None, "languages": ["da"]}
    write_result(
        tmp_path / "two" / "mteb.json",
        {**result, "languages": {"da": {"ndcg@10": 0.5}}, "avg": {"ndcg@10": 0.5}, "about": {"command": "c"}},
    )
    markdown, _ = write_report(tmp_path / "two")
    assert "hume: da" in markdown.read_text(encoding="utf-8")


def test_mistakes_are_named(tmp_path, folder):
    with pytest.raises(ValueError, match="reference 'nobody', expected a system that was measured: other"):
        write_report(folder, reference="nobody")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="got no result in"):
        write_report(tmp_path / "empty")
    (folder / "broken.json").write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match=r"broken\.json: no JSON"):
        write_report(folder)
    (folder / "broken.json").unlink()
    (folder / "other.json").write_text("[1]", encoding="utf-8")
    (folder / "half.json").write_text(
        '{"task": "coherence", "dataset": "d", "model": "m", "setting": {}, "questions": {}}',
        encoding="utf-8",
    )
    write_report(folder)  # what is no result is left alone
    (first, *_) = folder.glob("*.json")
    (folder / "copy.json").write_bytes(first.read_bytes())
    with pytest.raises(ValueError, match="expected one: give one of them another label"):
        write_report(folder)


def test_random_results_agree_with_numpy(tmp_path):
    random = np.random.default_rng(0)
    values = {name: (random.random(50) < 0.7).astype(float).tolist() for name in ("ndcg@1", "rescue@1")}
    setting = {"subset": "", "languages": ["de"], "weight": 0.0, "first_stage": "x", "candidates": 20}
    for task, name in (("retrieval", "ndcg@1"), ("rescue", "rescue@1")):
        write_result(
            tmp_path / f"{task}.json",
            {
                "task": task,
                "dataset": "d",
                "model": "m",
                "setting": setting,
                "questions": {name: values[name]},
            },
        )
    found = estimate(ResultSet.read(tmp_path), "d", "balanced@1", System("m", 0.0), seed=0)
    a, b = np.mean(values["ndcg@1"]), np.mean(values["rescue@1"])
    assert found.value == pytest.approx(2 * a * b / (a + b))
    assert found.low < found.value < found.high
