"""Evaluation: coherence, retrieval and rescue over parallel corpora, MTEB, and a report beside the paper's numbers."""

from lamar_rag.evaluation.coherence import CoherenceResult, evaluate_coherence
from lamar_rag.evaluation.corpora import open_corpus
from lamar_rag.evaluation.first_stage import FirstStage
from lamar_rag.evaluation.parallel_corpus import ParallelCorpus, ParallelQuery
from lamar_rag.evaluation.rescue import RescueResult, evaluate_rescue
from lamar_rag.evaluation.retrieval import RetrievalResult, evaluate_retrieval

__all__ = [
    "CoherenceResult",
    "FirstStage",
    "ParallelCorpus",
    "ParallelQuery",
    "RescueResult",
    "RetrievalResult",
    "evaluate_coherence",
    "evaluate_rescue",
    "evaluate_retrieval",
    "open_corpus",
]
