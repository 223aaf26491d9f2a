"""How much text the training files share with the evaluation sets: shingles of characters, in every language.

A shingle is 40 characters (18 in Chinese and Japanese) of the text in lower case, without punctuation and with
single spaces. XQuAD and BELEBELE take part with their passages, questions and answers.
"""

from __future__ import annotations

import argparse
import json
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet

LONG, SHORT = 40, 18
_DENSE = ("CJK", "HIRAGANA", "KATAKANA")
_EXAMPLES = 20


def normalized(text: str) -> str:
    """Return the text in lower case, letters and digits only, with single spaces."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    kept = "".join(c if c.isalnum() or unicodedata.category(c).startswith("M") else " " for c in folded)
    return " ".join(kept.split())


def shingles(text: str) -> Iterator[str]:
    """Yield the shingles of a text; one that is shorter is one shingle."""
    clean = normalized(text)
    letters = [c for c in clean[:200] if c != " "]
    dense = sum(unicodedata.name(c, "").startswith(_DENSE) for c in letters) * 2 > len(letters)
    size = SHORT if dense else LONG
    if len(clean) >= size:
        for start in range(len(clean) - size + 1):
            yield clean[start : start + size]


def evaluation_texts(data: Path) -> Iterator[tuple[str, str]]:
    """Yield (set, text) of XQuAD and BELEBELE."""
    for file in sorted((data / "xquad").glob("*.json")):
        for article in json.loads(file.read_text(encoding="utf-8"))["data"]:
            for paragraph in article["paragraphs"]:
                yield "xquad", paragraph["context"]
                yield from (("xquad", qa["question"]) for qa in paragraph["qas"])
    for file in sorted((data / "belebele").glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            yield "belebele", row["flores_passage"]
            yield from (
                ("belebele", row[name]) for name in ("question", *(f"mc_answer{n}" for n in range(1, 5)))
            )


def training_texts(work: Path) -> Iterator[tuple[str, str]]:
    """Yield (corpus, text), each text once, of a run's pairs and groups."""
    seen: set[int] = set()
    for name, fields in (
        ("pairs", ("query", "document", "teacher_query", "teacher_document")),
        ("groups", ("query", "positive_source", "positive_target", "negative_source", "negative_target")),
    ):
        for batch in pyarrow.parquet.ParquetFile(work / f"{name}.parquet").iter_batches(
            columns=["dataset", *fields]
        ):
            for row in batch.to_pylist():
                for field in fields:
                    key = hash(row[field])
                    if key not in seen:
                        seen.add(key)
                        yield row["dataset"], row[field]


def measured(data: Path, work: Path) -> dict[str, Any]:
    """Return counts of shared texts, by evaluation set and corpus, and some of the shared shingles."""
    of_set: dict[int, str] = {}
    counts: dict[str, int] = {}
    for name, text in evaluation_texts(data):
        counts[name] = counts.get(name, 0) + 1
        for shingle in shingles(text):
            of_set[hash(shingle)] = name
    texts, shared, examples = 0, {}, []
    for corpus, text in training_texts(work):
        texts += 1
        found = [shingle for shingle in shingles(text) if hash(shingle) in of_set]
        if found:
            key = f"{corpus} / {of_set[hash(found[0])]}"
            entry = shared.setdefault(key, {"texts": 0, "shingles": 0, "longest_characters": 0})
            entry["texts"] += 1
            entry["shingles"] += len(found)
            entry["longest_characters"] = max(entry["longest_characters"], len(found) - 1 + len(found[0]))
            examples.append(found[0])
    return {
        "evaluation_texts": counts,
        "evaluation_shingles": len(of_set),
        "training_texts": texts,
        "training_texts_that_share_a_shingle": sum(entry["texts"] for entry in shared.values()),
        "shared": dict(sorted(shared.items())),
        "examples": examples[:_EXAMPLES],
    }


def main() -> None:
    """Measure and write the JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with xquad and belebele")
    parser.add_argument("--work", type=Path, required=True, help="folder of a training run")
    parser.add_argument("--output", type=Path, help="file for the JSON; stdout by default")
    options = parser.parse_args()
    text = json.dumps(measured(options.data, options.work), indent=1, ensure_ascii=False) + "\n"
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
