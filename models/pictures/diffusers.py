"""Text-to-image pipelines on this machine, through Hugging Face's diffusers.

Foreign code never runs: no custom pipelines, and weights are read from safetensors alone.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import re
import threading
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from ...core import MissingDependencyError, ModelFault, Picture, UsageError
from ..local_weights import choose_device, first_line, is_out_of_memory
from ..providers.redaction import redacted
from ..reply_cache import reply_key
from .shelf import PICTURE, PictureReplies, Shelf, generated_folder
from .sources import DrawnPicture, PictureRequest, UndrawnPictureError
from .specs import PictureSpec, Reader, choice, number, side_lengths, whole, word

DTYPES = ("float32", "bfloat16", "float16")

OWN: Mapping[str, Reader] = {
    "steps": whole(1, 1000),
    "guidance": number(0.0, 100.0),
    "size": side_lengths(16, 4096),
    "negative": word(),
    "device": word(),
    "dtype": choice(*DTYPES),
    "revision": word(),
}

READ = (".safetensors", ".json", ".txt", ".model")
"""Endings of the files that decide what a pipeline in a folder draws."""

LONGEST = 3600.0
"""Seconds that one picture may take, after which a vanished process's claim ends."""

TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")

_HUB_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*")


class DiffusersPictures:
    """Pictures of a local pipeline (`PictureSource`): a generator of its own seed a picture.

    Options: ``steps``, ``guidance``, ``size`` (WIDTHxHEIGHT), ``negative`` (what not to draw) -
    the pipeline's own where not given - ``device``, ``dtype`` (float32 on CPU, else bfloat16)
    and ``revision`` of an id.
    """

    metered = False
    priced = True
    varies = True

    def __init__(self, spec: PictureSpec) -> None:
        """Check path, options and packages; nothing is loaded yet.

        Raises:
            MissingDependencyError: Without ``diffusers`` or ``torch``.
            UsageError: For a path or an option that cannot be.
        """
        spec.refuse_others(OWN)
        self.spec = spec
        self.options = spec.read(OWN)
        path = Path(os.path.expanduser(spec.place))
        self.folder = path.resolve() if path.is_dir() else None
        if self.folder is None and (not _HUB_ID.fullmatch(spec.place) or path.exists()):
            raise UsageError(
                f"renderer {spec.shown}: there is no folder {str(path)[:200]!r}: diffusers: takes "
                "a folder written by save_pretrained, or an id such as ORGANISATION/MODEL"
            )
        if self.folder is not None and not (self.folder / "model_index.json").is_file():
            raise UsageError(
                f"renderer {spec.shown}: {str(path)[:200]!r} holds no model_index.json, so it is "
                "no pipeline written by save_pretrained"
            )
        for package in ("diffusers", "torch"):
            if importlib.util.find_spec(package) is None:
                raise MissingDependencyError(package, "diffusers", f"the renderer {spec.shown}")
        self.shelf = Shelf(generated_folder())
        self.replies = PictureReplies(self.shelf)
        self._wake()

    def _wake(self) -> None:
        self._lock = threading.Lock()
        self._pipeline: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """Pickle everything but the pipeline, which is loaded anew."""
        return {k: v for k, v in vars(self).items() if k not in ("_lock", "_pipeline")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore."""
        vars(self).update(state)
        self._wake()

    def identity(self) -> Mapping[str, Any]:
        """Return the weights' digest or id, the settings and the libraries' versions."""
        if self.folder is not None:
            # The path is no part of it: the same files elsewhere are the same model.
            weights = {"weights_sha256": _folder_digest(self.folder)}
        else:
            weights = {"weights": self.spec.place}
        settings = {name: value for name, value in self.options.items() if name != "device"}
        if "size" in settings:
            settings["size"] = list(settings["size"])
        return {
            **weights,
            "parameters": {**settings, "dtype": self._dtype()},
            "device": self._device().partition(":")[0],
            "versions": {name: _version(name) for name in ("diffusers", "torch")},
        }

    def draw(self, request: PictureRequest) -> DrawnPicture:
        """Return a kept picture, or draw one.

        Raises:
            UndrawnPictureError: The pipeline's own filter refused it, or drawing it failed.
            ModelFault: The pipeline cannot be loaded.
        """
        made_by = dict(self.identity())
        key = reply_key(
            "diffusers", "", str(made_by.get("weights", "")), request.prompt, (), made_by,
            request.seed,
        )  # fmt: skip
        record: dict[str, Any] = {"model": self.spec.place, "parameters": made_by["parameters"]}
        hit = self.replies.wait_or_claim(key, LONGEST)
        if hit is not None:
            kept = self.shelf.get(hit.raw[PICTURE]["sha256"])
            if kept is not None:
                return DrawnPicture(kept, {**record, "cached": True})
        try:
            picture = self._draw(request)
            self.shelf.put(picture)
            named = {"sha256": picture.sha256, "size": list(picture.size)}
            self.replies.put(key, {PICTURE: named}, {})
        finally:
            self.replies.release(key)
        return DrawnPicture(picture, {**record, "cached": False})

    def _draw(self, request: PictureRequest) -> Picture:
        import torch

        named = {
            "num_inference_steps": self.options.get("steps"),
            "guidance_scale": self.options.get("guidance"),
            "negative_prompt": self.options.get("negative"),
        }
        if "size" in self.options:
            named["width"], named["height"] = self.options["size"]
        settings = {name: value for name, value in named.items() if value is not None}
        with self._lock:
            pipeline = self._loaded()
            # On the CPU: its numbers are the same whatever draws.
            generator = torch.Generator("cpu").manual_seed(request.seed)
            try:
                with torch.no_grad():
                    drawn = pipeline(prompt=request.prompt, generator=generator, **settings)
            except TypeError as error:  # a parameter that this pipeline does not have
                raise ModelFault(
                    f"renderer {self.spec.shown}: {redacted(first_line(error), _secrets())}"
                ) from error
            except Exception as error:
                said = redacted(first_line(error), _secrets())
                if is_out_of_memory(error):
                    raise ModelFault(
                        f"renderer {self.spec.shown}: a picture does not fit into memory ({said}): "
                        "take a smaller size or ?dtype=bfloat16"
                    ) from error
                raise UndrawnPictureError(f"drawing the picture failed: {said}") from error
        flags = getattr(drawn, "nsfw_content_detected", None)
        if isinstance(flags, (list, tuple)) and any(flags):
            raise UndrawnPictureError(
                "the picture was refused by the pipeline's filter", again=True
            )
        return Picture.from_pixels(np.asarray(drawn.images[0].convert("RGB"), dtype=np.uint8))

    def _loaded(self) -> Any:
        if self._pipeline is None:
            import torch

            # By name: type checkers run without it.
            library: Any = importlib.import_module("diffusers")

            place = str(self.folder) if self.folder is not None else self.spec.place
            try:
                pipeline = library.AutoPipelineForText2Image.from_pretrained(
                    place,
                    torch_dtype=getattr(torch, self._dtype()),
                    use_safetensors=True,
                    **({"revision": r} if (r := self.options.get("revision")) else {}),
                )
                pipeline.set_progress_bar_config(disable=True)
                self._pipeline = pipeline.to(self._device())
            except Exception as error:
                said = redacted(first_line(error), _secrets())
                raise ModelFault(
                    f"renderer {self.spec.shown} cannot be loaded: {type(error).__name__}: {said}"
                ) from error
        return self._pipeline

    def _device(self) -> str:
        return choose_device(self.options.get("device"))

    def _dtype(self) -> str:
        asked = self.options.get("dtype")
        return str(asked) if asked else "float32" if self._device() == "cpu" else "bfloat16"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def _secrets() -> tuple[str, ...]:
    return tuple(os.environ[name] for name in TOKENS if os.environ.get(name))


def _folder_digest(folder: Path) -> str:
    """Return the sha256 over names and contents of the files that decide a picture."""
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.suffix in READ and path.is_file():
            found = path.stat()
            digest = _file_digest(path, found.st_size, found.st_mtime_ns)
            total.update(f"{path.relative_to(folder).as_posix()}\0{digest}\n".encode())
    return total.hexdigest()


@lru_cache(maxsize=1024)
def _file_digest(path: Path, size: int, mtime: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
