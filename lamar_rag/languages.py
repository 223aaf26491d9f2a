"""Languages: their codes in one form, their names, and which one a text is in.

Importing this loads neither the code tables nor the detector's model; the first call that needs
them does.
"""

from __future__ import annotations

from lamar_rag.language_codes import UNDETERMINED, is_right_to_left, normalize_language
from lamar_rag.language_detection import detect_language, detect_languages
from lamar_rag.language_names import english_name, language_name

__all__ = [
    "UNDETERMINED",
    "detect_language",
    "detect_languages",
    "english_name",
    "is_right_to_left",
    "language_name",
    "normalize_language",
]
