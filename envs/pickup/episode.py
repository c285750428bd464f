"""One episode: a policy in a world, and what came of it."""

from __future__ import annotations

import hashlib
import itertools
import math
import os
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...core import (
    EnvironmentFault,
    MissingDependencyError,
    ModelFault,
    Outcome,
    Picture,
    Policy,
    UnaskedError,
)
from ...core.text import tamed
from ...models.replies import fault
from .objects import objects
from .reasons import Moments, Reason, reason_of
from .scene import PickUpScene
from .worlds.world import ACTION_SIZE, F32, State, World

LONGEST_NOTE = 300
"""Characters kept of what went wrong."""

DIGITS = 4
"""Decimals of a recorded path in m: 0.1 mm."""


@dataclass(frozen=True, slots=True)
class Episode:
    """What came of an episode.

    Attributes:
        scene: The scene.
        states: The state at the start and after each action.
        actions: What the policy did, `steps x 7`.
        error: Outcome of an episode that was broken off: ``error`` or ``timeout``; None of one
            that can be judged.
        note: Why it was broken off.
        seconds: Time that the policy took, s.
        frames: Pictures for people, by step; 0 is before the first action.
    """

    scene: PickUpScene
    states: tuple[State, ...]
    actions: F32
    error: Outcome | None = None
    note: str = ""
    seconds: float = 0.0
    frames: Mapping[int, Picture] = field(default_factory=dict, repr=False)

    @property
    def steps(self) -> int:
        """Number of actions carried out."""
        return len(self.actions)

    @property
    def success_once(self) -> bool:
        """Whether any step was a success."""
        return any(state.success for state in self.states[1:])

    @property
    def success_at_end(self) -> bool:
        """Whether the last step was a success."""
        return len(self.states) > 1 and self.states[-1].success

    @property
    def digest(self) -> str:
        """SHA-256 of all actions and states: alike in two episodes where all happened alike."""
        parts = hashlib.sha256(self.actions.tobytes())
        for state in self.states:
            numbers = (
                *state.object, *state.turn, *state.gripper, *state.turn_of_gripper, state.opening,
            )  # fmt: skip
            parts.update(np.array(numbers, np.float64).tobytes())
        return parts.hexdigest()

    @property
    def moments(self) -> Moments:
        """What happened, in numbers."""
        return Moments.of(self.states, self.actions, objects().of(self.scene.target.object))

    @property
    def reason(self) -> Reason:
        """Why it failed, if it did."""
        return reason_of(self.states, objects().of(self.scene.target.object), self.moments)

    def record(self, success: bool) -> dict[str, Any]:
        """Return the episode as JSON values; `success` says whether it counts as one."""
        start = self.states[0]
        touched: dict[str, int] = {}
        for step, state in enumerate(self.states):
            for name in sorted(state.touching - {"table"}):
                touched.setdefault(name, step)
        moments = self.moments
        return {
            "steps": self.steps,
            "start": {
                "object": rounded(start.object),
                "turn": rounded(start.turn),
                "gripper": rounded(start.gripper),
            },
            "success_once": self.success_once,
            "success_at_end": self.success_at_end,
            "reason": None if success or self.error else self.reason,
            "nearest": round(moments.nearest, DIGITS),
            "raised": round(moments.raised, DIGITS),
            "contacts": touched,
            "held": sorted({state.held for state in self.states} - {""}),
            "object_path": [rounded(state.object) for state in self.states],
            "gripper_path": [rounded(state.gripper) for state in self.states],
        }


def rounded(numbers: Sequence[float]) -> list[float]:
    """Return numbers of a path as recorded."""
    return [round(float(number), DIGITS) for number in numbers]


def run_episode(
    world: World,
    policy: Policy,
    scene: PickUpScene,
    max_steps: int = 80,
    frames: Collection[int] = (),
    time_limit: float | None = None,
    seed: int | None = None,
) -> Episode:
    """Put a policy into a scene until its steps run out.

    The episode goes on after a success, so that a later drop is seen. A policy that raises, or
    gives what is no chunk of actions, ends it with the error ``error``; one that takes longer than
    its limit, or raises `TimeoutError`, with ``timeout``. So does an engine that fails or loses
    count of where things are, always with ``error``: nothing can be said of the policy then.

    Args:
        world: The engine.
        policy: The policy; it gets ``world``, the last `State`, if it is ``privileged``.
        scene: The scene.
        max_steps: Actions at most.
        frames: Steps at which a picture for people is taken.
        time_limit: Seconds that the policy may take for the whole episode.
        seed: Given to a policy that draws at random, before it is reset.

    Raises:
        SceneError: The scene cannot be set up.
        ModelFault: The policy cannot be asked at all.
    """
    process = os.getpid()
    try:
        return _played(world, policy, scene, max_steps, frames, time_limit, seed)
    finally:
        if os.getpid() != process:
            os._exit(1)  # a child that the policy forked: one process alone goes on with the run


def _played(
    world: World,
    policy: Policy,
    scene: PickUpScene,
    max_steps: int,
    frames: Collection[int],
    time_limit: float | None,
    seed: int | None,
) -> Episode:
    state = checked_state(world.start(scene))
    states = [state]
    actions: list[F32] = []
    shown: dict[int, Picture] = {}
    error: Outcome | None = None
    note, seconds = "", 0.0
    whose = "world"
    try:
        if 0 in frames:
            shown[0] = world.picture()
        clock, whose = time.perf_counter(), "policy"
        try:
            draws = getattr(policy, "seed", None)
            if seed is not None and callable(draws):
                draws(seed)
            policy.reset(scene.instruction)
            privileged = bool(getattr(policy, "privileged", False))
        finally:
            seconds += time.perf_counter() - clock
        while len(actions) < max_steps:
            whose = "world"
            observation = dict(world.observe())
            if privileged:
                observation["world"] = state
            clock, whose = time.perf_counter(), "policy"
            try:
                chunk = checked_chunk(policy.act(observation))
            finally:
                seconds += time.perf_counter() - clock
            if time_limit is not None and seconds > time_limit:
                raise TimeoutError(
                    f"the policy took more than {time_limit:g} s for {len(actions)} steps"
                )
            whose = "world"
            for action in chunk[: max_steps - len(actions)]:
                state = checked_state(world.step(action.copy()))
                states.append(state)
                actions.append(action)
                if len(actions) in frames:
                    shown[len(actions)] = world.picture()
    except (KeyboardInterrupt, ModelFault, MissingDependencyError, UnaskedError):
        raise
    except BaseException as raised:  # a policy that calls sys.exit() must not end the run
        late = isinstance(raised, TimeoutError) and whose == "policy"
        error = Outcome.TIMEOUT if late else Outcome.ERROR
        kind, _, text = fault(raised).partition(": ")
        said = text or "the policy timed out" if late else f"the {whose}: {kind}: {text}"
        note = tamed(said.removesuffix(": "), LONGEST_NOTE)
    carried = np.array(actions, np.float32).reshape(-1, ACTION_SIZE)
    return Episode(scene, tuple(states), carried, error, note, seconds, shown)


def checked_chunk(given: Any) -> F32:
    """Return a policy's chunk of actions, `k x 7`, as a copy; one action alone is a chunk of one.

    Raises:
        ValueError: It is not that, or holds what is no finite number.
    """
    try:
        raw = np.asarray(given)
    except (TypeError, ValueError):
        raise ValueError(_no_numbers(given)) from None
    if raw.dtype.kind not in "iuf":  # numpy would make numbers of text, dates and flags too
        raise ValueError(_no_numbers(given))
    with np.errstate(over="ignore"):  # what is too large is not finite then
        # A copy, since a policy may use its buffer again for the next chunk.
        chunk = np.array(raw, dtype=np.float32)
    if chunk.shape == (ACTION_SIZE,):
        chunk = chunk[None]
    if chunk.ndim != 2 or chunk.shape[1] != ACTION_SIZE:
        raise ValueError(f"its actions have shape {chunk.shape}, expected k x 7")
    if not len(chunk):
        raise ValueError("its chunk of actions is empty")
    if not np.isfinite(chunk).all():
        raise ValueError("an action of it is not finite")
    return chunk


def _no_numbers(given: object) -> str:
    return f"its actions are {type(given).__name__}, not k x 7 numbers"


def checked_state(state: State) -> State:
    """Return a state of an engine.

    Raises:
        EnvironmentFault: A number of it is not finite: nothing that follows could be judged.
    """
    numbers = (
        *state.object, *state.turn, *state.gripper, *state.turn_of_gripper, state.opening,
        state.raised,
    )  # fmt: skip
    if not all(map(math.isfinite, numbers)):
        raise EnvironmentFault("the engine lost count of where things are: the episode is void")
    return state


def with_frames(world: World, episode: Episode, most: int = 6) -> Episode:
    """Return an episode with pictures of its telling moments.

    A deterministic world does the same actions again; any other shows what was taken meanwhile.

    Args:
        world: The engine.
        episode: What happened.
        most: Pictures at most.

    Raises:
        EnvironmentFault: The world did something else this time.
    """
    if not world.deterministic or episode.frames:
        return episode
    steps = telling_steps(episode, most)
    shown: dict[int, Picture] = {}
    state = world.start(episode.scene)
    for step in range(steps[-1] + 1):
        if step:
            state = world.step(episode.actions[step - 1].copy())
        if state != episode.states[step]:
            raise EnvironmentFault("the engine did something else when it was to do it again")
        if step in steps:
            shown[step] = world.picture()
    return replace(episode, frames=shown)


def telling_steps(episode: Episode, most: int = 6) -> list[int]:
    """Return the steps at which pictures tell what happened, in order: start, moments, end."""
    last, moments = episode.steps, episode.moments
    told = [0, last, moments.nearest_step, moments.grasped_step, moments.raised_step,
            moments.lost_step]  # fmt: skip
    steps = list(dict.fromkeys(step for step in told if step is not None))[:most]
    # Few moments: fill the widest gaps, so that a strip always shows how it went.
    while len(steps) < min(most, last + 1):
        steps.sort()
        width, start = max((b - a, -a) for a, b in itertools.pairwise(steps))
        steps.append(-start + math.ceil(width / 2))
    return sorted(steps)
