"""The scripted expert: it knows where everything truly is, and picks the target up from above."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

F32: TypeAlias = npt.NDArray[np.float32]
F64: TypeAlias = npt.NDArray[np.float64]

_OPEN, _CLOSED = 1.0, -1.0

_TO_BASE = np.array([-1.0, -1.0, 1.0])
"""The robot looks along the scene's -x: its frame is half a turn about z away."""


class Scripted:
    """An expert with privileged state, for demonstrations and as a check of the physics.

    It goes above the target, turns the fingers' closing direction across the target's narrow side,
    goes down, closes, raises the target by `lift` and holds it. After a missed or lost grasp it
    tries once more. It plans anew for every chunk and remembers nothing but how often it tried.

    Reads ``observation["world"]`` (the world's last `State`: pose of the target and of the gripper,
    in the scene's frame) and nothing of the picture; `privileged` says so.

    Args:
        chunk: Actions returned at once, at least 4.
        table_top: Height of the table, m.
        hover: Height above the table at which the gripper travels, m: above all that stands there.
        lift: How far the target is raised, m.

    Attributes:
        name: ``"scripted"``.
        privileged: True: it needs ``observation["world"]``.
    """

    name = "scripted"
    privileged = True

    MAX_MOVE = 0.10
    """Largest move along each axis in an action, m."""

    DESCENT = 0.08
    """Largest move down onto the target, m."""

    RAISE = 0.05
    """Largest move up with the target, m."""

    MAX_TURN = 0.5
    """Largest turn in an action, radians."""

    LOWEST = 0.006
    """The grip point is not brought nearer to the table than this, m: the tips touch it there."""

    DEPTH = 0.05
    """How deep a tall target reaches between the fingers, m."""

    ATTEMPTS = 2

    def __init__(
        self, chunk: int = 6, table_top: float = 0.87, hover: float = 0.23, lift: float = 0.15
    ) -> None:
        """Set it up; see the class."""
        self.chunk = max(4, chunk)
        self.table_top = table_top
        self.hover = hover
        self.lift = lift
        self.reset("")

    def reset(self, instruction: str) -> None:
        """Begin an episode; what the instruction says is in the state already."""
        self._attempts = 0
        self._closed = False

    def act(self, observation: Mapping[str, Any]) -> F32:
        """Return the next actions, `n x 7`."""
        world = observation["world"]
        plan = _Plan(np.array(world.gripper), _matrix(world.turn_of_gripper), self.chunk)
        if world.grasped:
            self._closed = True
            self._raise(plan, world.raised)
        elif self._closed:
            self._again(plan)
        else:
            self._approach(plan, world)
        return plan.actions(_CLOSED if self._closed else _OPEN)

    def _raise(self, plan: _Plan, raised: float) -> None:
        """Hold what is grasped at `lift` above where it lay."""
        goal = plan.position + np.array([0.0, 0.0, self.lift - raised])
        plan.go(goal, plan.turn, _CLOSED, self.RAISE)

    def _again(self, plan: _Plan) -> None:
        """Open and draw back after a missed grasp, or give up with the gripper closed."""
        if self._attempts >= self.ATTEMPTS:
            return
        self._closed = False
        goal = plan.position.copy()
        plan.wait(_OPEN)
        goal[2] = self.table_top + self.hover
        plan.go(goal, plan.turn, _OPEN, self.MAX_MOVE)

    def _approach(self, plan: _Plan, world: Any) -> None:
        """Go above the target and, from there, down onto it."""
        middle = np.array(world.object)
        turn = _above(_closing(_matrix(world.turn)), plan.turn)
        half_height = middle[2] - self.table_top
        low = middle[2] + max(0.0, half_height - self.DEPTH)
        grip = np.array([middle[0], middle[1], max(low, self.table_top + self.LOWEST)])
        if not plan.is_above(grip, turn):
            hover = np.array([middle[0], middle[1], self.table_top + self.hover])
            if plan.position[2] < hover[2] - 0.02:
                plan.go(np.array([*plan.position[:2], hover[2]]), plan.turn, _OPEN, self.MAX_MOVE)
            plan.go(hover, turn, _OPEN, self.MAX_MOVE)
            if plan.left < 2:
                return
        plan.go(grip, turn, _OPEN, self.DESCENT)
        if plan.left >= 2:
            plan.wait(_CLOSED)
            plan.wait(_CLOSED)
            self._closed = True
            self._attempts += 1


class _Plan:
    """A chunk in the making: where the gripper will be, and the actions that bring it there."""

    def __init__(self, position: F64, turn: F64, size: int) -> None:
        self.position, self.turn, self.size = position, turn, size
        self._rows: list[F64] = []

    @property
    def left(self) -> int:
        """How many actions still fit."""
        return self.size - len(self._rows)

    def is_above(self, grip: F64, turn: F64) -> bool:
        """Return whether the gripper stands over a grip point, turned as wanted."""
        aside = float(np.abs(self.position[:2] - grip[:2]).max())
        askew = float(np.linalg.norm(_vector(turn @ self.turn.T)))
        return aside < 0.004 and askew < 0.05 and self.position[2] > grip[2] - 0.01

    def go(self, goal: F64, turn: F64, gripper: float, step: float) -> None:
        """Move to a pose, as far as the chunk allows."""
        while self.left > 0:
            move = goal - self.position
            rotation = _vector(turn @ self.turn.T)
            angle = float(np.linalg.norm(rotation))
            share = 1.0 / max(1.0, float(np.abs(move).max()) / step, angle / Scripted.MAX_TURN)
            if share == 1.0 and float(np.abs(move).max()) < 1e-3 and angle < 1e-2:
                return
            self._add(move * share, rotation * share, gripper)

    def wait(self, gripper: float) -> None:
        """Stay, with the fingers at a goal."""
        if self.left > 0:
            self._add(np.zeros(3), np.zeros(3), gripper)

    def actions(self, gripper: float) -> F32:
        """Return the chunk, `n x 7`, filled up with waiting to at least 4 actions."""
        while len(self._rows) < 4:
            self.wait(gripper)
        return np.stack(self._rows).astype(np.float32)

    def _add(self, move: F64, rotation: F64, gripper: float) -> None:
        self.position = self.position + move
        self.turn = _turned(rotation) @ self.turn
        self._rows.append(np.array([*(move * _TO_BASE), *(rotation * _TO_BASE), gripper]))


def _closing(turn: F64) -> F64:
    """Return the target's narrow horizontal direction, unit vector.

    A lying one is narrow across its long axis, a standing one along its y.
    """
    long_axis, narrow = turn[:, 2], turn[:, 1]
    if math.hypot(long_axis[0], long_axis[1]) > 0.7:
        direction = np.array([-long_axis[1], long_axis[0], 0.0])
    else:
        direction = np.array([narrow[0], narrow[1], 0.0])
    return direction / float(np.linalg.norm(direction))


def _above(closing: F64, turn: F64) -> F64:
    """Return the hand's orientation pointing down and closing that way, nearest to `turn`."""
    across = closing if float(closing @ turn[:, 1]) >= 0.0 else -closing
    down = np.array([0.0, 0.0, -1.0])
    return np.column_stack((np.cross(across, down), across, down))


def _matrix(quaternion: tuple[float, float, float, float]) -> F64:
    w, x, y, z = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _vector(turn: F64) -> F64:
    """Return the axis-angle vector of a rotation matrix, radians, below half a turn."""
    axis = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    sine, cosine = float(np.linalg.norm(axis)), float(np.trace(turn)) - 1.0
    return axis * (math.atan2(sine, cosine) / sine) if sine > 1e-9 else np.zeros(3)


def _turned(vector: F64) -> F64:
    """Return the rotation matrix of an axis-angle vector."""
    angle = float(np.linalg.norm(vector))
    if angle < 1e-12:
        return np.eye(3)
    half = vector / angle * math.sin(angle / 2)
    return _matrix((math.cos(angle / 2), float(half[0]), float(half[1]), float(half[2])))
