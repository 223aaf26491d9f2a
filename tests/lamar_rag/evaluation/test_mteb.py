from __future__ import annotations

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
import typer
from tiny_models import TableScorer, tiny_cross_encoder
from typer.testing import CliRunner

from lamar_rag.cli.mteb_command import mteb as mteb_command
from lamar_rag.evaluation import mteb_run
from lamar_rag.evaluation.mteb_model import MtebReranker, subset_language
from lamar_rag.evaluation.mteb_run import TASKS, result_path, run_mteb
from lamar_rag.evaluation.ranking_metrics import ranking_metrics
from lamar_rag.evaluation.result_files import write_result
from lamar_rag.preference import LanguagePreference
from lamar_rag.reranker import Reranker

mteb = pytest.importorskip("mteb", reason="pip install 'lamar-rag[eval]'")
pytrec_eval = pytest.importorskip("pytrec_eval")

LANGUAGES = ("en", "de")
TEXTS = {
    "en": "The cat sleeps on the sofa in the living room, number",
    "de": "Die Katze schläft auf dem Sofa im Wohnzimmer, Nummer",
}
# Scores of the five candidates of each of six queries; candidates 0 and 3 are relevant to the odd queries, 0 to the
# even ones. Equal scores are there among relevant documents, among others, and across the two.
SCORES = (
    (1.0, 1.0, 0.5, 0.5, 2.0),
    (0.0, 0.0, 0.0, 0.0, 0.0),
    (3.0, 2.0, 1.0, 0.0, -1.0),
    (1.0, 3.0, 3.0, 1.0, 3.0),
    (0.5, 0.25, 0.5, 0.25, 0.5),
    (-2.0, -1.0, -1.0, -3.0, -3.0),
)


def _relevant(query: int) -> tuple[int, ...]:
    return (0, 3) if query % 2 else (0,)


def _id(language: str, query: int, place: int) -> str:
    """As mteb names documents: by these ids the irrelevant ones come first where scores are equal."""
    kind = "apositive" if place in _relevant(query) else "negative"
    return f"{kind}_{language}_{query}_{place}"


def _split(language: str, scores=SCORES):
    from datasets import Dataset

    pairs = [(query, place) for query in range(len(scores)) for place in range(5)]
    return {
        "corpus": Dataset.from_list(
            [
                {"id": _id(language, q, p), "title": "", "text": _text(language, q, p)}
                for q, p in reversed(pairs)
            ]
        ),
        "queries": Dataset.from_list(
            [{"id": f"{language}{q}", "text": f"{TEXTS[language]} {q}?"} for q in range(len(scores))]
        ),
        "relevant_docs": {
            f"{language}{q}": {_id(language, q, p): int(p in _relevant(q)) for p in range(5)}
            for q in range(len(scores))
        },
        # relevant documents first, as in mteb's data sets
        "top_ranked": {
            f"{language}{q}": sorted(_id(language, q, p) for p in range(5)) for q in range(len(scores))
        },
    }


def _text(language: str, query: int, place: int) -> str:
    """Odd candidates are in the other language."""
    other = LANGUAGES[1 - LANGUAGES.index(language)]
    return f"{TEXTS[other if place % 2 else language]} {query} {place}"


def _table(scores=SCORES) -> dict[str, float]:
    return {
        _text(language, q, p): scores[q][p]
        for language in LANGUAGES
        for q in range(len(scores))
        for p in range(5)
    }


def _own_task(name: str = "OwnReranking", *, scores=SCORES, candidates: bool = True, **dataset):
    """A reranking task in memory, as mteb's documentation makes one."""

    class OwnReranking(mteb.abstasks.AbsTaskRetrieval):
        metadata = mteb.TaskMetadata(
            name=name,
            description="Cats on sofas.",
            dataset={"path": "own/reranking", "revision": "1", **dataset},
            type="Reranking",
            category="t2t",
            eval_splits=["test"],
            eval_langs={"en": ["eng-Latn"], "de": ["deu-Latn"]},
            main_score="ndcg_at_10",
        )
        loads = 0

        def __init__(self):
            super().__init__()
            self.by_query = {}

        def load_data(self, **_):
            type(self).loads += 1
            self.dataset = {language: {"test": _split(language, scores)} for language in self.hf_subsets}
            if not candidates:
                for split in self.dataset.values():
                    split["test"]["top_ranked"] = None
            self.data_loaded = True

        def task_specific_scores(self, scores, qrels, results, hf_split, hf_subset):
            self.by_query.update({query: row["ndcg_cut_10"] for query, row in scores.items()})
            return {}

    return OwnReranking()


def _reranker(scorer: TableScorer | None = None, *, weight: float = 0.0) -> Reranker:
    return Reranker(scorer or TableScorer(_table()), preference=LanguagePreference(weight=weight))


def test_mteb_and_our_metrics_agree_where_scores_are_equal(tmp_path):
    task = _own_task()
    (result,) = run_mteb(_reranker(), [task], tmp_path, label="table")
    rankings, relevant = {}, {}
    for language in LANGUAGES:
        for q in range(len(SCORES)):
            order = sorted(range(5), key=lambda p, q=q: (SCORES[q][p], _id(language, q, p)), reverse=True)
            rankings[f"{language}{q}"] = [_id(language, q, p) for p in order]
            relevant[f"{language}{q}"] = frozenset(_id(language, q, p) for p in _relevant(q))
    ours = ranking_metrics({"ndcg@10": "nDCG@10"}, rankings, relevant)["ndcg@10"]
    assert [task.by_query[query] for query in rankings] == pytest.approx(ours.tolist(), abs=1e-9)
    by_language = dict(zip(LANGUAGES, ours.reshape(2, 6).mean(axis=1), strict=True))
    # mteb rounds the mean of a language to five digits
    assert result["languages"] == {
        language: {"ndcg@10": pytest.approx(round(value, 5), abs=1e-9)}
        for language, value in by_language.items()
    }
    assert result["avg"]["ndcg@10"] == pytest.approx(ours.mean(), abs=1e-5)
    assert (result["task"], result["dataset"], result["model"]) == ("mteb", "OwnReranking", "table")
    setting = result["setting"]
    assert (setting["weight"], setting["mteb"], setting["revision"]) == (0.0, mteb.__version__, "1")
    assert (setting["splits"], setting["languages"], result["questions"]) == (["test"], ["en", "de"], {})


def test_equal_scores_come_out_as_for_any_other_model_of_mteb(tmp_path):
    task = _own_task()
    run_mteb(_reranker(), [task], tmp_path)
    qrels = {query: row for language in LANGUAGES for query, row in _split(language)["relevant_docs"].items()}
    raw = {
        f"{language}{q}": {_id(language, q, p): SCORES[q][p] for p in range(5)}
        for language in LANGUAGES
        for q in range(len(SCORES))
    }
    reference = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10"}).evaluate(raw)
    assert task.by_query == {
        query: pytest.approx(row["ndcg_cut_10"], abs=1e-9) for query, row in reference.items()
    }
    # five equal scores: the relevant documents, which mteb lists first, are on ranks 4 and 5
    expected = (1 / math.log2(5) + 1 / math.log2(6)) / (1 + 1 / math.log2(3))
    assert task.by_query["en1"] == pytest.approx(expected, abs=1e-9)


def test_several_queries_are_scored_together_with_the_same_result(tmp_path):
    class Together(TableScorer):
        def score_many(self, requests):
            sizes.append(len(requests))
            return [self.score(request.query, request.documents, request.options) for request in requests]

    alone, together, sizes = TableScorer(_table()), Together(_table()), []
    for weight in (0.0, 0.7):
        expected = run_mteb(_reranker(alone, weight=weight), [_own_task()], tmp_path / "alone")
        assert run_mteb(_reranker(together, weight=weight), [_own_task()], tmp_path / "both") == expected
    assert sizes == [6, 6, 6, 6]
    assert together.seen == alone.seen
    assert {language for _, _, language, _ in alone.seen} == {"en", "de"}


def test_an_error_of_a_scorer_comes_through(tmp_path):
    class Failing(TableScorer):
        def score_many(self, requests):
            return [RuntimeError("out of memory") for _ in requests]

    with pytest.raises(RuntimeError, match="out of memory"):
        run_mteb(_reranker(Failing(_table())), [_own_task()], tmp_path)


def test_a_second_run_reads_what_mteb_kept(tmp_path):
    scorer, task = TableScorer(_table()), _own_task()
    first = run_mteb(_reranker(scorer), [task], tmp_path)
    assert (scorer.calls, task.loads, task.data_loaded) == (12, 1, False)
    assert run_mteb(_reranker(scorer), [task], tmp_path) == first
    (german,) = run_mteb(_reranker(scorer), [task], tmp_path, languages=["deu"])
    assert german["languages"] == {"de": first[0]["languages"]["de"]}
    assert german["avg"] == first[0]["languages"]["de"]
    assert task.hf_subsets == ["en", "de"]
    assert (scorer.calls, task.loads) == (12, 1)
    assert list((tmp_path / "mteb" / "results").rglob("OwnReranking.json"))
    for different in (
        {"reranker": _reranker(scorer, weight=0.5)},
        {"label": "other"},
        {"setting": {"max_length": 5}},
        {"reranker": Reranker(scorer, top_n=3)},
        {"reranker": Reranker(scorer, preference=LanguagePreference(preferred=("de",)))},
    ):
        calls = scorer.calls
        run_mteb(**{"reranker": _reranker(scorer), "tasks": [task], "output": tmp_path, **different})
        assert scorer.calls == calls + 12, different


def test_a_stopped_run_goes_on_with_the_next_language(tmp_path):
    whole = run_mteb(_reranker(), [_own_task()], tmp_path / "whole")
    halfway, complete = TableScorer(_table()), TableScorer(_table())
    del halfway.table[_text("de", 5, 4)]
    with pytest.raises(KeyError):
        run_mteb(_reranker(halfway), [_own_task()], tmp_path / "stopped")
    assert run_mteb(_reranker(complete), [_own_task()], tmp_path / "stopped") == whole
    assert {language for _, _, language, _ in complete.seen} == {"de"}


def test_the_dial_moves_documents_in_the_language_of_the_query(tmp_path):
    scores = ((1.0, 1.5, 1.25, 3.0, 0.0),)
    (plain,) = run_mteb(_reranker(TableScorer(_table(scores))), [_own_task(scores=scores)], tmp_path)
    # the relevant candidate 0 is behind 3 and 1, which are in the other language, and 2, which is not
    assert plain["avg"]["ndcg@10"] == pytest.approx(1 / math.log2(5), abs=1e-5)
    reranker = _reranker(TableScorer(_table(scores)), weight=1.0)
    (moved,) = run_mteb(reranker, [_own_task(scores=scores)], tmp_path)
    # the spread is 1: 3 has 3.0, 2 now 2.25, 0 now 2.0, 1 still 1.5
    assert moved["avg"]["ndcg@10"] == pytest.approx(1 / math.log2(4), abs=1e-5)
    assert moved["languages"].keys() == {"en", "de"}
    assert (moved["setting"]["weight"], moved["setting"]["unit"]) == (1.0, 1.0)


def test_documents_and_queries_read_as_mteb_composes_them():
    from datasets import Dataset
    from mteb._create_dataloaders import _retrieval_texts
    from mteb.types import PromptType

    corpus = Dataset.from_list(
        [
            {"id": "a", "title": " Cats ", "text": " They sleep. "},
            {"id": "b", "title": "", "text": " They eat. "},
            {"id": "c", "title": "Dogs", "text": ""},
        ]
    )
    queries = Dataset.from_list(
        [
            {"id": "q", "text": "What do cats do?", "instruction": "Answer."},
            {"id": "r", "text": "And dogs?", "instruction": None},
        ]
    )
    texts = _retrieval_texts(corpus, PromptType.document)
    scorer = TableScorer(dict.fromkeys(texts, 0.0))
    model = MtebReranker(Reranker(scorer))
    model.index(corpus)
    metadata = _own_task().metadata
    found = model.search(
        queries, task_metadata=metadata, hf_subset="en", top_ranked={"q": ["a", "b", "c"], "r": ["b", "b"]}
    )
    assert found == {"q": {"c": 2.0, "b": 1.0, "a": 0.0}, "r": {"b": 0.0}}
    assert [query for query, *_ in scorer.seen] == list(_retrieval_texts(queries, PromptType.query))
    assert [document.text for document in scorer.seen[0][1]] == list(reversed(texts))
    # what the reranker leaves out is not found, and no candidates are no error
    model.reranker.top_n = 1
    assert model.search(queries, task_metadata=metadata, hf_subset="en", top_ranked={"q": ["a", "b"]}) == {
        "q": {"b": 0.0},
        "r": {},
    }
    with pytest.raises(ValueError, match="got candidate x, expected the id of a document"):
        model.search(queries, task_metadata=metadata, hf_subset="en", top_ranked={"q": ["x"]})
    talk = Dataset.from_list([{"id": "q", "text": [{"role": "user", "content": "Hello"}]}])
    with pytest.raises(ValueError, match="got a query of type list"):
        model.search(talk, task_metadata=metadata, hf_subset="en", top_ranked={"q": ["a"]})


@pytest.mark.parametrize(
    ("subset", "tags", "language"),
    [
        ("de", ["deu-Latn"], "de"),
        ("no", ["nor-Latn", "nno-Latn", "nob-Latn"], "no"),
        ("zh", ["zho-Hans"], "zh"),
        ("default", ["fra-Latn"], "fr"),
        ("de-en", ["deu-Latn", "eng-Latn"], None),
        ("all", ["deu-Latn", "eng-Latn"], None),
        ("python", ["python-Code"], None),
        ("fr", [], "fr"),
    ],
)
def test_languages_of_subsets(subset, tags, language):
    metadata = SimpleNamespace(hf_subsets_to_langscripts={subset: tags})
    assert subset_language(metadata, subset) == language


def test_a_query_of_an_unknown_language_has_its_language_detected():
    from datasets import Dataset

    scorer = TableScorer({"Katzen schlafen.": 0.0})
    model = MtebReranker(Reranker(scorer))
    model.index(Dataset.from_list([{"id": "a", "text": "Katzen schlafen."}]))
    queries = Dataset.from_list([{"id": "q", "text": f"{TEXTS['de']} eins?"}])
    metadata = SimpleNamespace(name="Mixed", hf_subsets_to_langscripts={"default": ["deu-Latn", "eng-Latn"]})
    model.search(queries, task_metadata=metadata, hf_subset="default", top_ranked={"q": ["a"]})
    assert scorer.seen[0][2] == "de"


def test_mistakes_say_what_is_expected(tmp_path):
    reranker = _reranker()
    for tasks, message in [
        (["mirakl"], "got MTEB task 'mirakl', expected one of miracl, xglue"),
        ("miracl", r"got tasks='miracl', expected a list"),
        ([mteb.get_task("STS12")], "expected a name or an mteb.abstasks.AbsTaskRetrieval"),
        (
            [_own_task(candidates=False)],
            r"OwnReranking without candidates \(top_ranked\), expected a reranking",
        ),
        ([_own_task(trust_remote_code=True)], "which runs code of its data set's repository"),
    ]:
        with pytest.raises(ValueError, match=message) as error:
            run_mteb(reranker, tasks, tmp_path)
        assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match=r"got language fr for HUME.*, expected some of en, da, no"):
        run_mteb(reranker, ["hume"], tmp_path, languages=["fr"])
    assert reranker.scorer.calls == 0


@pytest.mark.parametrize("task", TASKS)
def test_official_tasks_fail_only_at_the_download(task, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "none")
    with pytest.raises(FileNotFoundError, match=f"data set mteb/{TASKS[task]} .*HF_HUB_OFFLINE=0") as error:
        run_mteb(_reranker(), [task], tmp_path)
    assert "\n" not in str(error.value)
    assert f"loading mteb/{TASKS[task]} at " in caplog.text


def test_the_command_writes_a_result_a_model_task_and_weight(tmp_path, monkeypatch):
    tiny_cross_encoder(tmp_path / "model")
    app = typer.Typer()
    app.command()(mteb_command)
    open_tasks, asked = mteb_run.open_tasks, []

    def own_tasks(tasks, languages=None):
        asked.append(tasks)
        return open_tasks([_own_task() if isinstance(task, str) else task for task in tasks], languages)

    monkeypatch.setattr(mteb_run, "open_tasks", own_tasks)
    words = ["-m", f"tiny={tmp_path / 'model'}", "-o", str(tmp_path / "out"), "-t", "hume"]
    words += ["--weight", "0", "--weight", "0.5", "--languages", "en", "--device", "cpu"]
    run = CliRunner().invoke(app, words)
    assert run.exception is None, run.output
    assert asked[0] == ["hume"]
    names = ["mteb-OwnReranking-tiny-dial-0.5.json", "mteb-OwnReranking-tiny-dial-0.json"]
    assert sorted(path.name for path in (tmp_path / "out").glob("*.json")) == names
    written = [json.loads((tmp_path / "out" / name).read_text()) for name in names]
    assert [row["setting"]["weight"] for row in written] == [0.5, 0.0]
    assert all(list(row["languages"]) == ["en"] for row in written)
    assert str(tmp_path) not in written[0]["about"]["command"]
    assert "mteb, OwnReranking: tiny, dial 0.5" in run.output
    again = CliRunner().invoke(app, [*words, "--json"])
    assert [row["avg"] for row in json.loads(again.stdout)] == [row["avg"] for row in reversed(written)]


def test_the_command_stops_at_the_download_of_an_official_task(tmp_path):
    app = typer.Typer()
    app.command()(mteb_command)
    tiny_cross_encoder(tmp_path / "model")
    words = ["-m", str(tmp_path / "model"), "-o", str(tmp_path / "out"), "-t", "hume"]
    run = CliRunner().invoke(app, words)
    # which `lamar` prints in one line
    assert isinstance(run.exception, FileNotFoundError)
    assert "mteb/HUMEWikipediaRerankingMultilingual" in str(run.exception)


def test_a_result_has_a_file_of_its_own(tmp_path):
    result = {
        "task": "mteb",
        "dataset": "hume",
        "model": "nlpai-lab/LAMAR-600m",
        "setting": {"weight": 0.5},
        "languages": {},
        "avg": {"ndcg@10": float(np.float64(0.5))},
        "questions": {},
    }
    path = result_path(tmp_path, result)
    assert path.name == "mteb-hume-nlpai-lab-LAMAR-600m-dial-0.5.json"
    write_result(path, result)
    assert json.loads(path.read_text()) == result
