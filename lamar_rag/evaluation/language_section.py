"""The report's tables by language, and what comes first in which language."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lamar_rag.evaluation.language_metrics import SPLIT
from lamar_rag.evaluation.paper import paper_table
from lamar_rag.evaluation.report_model import ReportSection, ReportTable
from lamar_rag.evaluation.result_set import Result, ResultSet, System

_PAPER_MODEL = "LAMAR"


def by_language_section(results: ResultSet, dataset: str) -> ReportSection:
    """Return the first-rank figures of every system by query language."""
    readings: dict[str, tuple[str, Callable[[Result, str], float]]] = {
        "coherence, nDCG@1": ("coherence", lambda r, k: r["languages"][k]["ndcg@1"]),
        "mean rank of the passage in the query's language": (
            "coherence",
            lambda r, k: r["languages"][k]["mean_rank"],
        ),
        "retrieval, nDCG@1": ("retrieval", lambda r, k: r["languages"][k]["reranked"]["ndcg@1"]),
        "rescue@1": ("rescue", lambda r, k: r["languages"][k]["rescue@1"]),
        "rescue's ceiling": ("rescue", lambda r, k: r["languages"][k]["ceiling"]),
    }
    tables = []
    for caption, (task, read) in readings.items():
        systems = results.systems(dataset, task)
        if not systems:
            continue
        found = [(system, results.get(task, dataset, system)) for system in systems]
        languages = list(dict.fromkeys(k for _, r in found if r for k in r["setting"]["languages"]))
        rows = [
            [
                system.label,
                *(f"{read(result, k):.3f}" if k in result["languages"] else "-" for k in languages),
            ]
            for system, result in found
            if result is not None
        ]
        marked = frozenset(range(len(rows)))
        if caption == "coherence, nDCG@1" and dataset in ("xquad", "belebele"):
            paper = paper_table(f"{dataset}_ndcg@1")[_PAPER_MODEL]
            cells = [f"{paper[k]:.3f}" if k in paper else "-" for k in languages]
            rows.append([f"{_PAPER_MODEL} (from the paper, among all its languages)", *cells])
        tables.append(ReportTable(f"{dataset}: {caption}", ["system", *languages], rows, marked))
    return ReportSection(f"By query language: {dataset}", tables=tables)


def first_language_section(results: ResultSet, dataset: str) -> ReportSection | None:
    """Return what the first-ranked documents of the retrieval task are; None where it was not measured."""
    systems = results.systems(dataset, "retrieval")
    if not systems:
        return None
    rows = []
    for system in systems:
        result = results.get("retrieval", dataset, system)
        if result is not None:
            rows.append(_language_row(system, result))
    columns = ["system", "not in the query's language", *SPLIT, "PEER", "PEER before", "MLRS"]
    text = [
        "Of the first-ranked documents: the share that is not in the query's language, and the four ways in which it "
        "can be relevant (the passage in any language) or not, and in the query's language or not. PEER, of the "
        "candidates that are not relevant: the probability of such ranks if language decided nothing. MLRS: the "
        "percentage of ranks that the passage's translations rose by reranking, of those that they could."
    ]
    return ReportSection(
        f"Languages of the first document: {dataset}",
        text,
        [ReportTable(f"{dataset}: retrieved candidates, reranked", columns, rows)],
    )


def _language_row(system: System, result: Result) -> Sequence[str]:
    language = result["language"]
    after = language["reranked"]
    return [
        system.label,
        f"{after['foreign_first']:.3f}",
        *(f"{after['split'][name]:.3f}" for name in SPLIT),
        f"{after['peer']:.3f}",
        f"{language['first_stage']['peer']:.3f}",
        f"{language['mlrs']:.1f}",
    ]
