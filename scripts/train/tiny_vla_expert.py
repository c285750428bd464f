"""The expert as a teacher: the scripted expert, one phase a chunk, without memory.

A policy that sees one picture cannot know what was done before, so neither does its teacher: what
is to be done follows from the world's state. And it corrects small errors on the way down, where
the scripted expert, which makes none, would go up again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vlmfail.models.policies.scripted import (
    F32,
    F64,
    Scripted,
    _above,
    _closing,
    _matrix,
    _Plan,
    _vector,
)

OPEN, CLOSED = 1.0, -1.0

SHUT = 0.082
"""Fingers nearer to each other than this were closed, m: everything that fits between them is
narrower."""

NEAR = 0.02
"""So far aside the gripper goes on down all the same, and corrects on the way, m."""

ASKEW = 0.3
"""The same for its turn, radians."""

BELOW = 0.06
"""So far below the height of travel the gripper counts as going down, m."""


class Teacher(Scripted):
    """Demonstrates chunks of `chunk` actions; what it does depends on the state alone.

    A chunk is one phase: travel until it is over the target; or the last move of that, down, and
    close; or raise and hold; or open and draw back after a missed grasp, as often as needed.
    """

    name = "teacher"

    def act(self, observation: Mapping[str, Any]) -> F32:
        """Return the next actions, `chunk x 7`."""
        self._attempts = 0
        self._closed = observation["world"].opening < SHUT
        rows = super().act(observation)
        rest = np.zeros((self.chunk - len(rows), rows.shape[1]), np.float32)
        rest[:, 6] = rows[-1, 6]
        return np.concatenate((rows, rest))

    def _approach(self, plan: _Plan, world: Any) -> None:
        middle = np.array(world.object)
        turn = _above(_closing(_matrix(world.turn)), plan.turn)
        low = middle[2] + max(0.0, middle[2] - self.table_top - self.DEPTH)
        grip = np.array([middle[0], middle[1], max(low, self.table_top + self.LOWEST)])
        hover = np.array([middle[0], middle[1], self.table_top + self.hover])
        if plan.position[2] < hover[2] - BELOW:
            if not self._is_near(plan, grip, turn):
                over = np.array([*plan.position[:2], hover[2]])
                plan.go(over, plan.turn, OPEN, self.MAX_MOVE)
                plan.go(hover, turn, OPEN, self.MAX_MOVE)
                return
        else:
            before = plan.left
            plan.go(hover, turn, OPEN, self.MAX_MOVE)
            if before - plan.left > 1:
                return
        plan.go(grip, turn, OPEN, self.DESCENT)
        if plan.left >= 2:
            plan.wait(CLOSED)
            plan.wait(CLOSED)
            self._closed = True

    @staticmethod
    def _is_near(plan: _Plan, grip: F64, turn: F64) -> bool:
        aside = float(np.abs(plan.position[:2] - grip[:2]).max())
        return aside < NEAR and float(np.linalg.norm(_vector(turn @ plan.turn.T))) < ASKEW


def closing_of(world: Any) -> tuple[float, float]:
    """Return cosine and sine of twice the angle of the direction in which fingers should close on
    the target, in the base's frame (half a turn about z changes neither).
    """
    x, y, _ = _closing(_matrix(world.turn))
    return float(x * x - y * y), float(2.0 * x * y)
