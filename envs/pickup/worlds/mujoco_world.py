"""The embedded world: MuJoCo moves things, our own ray tracer shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ....core import EnvironmentFault, Picture, SceneError, UnknownNameError, UsageError
from ..arm import BASE_POSITION, BASE_TURN, arm
from ..objects import objects
from ..scene import TABLE_TOP, PickUpScene, Pose
from .mujoco_arm import ArmKinematics, advanced
from .mujoco_contacts import ContactReader
from .mujoco_model import GRIP_SITE, SUBSTEPS, TIMESTEP, build_model, load_mujoco
from .placing import is_over_table, put_down, reach_below
from .success import RAISED_FREE, ROBOT_NAME, SuccessRule
from .turns import F64, inverse, matrix, product, upright
from .world import ACTION_SIZE, F32, State

if TYPE_CHECKING:
    from ..pictures import Painter

MAX_MOVE = 0.10
"""Largest move along each axis in one action, m."""

MAX_TURN = 0.6
"""Largest turn in one action, radians."""

SETTLE_SECONDS = 2.0
"""An object has this long to come to rest."""

Place: TypeAlias = tuple[float, float, float]
Turn: TypeAlias = tuple[float, float, float, float]

_MODELS = 32  # kept at most, one for each set of objects
_PIECES = 16  # changes of the drives' goals in an action
_STILL = 0.02  # m/s and rad/s: slower than this is at rest
_OVERLAP = 0.0005  # m: deeper contacts at the start are an overlap
_RAISED = 0.001  # m: what is higher and does not touch the table lies on something
_FALLEN = 0.01  # m below the table's top: no longer on it
_BASE = matrix(BASE_TURN)
_POINTING_DOWN = np.array([0.0, 0.0, 1.0, 0.0])
_HOME_TURN = product(np.array(BASE_TURN), _POINTING_DOWN)


class MujocoWorld:
    """The embedded physics engine.

    Each action moves the target pose of the gripper by at most `MAX_MOVE` along each axis and
    `MAX_TURN`; inverse kinematics turns it into joint angles, which the drives approach smoothly
    within a third of a second. A target that the arm cannot reach is replaced by the nearest pose
    that it can. Of the two quaternions of the gripper's orientation, the one nearer to that at the
    start is given, so that it does not jump while the hand points down.

    Same scene and actions, same states, bit for bit, whatever ran before.

    Args:
        picture_size: Width and height of what a policy sees; None: its observations have no
            ``image`` (for policies that look at the state alone).

    Attributes:
        name: ``"mujoco"``.
        deterministic: True.
        scene: The scene that is set up, or None.
    """

    name = "mujoco"
    deterministic = True

    def __init__(self, picture_size: tuple[int, int] | None = (160, 128)) -> None:
        """Build the arm.

        Raises:
            MissingDependencyError: MuJoCo is not installed.
        """
        self._mujoco = load_mujoco()
        self._size = picture_size
        self._arm = ArmKinematics()
        self._models: dict[tuple[str, ...], tuple[Any, Any, ContactReader]] = {}
        home = arm().home
        self._home = self._arm.solve(
            np.array(arm().home_joints),
            np.array([home.x, home.y, home.z]),
            _HOME_TURN,
        )
        self._joints, (self._target, self._target_turn) = self._home, self._arm.gripper(self._home)
        self._painter: Painter | None = None
        self.scene: PickUpScene | None = None

    def start(self, scene: PickUpScene) -> State:
        """Set a scene up and let it settle; see `World.start`."""
        self.scene = None
        poses = (scene.target, *scene.distractors)
        names = tuple(sorted(pose.object for pose in poses))
        if len(set(names)) < len(names):
            raise SceneError("an object stands on the table twice: each can be there once")
        self._model, self._data, self._contacts = self._engine(names)
        self._painter = None
        self._mujoco.mj_resetData(self._model, self._data)
        self._place_arm()
        self._check_over_table(poses)
        for pose in poses:
            position, turn = put_down(objects().of(pose.object), pose)
            joint = self._data.joint(pose.object)
            joint.qpos[:3], joint.qpos[3:] = position, turn
        self._check_apart()
        self._settle()
        self._check_stable()
        self._check_resting(poses)
        self.scene = scene
        self._rule = SuccessRule()
        self._start_heights = {
            name: float(self._data.body(name).xpos[2]) for name in self._contacts.objects
        }
        return self._state()

    def observe(self) -> Mapping[str, Any]:
        """Return what the policy sees now; see `world.Observation`."""
        scene = self._running()
        position, turn, opening = self._gripper()
        base_turn = upright(product(inverse(np.array(BASE_TURN)), turn), _POINTING_DOWN)
        in_base = _BASE.T @ (position - np.array(BASE_POSITION))
        state = np.array([*in_base, *base_turn, opening], np.float32)
        seen: dict[str, Any] = {"instruction": scene.instruction, "state": state}
        if self._size is not None:
            seen["image"] = self._paint(self._size)
        return seen

    def step(self, action: F32) -> State:
        """Carry out one action; see `world.ACTION_SIZE`.

        Raises:
            UsageError: It is not `ACTION_SIZE` finite numbers.
            EnvironmentFault: The engine became unstable.
        """
        self._running()
        move, rotation, opening = _checked(action)
        position, turn = advanced(self._target, self._target_turn, _BASE @ move, _BASE @ rotation)
        joints = self._arm.solve(self._joints, position, turn)
        at, turned = self._arm.gripper(joints)
        reached = np.abs(at - position).max() < 1e-3 and abs(turned @ turn) > 1.0 - 1e-5
        self._target, self._target_turn = (position, turn) if reached else (at, turned)
        goal = np.concatenate((joints, (opening / 2, opening / 2)))
        start = self._data.ctrl.copy()
        for piece in range(1, _PIECES + 1):
            share = piece / _PIECES
            self._data.ctrl[:] = start + (goal - start) * share * share * (3.0 - 2.0 * share)
            self._mujoco.mj_step(self._model, self._data, SUBSTEPS // _PIECES)
        self._joints = joints
        self._check_stable()
        return self._state()

    def picture(self) -> Picture:
        """Return a picture for people of what is so now."""
        from ..pictures import PEOPLE_SIZE

        return Picture.from_pixels(self._paint(PEOPLE_SIZE))

    def poses(self) -> dict[str, tuple[Place, Turn]]:
        """Return position (m) and orientation (w, x, y, z) of every link and object by name."""
        self._running()
        names = [link.name for link in arm().links] + self._contacts.objects
        bodies = ((name, self._data.body(name)) for name in names)
        return {name: (_triple(body.xpos), _quad(body.xquat)) for name, body in bodies}

    def close(self) -> None:
        """Free the engine."""
        self._models.clear()
        self.scene = None

    def _engine(self, names: tuple[str, ...]) -> tuple[Any, Any, ContactReader]:
        if names not in self._models:
            known = [one.id for one in objects().objects]
            for name in names:
                if name not in known:
                    raise UnknownNameError("object", name, known)
            if len(self._models) >= _MODELS:
                self._models.pop(next(iter(self._models)))
            model = build_model(names)
            data = self._mujoco.MjData(model)
            self._models[names] = (model, data, ContactReader(self._mujoco, model, list(names)))
        return self._models[names]

    def _running(self) -> PickUpScene:
        if self.scene is None:
            raise UsageError("the world holds no scene: call start() first")
        return self.scene

    def _place_arm(self) -> None:
        count = len(self._home)
        self._joints = self._home
        self._target, self._target_turn = self._arm.gripper(self._home)
        half = arm().opening / 2
        self._data.qpos[:count] = self._home
        self._data.qpos[count : count + 2] = half
        self._data.ctrl[:] = self._data.qpos[: count + 2]

    def _check_over_table(self, poses: tuple[Pose, ...]) -> None:
        for pose in poses:
            if not is_over_table(pose.x, pose.y):
                title = objects().of(pose.object).title
                raise SceneError(
                    f"the {title} at x {pose.x:.3f}, y {pose.y:.3f} is not on the table"
                )

    def _check_apart(self) -> None:
        self._mujoco.mj_forward(self._model, self._data)
        for one, other, depth in self._contacts.pairs(self._data):
            if depth > _OVERLAP:
                raise SceneError(f"{_title(one)} and {_title(other)} overlap")

    def _settle(self) -> None:
        """Step until everything has been at rest for a while, or the time is over."""
        first = self._model.nv - 6 * len(self._contacts.objects)
        still = 0
        for _ in range(round(SETTLE_SECONDS / (10 * TIMESTEP))):
            self._mujoco.mj_step(self._model, self._data, 10)
            resting = float(np.abs(self._data.qvel[first:]).max()) < _STILL
            still = still + 1 if resting else 0
            if still >= 6:
                return

    def _check_resting(self, poses: tuple[Pose, ...]) -> None:
        for pose in poses:
            thing = objects().of(pose.object)
            body = self._data.body(pose.object)
            lowest = float(body.xpos[2]) - reach_below(thing, body.xquat)
            if lowest < TABLE_TOP - _FALLEN or not is_over_table(*body.xpos[:2]):
                raise SceneError(f"the {thing.title} fell off the table")
            on_table = "table" in self._contacts.touching(self._data, pose.object)
            if not on_table and lowest > TABLE_TOP + _RAISED:
                raise SceneError(f"the {thing.title} came to rest above the table, on something")

    def _check_stable(self) -> None:
        kinds = self._mujoco.mjtWarning
        bad = (kinds.mjWARN_BADQPOS, kinds.mjWARN_BADQVEL, kinds.mjWARN_BADQACC)
        # The engine resets itself silently in these cases.
        if any(self._data.warning[int(kind)].number for kind in bad):
            raise EnvironmentFault("the physics engine became unstable: the episode is void")

    def _gripper(self) -> tuple[F64, F64, float]:
        site, hand = self._data.site(GRIP_SITE), self._data.body("hand")
        count = len(self._home)
        opening = float(self._data.qpos[count] + self._data.qpos[count + 1])
        return site.xpos.copy(), upright(hand.xquat, _HOME_TURN), max(opening, 0.0)

    def _state(self) -> State:
        assert self.scene is not None
        target = self.scene.target.object
        body = self._data.body(target)
        position, turn, opening = self._gripper()
        closing = self._data.body("hand").xmat.reshape(3, 3)[:, 1]
        held = self._contacts.held(self._data, closing)
        touching = self._contacts.touching(self._data, target)
        raised = self._raised(target)
        grasped = target in held
        return State(
            object=_triple(body.xpos),
            turn=_quad(upright(body.xquat.copy())),
            gripper=_triple(position),
            turn_of_gripper=_quad(turn),
            opening=opening,
            raised=raised,
            grasped=grasped,
            touching=touching,
            held=target if grasped else next(iter(held), ""),
            success=self._rule.update(grasped=grasped, raised=raised, touching=touching),
            also_raised=frozenset(
                name
                for name in self._contacts.objects
                if name != target
                and self._raised(name) > RAISED_FREE
                and self._contacts.touching(self._data, name) == {ROBOT_NAME}
            ),
        )

    def _raised(self, name: str) -> float:
        """Return how far an object is above where it lay at the start, m."""
        return float(self._data.body(name).xpos[2]) - self._start_heights[name]

    def _paint(self, size: tuple[int, int]) -> Any:
        if self._painter is None:
            from ..pictures import Painter

            self._painter = Painter(self._running(), size)
        return self._painter.draw(self.poses(), size)


def _checked(action: F32) -> tuple[F64, F64, float]:
    """Return move (m) and turn (radians) in the base's frame, clipped, and the opening (m)."""
    numbers = np.asarray(action, np.float64)
    if numbers.shape != (ACTION_SIZE,) or not np.isfinite(numbers).all():
        raise UsageError(
            f"action: expected {ACTION_SIZE} finite numbers, got {np.array2string(numbers)[:200]}"
        )
    move = np.clip(numbers[:3], -MAX_MOVE, MAX_MOVE)
    rotation = numbers[3:6]
    angle = float(np.sqrt(rotation @ rotation))
    if angle > MAX_TURN:
        rotation = rotation * (MAX_TURN / angle)
    share = 0.5 * (float(np.clip(numbers[6], -1.0, 1.0)) + 1.0)
    return move, rotation, share * arm().opening


def _title(name: str) -> str:
    titles = {one.id: one.title for one in objects().objects}
    return f"the {titles.get(name, name)}"


def _triple(numbers: F64) -> Place:
    return float(numbers[0]), float(numbers[1]), float(numbers[2])


def _quad(numbers: F64) -> Turn:
    return float(numbers[0]), float(numbers[1]), float(numbers[2]), float(numbers[3])
