"""Scores with the next token that a causal language model would write after a question about the pair."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lamar_rag.scoring.encoding import RequestEncoder
from lamar_rag.scoring.frame_template import frame_template
from lamar_rag.scoring.heads import AnswerHead, Side
from lamar_rag.scoring.loading_options import LoadingOptions
from lamar_rag.scoring.model_loading import LoadedParts
from lamar_rag.scoring.pointwise import LoadedModel, PointwiseScorer
from lamar_rag.scoring.recipe import Recipe, generic_recipe


class CausalLMScorer(PointwiseScorer):
    """A `Scorer` over `transformers.AutoModelForCausalLM`.

    The score is the logit of an answer at the last position (or of one vocabulary id), or the margin
    between two answers, as the recipe says; only that position's logits are computed. Where a text is
    too long the document alone is cut: what stands before and behind it survives.

    Args:
        model: a hub id or a folder.
        recipe: the model's; by default the question of Qwen3-Reranker in plain text, "yes" less "no".
        options: `spread` and those of `LoadingOptions`.
    """

    def __init__(self, model: str | Path, recipe: Recipe | None = None, **options: Any) -> None:
        super().__init__(model, recipe or generic_recipe(str(model), "causal_lm"), **options)

    def _load_now(self, options: LoadingOptions) -> LoadedModel:
        recipe, frame = self._recipe, self._recipe.frame
        if frame is None:
            raise ValueError(
                f"the recipe of model {self.model} has no frame, expected the text of its prompt"
            )
        parts = LoadedParts(self._source, "AutoModelForCausalLM", options)
        head, limit = self._head(parts), parts.limit(recipe.max_length)
        template = frame_template(parts, recipe, frame, limit)
        return LoadedModel(
            parts.forward(head, head.padding),
            RequestEncoder(parts.backend, template, options.window_overlap),
            parts.supported,
            parts.batch_tokens,
        )

    def _head(self, parts: LoadedParts) -> AnswerHead:
        recipe = self._recipe
        is_linear = "linear_attention" in (getattr(parts.model.config, "layer_types", None) or ())
        padding: Side = "right" if is_linear else "left"
        if recipe.vocabulary_id is not None:
            if recipe.vocabulary_id >= parts.model.config.vocab_size:
                raise ValueError(
                    f"got vocabulary_id={recipe.vocabulary_id} for model {self.model}, whose vocabulary has "
                    f"{parts.model.config.vocab_size} entries: give an id below"
                )
            return AnswerHead(recipe.vocabulary_id, padding=padding)
        positive = self._token(parts, recipe.positive or "")
        negative = None if recipe.negative is None else self._token(parts, recipe.negative)
        return AnswerHead(positive, negative, padding)

    def _token(self, parts: LoadedParts, answer: str) -> int:
        ids = parts.backend.encode(answer, add_special_tokens=False).ids
        if len(ids) != 1:
            raise ValueError(
                f"the answer '{answer}' is {len(ids)} tokens for model {self.model}, expected one: "
                "give a recipe with answers of one token"
            )
        return int(ids[0])
