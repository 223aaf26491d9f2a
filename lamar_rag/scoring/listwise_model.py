"""The network of jina-reranker-v3: a Qwen3 body and a projector over the marked positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lamar_rag.hub import resolve_model
from lamar_rag.scoring.listwise_prompt import DOCUMENT_TOKEN, QUERY_TOKEN, listwise_prompt
from lamar_rag.scoring.loading_options import LoadingOptions
from lamar_rag.scoring.model_loading import LoadedParts

if TYPE_CHECKING:
    import torch

    from lamar_rag.types import FloatArray

_PROJECTOR = ("projector.0.weight", "projector.2.weight")


class ListwiseModel:
    """Gives one vector a document and one for the query.

    No code of the repository is run: the body is transformers' own, the projector two matrices.

    Raises:
        ValueError: a folder without the projector's weights, or a tokenizer without the two markers.
    """

    def __init__(self, source: str | Path, options: LoadingOptions) -> None:
        options = replace(options, trust_remote_code=False)
        parts = LoadedParts(source, "AutoModel", options)
        self.backend = parts.backend
        self.context = parts.supported
        self._document_id = _marker(parts, DOCUMENT_TOKEN)
        self._query_id = _marker(parts, QUERY_TOKEN)
        self._body = parts.prepared()
        folder = Path(resolve_model(source, trust_remote_code=options.trust_remote_code))
        self._first, self._second = (
            matrix.to(self._body.device, self._body.dtype) for matrix in _projector(folder, parts.name)
        )

    def vectors(
        self, query: str, documents: Sequence[str], instruction: str | None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the documents' vectors, shape (n, 512), and the query's, shape (512,), float32."""
        import torch

        prompt = listwise_prompt(query, documents, instruction)
        ids = torch.tensor([self.backend.encode(prompt, add_special_tokens=False).ids])
        with torch.inference_mode():
            hidden = self._body(input_ids=ids.to(self._body.device), use_cache=False).last_hidden_state[0]
            marked = ids[0].to(hidden.device)
            rows = torch.cat([hidden[marked == self._document_id], hidden[marked == self._query_id]])
            if len(rows) != len(documents) + 1:
                raise RuntimeError(f"{len(rows)} marked positions for {len(documents)} documents and a query")
            projected = (torch.relu(rows @ self._first.T) @ self._second.T).float().cpu().numpy()
        return projected[:-1], projected[-1]


def _marker(parts: LoadedParts, token: str) -> int:
    marker = parts.backend.token_to_id(token)
    if marker is None:
        raise ValueError(
            f"the tokenizer of model {parts.name} has no token '{token}': it is no listwise reranker of this form"
        )
    return marker


def _projector(folder: Path, name: str) -> list[torch.Tensor]:
    from safetensors import safe_open

    found = {}
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, framework="pt") as file:
            found.update({key: file.get_tensor(key) for key in _PROJECTOR if key in file.keys()})  # noqa: SIM118
    missing = [key for key in _PROJECTOR if key not in found]
    if missing:
        raise ValueError(f"the weights of model {name} lack {', '.join(missing)}: it is no jina-reranker-v3")
    return [found[key] for key in _PROJECTOR]
