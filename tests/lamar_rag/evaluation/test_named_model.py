from __future__ import annotations

import os

import pytest

from lamar_rag.evaluation.named_model import (
    FusedName,
    NamedModel,
    dial_name,
    file_name,
    fused_name,
    model_identity,
    named_models,
    portable_name,
)


@pytest.mark.parametrize(
    ("text", "label", "name"),
    [
        ("lamar-mini", "lamar-mini", "lamar-mini"),
        ("ours=lamar-mini", "ours", "lamar-mini"),
        ("ablation: stage 1=x+20xe5@plain", "ablation: stage 1", "x+20xe5@plain"),
        ("http://host:80/rerank?model=a", "http://host:80/rerank?model=a", "http://host:80/rerank?model=a"),
        ("tei=http://host?a=b", "tei", "http://host?a=b"),
    ],
)
def test_labels(text, label, name):
    assert named_models([text]) == [NamedModel(label, name)]


@pytest.mark.parametrize("text", ["=x", "x=", " =x"])
def test_half_a_label_is_an_error(text):
    with pytest.raises(ValueError, match="expected NAME or LABEL=NAME"):
        named_models([text])


def test_folders_are_called_by_their_last_part(tmp_path, monkeypatch):
    folder = tmp_path / "a=b" / "model"
    folder.mkdir(parents=True)
    assert named_models([str(folder)]) == [NamedModel("model", str(folder))]
    assert portable_name(f"{folder}+20xmultilingual-e5-small") == "model+20xmultilingual-e5-small"
    assert portable_name(f"{folder}@plain") == "model@plain"
    monkeypatch.chdir(folder)
    assert portable_name(".") == "model"
    assert portable_name("nlpai-lab/LAMAR-600m") == "nlpai-lab/LAMAR-600m"


def test_fused_names():
    assert fused_name("a/b+0.5xe5@plain") == FusedName("a/b", 0.5, "e5@plain")
    assert fused_name("lamar-mini") is None


def test_a_folder_that_was_trained_anew_is_another_model(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"one")
    before = model_identity(str(tmp_path))
    assert model_identity(str(tmp_path)) == before
    assert str(tmp_path) not in before
    (tmp_path / "model.safetensors").write_bytes(b"two")
    os.utime(tmp_path / "model.safetensors", ns=(0, 0))
    assert model_identity(str(tmp_path)) != before
    assert model_identity(f"{tmp_path}+2xe5").endswith("+2xe5")
    assert model_identity("nlpai-lab/LAMAR-600m") == "nlpai-lab/LAMAR-600m"


def test_parts_of_file_names():
    assert file_name("../my corpus|x") == "my-corpus-x"
    assert file_name("..") == "unnamed"
    assert [dial_name(weight) for weight in (0.5, -0.5, 0.0)] == ["dial-0.5", "dial-minus-0.5", "dial-0"]
