"""Trains a cross-encoder of multilingual-e5-small's size for the speed and quality benchmarks of scoring.

    python benchmarks/cross_encoder_checkpoint.py [--data DATA] [--minutes 40]

The body is the embedded multilingual-e5-small, the head is new; the loss is the listwise softmax over one positive
and three negatives. The model is no contribution of its own: it makes the benchmarks' scores mean something.
Writes an ordinary folder, CACHE/benchmark-models/e5-small-cross-encoder, anew at every checkpoint; an interrupted
run goes on where its last checkpoint was.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import torch
from cross_encoder_groups import Group, GroupSampler
from safetensors.torch import load_file, save_file
from scoring_pools import default_data
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from lamar_rag.cache import cache_dir
from lamar_rag.embedded.e5_folder import e5_small_folder

MAX_LENGTH = 144  # tokens a pair
NEGATIVES = 3
GROUPS_A_STEP = 4
CHECKPOINT_SECONDS = 360.0
HELD_OUT_GROUPS = 64
WARM_UP = 0.03  # of the time
_TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")


def default_checkpoint() -> Path:
    """Return the folder that the other benchmarks read."""
    return cache_dir() / "benchmark-models" / "e5-small-cross-encoder"


def new_model(seed: int) -> Any:
    """Return e5 with a new head; the pooler begins as the identity, its weights in the folder being zeros."""
    torch.manual_seed(seed)
    model = AutoModelForSequenceClassification.from_pretrained(
        e5_small_folder(),
        num_labels=1,
        dtype=torch.float32,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    with torch.no_grad():
        model.bert.pooler.dense.weight.copy_(torch.eye(model.config.hidden_size))
        model.bert.pooler.dense.bias.zero_()
    return model


class Trainer:
    """The model, its optimizer, and what a checkpoint keeps of both."""

    def __init__(self, target: Path, data: Path, options: argparse.Namespace) -> None:
        self._target, self._options = target, options
        self._state_dir = target.with_name(f"{target.name}.training")
        self._tokenizer = AutoTokenizer.from_pretrained(e5_small_folder())
        self.model = new_model(options.seed)
        self.model.set_attn_implementation("eager")  # a third faster here than the fused kernel, backwards
        self.model.bert.embeddings.requires_grad_(False)
        head = [p for n, p in self.model.named_parameters() if "pooler" in n or "classifier" in n]
        body = list(self.model.bert.encoder.parameters())
        self._rates = [options.rate, 10 * options.rate]
        self._optimizer = torch.optim.AdamW([{"params": body}, {"params": head}], weight_decay=0.01)
        self._groups = GroupSampler(data, held_out=False, seed=options.seed)
        held_out = GroupSampler(data, held_out=True, seed=options.seed)
        self._held_out = [held_out.group(i, 7) for i in range(HELD_OUT_GROUPS)]
        self.step, self.seconds = 0, 0.0
        self._history: list[dict[str, float]] = []
        self._resume()

    def train(self) -> None:
        """Train until the time is used up, and write the folder."""
        budget = self._options.minutes * 60
        saved, losses = self.seconds, []
        while self.seconds < budget:
            start = time.perf_counter()
            losses.append(self._train_step(self.seconds / budget))
            self.seconds += time.perf_counter() - start
            self.step += 1
            if self.step % 20 == 0:
                mean = sum(losses[-20:]) / len(losses[-20:])
                log(f"step {self.step} ({self.seconds:.0f} s): loss {mean:.4f}")
            if self.seconds - saved > CHECKPOINT_SECONDS:
                self._checkpoint(losses, finished=False)
                saved, losses = self.seconds, []
        self._checkpoint(losses, finished=True)

    def _train_step(self, progress: float) -> float:
        factor = min(1.0, progress / WARM_UP + 0.05) * (1.0 - progress)
        for group, rate in zip(self._optimizer.param_groups, self._rates, strict=True):
            group["lr"] = rate * factor
        first = self.step * GROUPS_A_STEP
        groups = [self._groups.group(first + i, NEGATIVES) for i in range(GROUPS_A_STEP)]
        logits = self._logits(groups)
        loss = torch.nn.functional.cross_entropy(logits, torch.zeros(len(groups), dtype=torch.long))
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        return float(loss.detach())

    def _logits(self, groups: list[Group]) -> torch.Tensor:
        """Return (groups, texts), the positive in column 0; pairs run in two batches of like length."""
        pairs = [(group.query, text) for group in groups for text in group.texts]
        encoded = self._tokenizer(
            [query for query, _ in pairs],
            [text for _, text in pairs],
            truncation="longest_first",
            max_length=MAX_LENGTH,
        )
        order = sorted(range(len(pairs)), key=lambda i: len(encoded["input_ids"][i]))
        size = -(-len(order) // 2)
        chunks = [order[start : start + size] for start in range(0, len(order), size)]
        parts = []
        for rows in chunks:
            batch = self._tokenizer.pad(
                {name: [encoded[name][i] for i in rows] for name in ("input_ids", "attention_mask")},
                return_tensors="pt",
                pad_to_multiple_of=16,  # few shapes: each new one costs a kernel in bfloat16
            )
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self._options.bfloat16):
                parts.append(self.model(**batch).logits[:, 0].float())
        flat = torch.cat(parts)[torch.argsort(torch.tensor([i for rows in chunks for i in rows]))]
        return flat.reshape(len(groups), -1)

    def _held_out_accuracy(self) -> float:
        with torch.inference_mode():
            firsts = [
                int(row.argmax()) == 0
                for start in range(0, len(self._held_out), GROUPS_A_STEP)
                for row in self._logits(self._held_out[start : start + GROUPS_A_STEP])
            ]
        return sum(firsts) / len(firsts)

    def _checkpoint(self, losses: list[float], *, finished: bool) -> None:
        loss = sum(losses) / max(1, len(losses))
        entry = {
            "step": self.step,
            "seconds": self.seconds,
            "loss": loss,
            "first_of_8": self._held_out_accuracy(),
        }
        self._history.append(entry)
        log(f"checkpoint: {json.dumps(entry)}")
        self._state_dir.mkdir(parents=True, exist_ok=True)
        moments = {
            f"{i}.{name}": value
            for i, state in self._optimizer.state_dict()["state"].items()
            for name, value in state.items()
        }
        replace_with(self._state_dir / "optimizer.safetensors", lambda path: save_file(moments, str(path)))
        write_folder(self._target, self.model)
        note = {"step": self.step, "seconds": self.seconds, "finished": finished, "history": self._history}
        note["options"] = {n: str(v) if isinstance(v, Path) else v for n, v in vars(self._options).items()}
        for folder in (self._state_dir, self._target):
            text = json.dumps(note, indent=1)
            replace_with(folder / "training.json", lambda path, text=text: path.write_text(text))
        if finished:
            shutil.rmtree(self._state_dir)

    def _resume(self) -> None:
        note_file = self._state_dir / "training.json"
        if not note_file.is_file():
            return
        note = json.loads(note_file.read_text())
        self.step, self.seconds, self._history = note["step"], note["seconds"], note["history"]
        self.model.load_state_dict(load_file(self._target / "model.safetensors"))
        state: dict[int, dict[str, torch.Tensor]] = {}
        for name, value in load_file(self._state_dir / "optimizer.safetensors").items():
            index, part = name.split(".", 1)
            state.setdefault(int(index), {})[part] = value
        self._optimizer.load_state_dict({**self._optimizer.state_dict(), "state": state})
        log(f"resumed at step {self.step}")


def replace_with(path: Path, write: Any) -> None:
    """Write a file beside its place and move it there, so that no reader sees half of it."""
    partial = path.with_name(f".{path.name}")
    write(partial)
    partial.replace(path)


def write_folder(target: Path, model: Any) -> None:
    """Write config, weights and tokenizer; the weights last."""
    target.mkdir(parents=True, exist_ok=True)
    for name in _TOKENIZER_FILES:
        shutil.copyfile(e5_small_folder() / name, target / name)
    config = {**json.loads(model.config.to_json_string()), "architectures": ["BertForSequenceClassification"]}
    replace_with(target / "config.json", lambda path: path.write_text(json.dumps(config, indent=1)))
    state = {name: tensor.detach().contiguous() for name, tensor in model.state_dict().items()}
    replace_with(
        target / "model.safetensors", lambda path: save_file(state, str(path), metadata={"format": "pt"})
    )


def log(line: str) -> None:
    """Write a line to stderr at once."""
    print(line, file=sys.stderr, flush=True)


def main() -> None:
    """Train and write the folder."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=default_data(), help="folder of the corpora")
    parser.add_argument("--output", type=Path, default=default_checkpoint())
    parser.add_argument("--minutes", type=float, default=40.0, help="training time, without the checkpoints")
    parser.add_argument(
        "--rate", type=float, default=6e-5, help="of the body; the head's is ten times as high"
    )
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--bfloat16", action=argparse.BooleanOptionalAction, default=True, help="autocast")
    options = parser.parse_args()
    note = options.output / "training.json"
    if note.is_file() and json.loads(note.read_text(encoding="utf-8"))["finished"]:
        log(f"{options.output} is finished: delete it to train anew")
        return
    torch.set_num_threads(options.threads)
    Trainer(options.output, options.data, options).train()


if __name__ == "__main__":
    main()
