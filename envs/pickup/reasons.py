"""Why an episode failed, told from its states."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from .objects import PickUpObject
from .worlds.turns import matrix
from .worlds.world import F32, State

Reason: TypeAlias = Literal[
    "never_reached", "missed_grasp", "slipped", "dropped", "wrong_object", "timeout"
]

REASONS: dict[Reason, str] = {
    "never_reached": "the gripper never came within 5 cm of the object",
    "missed_grasp": "it reached the object and closed, and never held it",
    "slipped": "it held the object and lost it before it was 1 cm up",
    "dropped": "it raised the object and lost it",
    "wrong_object": "it held or raised another object and never held the right one",
    "timeout": "it was still holding or trying when the steps ran out",
}
"""The reasons in words."""

REACHED = 0.05
"""Distance between the finger tips and the object's axis from which it is reached, m."""

RAISED = 0.01
"""Height from which a held object was raised, m."""


@dataclass(frozen=True, slots=True)
class Moments:
    """What happened in an episode and when; steps count from 0, the start.

    Attributes:
        nearest: Smallest distance between the finger tips and the object's axis, m.
        nearest_step: When that was.
        closed: Whether the policy had the gripper closed when it had reached the object.
        grasped_step: When the object was first held; None: never.
        lost_step: When it was last lost; None: never, or it is held at the end.
        raised: Largest height of the object while it was held, m; 0 if it never was.
        raised_step: When that was; None: it never was held.
    """

    nearest: float
    nearest_step: int
    closed: bool
    grasped_step: int | None
    lost_step: int | None
    raised: float
    raised_step: int | None

    @classmethod
    def of(cls, states: Sequence[State], actions: F32, target: PickUpObject) -> Moments:
        """Return what happened.

        Args:
            states: The states, the start first.
            actions: The actions, `steps x 7`.
            target: The object to pick up.
        """
        distances = [distance(state, target) for state in states]
        nearest = min(range(len(states)), key=distances.__getitem__)
        reached = next((k for k, far in enumerate(distances) if far < REACHED), len(states))
        # The action that leads to a state has the number before the state's.
        there = actions[max(reached - 1, 0) :]
        held = [step for step, state in enumerate(states) if state.grasped]
        highest = max(held, key=lambda step: (states[step].raised, -step), default=None)
        return cls(
            nearest=distances[nearest],
            nearest_step=nearest,
            closed=bool((there[:, 6] < 0.0).any()),
            grasped_step=held[0] if held else None,
            lost_step=held[-1] + 1 if held and held[-1] < len(states) - 1 else None,
            raised=0.0 if highest is None else states[highest].raised,
            raised_step=highest,
        )


def distance(state: State, target: PickUpObject) -> float:
    """Return the distance between the finger tips and the axis of the target, m.

    The axis, not the middle: a bottle 20 cm tall is reached at its neck.
    """
    axis = matrix(state.turn)[:, 2]
    to_tips = np.array(state.gripper) - np.array(state.object)
    along = min(max(float(to_tips @ axis), target.bottom), target.top)
    return math.dist(to_tips, along * axis)


def reason_of(states: Sequence[State], target: PickUpObject, moments: Moments) -> Reason:
    """Return why an episode without success failed.

    Args:
        states: Its states, the start first.
        target: The object to pick up.
        moments: `Moments.of` it.
    """
    if moments.grasped_step is None:
        if any(state.held not in ("", target.id) or state.also_raised for state in states):
            return "wrong_object"
        if moments.nearest >= REACHED:
            return "never_reached"
        return "missed_grasp" if moments.closed else "timeout"
    if moments.lost_step is None:
        return "timeout"
    return "dropped" if moments.raised >= RAISED else "slipped"
