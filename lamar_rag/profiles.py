"""Named settings for a whole pipeline."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from lamar_rag.checks import check_count
from lamar_rag.preference import LanguagePreference


@dataclass(frozen=True, slots=True)
class Profile:
    """What a pipeline is made of. Each part can be replaced alone: `get_profile("embedded", reranker=...)`.

    `candidates` is what the first stage hands to the reranker, `top_n` what the generator reads.
    `reranker=None` keeps the first stage's scores and only applies the preference.
    """

    name: str
    embedder: str
    centring: bool
    reranker: str | None
    preference: LanguagePreference
    candidates: int
    top_n: int
    generator: str

    def __post_init__(self) -> None:
        for name, value in (("candidates", self.candidates), ("top_n", self.top_n)):
            check_count(name, value)
        if self.top_n > self.candidates:
            raise ValueError(
                f"got top_n={self.top_n} above candidates={self.candidates} for profile '{self.name}': "
                "the reranker can only return what it was given; raise candidates"
            )


# The weight balances nDCG@1 and rescue@1 best on development sets; XQuAD took no part (docs/lamar-mini.md, and for the
# embedder alone docs/language-preference.md).
_PROFILES = {
    "embedded": Profile(
        name="embedded",
        embedder="multilingual-e5-small",
        centring=True,
        reranker="lamar-mini",
        preference=LanguagePreference(weight=0.5),
        candidates=20,
        top_n=3,
        generator="extractive",
    ),
    "full": Profile(
        name="full",
        embedder="BAAI/bge-m3",
        centring=False,
        reranker="nlpai-lab/LAMAR-600m",
        preference=LanguagePreference(),
        candidates=20,
        top_n=3,
        generator="Qwen/Qwen2.5-32B-Instruct",
    ),
}
DEFAULT_PROFILE = "embedded"


def get_profile(name: str = DEFAULT_PROFILE, **changes: Any) -> Profile:
    """Return a profile, with single settings replaced.

    Raises:
        ValueError: an unknown profile or setting, or a value out of range.
    """
    if name not in _PROFILES:
        raise ValueError(f"got profile '{name}', expected one of {', '.join(_PROFILES)}")
    profile = _PROFILES[name]
    unknown = sorted(set(changes) - set(Profile.__dataclass_fields__))
    if unknown:
        raise ValueError(
            f"got unknown setting '{unknown[0]}' for a profile, expected one of "
            f"{', '.join(Profile.__dataclass_fields__)}"
        )
    return replace(profile, **changes)
