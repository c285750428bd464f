"""A toy domain and model: the whole machinery in milliseconds, for tests and for plug-ins.

The picture is a flat colour, so nothing is learnt from it; what is real is the contract.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import (
    Option,
    Picture,
    Question,
    Rendering,
    Reply,
    SceneError,
    Truth,
    UnknownNameError,
    Usage,
)
from ..envs.concept_sets import ConceptSetSpace
from ..envs.set_rules import AtMostOne, NeedsAny
from ..envs.vector_space import Dimension, VectorSpace

CONCEPTS = ("dog", "cat", "bird", "rain", "sun", "night", "day", "red", "blue", "tiny")


def toy_space(max_size: int = 3) -> ConceptSetSpace:
    """Return ten concepts with an exclusive pair, an anchor rule and a modifier."""
    animals = ("dog", "cat", "bird")
    return ConceptSetSpace(
        CONCEPTS,
        [
            AtMostOne("T1", "rain and sun exclude each other", ("rain", "sun")),
            AtMostOne("T2", "night and day exclude each other", ("night", "day")),
            NeedsAny("T3", "a set needs an animal", tuple((a,) for a in animals)),
        ],
        max_size,
    )


def toy_vector_space() -> VectorSpace:
    """Return four dimensions, one of each kind; by night it has no heading."""
    return VectorSpace(
        [
            Dimension("animal", "choice", choices=("dog", "cat", "bird")),
            Dimension("height", "real", low=0.1, high=0.9, unit="m"),
            Dimension("night", "flag", choices=("by day", "by night")),
            Dimension("heading", "angle", only_if=("night", False)),
        ]
    )


@dataclass(frozen=True, slots=True)
class ToyScene:
    """A set, a shade and whether the answer is yes."""

    concepts: tuple[str, ...]
    shade: int
    yes: bool

    def record(self) -> Mapping[str, Any]:
        """Return the scene as JSON values."""
        return {"concepts": list(self.concepts), "shade": self.shade}


class ToyRenderer:
    """Paints the scene's shade."""

    name = "flat"

    def render(self, scene: ToyScene) -> Rendering:
        """Return an 8 x 6 picture; red and green channels carry the scene's truth."""
        pixels = np.full((6, 8, 3), scene.shade, dtype=np.uint8)
        pixels[0, 0] = (255 if scene.yes else 0, len(scene.concepts), 0)
        return Rendering(Picture.from_pixels(pixels), dict.fromkeys(scene.concepts, 48))


class ToyQuestions:
    """Is it yes? What the toy domains ask, whatever their candidates."""

    attempts = 2

    def question(self, scene: ToyScene) -> Question:
        """Return a question whose text names the concepts, for scripted models."""
        text = "Concepts: " + json.dumps(scene.concepts)
        return Question(text, (Option("yes", "yes: it is"), Option("no", "no: it is not")), "1")

    def truth(self, scene: ToyScene) -> Truth:
        """Return the scene's answer."""
        expected = "yes" if scene.yes else "no"
        return Truth(expected, frozenset({expected}), "T", f"shade {scene.shade}")

    def unseen(self, scene: ToyScene, truth: Truth, rendering: Rendering) -> str | None:
        """Everything is seen."""
        return None

    def direction(self, truth: Truth, answer: str) -> str | None:
        """Name a wrong yes and a wrong no."""
        if answer in truth.accepted:
            return None
        return "false_alarm" if answer == "yes" else "miss"

    def make_renderer(self, name: str) -> ToyRenderer:
        """Return the flat renderer, whatever real name is asked for."""
        if name not in ("flat", "embree"):
            raise UnknownNameError("renderer", name, ["flat"])
        return ToyRenderer()


class ToyDomain(ToyQuestions):
    """Concept sets. Scenes with an ``unplaceable`` concept never sample.

    Args:
        max_size: Largest set.
        unplaceable: A concept whose scenes are always invalid, or "".
    """

    name = "toy"

    def __init__(self, max_size: int = 3, unplaceable: str = "") -> None:
        """Build the domain."""
        self.space = toy_space(max_size)
        self._unplaceable = unplaceable

    def sample_scene(self, candidate: frozenset[str], rng: np.random.Generator) -> ToyScene:
        """Sample a shade and an answer."""
        if self._unplaceable in candidate:
            raise SceneError(f"{self._unplaceable} cannot be placed")
        names = tuple(self.space.to_json(candidate))
        return ToyScene(names, int(rng.integers(256)), bool(rng.integers(2)))


class ToyVector(ToyQuestions):
    """Scene vectors, whose values name the concepts that `ToyModel` fails on.

    Args:
        unplaceable: An animal whose scenes are always invalid, or "".
    """

    name = "toy vector"

    def __init__(self, unplaceable: str = "") -> None:
        """Build the domain."""
        self.space = toy_vector_space()
        self._unplaceable = unplaceable

    def sample_scene(self, candidate: Any, rng: np.random.Generator) -> ToyScene:
        """Sample a shade and an answer."""
        values = self.space.values(candidate)
        if values["animal"] == self._unplaceable:
            raise SceneError(f"{self._unplaceable} cannot be placed")
        names = [str(values["animal"]), "night" if values["night"] else "day"]
        names += ["tiny"] if float(values["height"]) < 0.3 else []
        return ToyScene(tuple(names), int(rng.integers(256)), bool(rng.integers(2)))


class ToyModel:
    """Fails with a probability that is logistic in the set: some sets fail consistently.

    Deterministic in (prompt, seed). `outcomes` forces finish reasons: a mapping from a concept to
    a finish reason (``"error"``, ``"timeout"``, ``"refusal"``, ``"length"``), or to ``"hmm"`` for a
    reply without an answer, or ``"raise"`` for an exception.
    """

    name = "toy"
    priced = True

    def __init__(self, outcomes: Mapping[str, str] | None = None, requests: int = 0) -> None:
        """Keep the forced outcomes and how many requests each answer costs."""
        self.outcomes = dict(outcomes or {})
        self.requests = requests
        self.calls = 0

    @staticmethod
    def failure_rate(concepts: Sequence[str]) -> float:
        """True failure rate of a set."""
        effects = {"cat": 1.5, "rain": 1.2, "night": 1.8, "red": -0.8, "tiny": 0.9, "dog": -0.5}
        return 1 / (1 + math.exp(-(-2.5 + sum(effects.get(c, 0.0) for c in concepts))))

    def answer(self, images: Sequence[Picture], prompt: str, *, seed: int) -> Reply:
        """Answer rightly but for the failure rate."""
        self.calls += 1
        usage = Usage(self.requests, 10, 5, 0.0)
        concepts = json.loads(prompt.split("Concepts: ")[1].split("\n")[0])
        for concept, forced in self.outcomes.items():
            if concept in concepts:
                if forced == "raise":
                    raise RuntimeError("the model broke")
                if forced == "hmm":
                    return Reply("hmm", usage=usage)
                return Reply("", finish_reason=forced, usage=usage)
        yes = bool(images[0].pixels[0, 0, 0])
        if np.random.default_rng(seed).random() < self.failure_rate(concepts):
            yes = not yes
        word = "yes" if yes else "no"
        letter = next(line[0] for line in prompt.splitlines() if line[1:].startswith(f") {word}:"))
        return Reply(f"It looks like it.\nANSWER: {letter}", usage=usage)


def guess(images: Sequence[Picture], prompt: str, *, seed: int) -> str:
    """Name one of the listed options by seed: a model for any multiple-choice domain."""
    letters = [line[0] for line in prompt.splitlines() if line[1:2] == ")"]
    return f"ANSWER: {letters[seed % len(letters)]}"
