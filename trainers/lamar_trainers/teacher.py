"""`lamar train teacher`: a reranker's scores of the English pairs, in the form that the student learns."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lamar_rag.extras import require
from lamar_rag.scorer_factory import build_scorer
from lamar_rag.scoring.bi_encoder import BiEncoderScorer
from lamar_rag.types import Document, ScoringOptions
from lamar_trainers.cached_embedder import run_embedder
from lamar_trainers.score_cache import ScoreCache

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lamar_rag.types import Scorer
    from lamar_trainers.training_config import TrainingConfig

    DoubleArray = NDArray[np.float64]

logger = logging.getLogger(__name__)
_CHUNK = 64  # queries between two savings
_ROWS = 4096
_COLUMNS = ["teacher_query", "teacher_document", "document_field", "query_row", "document_row"]

Request = tuple[str, tuple[str, ...]]


def score_requests(
    scorer: Scorer, requests: Iterable[Request], cache: ScoreCache, *, workers: int = 1
) -> None:
    """Score queries with their documents into the cache; what is there already is not scored again.

    Args:
        scorer: its raw scores are kept.
        requests: queries, each with documents, in English.
        cache: grows by some dozens of queries at a time.
        workers: threads that score; more than one serves scorers that wait for a server.
    """
    options = ScoringOptions(query_language="en")

    def scored(request: Request) -> dict[tuple[str, str], float]:
        query, texts = request
        result = scorer.score(query, [Document(text, language="en") for text in texts], options)
        return {(query, text): float(score) for text, score in zip(texts, result.scores, strict=True)}

    missing = _missing(requests, cache)
    with ThreadPoolExecutor(workers) as pool:
        while chunk := list(islice(missing, _CHUNK * workers)):
            found: dict[tuple[str, str], float] = {}
            for scores in pool.map(scored, chunk):
                found |= scores
            cache.keep(found)


def write_teacher_scores(
    pairs: str | Path,
    output: str | Path,
    caches: Sequence[ScoreCache],
    *,
    names: Sequence[str],
    calibrated: bool,
) -> dict[str, Any]:
    """Write the pairs with a column `label`, the teacher's score, and return what the scores are.

    Args:
        pairs: a Parquet file of `DistillationPair`.
        output: a Parquet file; beside it a JSON file with the scores' form, mean and deviation.
        caches: of each scorer, with all pairs.
        names: of the scorers.
        calibrated: make logits of the scores by logistic regression on what the pairs say is relevant. Several
            scorers need it, and scorers whose scores are no logits: similarities, probabilities.

    Raises:
        ValueError: scores that are all probabilities or similarities, or of several scorers, without calibration.
    """
    parquet: Any = require("pyarrow.parquet", extra="train", purpose="the teacher's scores")
    pa: Any = require("pyarrow", extra="train", purpose="the teacher's scores")
    features, relevant = _features(pairs, caches)
    bounded = bool(features.size) and bool(np.abs(features).max() <= 1)
    if not calibrated and (len(caches) > 1 or bounded):
        raise ValueError(
            f"got scores of {', '.join(names)}{' within [-1, 1]' if bounded else ''} to be taken as logits, expected "
            "one scorer with raw scores; or set fusion: calibrated in the configuration"
        )
    coefficients, intercept = _calibration(features, relevant) if calibrated else (np.ones(1), 0.0)
    labels = features @ coefficients + intercept
    output = Path(output)
    unfinished = output.with_name(f".{output.name}")
    source = parquet.ParquetFile(pairs)
    schema = source.schema_arrow.append(pa.field("label", pa.float64()))
    start = 0
    with parquet.ParquetWriter(unfinished, schema, compression="zstd") as writer:
        for batch in source.iter_batches(_ROWS):
            column = pa.array(labels[start : start + batch.num_rows])
            writer.write_table(pa.Table.from_batches([batch]).append_column("label", column))
            start += batch.num_rows
    unfinished.replace(output)
    about = {
        "scorers": list(names),
        "form": "logit" if calibrated else "the scorer's raw score",
        "coefficients": coefficients.tolist(),
        "intercept": float(intercept),
        "pairs": len(labels),
        "mean": float(labels.mean()),
        "standard_deviation": float(labels.std()),
    }
    output.with_suffix(".json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    return about


def run_teacher(config: TrainingConfig, work: str | Path, *, workers: int = 1) -> dict[str, Any]:
    """Score the pairs of a run with its teacher, write scored.parquet, and return what the scores are.

    Args:
        config: of the run.
        work: the folder of the run, with pairs.parquet.
        workers: threads that score.

    Raises:
        ValueError: no pairs, or scores that cannot be learned.
    """
    work = Path(work)
    pairs = work / "pairs.parquet"
    if not pairs.is_file():
        raise ValueError(
            f"got no {pairs}, expected the pairs of the first step: run `lamar train synthesize`"
        )
    caches = []
    for name in config.teacher.scorers:
        cache = ScoreCache(work / "teacher", name)
        scorer = _remembering(build_scorer(name), work, config.synthesis.embedder_dtype)
        score_requests(scorer, english_requests(pairs), cache, workers=workers)
        scorer.close()
        caches.append(cache)
    return write_teacher_scores(
        pairs,
        work / "scored.parquet",
        caches,
        names=config.teacher.scorers,
        calibrated=config.teacher.fusion == "calibrated",
    )


def _remembering(scorer: Scorer, work: Path, dtype: str | None) -> Scorer:
    """Return a scorer over embeddings that takes the vectors which synthesis has made; any other as it is."""
    if not isinstance(scorer, BiEncoderScorer):
        return scorer
    return BiEncoderScorer(run_embedder(scorer.embedder.model, work, dtype=dtype), spread=1.0)


def english_requests(pairs: str | Path) -> Iterator[Request]:
    """Yield the teacher's queries of a Parquet file of `DistillationPair`, each with the documents that follow it."""
    for query, rows in groupby(_rows(pairs, _COLUMNS[:2]), key=lambda row: row["teacher_query"]):
        yield query, tuple(dict.fromkeys(row["teacher_document"] for row in rows))


def _missing(requests: Iterable[Request], cache: ScoreCache) -> Iterator[Request]:
    for query, texts in requests:
        remaining = tuple(text for text in texts if (query, text) not in cache)
        if remaining:
            yield query, remaining


def _features(pairs: str | Path, caches: Sequence[ScoreCache]) -> tuple[DoubleArray, DoubleArray]:
    """Return the scores, shape (n, scorers), and, shape (n,), whether the document is the query's own positive."""
    scores, relevant = [], []
    for row in _rows(pairs, _COLUMNS):
        scores.append([cache[row["teacher_query"], row["teacher_document"]] for cache in caches])
        relevant.append(row["document_field"] == "positive" and row["query_row"] == row["document_row"])
    return np.array(scores, dtype=np.float64).reshape(-1, len(caches)), np.array(relevant, dtype=np.float64)


def _calibration(features: DoubleArray, relevant: DoubleArray) -> tuple[DoubleArray, float]:
    linear: Any = require("sklearn.linear_model", extra="train", purpose="a calibrated teacher")
    scale = features.std(axis=0) + 1e-9  # the solver's regularisation is for values around one
    fitted = linear.LogisticRegression().fit(features / scale, relevant)
    return fitted.coef_[0] / scale, float(fitted.intercept_[0])


def _rows(path: str | Path, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    parquet: Any = require("pyarrow.parquet", extra="train", purpose="the teacher's scores")
    for batch in parquet.ParquetFile(path).iter_batches(_ROWS, columns=list(columns)):
        yield from batch.to_pylist()
