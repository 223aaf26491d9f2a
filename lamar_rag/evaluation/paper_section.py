"""The report's tables beside the paper's: our rows among its fourteen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lamar_rag.evaluation.paper import impossible_rows, paper_recall, paper_table
from lamar_rag.evaluation.report_model import ReportSection, ReportTable
from lamar_rag.evaluation.result_set import Result, ResultSet, system_of

_MEASURES = ("ndcg@1", "ndcg@10", "mrr@10")
_HEADINGS = ("nDCG@1", "nDCG@10", "MRR@10")
_IMPOSSIBLE = "MRR above nDCG@10 for some languages in the paper, which cannot be with one relevant document"
_PAPER_DATASETS = ("xquad", "belebele")
# the paper's first stages, by the end of an embedder's name
_FIRST_STAGES = {"minilm": "paraphrase-multilingual-MiniLM-L12-v2", "bge-m3": "bge-m3"}


def coherence_section(results: ResultSet) -> ReportSection | None:
    """Return the oracle setting beside table 3; None where nothing was measured in it."""
    tables = []
    for dataset in results.datasets:
        systems = results.systems(dataset, "coherence")
        rows = []
        for system in systems:
            result = results.get("coherence", dataset, system)
            if result is not None:
                cells = [f"{result['avg'][name]:.3f}" for name in (*_MEASURES, "mean_rank")]
                rows.append(
                    (result["avg"]["ndcg@1"], [system.label, *cells, "here", _oracle_note(result)], True)
                )
        if not rows:
            continue
        if dataset in _PAPER_DATASETS:
            for model, row in paper_table("coherence").items():
                cells = [f"{row[f'{dataset}_{name}']:.3f}" for name in _MEASURES]
                note = _IMPOSSIBLE if model in impossible_rows() else ""
                rows.append((row[f"{dataset}_ndcg@1"], [model, *cells, "-", "paper, table 3", note], False))
        columns = ["model", *_HEADINGS, "mean rank", "source", "differs from the paper"]
        tables.append(_sorted_table(f"{dataset}: language coherence", columns, rows))
    if not tables:
        return None
    return ReportSection("Coherence beside the paper", tables=tables)


def retrieval_section(results: ResultSet) -> ReportSection | None:
    """Return reranking of retrieved candidates beside table 6; None where it was not measured."""
    tables = []
    for dataset in results.datasets:
        rows = []
        for system in results.systems(dataset, "retrieval"):
            result = results.get("retrieval", dataset, system)
            if result is None:
                continue
            cells = [f"{result['reranked'][name]:.3f}" for name in _MEASURES]
            before = " / ".join(f"{result['first_stage'][name]:.3f}" for name in _MEASURES)
            note = _retrieval_note(result)
            rows.append(
                (
                    result["reranked"]["ndcg@1"],
                    [system.label, *cells, before, _recall(result), "here", note],
                    True,
                )
            )
        if not rows:
            continue
        if dataset == "xquad":
            rows += _paper_retrieval()
        columns = ["model", *_HEADINGS, "the three without reranking", "recall", "source", "first stage"]
        tables.append(_sorted_table(f"{dataset}: reranking of retrieved candidates", columns, rows))
    if not tables:
        return None
    text = [
        "Relevant is the passage in the query's language alone; a query whose passage was not retrieved counts 0."
    ]
    return ReportSection("Reranking beside the paper", text, tables)


def rescue_section(results: ResultSet) -> ReportSection | None:
    """Return cross-lingual rescue, which the paper does not measure; None where it was not measured."""
    tables = []
    for dataset in results.datasets:
        rows = []
        for system in results.systems(dataset, "rescue"):
            result = results.get("rescue", dataset, system)
            if result is not None:
                before = " / ".join(f"{result['first_stage'][name]:.3f}" for name in ("rescue@1", "ndcg@10"))
                cells = [f"{result[name]:.3f}" for name in ("rescue@1", "ndcg@10", "ceiling")]
                rows.append(
                    (result["rescue@1"], [system.label, *cells, before, _retrieval_note(result)], True)
                )
        if rows:
            columns = [
                "model",
                "rescue@1",
                "nDCG@10",
                "ceiling",
                "the first two without reranking",
                "first stage",
            ]
            tables.append(_sorted_table(f"{dataset}: rescue", columns, rows))
    if not tables:
        return None
    text = [
        "The passage in the query's language is taken out of the corpus; relevant are its translations. The ceiling is "
        "the share of queries with one of them among the candidates."
    ]
    return ReportSection("Rescue", text, tables)


def mteb_section(results: ResultSet) -> ReportSection | None:
    """Return MTEB's reranking tasks beside table 5; None where none was run."""
    measured: dict[str, dict[str, float]] = {}
    notes: dict[str, list[str]] = {}
    for result in results.results:
        if result["task"] == "mteb":
            label, name = system_of(result).label, str(result["dataset"])
            measured.setdefault(label, {})[name] = result["avg"]["ndcg@10"]
            notes.setdefault(label, []).append(f"{name}: {', '.join(result['languages'])}")
    if not measured:
        return None
    known = [column for column in next(iter(paper_table("mteb").values())) if column != "avg"]
    columns = list(dict.fromkeys([*known, *(name for row in measured.values() for name in row)]))
    rows = []
    for source, models in (("here", measured), ("paper, table 5", paper_table("mteb"))):
        for model, row in models.items():
            mean = (
                sum(row[name] for name in known) / len(known) if all(name in row for name in known) else None
            )
            cells = [f"{row[name]:.3f}" if name in row else "-" for name in columns]
            shown = "-" if mean is None else f"{mean:.3f}"
            note = "; ".join(notes[model]) if source == "here" else ""
            rows.append((mean or 0.0, [model, *cells, shown, source, note], source == "here"))
    headings = ["model", *columns, "mean of the five", "source", "languages"]
    return ReportSection(
        "MTEB reranking beside the paper",
        tables=[_sorted_table("nDCG@10, mean over languages", headings, rows)],
    )


def _paper_retrieval() -> list[tuple[float, list[str], bool]]:
    rows = []
    for key, name in _FIRST_STAGES.items():
        recall = f"{paper_recall(key):.3f} @20"
        for model, row in paper_table("retrieval").items():
            cells = [f"{row[f'{key}_{measure}']:.3f}" for measure in _MEASURES]
            rows.append((row[f"{key}_ndcg@1"], [model, *cells, "-", recall, "paper, table 6", name], False))
    return rows


def _sorted_table(
    caption: str, columns: Sequence[str], rows: Sequence[tuple[float, list[str], bool]]
) -> ReportTable:
    """Return a table with the highest first figure on top."""
    ordered = sorted(rows, key=lambda row: -row[0])
    marked = frozenset(place for place, (_, _, is_ours) in enumerate(ordered) if is_ours)
    return ReportTable(caption, columns, [cells for _, cells, _ in ordered], marked)


def _oracle_note(result: Result) -> str:
    """Return how the data differ from the paper's."""
    setting, dataset = result["setting"], str(result["dataset"])
    notes = []
    if dataset in _PAPER_DATASETS:
        whole = set(paper_table(f"{dataset}_ndcg@1")["LAMAR"]) - {"avg"}
        own = set(setting["languages"])
        if own != whole:
            notes.append(
                f"{len(own & whole)} of {len(whole)} languages, {len(own)} candidates in the oracle task"
            )
    if setting["subset"]:
        notes.append(str(setting["subset"]))
    return "; ".join(notes)


def _retrieval_note(result: Result) -> str:
    notes = [str(result["setting"]["first_stage"]), _oracle_note(result)]
    return "; ".join(note for note in notes if note)


def _recall(result: Mapping[str, float]) -> str:
    name = next(key for key in result if key.startswith("recall@"))
    return f"{result[name]:.3f} @{name.removeprefix('recall@')}"
