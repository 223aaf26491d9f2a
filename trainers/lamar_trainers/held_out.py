"""Which documents are kept for development: told by their names alone, so that every run agrees."""

from __future__ import annotations

import hashlib


def is_held_out(document: str, *, share: float, seed: int) -> bool:
    """Return whether a document is for development.

    Args:
        document: its name; texts of one document have to share it.
        share: of the documents, 0 to 1.
        seed: of the choice.
    """
    digest = hashlib.sha256(f"{seed}\0{document}".encode()).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64
