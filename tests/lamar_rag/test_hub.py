from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from lamar_rag import hub
from lamar_rag.hub import resolve_model


def test_a_folder_is_itself(tmp_path):
    assert resolve_model(tmp_path) == str(tmp_path)
    assert resolve_model(str(tmp_path)) == str(tmp_path)


def test_a_path_is_never_a_hub_id(monkeypatch, tmp_path):
    with pytest.raises(ValueError, match="which does not exist"):
        resolve_model(Path("owner/name"))
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "model").mkdir()
    assert resolve_model("~/model") == str(tmp_path / "model")


@pytest.mark.parametrize("name", ["/no/such/folder", "./missing", "~/missing", "a/b/c"])
def test_a_missing_folder_is_named(name):
    with pytest.raises(ValueError, match="which does not exist"):
        resolve_model(name)


def test_offline_the_message_says_what_brings_the_model(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(
        FileNotFoundError, match=r"hf download some/model.*pip install 'lamar-rag\[embedded\]'"
    ):
        resolve_model("some/model")


def test_without_a_network_the_message_says_so():
    """The hub's own client against a port of this machine that nobody listens on."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        environment = {**os.environ, "HF_ENDPOINT": f"http://127.0.0.1:{unused.getsockname()[1]}"}
        environment.pop("HF_HUB_OFFLINE", None)
        code = "from lamar_rag.hub import resolve_model; resolve_model('some/model')"
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith(
        "FileNotFoundError: model 'some/model' is not on this machine and the hub is out of reach"
    )


def snapshot(folder, *names):
    for name in names:
        (folder / name).write_text('{"weight_map": {"a": "m-1.safetensors", "b": "m-2.safetensors"}}')


@pytest.mark.parametrize(
    ("names", "complete"),
    [
        (["config.json"], False),
        (["model.safetensors"], False),
        (["config.json", "model.safetensors"], True),
        (["config.json", "pytorch_model.bin"], True),
        (["config.json", "m.safetensors.index.json", "m-1.safetensors"], False),
        (["config.json", "m.safetensors.index.json", "m-1.safetensors", "m-2.safetensors"], True),
    ],
)
def test_a_download_that_was_cut_short_is_not_taken_for_a_model(tmp_path, monkeypatch, names, complete):
    import huggingface_hub

    snapshot(tmp_path, *names)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *args, **kwargs: str(tmp_path))
    if complete:
        assert resolve_model("some/model") == str(tmp_path)
    else:
        with pytest.raises(FileNotFoundError, match="HF_HUB_OFFLINE is set"):
            resolve_model("some/model")


def test_a_download_is_announced_with_its_size(monkeypatch, caplog, tmp_path):
    import huggingface_hub
    from huggingface_hub.errors import LocalEntryNotFoundError

    monkeypatch.delenv("HF_HUB_OFFLINE")
    fetched = []

    class File:
        def __init__(self, name, size):
            self.rfilename, self.size = name, size

    class Info:
        siblings = [  # noqa: RUF012
            File("model.safetensors", 12_000_000),
            File("onnx/model.onnx", 99_000_000),
            File("README.md", 5),
        ]

    def snapshot(repository, *, local_files_only=False, **options):
        if local_files_only:
            raise LocalEntryNotFoundError("not cached")
        assert caplog.records, "the line comes before the download"
        fetched.append(repository)
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", lambda *args, **kwargs: Info)
    with caplog.at_level(logging.WARNING, logger="lamar_rag"):
        assert resolve_model("some/model") == str(tmp_path)
    assert fetched == ["some/model"]
    assert "downloading some/model from the Hugging Face Hub: 12 MB" in caplog.text


def test_without_the_package_the_embedded_name_means_the_hub_model(monkeypatch):
    import lamar_rag.embedded.names as names

    monkeypatch.setattr(names, "packaged_e5_file", lambda: None)
    asked = []
    monkeypatch.setattr(hub, "_from_hub", lambda name, wanted: asked.append(name) or "/folder")
    assert resolve_model("multilingual-e5-small") == "/folder"
    assert asked == ["intfloat/multilingual-e5-small"]


def test_without_package_and_hub_the_embedded_name_asks_for_the_package(monkeypatch):
    import lamar_rag.embedded.names as names

    monkeypatch.setattr(names, "packaged_e5_file", lambda: None)
    monkeypatch.setattr(hub, "_cached", lambda *args: None)
    with pytest.raises(FileNotFoundError, match=r"pip install 'lamar-rag\[rag,embedded\]'"):
        resolve_model("multilingual-e5-small")
