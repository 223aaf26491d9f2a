"""The rerank APIs that are spoken: what each wants to be sent and how it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

ShapeName = Literal["auto", "vllm", "tei", "cohere", "jina"]
ScoreKind = Literal["probability", "logit"]
ModelNeed = Literal["none", "ask", "required"]


@dataclass(frozen=True, slots=True)
class RerankShape:
    """One rerank API.

    Args:
        name: what a user calls it.
        path: where it is served below the base URL.
        texts_key: where the documents go in the request.
        score_key: where a result's score is.
        results_key: where the list of results is; None means that it is the whole answer.
        score_kind: "probability" lies in 0..1, "logit" goes through the sigmoid.
        model_need: "none" sends no model, "ask" asks the server for its model where none is named,
            "required" has no default.
        length_key: where a length limit in tokens goes; None where the API has none.
        default_length: what is sent there where no limit is asked for.
        sends_top_n: the number of documents is sent, so that all of them come back.
        fixed: what every request says besides.
        hosts: the service's own hosts.
        key_names: the environment variables that hold the service's key, the first that is set counts.
        example_model: a model's name, for messages.
        too_large: a part of the body of an answer 422 that means the same as 413: send fewer documents.
    """

    name: str
    path: str
    texts_key: str
    score_key: str
    results_key: str | None
    score_kind: ScoreKind
    model_need: ModelNeed
    length_key: str | None = None
    default_length: int | None = None
    sends_top_n: bool = False
    fixed: Mapping[str, Any] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()
    key_names: tuple[str, ...] = ()
    example_model: str = ""
    too_large: str | None = None

    def body(
        self, query: str, texts: Sequence[str], *, model: str | None, max_length: int | None
    ) -> dict[str, Any]:
        """Return a request's body. `max_length` is in tokens, None leaves it to the server."""
        body: dict[str, Any] = {"query": query, self.texts_key: list(texts), **self.fixed}
        if self.model_need != "none" and model is not None:
            body["model"] = model
        if self.sends_top_n:
            body["top_n"] = len(texts)
        length = max_length if max_length is not None else self.default_length
        if self.length_key is not None and length is not None:
            body[self.length_key] = length
        return body

    def pairs(self, answer: object) -> list[tuple[object, object]]:
        """Return the answer's (index, score) pairs, in its own order and not checked further.

        Raises:
            ValueError: the answer has another form; the message says which one is expected.
        """
        results = answer
        if self.results_key is not None:
            results = answer.get(self.results_key) if isinstance(answer, dict) else None
        if not isinstance(results, list) or not all(
            isinstance(result, dict) and "index" in result and self.score_key in result for result in results
        ):
            form = f'[{{"index": ..., "{self.score_key}": ...}}, ...]'
            raise ValueError(form if self.results_key is None else f'{{"{self.results_key}": {form}}}')
        return [(result["index"], result[self.score_key]) for result in results]


_VLLM = RerankShape(
    name="vllm",
    path="/v1/rerank",
    texts_key="documents",
    score_key="relevance_score",
    results_key="results",
    score_kind="logit",
    model_need="ask",
    fixed={"use_activation": False},  # logits; vLLM applies the sigmoid otherwise
    # vLLM refuses a pair that is too long, unless it is told to cut it: -1 means at the model's own limit.
    length_key="truncate_prompt_tokens",
    default_length=-1,
    key_names=("VLLM_API_KEY",),
)
_TEI = RerankShape(
    name="tei",
    path="/rerank",
    texts_key="texts",
    score_key="score",
    results_key=None,
    score_kind="logit",
    model_need="none",
    fixed={"raw_scores": True, "truncate": True, "return_text": False},
    too_large="batch size",
)
_COHERE = RerankShape(
    name="cohere",
    path="/v2/rerank",
    texts_key="documents",
    score_key="relevance_score",
    results_key="results",
    score_kind="probability",
    model_need="required",
    length_key="max_tokens_per_doc",
    sends_top_n=True,
    hosts=("api.cohere.com", "api.cohere.ai"),
    key_names=("CO_API_KEY", "COHERE_API_KEY"),
    example_model="rerank-v3.5",
)
_JINA = RerankShape(
    name="jina",
    path="/v1/rerank",
    texts_key="documents",
    score_key="relevance_score",
    results_key="results",
    score_kind="probability",
    model_need="required",
    sends_top_n=True,
    fixed={"return_documents": False},
    hosts=("api.jina.ai",),
    key_names=("JINA_API_KEY",),
    example_model="jina-reranker-v2-base-multilingual",
)
SHAPES: Mapping[str, RerankShape] = {shape.name: shape for shape in (_VLLM, _TEI, _COHERE, _JINA)}
