"""Protocols: what a candidate space, a domain, a renderer, a model, a policy and a logger offer.

Anything with these methods can be plugged in; nothing has to inherit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from .picture import Picture
from .question import Question, Reply, Truth
from .trial import Evaluation, TrialRecord

if TYPE_CHECKING:
    import gymnasium as gym

C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken validity rule: its id and its text."""

    rule: str
    text: str


@runtime_checkable
class CandidateSpace(Protocol[C]):
    """The candidates of a domain.

    Attributes:
        kind: ``"concept_set"``, ``"vector"`` or ``"tuple"``.
        features: Names of the entries of `featurise`'s vector.
    """

    kind: str
    features: tuple[str, ...]

    def validate(self, candidate: C) -> Violation | None:
        """Return the broken rule, or None when the candidate is valid."""
        ...

    def sample(self, rng: np.random.Generator) -> C:
        """Draw a valid candidate."""
        ...

    def key(self, candidate: C) -> str:
        """Return the canonical key: equal candidates have equal keys."""
        ...

    def featurise(self, candidate: C) -> npt.NDArray[np.float32]:
        """Return the feature vector, entries in [0, 1]."""
        ...

    def encode(self, candidate: C) -> npt.NDArray[Any]:
        """Return the env action that stands for a candidate (an invalid one too)."""
        ...

    def decode(self, action: npt.NDArray[Any]) -> C:
        """Return the candidate that an env action stands for (an invalid one too)."""
        ...

    def to_json(self, candidate: C) -> Any:
        """Return the candidate as JSON values."""
        ...

    def from_json(self, value: Any) -> C:
        """Return the candidate that `to_json` wrote."""
        ...

    def action_space(self, num_envs: int | None = None) -> gym.Space[Any]:
        """Return the (batched) action space; its `sample` draws valid candidates."""
        ...


@runtime_checkable
class SetSpace(CandidateSpace[frozenset[str]], Protocol):
    """A space of concept sets.

    Attributes:
        concepts: Concept ids in catalogue order (= `features`).
        max_size: Largest set size D.
    """

    concepts: tuple[str, ...]
    max_size: int

    def valid_sets(self) -> npt.NDArray[np.bool_] | None:
        """All valid sets up to `max_size` as multi-hot rows `N x n`, ordered; None if too many.

        Rows are ordered by size, then lexicographically by catalogue index.
        """
        ...

    def from_multi_hot(self, row: npt.NDArray[Any]) -> frozenset[str]:
        """Return the set that a multi-hot row stands for."""
        ...

    def extensions(self, candidate: frozenset[str]) -> list[frozenset[str]]:
        """Valid sets with exactly one concept more, in catalogue order."""
        ...


class Scene(Protocol):
    """One concrete sample of a candidate; the truth is computed from it."""

    def record(self) -> Mapping[str, Any]:
        """Return the scene as JSON values for the trial's record."""
        ...


@dataclass(frozen=True, slots=True)
class Rendering:
    """What a renderer returns.

    Attributes:
        picture: The picture that the model sees.
        visible: By object name, the pixels at which the picture visibly differs from one without
            the object; None when the renderer cannot tell.
        index: Object-index pass, `height x width` int16, if asked for: -1 sky, 0 surroundings,
            k = the k-th object of the scene (from 1).
        extent: By object name, the pixels of the index pass that it would cover alone: nothing
            before it, neither other objects nor the surroundings, in clear air; what lies outside
            the frame does not count. `visible` over this is the visible share. None when the
            renderer cannot tell.
    """

    picture: Picture
    visible: Mapping[str, int] | None = None
    index: npt.NDArray[np.int16] | None = field(default=None, compare=False)
    extent: Mapping[str, int] | None = None


class Renderer(Protocol):
    """Scene → picture. Same scene → same bytes."""

    name: str

    def render(self, scene: Any) -> Rendering:
        """Render a scene."""
        ...


class Domain(Protocol[C]):
    """A world: candidates, scene sampler, question, truth. Must be picklable and light.

    Attributes:
        name: E.g. ``"driving"``.
        space: The candidates.
        attempts: How often a trial resamples its scene before it is ``invalid_scene``.
    """

    name: str
    attempts: int

    @property
    def space(self) -> CandidateSpace[C]:
        """The candidates."""
        ...

    def sample_scene(self, candidate: C, rng: np.random.Generator) -> Scene:
        """Sample a scene; raises `SceneError` when the objects cannot be placed."""
        ...

    def question(self, scene: Any) -> Question:
        """Return the question with its options in canonical order."""
        ...

    def truth(self, scene: Any) -> Truth:
        """Return the right answer, computed from the scene."""
        ...

    def unseen(self, scene: Any, truth: Truth, rendering: Rendering) -> str | None:
        """Return which deciding object cannot be seen and why, or None when all can."""
        ...

    def direction(self, truth: Truth, answer: str) -> str | None:
        """Return the direction of a wrong answer, e.g. ``"under_reaction"``."""
        ...

    def make_renderer(self, name: str) -> Renderer:
        """Return a renderer of this domain's scenes by name."""
        ...


class EpisodeDomain(Protocol[C]):
    """A world in which a trial is an episode of a policy. Must be picklable and light.

    A worker makes one world and plays its episodes in it one after another. Where the domain has
    ``defaults``, a mapping, they replace those of the environment's options (``model``,
    ``trials``). Where it has ``make_model(spec)``, that makes what is tested, else a policy is.

    Attributes:
        name: E.g. ``"pickup"``.
        space: The candidates.
    """

    name: str

    @property
    def space(self) -> CandidateSpace[C]:
        """The candidates."""
        ...

    def check(self) -> None:
        """Raise what forbids any episode, such as an engine that is not installed."""
        ...

    def make_world(self, policy: Policy | None = None) -> Any:
        """Return an engine for a policy to play in; it has ``close()``."""
        ...

    def run_episode(
        self, world: Any, policy: Policy, candidate: C, index: int, *, run_seed: int
    ) -> tuple[TrialRecord, Picture | None]:
        """Play one trial to its end and judge it; return its record and its picture.

        What the policy does wrong is the outcome ``error``, a scene that cannot be is
        ``invalid_scene``. Where the record's scene holds a ``"digest"`` of all that happened, two
        trials of a candidate with the same digest are one observation.
        """
        ...

    def preview(self, world: Any, candidate: C) -> tuple[Mapping[str, Any], Picture]:
        """Return the scene of a candidate as JSON values, and its picture before the episode.

        Raises:
            SceneError: It cannot be set up.
        """
        ...


def plays_episodes(domain: object) -> bool:
    """Whether a trial of `domain` is an episode of a policy, not a question to a VLM."""
    return callable(getattr(domain, "run_episode", None))


@runtime_checkable
class VLM(Protocol):
    """A vision-language model under test. Thread-safe when ``concurrency`` above 1 is used."""

    name: str

    def answer(self, images: Sequence[Picture], prompt: str, *, seed: int) -> Reply:
        """Answer `prompt` about `images`."""
        ...


@runtime_checkable
class Policy(Protocol):
    """A vision-language-action policy under test.

    It may have more: ``seed(seed)``, called before each `reset` where it draws at random;
    ``privileged = True`` when it needs the world's last state as ``observation["world"]``, and then
    ``looks = True`` when it needs the picture too.
    """

    name: str

    def reset(self, instruction: str) -> None:
        """Start an episode."""
        ...

    def act(self, observation: Mapping[str, Any]) -> npt.NDArray[np.float32]:
        """Return a chunk of actions, `k x 7`."""
        ...


class Logger(Protocol):
    """Receives what a run learns, on the driver process only.

    It may have ``attach(folder)``, called before `start` with the run's folder as a `Path`.
    """

    def start(self, config: Mapping[str, Any]) -> None:
        """Begin a run."""
        ...

    def log(self, calls: int, evaluation: Evaluation[Any], records: Sequence[TrialRecord]) -> None:
        """Log one evaluation after `calls` charged trials."""
        ...

    def finish(self, summary: Mapping[str, Any]) -> None:
        """End the run."""
        ...
