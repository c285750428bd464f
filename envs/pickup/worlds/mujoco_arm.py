"""Where the gripper is for given joint angles, and which angles bring it to a pose."""

from __future__ import annotations

import numpy as np

from ..arm import arm
from ..scene import TABLE_TOP
from .mujoco_model import GRIP_SITE, build_model, load_mujoco
from .turns import F64, from_vector, inverse, product, upright

WORKSPACE_LOW = np.array([-0.62, -0.15, TABLE_TOP + 0.006])
"""Lowest target of the point between the finger tips in the scene's frame, m. The tips reach 5 mm
further than that point and must not be driven into the table."""

WORKSPACE_HIGH = np.array([0.10, 0.55, TABLE_TOP + 0.40])
"""Highest target of the point between the finger tips in the scene's frame, m."""

MAX_JOINT_STEP = 1.2
"""Largest turn of a joint in one action, radians (3.6 rad/s)."""

_DAMPING = 0.02
_ITERATIONS = 12
_TOLERANCE = 1e-5


class ArmKinematics:
    """Forward and inverse kinematics of the six turning joints."""

    def __init__(self) -> None:
        """Build a model of the arm alone.

        Raises:
            MissingDependencyError: MuJoCo is not installed.
        """
        self._mujoco = load_mujoco()
        self._model = build_model()
        self._data = self._mujoco.MjData(self._model)
        self._site = self._model.site(GRIP_SITE).id
        self._body = int(self._model.site_bodyid[self._site])
        self._count = len(arm().turning)
        self.low = self._model.jnt_range[: self._count, 0].copy()
        self.high = self._model.jnt_range[: self._count, 1].copy()
        self._place = np.zeros((3, self._model.nv))
        self._turn = np.zeros((3, self._model.nv))

    def gripper(self, joints: F64) -> tuple[F64, F64]:
        """Return position (m) and orientation (quaternion) of the gripper in the scene's frame."""
        data = self._data
        data.qpos[: self._count] = joints
        self._mujoco.mj_kinematics(self._model, data)
        return data.site_xpos[self._site].copy(), upright(data.xquat[self._body].copy())

    def solve(self, joints: F64, position: F64, turn: F64, max_step: float = MAX_JOINT_STEP) -> F64:
        """Return joint angles that bring the gripper to a pose, or as near as it gets.

        Damped least squares from `joints`, within the joints' limits.

        Args:
            joints: Where to start from, radians, 6 numbers.
            position: Wanted point between the finger tips in the scene's frame, m.
            turn: Wanted orientation of the hand, unit quaternion.
            max_step: How far a joint may turn from `joints`, radians.
        """
        low = np.maximum(self.low, joints - max_step)
        high = np.minimum(self.high, joints + max_step)
        found = joints.copy()
        error = np.zeros(6)
        damping = _DAMPING**2 * np.eye(6)
        for _ in range(_ITERATIONS):
            at, turned = self.gripper(found)
            error[:3] = position - at
            error[3:] = _difference(turn, turned)
            size = float(error @ error)
            if size < _TOLERANCE**2:
                break
            self._mujoco.mj_comPos(self._model, self._data)
            self._mujoco.mj_jacSite(self._model, self._data, self._place, self._turn, self._site)
            jacobian = np.vstack((self._place[:, : self._count], self._turn[:, : self._count]))
            # Less damping near the goal: it is reached exactly, yet no joint races far from it.
            square = jacobian @ jacobian.T + damping * min(1.0, 100.0 * size)
            square[np.diag_indices(6)] += 1e-8
            found = np.clip(found + jacobian.T @ np.linalg.solve(square, error), low, high)
        return found


def _difference(wanted: F64, turned: F64) -> F64:
    """Return the axis-angle vector (radians) that turns `turned` into `wanted`."""
    w, *vector = upright(product(wanted, inverse(turned)))
    axis = np.array(vector)
    sine = float(np.sqrt(axis @ axis))
    if sine < 1e-12:
        return np.zeros(3)
    angle: float = 2.0 * float(np.arctan2(sine, w))
    return axis / sine * angle


def advanced(position: F64, turn: F64, move: F64, rotation: F64) -> tuple[F64, F64]:
    """Return a gripper pose after one action: all in the scene's frame, held in the workspace."""
    moved = np.clip(position + move, WORKSPACE_LOW, WORKSPACE_HIGH)
    return moved, upright(product(from_vector(rotation), turn))
