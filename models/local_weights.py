"""Weights on this machine: where they are, what names them exactly, and how they are loaded.

Foreign code never runs: no ``trust_remote_code``, and weights are read from safetensors alone.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ..core import EnvironmentFault, MissingDependencyError, ModelFault, UsageError
from .providers.redaction import redacted
from .specs import ModelSpec, shown

DTYPES = ("auto", "float32", "bfloat16", "float16")
"""Number formats of the weights; ``auto`` is the one that they were saved in."""

READ = (".safetensors", ".json", ".jinja", ".model", ".txt", ".tiktoken")
"""Endings of the files that decide what a model in a folder answers."""

TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
"""Environment variables that may hold the hub's token, which no text may show."""

_PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".msgpack", ".h5")
_HUB_ID = re.compile(r"^[\w.-]+(?:/[\w.-]+)?$")
_DEVICE = re.compile(r"^(?:cpu|mps|cuda(?::\d+)?)$")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where a model's files are.

    Attributes:
        source: Folder, or id at the Hugging Face Hub.
        local: Whether it is a folder.
        revision: Branch, tag or commit of an id as the user gave it (``ID@REVISION``).
    """

    source: str
    local: bool
    revision: str | None = None

    def identity(self) -> dict[str, Any]:
        """Return what names the weights exactly: a digest of a folder, the commit of an id.

        Raises:
            ModelFault: When there is no such folder or id.
        """
        if self.local:
            # The path is no part of it: the same files elsewhere are the same model.
            return {"weights_sha256": folder_digest(Path(self.source))}
        return {"weights": self.source, "revision": commit_of(self)}


def check_options(spec: ModelSpec) -> None:
    """Refuse a device or dtype that no model can have.

    Raises:
        UsageError: With what there is.
    """
    if spec.dtype is not None and spec.dtype not in DTYPES:
        raise UsageError(
            f"model {spec.shown}: dtype: expected one of {', '.join(DTYPES)}, "
            f"got {shown(spec.dtype)}"
        )
    if spec.device is not None and not _DEVICE.match(spec.device):
        raise UsageError(
            f"model {spec.shown}: device: expected cpu, cuda, cuda:N or mps, "
            f"got {shown(spec.device)}"
        )


def check_packages() -> None:
    """Raise `MissingDependencyError` when torch or transformers is not installed."""
    for package in ("transformers", "torch"):
        if importlib.util.find_spec(package) is None:
            raise MissingDependencyError(package, "hf", "hf: models")


def locate(spec: ModelSpec) -> Checkpoint:
    """Return where the model of `spec` is; nothing is read yet.

    Raises:
        ModelFault: When a path is named at which there is no folder.
    """
    path = Path(os.path.expanduser(spec.model))
    try:
        if path.is_dir():
            return Checkpoint(str(path.resolve()), local=True)
        there = path.exists()
    except OSError:  # a name too long, a folder that may not be looked into
        there = False
    if there:
        raise ModelFault(
            f"{spec.shown_model} is a file: name the folder that holds it, "
            f"hf:{str(path.parent)[:200]}"
        )
    name, _, revision = spec.model.partition("@")
    if not _HUB_ID.match(name) or name.startswith("."):
        raise ModelFault(
            f"there is no folder {spec.shown_model}: hf: takes a folder written by "
            "save_pretrained, or an id at the Hugging Face Hub such as hf:ORGANISATION/MODEL"
        )
    return Checkpoint(name, local=False, revision=revision or None)


def choose_device(asked: str | None) -> str:
    """Return the device to run on: what was asked for, else CUDA where there is some, else CPU.

    Raises:
        ModelFault: When the machine has no such device; the text says what it has.
    """
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    mps = bool(torch.backends.mps.is_available())
    if asked is None:
        return "cuda" if count else "cpu"
    index = int(asked.partition(":")[2] or 0) if asked.startswith("cuda") else 0
    if (asked.startswith("cuda") and index >= count) or (asked == "mps" and not mps):
        there = ["cpu", *(f"cuda:{i}" for i in range(count)), *(["mps"] if mps else [])]
        raise ModelFault(
            f"device {asked}: this machine has none that torch {_version('torch')} can use; there "
            f"is {', '.join(there)}. Use ?device={there[1 if count else 0]}"
        )
    return asked


def versions() -> dict[str, str]:
    """Return the versions of the libraries that decide an answer.

    Pictures are scaled by torchvision where it is installed, else by Pillow, which differ.
    """
    scaling = "torchvision" if importlib.util.find_spec("torchvision") else "pillow"
    return {package: _version(package) for package in ("torch", "transformers", scaling)}


@lru_cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def commit_of(checkpoint: Checkpoint) -> str:
    """Return the commit at which the files of an id are, fetching its config if need be.

    Raises:
        ModelFault: When the id is neither in the cache nor at the hub.
    """
    from transformers.utils import cached_file

    revision = checkpoint.revision or "main"
    with explained(checkpoint):
        config = cached_file(checkpoint.source, "config.json", revision=revision)
    if config is None:
        raise ModelFault(f"{checkpoint.source} holds no config.json: it is no transformers model")
    return Path(config).parent.name


def folder_digest(folder: Path) -> str:
    """Return the sha256 over names and contents of the files that decide an answer.

    Raises:
        ModelFault: When the folder holds no model.
    """
    if not (folder / "config.json").is_file():
        raise ModelFault(
            f"{folder} holds no config.json: hf: takes a folder written by save_pretrained, with "
            "config.json, *.safetensors and the processor's files"
        )
    total = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.suffix in READ and path.is_file():
            stat = path.stat()
            digest = _file_digest(path, stat.st_size, stat.st_mtime_ns)
            total.update(f"{path.name}\0{digest}\n".encode())
    return total.hexdigest()


@lru_cache(maxsize=1024)
def _file_digest(path: Path, size: int, mtime: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def load(checkpoint: Checkpoint, dtype: str, device: str) -> tuple[Any, Any]:
    """Return (processor, model), the model on `device` and ready to generate.

    Leaves torch's global random state as it was.

    Raises:
        MissingDependencyError: When the model's processor needs torchvision.
        ModelFault: When it cannot be loaded; the text says why in one line.
    """
    where: dict[str, Any] = {"trust_remote_code": False}
    if checkpoint.local:
        folder_digest(Path(checkpoint.source))
    else:
        where["revision"] = commit_of(checkpoint)
    with explained(checkpoint):
        import torch
        from transformers import (
            MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING,
            AutoConfig,
            AutoModelForImageTextToText,
            AutoProcessor,
        )
    with explained(checkpoint), torch.random.fork_rng(devices=[]):
        config = AutoConfig.from_pretrained(checkpoint.source, **where)
        if type(config) not in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING:
            raise ModelFault(
                f"{checkpoint.source} is a {shown(config.model_type)} model, which transformers "
                f"{_version('transformers')} does not know as image-text-to-text"
            )
        _check_safetensors(checkpoint)
        processor = AutoProcessor.from_pretrained(checkpoint.source, **where)
        if getattr(processor, "image_processor", None) is None:
            raise ModelFault(
                f"{checkpoint.source} has no processor for pictures: save it beside the weights "
                "(processor.save_pretrained)"
            )
        model, report = AutoModelForImageTextToText.from_pretrained(
            checkpoint.source,
            use_safetensors=True,
            dtype=dtype if dtype == "auto" else getattr(torch, dtype),
            output_loading_info=True,
            **where,
        )
        _check_complete(checkpoint, report)
        model = model.to(device).eval()
    return processor, model


def _check_safetensors(checkpoint: Checkpoint) -> None:
    if not checkpoint.local:
        return
    files = sorted(path.name for path in Path(checkpoint.source).iterdir())
    if any(name.endswith(".safetensors") for name in files):
        return
    pickled = [name for name in files if name.endswith(_PICKLED)]
    there = f"only {_names(pickled)}, which" if pickled else "no weights;"
    raise ModelFault(
        f"{checkpoint.source} holds {there} "
        + (
            "may run code when read: save them anew as *.safetensors "
            "(model.save_pretrained writes them)"
            if pickled
            else "*.safetensors are expected beside config.json"
        )
    )


def _check_complete(checkpoint: Checkpoint, report: Any) -> None:
    """Refuse weights of which a part would be left at random numbers."""
    missing = sorted(str(key) for key in report["missing_keys"])
    missing += sorted(str(key[0]) for key in report.get("mismatched_keys", ()))
    if missing:
        raise ModelFault(
            f"{checkpoint.source}: {len(missing)} weights that the model needs are not in its "
            f"files and would be random ({_names(missing)}, ...)"
        )


def _names(foreign: list[str]) -> str:
    """Return the first names of a file's own, bounded."""
    return ", ".join(shown(name, 80)[1:-1] for name in foreign[:3])


@contextmanager
def explained(checkpoint: Checkpoint) -> Iterator[None]:
    """Turn what the libraries raise while loading into one line."""
    try:
        yield
    except EnvironmentFault:
        raise
    except Exception as error:
        raise load_fault(checkpoint, error) from error


def load_fault(checkpoint: Checkpoint, error: Exception) -> EnvironmentFault:
    """Return the fault that `error` means, raised while `checkpoint` was loaded."""
    said, source = first_line(error), checkpoint.source
    whole = str(error)
    if is_out_of_memory(error):
        return ModelFault(
            f"{source} does not fit into memory ({said}): use a smaller model, "
            "?dtype=bfloat16, or another ?device"
        )
    if "torchvision::" in whole or "torchvision::" in str(error.__cause__):
        return ModelFault(
            f"torchvision {_version('torchvision')} does not fit torch {_version('torch')}: "
            "install the two as one pair from the same index (0.21 with 2.6, 0.28 with 2.13)"
        )
    if isinstance(error, ImportError) and "torchvision" in whole.lower():
        return MissingDependencyError("torchvision", "hf-vision", f"the processor of {source}")
    if isinstance(error, ImportError):
        return ModelFault(f"{source} needs a package that is not installed: {said}")
    if "trust_remote_code" in whole or "custom code" in whole:
        return ModelFault(
            f"{source} needs code from its own repository, and foreign code is never run: serve "
            "it elsewhere and use openai:MODEL@http://HOST/v1"
        )
    if "use_safetensors=True" in whole:
        return ModelFault(
            f"{source} has no *.safetensors: other weights may run code when read, and are refused"
        )
    if "gated repo" in whole or "401 Client" in whole or "403 Client" in whole:
        return ModelFault(
            f"{source} is gated or private: accept its terms at the Hugging Face Hub and export "
            f"HF_TOKEN ({said})"
        )
    if isinstance(error, OSError) and not checkpoint.local:
        return ModelFault(
            f"{source} is no folder here, and no model of this name was found in the cache or at "
            f"the Hugging Face Hub, which needs a network and HF_HUB_OFFLINE unset ({said})"
        )
    return ModelFault(f"{source} cannot be loaded: {type(error).__name__}: {said}")


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether `error` says that a device's memory is used up."""
    names = {kind.__name__ for kind in type(error).__mro__}
    words = ("out of memory", "can't allocate memory", "not enough memory")
    return bool(names & {"MemoryError", "OutOfMemoryError"}) or (
        isinstance(error, RuntimeError) and any(word in str(error).lower() for word in words)
    )


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text, bounded, without the hub's token."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = lines[0] if lines else type(error).__name__
    tokens = [os.environ.get(name, "") for name in TOKENS]
    return redacted(said, tokens)[:300]
