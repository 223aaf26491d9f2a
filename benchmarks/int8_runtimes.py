"""Which int8 runtime to keep on a CPU: torch's own, ONNX Runtime or OpenVINO, on the same model and pairs.

    python benchmarks/int8_runtimes.py torch
    python benchmarks/int8_runtimes.py onnxruntime        # pip install onnx onnxscript onnxruntime
    python benchmarks/int8_runtimes.py openvino           # pip install openvino nncf onnx onnxscript

A runtime a process, each in an environment that has it; the JSON lines that they print are compared by hand
(docs/results/int8-runtimes.json). torch runs packed through `Reranker`, the other two one pair at a time without
padding, which was faster than batches. OpenVINO's activations are calibrated on the sample corpus.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import torch
from scoring_pools import default_data, xquad_pools

REPOSITORY = Path(__file__).resolve().parent.parent
Score = Callable[[str, list[str]], list[float]]


def load_torch(folder: Path, threads: int) -> Score:
    """Return our own int8 path."""
    from lamar_rag import Reranker

    reranker = Reranker(folder, device="cpu", dtype="int8")
    return lambda query, texts: reranker.score(query, texts).tolist()


def load_onnxruntime(folder: Path, threads: int) -> Score:
    """Return ONNX Runtime's dynamic quantisation, weights per channel."""
    import onnxruntime
    from onnxruntime.quantization import QuantType, quantize_dynamic

    path = exported(folder)
    quantised = path.with_name("int8.onnx")
    quantize_dynamic(path, quantised, per_channel=True, weight_type=QuantType.QInt8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(quantised, options, providers=["CPUExecutionProvider"])
    return one_by_one(folder, lambda inputs: float(session.run(None, inputs)[0][0, 0]))


def load_openvino(folder: Path, threads: int) -> Score:
    """Return OpenVINO's int8 model, calibrated on the sample corpus."""
    import nncf
    import openvino

    tokenizer = tokenizer_of(folder)
    rows = (REPOSITORY / "lamar_rag" / "sample" / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [json.loads(row)["text"] for row in rows][::2]
    samples = [encoded(tokenizer, texts[i - 1], texts[i]) for i in range(1, len(texts))]
    model = nncf.quantize(
        openvino.Core().read_model(exported(folder)),
        nncf.Dataset(samples),
        model_type=nncf.ModelType.TRANSFORMER,
    )
    compiled = openvino.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": threads})
    return one_by_one(folder, lambda inputs: float(compiled(inputs)[0][0, 0]))


def exported(folder: Path) -> Path:
    """Return the model as ONNX, with free batch and length."""
    from transformers import AutoModelForSequenceClassification

    model = AutoModelForSequenceClassification.from_pretrained(folder, attn_implementation="eager").eval()
    path = Path(tempfile.mkdtemp()) / "model.onnx"
    inputs = encoded(tokenizer_of(folder), "query", "document of several words")
    free = {name: {0: "batch", 1: "tokens"} for name in inputs}
    with torch.inference_mode():
        torch.onnx.export(
            model,
            tuple(torch.from_numpy(value) for value in inputs.values()),
            path,
            input_names=list(inputs),
            output_names=["logits"],
            dynamic_axes=free,
            opset_version=18,
            dynamo=False,
        )
    return path


def tokenizer_of(folder: Path) -> Callable[..., dict[str, np.ndarray]]:
    """Return the folder's tokenizer."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)


def encoded(tokenizer: Callable[..., dict[str, np.ndarray]], query: str, text: str) -> dict[str, np.ndarray]:
    """Return ids and mask of one pair, shape (1, t)."""
    found = tokenizer([query], [text], truncation=True, return_tensors="np")
    return {name: found[name].astype(np.int64) for name in ("input_ids", "attention_mask")}


def one_by_one(folder: Path, run: Callable[[dict[str, np.ndarray]], float]) -> Score:
    """Return a scorer that runs each pair alone."""
    tokenizer = tokenizer_of(folder)
    return lambda query, texts: [run(encoded(tokenizer, query, text)) for text in texts]


def main() -> None:
    """Measure one runtime and print its JSON line."""
    loaders = {"torch": load_torch, "onnxruntime": load_onnxruntime, "openvino": load_openvino}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runtime", choices=list(loaders))
    parser.add_argument("--model", type=Path, required=True, help="folder of cross_encoder_checkpoint.py")
    parser.add_argument("--data", type=Path, default=default_data())
    parser.add_argument("--queries", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    score = loaders[options.runtime](options.model, options.threads)
    pools = xquad_pools(options.data, count=options.queries, size=20, seed=13)
    score(pools[0].query, list(pools[0].documents[:2]))
    seconds: list[list[float]] = [[] for _ in pools]
    scores: list[list[float]] = [[] for _ in pools]
    for _ in range(options.rounds):
        for number, pool in enumerate(pools):
            start = time.perf_counter()
            scores[number] = score(pool.query, list(pool.documents))
            seconds[number].append(time.perf_counter() - start)
    print(
        json.dumps(
            {
                "runtime": options.runtime,
                "median_seconds_a_query": median(median(rounds) for rounds in seconds),
                "scores": [[round(value, 4) for value in row] for row in scores],
            }
        )
    )


if __name__ == "__main__":
    main()
