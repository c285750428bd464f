"""The expert as a teacher: the scripted expert, one phase a chunk, evenly and without memory.

It grips where the scripted expert grips, and learning from it is easier: a policy that sees one
picture cannot know what was done before, so what the teacher does follows from the world's state;
what depends on a millimetre cannot be seen, so each phase takes the same number of equal moves;
and it corrects small errors on the way down, where the scripted expert, which makes none, would go
up again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vlmfail.models.policies.scripted import (
    _TO_BASE,
    F32,
    F64,
    Scripted,
    _above,
    _closing,
    _matrix,
    _vector,
)

OPEN, CLOSED = 1.0, -1.0

SHUT = 0.082
"""Fingers nearer to each other than this were closed, m: everything that fits between them is
narrower."""

BELOW = 0.05
"""So far below the height of travel the gripper counts as going down, m."""

NEAR, ASKEW = 0.02, 0.3
"""A gripper that is going down goes on so far aside (m) and turned (radians), and corrects."""

OVER, TURNED = 0.05, 0.35
"""A gripper that is so near to its place over the target goes down, and corrects first."""


class Teacher:
    """Demonstrates chunks of `chunk` actions; what it does depends on the state alone.

    | phase | actions |
    |---|---|
    | travel until it is over the target | `chunk` |
    | set right, down, close | 1, `chunk` - 3, 2 |
    | raise and hold | `chunk` |
    | open and draw back after a missed grasp, as often as needed | 1, `chunk` - 1 |
    | draw back where it is low and beside the target | `chunk` |

    Attributes:
        name: ``"teacher"``.
        privileged: True: it needs ``observation["world"]``.
    """

    name = "teacher"
    privileged = True

    def __init__(self, chunk: int = 6) -> None:
        """Set it up; see the class."""
        self.chunk = chunk
        self.expert = Scripted(chunk)

    def reset(self, instruction: str) -> None:
        """Begin an episode; what the instruction says is in the state already."""

    def act(self, observation: Mapping[str, Any]) -> F32:
        """Return the next actions, `chunk x 7`."""
        world, count, expert = observation["world"], self.chunk, self.expert
        place, hand = np.array(world.gripper), _matrix(world.turn_of_gripper)
        travel = expert.table_top + expert.hover
        up = np.array([0.0, 0.0, travel - place[2]])
        still = np.zeros(3)
        if world.grasped:
            rise = np.array([0.0, 0.0, expert.lift - world.raised])
            return _rows([(rise, still, CLOSED, count)])
        if world.opening < SHUT:
            return _rows([(still, still, OPEN, 1), (up, still, OPEN, count - 1)])
        grip, turn = self._grip(world, hand)
        aside = np.array([*(grip - place)[:2], 0.0])
        rotation = _vector(turn @ hand.T)
        off, askew = float(np.abs(aside).max()), float(np.linalg.norm(rotation))
        if place[2] < travel - BELOW:
            if off > NEAR or askew > ASKEW:
                return _rows([(up, still, OPEN, count)])
        else:
            aside = aside + up
            if float(np.abs(aside).max()) > OVER or askew > TURNED:
                return _rows([(aside, rotation, OPEN, count)])
        down = grip - place - aside
        return _rows(
            [(aside, rotation, OPEN, 1), (down, still, OPEN, count - 3), (still, still, CLOSED, 2)]
        )

    def _grip(self, world: Any, hand: F64) -> tuple[F64, F64]:
        """Return where the scripted expert would grip, m, and the hand's orientation there."""
        expert, middle = self.expert, np.array(world.object)
        turn = _above(_closing(_matrix(world.turn)), hand)
        deep = middle[2] + max(0.0, middle[2] - expert.table_top - expert.DEPTH)
        return np.array([*middle[:2], max(deep, expert.table_top + expert.LOWEST)]), turn


def _rows(parts: list[tuple[F64, F64, float, int]]) -> F32:
    """Return actions, `n x 7`: of each part, the way and turn in so many equal moves, none above
    what the world carries out.
    """
    rows = []
    for way, turn, gripper, count in parts:
        most = max(
            float(np.abs(way).max()) / Scripted.MAX_MOVE,
            float(np.linalg.norm(turn)) / Scripted.MAX_TURN,
        )
        share = 1.0 / max(count, most)
        row = np.array([*(share * way * _TO_BASE), *(share * turn * _TO_BASE), gripper])
        rows += [row] * count
    return np.stack(rows).astype(np.float32)


def closing_of(world: Any) -> tuple[float, float]:
    """Return cosine and sine of twice the angle of the direction in which fingers should close on
    the target, in the base's frame (half a turn about z changes neither).
    """
    x, y, _ = _closing(_matrix(world.turn))
    return float(x * x - y * y), float(2.0 * x * y)
