"""The built-in models: small networks of our own that read a picture, a question and its options.

Model cards: ``docs/models/tiny-vlm.md``, ``docs/models/tiny-vlm-s.md``; both are trained by
``scripts/train_tiny_vlm``.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core import EnvironmentFault, Picture, Reply, Usage, UsageError
from .tiny_text import bag, split_prompt, title

WEIGHTS = Path(__file__).parent / "weights"
"""Folder of the packaged weights: one ``NAME.onnx`` with its ``NAME.json`` a model."""


class TinyVLM:
    """The built-in model under test (core.VLM): no key, no download, milliseconds a picture.

    It answers multiple-choice prompts about one picture from text and pixels alone, like any other
    model: it finds the option lines in the prompt, scores each option by its words, and replies
    with a short reason and ``ANSWER: X``. It does not see letters or the order of the options, has
    no randomness (the seed changes nothing) and keeps no state. Thread-safe and picklable.
    """

    name = "tiny-vlm"
    priced = True
    reads_scenes_only = True

    def __init__(self, weights: str | Path | None = None) -> None:
        """Name the weights; they are loaded at the first answer.

        Args:
            weights: ONNX file written by ``scripts/train_tiny_vlm``, with its ``.json`` beside it;
                None = the packaged one.

        Raises:
            UsageError: When there is no such file.
        """
        self.weights = WEIGHTS / f"{self.name}.onnx" if weights is None else Path(weights)
        if not self.weights.is_file():
            raise UsageError(
                f"{self.name}: there are no weights at {self.weights}; `scripts/train_tiny_vlm` "
                "writes them"
            )
        if weights is not None:
            self.name = str(self.facts().get("name", self.weights.stem))
        self._lock = threading.Lock()
        self._session: Any = None

    def answer(self, images: Sequence[Picture], prompt: str, *, seed: int) -> Reply:
        """Answer a multiple-choice prompt about the first picture."""
        question, options = split_prompt(prompt)
        usage = Usage(dollars=0.0)
        if not images:
            return Reply("I see no picture, so I cannot answer.", usage=usage)
        if not options:
            return Reply("I see no options to choose from, so I cannot answer.", usage=usage)
        chances = self.probabilities(images[0], question, [text for _, text in options])
        letter, text = options[int(np.argmax(chances))]
        said = f'"{title(text)}" fits this picture best.\nANSWER: {letter}'
        shares = {
            option[0]: round(float(chance), 4)
            for option, chance in zip(options, chances, strict=True)
        }
        return Reply(said, usage=usage, raw={"probabilities": shares})

    def probabilities(
        self, picture: Picture, question: str, options: Sequence[str]
    ) -> npt.NDArray[np.float32]:
        """Return the probability of each option, `k`.

        Args:
            picture: Any size.
            question: The question's text.
            options: The texts of `k` ≥ 1 options.
        """
        session = self._load()
        height, width = session.get_inputs()[0].shape[1:3]
        out = session.run(
            None,
            {
                "picture": network_input(picture, (width, height))[None],
                "question": bag(question)[None],
                "options": np.stack([bag(option) for option in options]),
            },
        )[0]
        result: npt.NDArray[np.float32] = np.asarray(out, dtype=np.float32)
        return result

    def facts(self) -> Mapping[str, Any]:
        """Return what the file beside the weights says of them: version, input, training."""
        path = self.weights.with_suffix(".json")
        if not path.is_file():
            return {}
        try:
            facts: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise EnvironmentFault(f"{path} cannot be read ({error})") from error
        return facts

    def identity(self) -> Mapping[str, Any]:
        """Return the digest of the weights and their version, for a run's config."""
        return {"weights_sha256": _digest(self.weights), "version": self.facts().get("version")}

    def _load(self) -> Any:
        if self._session is None:
            with self._lock:
                if self._session is None:
                    self._session = _session(self.weights)
        return self._session

    def __getstate__(self) -> dict[str, Any]:
        """Pickle name and path alone: the session is re-made where it is used."""
        return {"name": self.name, "weights": self.weights}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore without a session."""
        self.name, self.weights = state["name"], state["weights"]
        self._lock = threading.Lock()
        self._session = None


class TinyVLMSmall(TinyVLM):
    """A second built-in model: other pictures, another resolution and another architecture."""

    name = "tiny-vlm-s"


def network_input(picture: Picture, size: tuple[int, int]) -> npt.NDArray[np.uint8]:
    """Return the picture scaled to (width, height), `height x width x 3` uint8.

    Training pictures go through this very function.
    """
    from PIL import Image

    if picture.size == size:
        return picture.pixels
    image = Image.fromarray(picture.pixels)
    return np.asarray(image.resize(size, Image.Resampling.HAMMING), dtype=np.uint8)


def _session(weights: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # One thread: parallelism is the executor's, and sums keep one order.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(
            str(weights), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:
        raise EnvironmentFault(
            f"{weights} cannot be loaded ({error}); reinstall vlmfail or run "
            "`scripts/train_tiny_vlm`"
        ) from error


@lru_cache(maxsize=8)
def _digest(weights: Path) -> str:
    return hashlib.sha256(weights.read_bytes()).hexdigest()
