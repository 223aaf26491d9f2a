"""Which language a text is in, or that it cannot be told.

The model is py3langid's, which ships inside its wheel; docs/language-detection.md says why it was
picked, how well it does, and where the numbers below come from.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lamar_rag.language_codes import UNDETERMINED, normalize_language

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

# Only this much of a text is looked at (after leading whitespace): more adds time and no accuracy.
SAMPLE_CHARACTERS = 1000

# Below this confidence the answer is "und".
MINIMUM_CONFIDENCE = 0.2

# Languages below this probability are not added up: a confident answer needs no loop over all of them.
_NEGLIGIBLE = 1e-6

# How likely a language is before the text is read, relative to the 51 of the paper's Table 7: the
# other languages of NTREX-128, then the rest of the 132 that the model knows. Without this, three
# German words are Luxembourgish too often.
NTREX_WEIGHT = 0.5
OTHER_WEIGHT = 0.25
_MAIN = (
    "ar bg bn ca cs da de el en es et fa fi fr gu he hi hr hu id is it ja kn ko lt lv ml mr nl no pa pl "
    "pt ro ru sk sl sr sv sw ta te th tl tr uk ur vi zh zu"
)
_NTREX = (
    "af am az ba be bs cy dz eu ff fo ga gl ha hy ig ka kk km ku ky lb lo mg mk mn ms mt my ne nn nso om "
    "ps rw si sn so sq tg tk tt ug uz xh yo"
)
_MAIN_LANGUAGES = frozenset(_MAIN.split())
_NTREX_LANGUAGES = frozenset(_NTREX.split())

_lock = threading.Lock()
_detector: Detector | None = None


def detect_language(text: str) -> str:
    """Return the normalised code of the language that `text` is in, "und" where it cannot be told.

    Only the first `SAMPLE_CHARACTERS` characters count. The first call loads the model (about a
    second); any number of threads may call.

    Raises:
        ValueError: `text` is not a string.
    """
    language, confidence = most_likely_language(text)
    return language if confidence >= MINIMUM_CONFIDENCE else UNDETERMINED


def detect_languages(texts: Sequence[str]) -> list[str]:
    """Return `detect_language` of each text, in order.

    Raises:
        ValueError: `texts` is one string, or holds something that is not a string.
    """
    if isinstance(texts, str):
        raise ValueError(f"got one string {texts[:40]!r}, expected a list of texts: call detect_language")
    return [detect_language(text) for text in texts]


def most_likely_language(text: str) -> tuple[str, float]:
    """Return the best guess and its confidence (0 to 1), however low: ("und", 0.0) without letters.

    Raises:
        ValueError: `text` is not a string.
    """
    if not isinstance(text, str):
        raise ValueError(f"got a {type(text).__name__}, expected a text: pass a str")
    sample = text.lstrip()[:SAMPLE_CHARACTERS]
    if not any(character.isalpha() for character in sample):
        return UNDETERMINED, 0.0
    return _loaded().best(sample)


class Detector:
    """py3langid's probabilities, weighted by how likely each language is and summed by our codes.

    Args:
        identifier: py3langid's model, made with `norm_probs=True`.
        ntrex_weight: see `NTREX_WEIGHT`.
        other_weight: see `OTHER_WEIGHT`.
    """

    def __init__(
        self,
        identifier: LanguageIdentifier,
        ntrex_weight: float = NTREX_WEIGHT,
        other_weight: float = OTHER_WEIGHT,
    ) -> None:
        self._identifier = identifier
        self._labels: dict[str, tuple[str, float]] = {}
        for label in identifier.labels:
            code = normalize_language(label)
            if code in _MAIN_LANGUAGES or code == UNDETERMINED:
                weight = 1.0
            else:
                weight = ntrex_weight if code in _NTREX_LANGUAGES else other_weight
            self._labels[label] = code, weight

    def best(self, sample: str) -> tuple[str, float]:
        """Return the likeliest code and its share (0 to 1) of the weighted probability."""
        shares: dict[str, float] = {}
        for label, probability in self._identifier.rank(sample):  # best first
            if probability < _NEGLIGIBLE:
                break
            code, weight = self._labels[label]
            shares[code] = shares.get(code, 0.0) + weight * probability
        highest = max(shares.values())
        # Equal shares (a text without any feature that the model knows) fall to the alphabet.
        return min(code for code, share in shares.items() if share == highest), highest / sum(shares.values())


def _loaded() -> Detector:
    global _detector
    if _detector is None:
        with _lock:
            if _detector is None:
                from py3langid.langid import MODEL_FILE, LanguageIdentifier

                _detector = Detector(LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True))
    return _detector
