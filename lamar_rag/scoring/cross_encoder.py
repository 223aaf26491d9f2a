"""Scores with a sequence classifier that has one label: LAMAR, bge-reranker-v2-m3, gte, nemotron, ..."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lamar_rag.scoring.encoding import RequestEncoder, Template
from lamar_rag.scoring.frame_template import frame_template
from lamar_rag.scoring.heads import ClassifierHead, Side
from lamar_rag.scoring.loading_options import LoadingOptions
from lamar_rag.scoring.model_loading import LoadedParts
from lamar_rag.scoring.pair_template import PairTemplate
from lamar_rag.scoring.pointwise import LoadedModel, PointwiseScorer
from lamar_rag.scoring.recipe import Recipe, generic_recipe


class CrossEncoderScorer(PointwiseScorer):
    """A `Scorer` over `transformers.AutoModelForSequenceClassification` with one label; raw logits.

    The input is the tokenizer's pair, or the recipe's single string where it has a frame.

    Args:
        model: a hub id or a folder.
        recipe: the model's; by default the pair and the model's own limits.
        options: `spread` and those of `LoadingOptions`.
    """

    def __init__(self, model: str | Path, recipe: Recipe | None = None, **options: Any) -> None:
        super().__init__(model, recipe or generic_recipe(str(model), "cross_encoder"), **options)

    def _load_now(self, options: LoadingOptions) -> LoadedModel:
        parts = LoadedParts(self._source, "AutoModelForSequenceClassification", options)
        config = parts.model.config
        if config.num_labels != 1:
            raise ValueError(
                f"model {self.model} has {config.num_labels} labels, expected a reranker with one: "
                "give a sequence classifier that was trained with num_labels=1"
            )
        if config.pad_token_id is None:  # classifiers over the last token find it by the padding
            config.pad_token_id = parts.pad_id
        limit = parts.limit(self._recipe.max_length)
        template, side = self._template(parts, limit)
        return LoadedModel(
            parts.forward(ClassifierHead(), side),
            RequestEncoder(parts.backend, template, options.window_overlap),
            parts.supported,
            parts.batch_tokens,
        )

    def _template(self, parts: LoadedParts, limit: int) -> tuple[Template, Side]:
        recipe, frame = self._recipe, self._recipe.frame
        if frame is None:
            takes_types = "token_type_ids" in parts.tokenizer.model_input_names
            return PairTemplate(parts.backend, limit, takes_types=takes_types), "right"
        return frame_template(parts, recipe, frame, limit), "left"
