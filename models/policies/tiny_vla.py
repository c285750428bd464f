"""The built-in policy: a small network of our own from picture, instruction and state to actions.

Model card: ``docs/models/tiny-vla.md``; it is trained by ``scripts/train_tiny_vla``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...core import EnvironmentFault, UsageError
from ..tiny_text import bag
from ..tiny_vlm import WEIGHTS, Network

F32: TypeAlias = npt.NDArray[np.float32]
U8: TypeAlias = npt.NDArray[np.uint8]

INPUTS = ("picture", "state", "words")
STATE_SIZE = 8

LONGEST = 2000
"""Characters of an instruction that are read."""


class TinyVLA:
    """The built-in policy under test (core.Policy): no key, no download, milliseconds an act.

    It looks at one picture, reads the instruction's words (in any order; words that it was not
    trained on say nothing to it) and the 8 numbers of the state, and gives a chunk of 6 actions.
    It has no memory, no randomness and sees nothing of the world's true state. Thread-safe and
    picklable.

    Attributes:
        name: ``"tiny-vla"``, or what the file beside own weights says.
        weights: The ONNX file.
    """

    name = "tiny-vla"

    def __init__(self, weights: str | Path | None = None) -> None:
        """Name the weights; they are loaded at the first act.

        Args:
            weights: ONNX file written by ``scripts/train_tiny_vla``, with its ``.json`` beside it;
                None = the packaged one.

        Raises:
            UsageError: When there is no such file.
        """
        path = WEIGHTS / f"{self.name}.onnx" if weights is None else Path(weights)
        try:
            there = path.is_file()
        except (OSError, ValueError):  # a name that no file can have
            there = False
        if not there:
            raise UsageError(
                f"{self.name}: there are no weights at {str(path)[:500]}; "
                "`scripts/train_tiny_vla` writes them"
            )
        self._network = PolicyWeights(path)
        self._instruction = ""

    @property
    def weights(self) -> Path:
        """The ONNX file."""
        return self._network.weights

    def reset(self, instruction: str) -> None:
        """Begin an episode."""
        self._instruction = instruction

    def act(self, observation: Mapping[str, Any]) -> F32:
        """Return the next actions, `chunk x 7`: moves (m) and turns (radians) in the base's frame,
        and the gripper, 1 open or -1 closed.

        Args:
            observation: ``image`` (`height x width x 3` uint8, any size) and ``state`` (8 numbers),
                as `vlmfail.envs.pickup.worlds.world.Observation` tells; ``instruction``, where it
                is given, goes before that of `reset`.

        Raises:
            UsageError: It lacks one of these, or they have another shape.
        """
        instruction = observation.get("instruction", self._instruction)
        return self._network.actions(
            _picture(observation), str(instruction)[:LONGEST], _state(observation)
        )

    def facts(self) -> Mapping[str, Any]:
        """Return what the file beside the weights says of them: version, input, training."""
        return self._network.facts()

    def identity(self) -> Mapping[str, Any]:
        """Return the digest of the weights and their version, for a run's config."""
        return self._network.identity()


class PolicyWeights(Network):
    """The trained network of a policy: an ONNX file and what the file beside it says."""

    def actions(self, picture: U8, instruction: str, state: F32) -> F32:
        """Return a chunk of actions; see `TinyVLA.act`."""
        session = self._load()
        height, width = next(i.shape for i in session.get_inputs() if i.name == "picture")[1:3]
        out = session.run(
            None,
            {
                "picture": scaled(picture, (width, height))[None],
                "words": bag(instruction)[None],
                "state": state[None],
            },
        )[0]
        return np.asarray(out, dtype=np.float32)

    def _load(self) -> Any:
        if self._session is None:
            with self._lock:
                if self._session is None:
                    self._session = _session(self.weights, self.facts().get("sha256"))
        return self._session


def scaled(pixels: U8, size: tuple[int, int]) -> U8:
    """Return a picture at (width, height), `height x width x 3` uint8."""
    from PIL import Image

    if pixels.shape[:2] == (size[1], size[0]):
        return pixels
    return np.asarray(Image.fromarray(pixels).resize(size, Image.Resampling.HAMMING), np.uint8)


def _picture(observation: Mapping[str, Any]) -> U8:
    found = observation.get("image")
    if found is None:
        raise UsageError("tiny-vla looks at observation['image'], and there is none")
    pixels = np.asarray(found)
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3 or not pixels.size:
        raise UsageError(
            f"observation['image']: expected height x width x 3 uint8, got {pixels.dtype} "
            f"{pixels.shape}"
        )
    return np.ascontiguousarray(pixels)


def _state(observation: Mapping[str, Any]) -> F32:
    try:
        state = np.asarray(observation["state"], dtype=np.float32)
    except (KeyError, TypeError, ValueError):
        raise UsageError(
            f"tiny-vla reads observation['state'], {STATE_SIZE} numbers, and they are not there"
        ) from None
    if state.shape != (STATE_SIZE,) or not np.isfinite(state).all():
        raise UsageError(
            f"observation['state']: expected {STATE_SIZE} finite numbers, got shape {state.shape}"
        )
    return state


def _session(weights: Path, sha256: object) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # One thread: parallelism is the executor's, and sums keep one order.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        data = weights.read_bytes()
        # A network with a few wrong bits loads as well, and acts.
        if sha256 is not None and sha256 != hashlib.sha256(data).hexdigest():
            raise ValueError("it is not the file that the .json beside it describes")
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        inputs = sorted(each.name for each in session.get_inputs())
        if inputs != list(INPUTS):
            raise ValueError(f"it is another network, with the inputs {inputs}")
    except Exception as error:
        why = " ".join((getattr(error, "strerror", None) or str(error)).split())[:500]
        raise EnvironmentFault(
            f"{weights} cannot be loaded ({why}); reinstall vlmfail or run `scripts/train_tiny_vla`"
        ) from error
    return session
