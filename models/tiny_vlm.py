"""The built-in models: small networks of our own that read a picture, a question and its options.

Model cards: ``docs/models/``; all are trained by ``scripts/train_tiny_vlm``.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core import EnvironmentFault, Picture, Reply, Usage, UsageError
from .tiny_text import bag, split_prompt, title

WEIGHTS = Path(__file__).parent / "weights"
"""Folder of the packaged weights: one ``NAME.onnx`` with its ``NAME.json`` a model."""

INPUTS = ("options", "picture", "question")

TRUE_FALSE = ("True", "False")
"""The options with which a statement is put to a network, one of those that it was trained on."""

_STATEMENT = re.compile(r"^\s*S([0-9]{1,3})\.\s+(\S.*)$")

# Longer runs of white space say nothing more, and expressions over them would take for ever.
_GAP = re.compile(r"\s{16,}")


class Network:
    """One trained network: an ONNX file and what the file beside it says.

    Attributes:
        weights: The ONNX file.
    """

    def __init__(self, weights: Path) -> None:
        """Name the weights; they are loaded when first asked."""
        self.weights = weights
        self._lock = threading.Lock()
        self._session: Any = None

    def facts(self) -> Mapping[str, Any]:
        """Return what the file beside the weights says of them: version, input, training."""
        path = self.weights.with_suffix(".json")
        if not path.is_file():
            return {}
        try:
            facts = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise EnvironmentFault(f"{path} cannot be read ({_why(error)})") from error
        if not isinstance(facts, dict):
            raise EnvironmentFault(f"{path} holds no JSON object")
        return facts

    def identity(self) -> dict[str, Any]:
        """Return the digest of the weights and their version."""
        try:
            found = self.weights.stat()
            digest = _digest(self.weights, found.st_mtime_ns, found.st_size, found.st_ino)
        except OSError as error:
            raise EnvironmentFault(f"{self.weights} cannot be read ({_why(error)})") from error
        return {"weights_sha256": digest, "version": self.facts().get("version")}

    @cached_property
    def asks(self) -> npt.NDArray[np.float32]:
        """Bags `n x BUCKETS` of the questions that it was trained on."""
        texts = self.facts().get("asks")
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            texts = []
        return np.stack([bag(text) for text in texts] or [bag("")])

    def knows(self, question: str) -> float:
        """Return how near a question is to the nearest one that it was trained on, 0 to 1."""
        return float((self.asks @ bag(question)).max())

    def probabilities(
        self, picture: Picture, question: str, options: Sequence[str]
    ) -> npt.NDArray[np.float32]:
        """Return the probability of each option, `k`; see `TinyVLM.probabilities`."""
        session = self._load()
        height, width = next(i.shape for i in session.get_inputs() if i.name == "picture")[1:3]
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

    def _load(self) -> Any:
        if self._session is None:
            with self._lock:
                if self._session is None:
                    self._session = _session(self.weights, self.facts().get("sha256"))
        return self._session

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the path alone: the session is re-made where it is used."""
        return {"weights": self.weights}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore without a session."""
        self.__init__(state["weights"])  # type: ignore[misc]


class TinyVLM:
    """The built-in model under test: no key, no download, milliseconds a picture.

    It answers multiple-choice prompts about one picture from text and pixels alone, like any other
    model: it finds the option lines in the prompt, scores each option by its words, and replies
    with a short reason and ``ANSWER: X``. It does not see letters or the order of the options, has
    no randomness (the seed changes nothing) and keeps no state. Thread-safe and picklable.

    True/false statements before the question (``S1. ...``) are each put to the network by
    themselves and marked at the head of the reply, ``S1: T``; they do not change its answer.

    It is a mixture of experts, one network a kind of picture: the words of the question choose the
    one that was trained on the nearest question.

    Attributes:
        name: Its name.
        networks: The experts; the first answers what is near to no question of any.
    """

    name = "tiny-vlm"
    priced = True
    reads_scenes_only = True
    experts: tuple[str, ...] = ("tiny-vlm", "tiny-vlm-indoor")
    """Names of the packaged weights."""

    def __init__(self, weights: str | Path | None = None) -> None:
        """Name the weights; they are loaded at the first answer.

        Args:
            weights: ONNX file written by ``scripts/train_tiny_vlm``, with its ``.json`` beside it;
                None = the packaged ones.

        Raises:
            UsageError: When there is no such file.
        """
        paths = [WEIGHTS / f"{name}.onnx" for name in self.experts]
        if weights is not None:
            paths = [Path(weights)]
        for path in paths:
            try:
                there = path.is_file()
            except (OSError, ValueError):  # a name that no file can have
                there = False
            if not there:
                raise UsageError(
                    f"{self.name}: there are no weights at {str(path)[:500]}; "
                    "`scripts/train_tiny_vlm` writes them"
                )
        self.networks = tuple(Network(path) for path in paths)
        if weights is not None:
            self.name = self._own_name()

    @property
    def weights(self) -> Path:
        """The file of the first network."""
        return self.networks[0].weights

    def answer(self, images: Sequence[Picture], prompt: str, *, seed: int) -> Reply:
        """Answer a multiple-choice prompt about the first picture."""
        asked, options = split_prompt(_GAP.sub(_shorter, prompt))
        question, statements = split_statements(asked)
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
        raw: dict[str, Any] = {"probabilities": shares}
        if statements:
            network = self.network_for(question)
            marks = [network.probabilities(images[0], text, TRUE_FALSE) for text in statements]
            names = [f"S{i}" for i in range(1, len(marks) + 1)]
            lines = [f"{n}: {'FT'[int(m[0] > m[1])]}" for n, m in zip(names, marks, strict=True)]
            said = "\n".join([*lines, said])
            raw["statements"] = {
                n: round(float(m[0]), 4) for n, m in zip(names, marks, strict=True)
            }
        return Reply(said, usage=usage, raw=raw)

    def probabilities(
        self, picture: Picture, question: str, options: Sequence[str]
    ) -> npt.NDArray[np.float32]:
        """Return the probability of each option, `k`.

        Args:
            picture: Any size.
            question: The question's text.
            options: The texts of `k` ≥ 1 options.
        """
        return self.network_for(question).probabilities(picture, question, options)

    def network_for(self, question: str) -> Network:
        """Return the network that was trained on the question nearest to this one."""
        if len(self.networks) == 1:
            return self.networks[0]
        # `max` keeps the first of equals.
        return max(self.networks, key=lambda network: network.knows(question))

    def facts(self) -> Mapping[str, Any]:
        """Return what the file beside the first weights says of them."""
        return self.networks[0].facts()

    def _own_name(self) -> str:
        name = self.facts().get("name", self.weights.stem)
        if not isinstance(name, str) or not name.isprintable() or not 0 < len(name.strip()) <= 200:
            path = self.weights.with_suffix(".json")
            raise EnvironmentFault(f"{path}: `name` is no name of a model: {repr(name)[:100]}")
        return name

    def identity(self) -> Mapping[str, Any]:
        """Return the digest of the weights and their version, for a run's config."""
        first, *others = self.networks
        further = {network.weights.stem: network.identity() for network in others}
        return {**first.identity(), **({"further": further} if further else {})}


class TinyVLMSmall(TinyVLM):
    """A second built-in model: other pictures, another resolution and another architecture."""

    name = "tiny-vlm-s"
    experts = ("tiny-vlm-s", "tiny-vlm-s-indoor")


def split_statements(question: str) -> tuple[str, list[str]]:
    """Return (question without its true/false statements, the statements in order).

    Statements are lines ``S1. ...``, ``S2. ...`` without a gap. What follows them is the question,
    and what stands before them introduces them; where nothing follows, the question came first.
    """
    lines = question.splitlines()
    matches = [_STATEMENT.match(line) for line in lines]
    for start, first in enumerate(matches):
        if first is None or int(first[1]) != 1:
            continue
        end, found = start, list[str]()
        while end < len(lines) and (match := matches[end]) and int(match[1]) == len(found) + 1:
            found.append(match[2].strip())
            end += 1
        after = "\n".join(lines[end:]).strip()
        return after or "\n".join(lines[:start]).strip(), found
    return question, []


def network_input(picture: Picture, size: tuple[int, int]) -> npt.NDArray[np.uint8]:
    """Return the picture scaled to (width, height), `height x width x 3` uint8.

    Training pictures go through this very function.
    """
    from PIL import Image

    if picture.size == size:
        return picture.pixels
    image = Image.fromarray(picture.pixels)
    return np.asarray(image.resize(size, Image.Resampling.HAMMING), dtype=np.uint8)


def _session(weights: Path, sha256: object) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # One thread: parallelism is the executor's, and sums keep one order.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        data = weights.read_bytes()
        # A network with a few wrong bits loads as well, and answers.
        if sha256 is not None and sha256 != hashlib.sha256(data).hexdigest():
            raise ValueError("it is not the file that the .json beside it describes")
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        inputs = {each.name: each.shape for each in session.get_inputs()}
        if sorted(inputs) != list(INPUTS):
            raise ValueError(f"it is another network, with the inputs {sorted(inputs)}")
        _, height, width, _ = inputs["picture"]
        if not (isinstance(height, int) and isinstance(width, int)):
            raise ValueError(f"it takes pictures of {width} x {height}")
    except Exception as error:
        raise EnvironmentFault(
            f"{weights} cannot be loaded ({_why(error)}); reinstall vlmfail or run "
            "`scripts/train_tiny_vlm`"
        ) from error
    return session


def _shorter(gap: re.Match[str]) -> str:
    """Return a gap that parts lines and words as the long one does."""
    breaks = len((gap[0] + ".").splitlines()) - 1
    return "\n" * min(breaks, 2) or " "


def _why(error: Exception) -> str:
    return " ".join((getattr(error, "strerror", None) or str(error)).split())[:500]


# By more than the path: the file may be another one by now.
@lru_cache(maxsize=8)
def _digest(weights: Path, *_: int) -> str:
    return hashlib.sha256(weights.read_bytes()).hexdigest()
