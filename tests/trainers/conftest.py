"""The folder of a run that has its pairs, their scores and its groups."""

from __future__ import annotations

import pytest
from lamar_trainers.parquet_file import write_parquet
from lamar_trainers.synthesis import AlignmentGroup, DistillationPair
from lamar_trainers.teacher import write_teacher_scores
from tiny_models import WORDS, tiny_cross_encoder
from training_parts import LabelCache, instances


@pytest.fixture
def work(tmp_path):
    write_parquet(tmp_path / "pairs.parquet", instances(), DistillationPair)
    write_teacher_scores(
        tmp_path / "pairs.parquet", tmp_path / "scored.parquet", [LabelCache()], names=["l"], calibrated=False
    )
    groups = [
        AlignmentGroup("d", i, "en", "de", w, f"{w} a", f"{w} der", "the mat", "le chat")
        for i, w in enumerate(WORDS[:12])
    ]
    write_parquet(tmp_path / "groups.parquet", groups, AlignmentGroup)
    tiny_cross_encoder(tmp_path / "tiny")
    return tmp_path
