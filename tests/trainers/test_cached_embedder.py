"""A run's embedder in another number format."""

from __future__ import annotations

import numpy as np
from lamar_trainers.cached_embedder import run_embedder

TEXTS = ["Storks nest on roofs.", "Störche nisten auf Dächern."]


def test_a_run_s_embedder_in_bfloat16_is_near_the_plain_one_and_keeps_its_vectors_apart(tmp_path):
    plain = run_embedder("multilingual-e5-small", tmp_path).embed(TEXTS, "passage")
    rounded = run_embedder("multilingual-e5-small", tmp_path, dtype="bfloat16").embed(TEXTS, "passage")
    # bfloat16 keeps 8 bits: cosines agree to some thousandths, and are not the same.
    cosines = (plain * rounded).sum(axis=1)
    assert np.all(cosines > 0.995)
    np.testing.assert_allclose(np.linalg.norm(rounded, axis=1), 1, atol=1e-6)
    assert np.all(cosines < 1 - 1e-6)
    assert {folder.name for folder in tmp_path.iterdir()} == {"vectors", "vectors-bfloat16"}
