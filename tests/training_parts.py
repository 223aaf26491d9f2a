"""A tiny model's training run: its configuration, what it learns and what it gives."""

from __future__ import annotations

import json

import numpy as np
from lamar_trainers.synthesis import DistillationPair
from lamar_trainers.training_config import TrainingConfig
from sentence_transformers import CrossEncoder
from tiny_models import WORDS
from torch import nn


def config(base, loss="contrastive", **changes):
    stage = {"learning_rate": 3e-3, "batch_size": 4, "max_steps": 120, "checkpoint_steps": 40, "warmup": 0.1}
    return TrainingConfig.model_validate(
        {
            "name": "tiny",
            "seed": 5,
            "model": {"base": str(base), "max_length": 32, **changes},
            "synthesis": {"sources": {}},
            "teacher": {"scorers": ["multilingual-e5-small"], "fusion": "calibrated"},
            "distill": {**stage, "loss": loss, "batch_size": 4 if loss == "contrastive" else 12},
            "align": {**stage, "loss": "alignment", "max_steps": 10},
        }
    )


def instances(count=24, size=3):
    """Groups whose positives hold the word "cat"."""
    random = np.random.default_rng(0)
    others = [word for word in WORDS if word != "cat"]
    for group in range(count):
        query = str(random.choice(others))
        for place in range(size):
            words = random.choice(others, size=int(random.integers(2, 9))).tolist()
            text = " ".join(["cat", *words] if place == 0 else words)
            row = group if place == 0 else group + 1000
            yield DistillationPair("d", group, group, row, "positive", "en", "en", query, text, query, text)


class LabelCache:
    """Scores that say what is relevant."""

    def __getitem__(self, pair):
        return 3.0 if pair[1].startswith("cat ") else -2.0


def model_scores(folder):
    pairs = [(WORDS[i], f"{WORDS[i + 1]} on the {WORDS[i + 2]}") for i in range(8)]
    return CrossEncoder(str(folder)).predict(pairs, activation_fn=nn.Identity())


def losses(folder):
    log = json.loads((folder / "training.json").read_text())["log"]
    return [entry["loss"] for entry in log if "loss" in entry]
