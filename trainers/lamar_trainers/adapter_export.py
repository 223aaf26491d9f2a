"""What a training run changed, as the small file that is shipped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lamar_rag.embedded.adapter import Adapter

if TYPE_CHECKING:
    from lamar_rag.types import FloatArray


def export_adapter(
    base: str | Path, trained: str | Path, output: str | Path, *, about: dict[str, str] | None = None
) -> int:
    """Write the differences of a cross-encoder to the encoder that it began as, and return the file's size in bytes.

    Args:
        base: the encoder's folder (BertModel).
        trained: the cross-encoder's folder (BertForSequenceClassification), of as many layers or fewer.
        output: a .safetensors file.
        about: text that the file carries.

    Raises:
        ValueError: folders that do not belong together.
    """
    from safetensors.numpy import load_file

    before = {f"bert.{name}": value for name, value in load_file(Path(base) / "model.safetensors").items()}
    after = load_file(Path(trained) / "model.safetensors")
    differences: dict[str, FloatArray] = {}
    for name, value in after.items():
        old = before.get(name)
        if old is None and not name.startswith("classifier."):
            raise ValueError(
                f"got {name} in {trained}, which is not in {base}, expected the encoder it began as"
            )
        if old is None:
            differences[name] = value
        elif not np.array_equal(old, value):
            differences[name] = value - old
    layers = 1 + max(int(name.split(".")[3]) for name in after if name.startswith("bert.encoder.layer."))
    return Adapter(differences, {**(about or {}), "layers": str(layers)}).save(output)
