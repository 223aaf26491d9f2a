from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from lamar_rag import Document
from lamar_rag.scoring.bi_encoder import BiEncoderScorer
from lamar_rag.types import ScoringOptions

# unit vectors in the plane: a text is the angle in degrees, "60|0|30" is a long text of three pieces
LIMIT = 4


class AngleEmbedder:
    """Embeds "60" as the direction of 60 degrees; turns passages in German by 10 more."""

    model, dimension, centring = "angles", 2, None

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str], kind: str, *, languages=None, progress=False) -> np.ndarray:
        self.embedded += texts
        turned = [10.0 if kind == "passage" and language == "de" else 0.0 for language in languages]
        angles = np.radians(
            [float(text.split("|")[0]) + turn for text, turn in zip(texts, turned, strict=True)]
        )
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)

    def truncated(self, texts: Sequence[str], kind: str) -> np.ndarray:
        return np.array(["|" in text for text in texts], dtype=np.bool_)

    def windows(self, text: str) -> list[str]:
        return text.split("|")


class Known:
    """Knows the vectors of some texts."""

    def __init__(self, angles: dict[str, float]) -> None:
        self.angles = angles

    def known_vectors(self, documents):
        radians = np.radians([self.angles.get(document.text, 0.0) for document in documents])
        known = np.array([document.text in self.angles for document in documents], dtype=np.bool_)
        return np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32), known


def test_cosines_and_languages():
    documents = [Document("60", language="en"), Document("50", language="de"), Document("90")]
    scored = BiEncoderScorer(AngleEmbedder()).score("0", documents, ScoringOptions(query_language="en"))
    assert np.allclose(scored.scores, [0.5, 0.5, 0.0], atol=1e-6)  # cos 60, cos (50 + 10), cos 90
    assert scored.scores.dtype == np.float32
    assert not scored.truncated.any()


def test_windows_take_the_best_piece_and_truncate_says_so():
    scorer = BiEncoderScorer(AngleEmbedder())
    documents = [Document("60|0|30"), Document("60")]
    cut = scorer.score("0", documents)
    assert np.allclose(cut.scores, [0.5, 0.5], atol=1e-6)
    assert cut.truncated.tolist() == [True, False]
    whole = scorer.score("0", documents, ScoringOptions(long_documents="windows"))
    assert np.allclose(whole.scores, [1.0, 0.5], atol=1e-6)
    assert whole.truncated.tolist() == [False, False]


def test_a_cut_query_marks_every_result():
    assert BiEncoderScorer(AngleEmbedder()).score("0|9", [Document("60"), Document("0")]).truncated.all()


@pytest.mark.parametrize("known", [{}, {"60": 60.0}, {"60": 60.0, "90": 90.0, "0": 0.0}])
def test_known_vectors_are_not_embedded_again_and_change_nothing(known):
    embedder = AngleEmbedder()
    documents = [Document("90"), Document("60"), Document("0")]
    scores = BiEncoderScorer(embedder, vectors=Known(known)).score("0", documents).scores
    assert np.allclose(scores, [0.0, 0.5, 1.0], atol=1e-6)
    assert sorted(embedder.embedded) == sorted(["0", *({"90", "60", "0"} - set(known))])


def test_empty_and_spread():
    scorer = BiEncoderScorer(AngleEmbedder())
    assert scorer.score("0", []).scores.shape == (0,)
    assert scorer.spread is None
    assert BiEncoderScorer(AngleEmbedder(), spread=0.25).spread == 0.25
