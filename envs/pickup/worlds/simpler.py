"""The pick-up world in SimplerEnv, which runs in an interpreter of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from PIL import Image

from ....core import EnvironmentFault, Picture, SceneError, UnknownNameError, UsageError
from ....models.replies import fault
from ..objects import objects
from ..scene import ROBOT, TABLE_TOP, CameraOffset, PickUpScene, Pose
from .placing import is_over_table, put_down_turn
from .simpler_process import SECONDS, Died, SimplerProcess
from .turns import F64, about, inverse, matrix, product, upright
from .world import ACTION_SIZE, F32, State

TASK = "google_robot_pick_object"
"""SimplerEnv's name of the task; where it has none, `ENVIRONMENT` is made."""

ENVIRONMENT = "GraspSingleRandomObjectInScene-v0"

OPENING = 0.10
"""Opening that an open gripper is said to have, m: SimplerEnv tells only how closed it is."""

SEED = 0
"""SimplerEnv draws one of four looks of the robot from the seed: always the same one."""

STANDING = (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0)
"""VLATest's standing object: a quarter turn about x (w, x, y, z)."""

_BASE_TURN = (0.0, 0.0, 0.0, 1.0)
_FALLEN = 0.05  # m below the table's top: no longer on it
_HIGHEST = 0.25  # m: what lies higher at the start lies on something


class SimplerWorld:
    """SimplerEnv's Google robot at its table.

    SimplerEnv judges itself: a step is a success when its ``info`` says that the object is lifted.
    Its ``success`` is that as well, until the object has been well up for five steps, and true from
    then on, even if it is dropped.

    Moves and turns are not limited: SimplerEnv does not limit them.

    The process is started with the world. If it dies while a scene is set up, it is started once
    more; if it dies in an episode, that episode is void, and the next scene gets a new process.

    Args:
        picture_size: Width and height of what a policy sees: SimplerEnv's 640 x 512, scaled. None:
            its observations have no ``image``.
        simpler_python: Path of the interpreter that has ``simpler_env``.
        seconds: How long the process may take for a request, by request.

    Attributes:
        name: ``"simpler"``.
        deterministic: False: nobody has shown that it is.
        factors: What of a scene it can vary; its light and camera are its own.
        scene: The scene that is set up, or None.
        versions: What the process says of itself.
    """

    name = "simpler"
    deterministic = False
    factors = ("distractors", "instruction")

    def __init__(
        self,
        picture_size: tuple[int, int] | None = (160, 128),
        simpler_python: str | None = None,
        seconds: Mapping[str, float] = SECONDS,
    ) -> None:
        """Start SimplerEnv.

        Raises:
            UsageError: No interpreter is named, or it cannot be started.
            EnvironmentFault: It lacks SimplerEnv or its assets, or SimplerEnv fails.
        """
        if not simpler_python:
            raise UsageError(
                "world 'simpler': name the interpreter that has SimplerEnv: "
                "simpler_python=/path/to/python (docs/engines.md)"
            )
        self._python, self._size, self._seconds = str(simpler_python), picture_size, seconds
        self.scene: PickUpScene | None = None
        self._process: SimplerProcess | None = None
        self.versions = self._begin()

    def start(self, scene: PickUpScene) -> State:
        """Set a scene up and let it settle; see `World.start`.

        Raises:
            SceneError: Its start pose is invalid.
            UsageError: The scene has another light or camera: SimplerEnv's cannot be changed.
            EnvironmentFault: SimplerEnv lacks the object, or died twice.
        """
        self.scene = None
        _check(scene)
        asked = _request(scene)
        try:
            found = self._ask("start", **asked)
        except Died:
            found = self._ask("start", **asked)
        state = self._state(found, scene)
        _check_resting(state, scene)
        self.scene = scene
        return state

    def observe(self) -> Mapping[str, Any]:
        """Return what the policy sees now; see `world.Observation`."""
        scene = self._running()
        base = np.array(self._last["base"], np.float64)
        tool = np.array(self._last["gripper"], np.float64)
        in_base = matrix(base[3:]).T @ (tool[:3] - base[:3])
        turn = upright(product(inverse(base[3:]), tool[3:]))
        state = np.array([*in_base, *turn, self._opening()], np.float32)
        seen: dict[str, Any] = {"instruction": scene.instruction, "state": state}
        if self._size is not None:
            picture = self._look()
            if picture.size != self._size:
                picture = picture.resize(self._size, Image.Resampling.BOX)
            seen["image"] = np.asarray(picture, np.uint8).copy()
        return seen

    def step(self, action: F32) -> State:
        """Carry out one action; see `world.ACTION_SIZE`.

        Raises:
            UsageError: It is not `ACTION_SIZE` finite numbers.
            EnvironmentFault: SimplerEnv failed: the episode is void.
        """
        scene = self._running()
        command = _command(action, float(self._last["closed"]))
        try:
            found = self._ask("step", action=command)
        except EnvironmentFault:
            self.scene = None
            raise
        return self._state(found, scene)

    def picture(self) -> Picture:
        """Return a picture for people: what the head camera sees."""
        self._running()
        return Picture.from_pixels(np.asarray(self._look(), np.uint8))

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close()
            self._process = None
        self.scene = None

    def _begin(self) -> dict[str, Any]:
        self._process = SimplerProcess(self._python, self._seconds)
        try:
            found, _ = self._process.ask("make", task=TASK, env=ENVIRONMENT)
        except BaseException:
            self.close()
            raise
        return {name: str(value)[:100] for name, value in found.items() if name != "ok"}

    def _ask(self, do: str, **fields: Any) -> dict[str, Any]:
        if self._process is None:
            self._begin()
        assert self._process is not None
        try:
            return self._process.ask(do, **fields)[0]
        except Died:
            self._process = None
            raise

    def _look(self) -> Image.Image:
        if self._process is None:
            raise EnvironmentFault("the SimplerEnv process is no more: the episode is void")
        try:
            found, pixels = self._process.ask("look")
        except Died:
            self._process, self.scene = None, None
            raise
        width, height = found.get("width"), found.get("height")
        if type(width) is not int or type(height) is not int:
            raise EnvironmentFault("SimplerEnv: its picture has no size")
        if width < 1 or height < 1 or len(pixels) != width * height * 3:
            raise EnvironmentFault(f"SimplerEnv: {len(pixels)} bytes are no {width} x {height}")
        return Image.frombytes("RGB", (width, height), pixels)

    def _running(self) -> PickUpScene:
        if self.scene is None:
            raise UsageError("the world holds no scene: call start() first")
        return self.scene

    def _opening(self) -> float:
        return OPENING * (1.0 - min(1.0, max(0.0, float(self._last["closed"]))))

    def _state(self, found: Mapping[str, Any], scene: PickUpScene) -> State:
        names = {one.simpler_id: one.id for one in objects().objects}
        try:
            thing, tool = _pose(found, "object"), _pose(found, "gripper")
            _pose(found, "base")
            raised, _ = _number(found, "raised"), _number(found, "closed")
            grasped, success = (_flag(found, name) for name in ("grasped", "success"))
            touching, held = [str(name) for name in _list(found, "touching")], str(found["held"])
            also_raised = [str(name) for name in _list(found, "also_raised")]
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            # The process is no more to be trusted than its answers.
            self.close()
            raise EnvironmentFault(f"SimplerEnv: its state is none ({fault(error)})") from None
        self._last = found
        return State(
            object=_triple(thing),
            turn=_quad(upright(product(thing[3:], _rest_turn(scene.target.object)))),
            gripper=_triple(tool),
            turn_of_gripper=_quad(upright(tool[3:])),
            opening=self._opening(),
            also_raised=frozenset(names.get(name, name) for name in also_raised),
            raised=raised,
            grasped=grasped,
            touching=frozenset(names.get(name, name) for name in touching),
            held=names.get(held, held),
            success=success,
        )


def _pose(found: Mapping[str, Any], name: str) -> F64:
    pose = np.array([float(number) for number in _list(found, name)], np.float64)
    if pose.shape != (7,) or not np.isfinite(pose).all() or not 0.5 < pose[3:] @ pose[3:] < 2.0:
        raise ValueError(f"{name} is no pose of finite numbers")
    return pose


def _list(found: Mapping[str, Any], name: str) -> list[Any]:
    if not isinstance(found[name], list):
        raise TypeError(f"{name} is no list")
    return list(found[name])


def _number(found: Mapping[str, Any], name: str) -> float:
    number = float(found[name])
    if not math.isfinite(number):
        raise ValueError(f"{name} is no finite number")
    return number


def _flag(found: Mapping[str, Any], name: str) -> bool:
    flag = found[name]
    if not isinstance(flag, bool):  # "false" would be true
        raise TypeError(f"{name} is neither true nor false")
    return flag


def quaternion(pose: Pose) -> tuple[float, float, float, float]:
    """Return an object's orientation in SimplerEnv, as VLATest has it (w, x, y, z)."""
    return STANDING if pose.standing else _quad(about((0.0, 0.0, 1.0), pose.yaw))


def _rest_turn(name: str) -> F64:
    """Return how an object's own frame lies in its model's (`objects`), quaternion w, x, y, z."""
    yaw = math.radians(objects().of(name).simpler_yaw)
    return put_down_turn(Pose(name, 0.0, 0.0, False, yaw))


def _request(scene: PickUpScene) -> dict[str, Any]:
    def placed(pose: Pose) -> dict[str, Any]:
        model = objects().of(pose.object).simpler_id
        return {"model": model, "xy": (pose.x, pose.y), "quat": quaternion(pose)}

    return {
        **placed(scene.target),
        "seed": SEED,
        "robot_xy": ROBOT,
        "robot_quat": _BASE_TURN,
        "distractors": [placed(pose) for pose in scene.distractors],
    }


def _command(action: F32, closed: float) -> list[float]:
    """Return SimplerEnv's action.

    Move and turn have the same frame and units there. Its gripper is closed or opened by a share
    of its way in each step.
    """
    numbers = np.asarray(action, np.float64)
    if numbers.shape != (ACTION_SIZE,) or not np.isfinite(numbers).all():
        raise UsageError(
            f"action: expected {ACTION_SIZE} finite numbers, got {np.array2string(numbers)[:200]}"
        )
    wanted = 0.5 * (1.0 - float(np.clip(numbers[6], -1.0, 1.0)))
    # All the way is asked for as such: a closed gripper presses on even where it cannot go on.
    gripper = 1.0 if wanted > 0.99 else -1.0 if wanted < 0.01 else wanted - closed
    return [float(number) for number in (*numbers[:6], gripper)]


def _check(scene: PickUpScene) -> None:
    poses = (scene.target, *scene.distractors)
    known = [one.id for one in objects().objects]
    for pose in poses:
        if pose.object not in known:
            raise UnknownNameError("object", pose.object, known)
        if not is_over_table(pose.x, pose.y):
            title = objects().of(pose.object).title
            raise SceneError(f"the {title} at x {pose.x:.3f}, y {pose.y:.3f} is not on the table")
    if len({pose.object for pose in poses}) < len(poses):
        raise SceneError("an object stands on the table twice: each can be there once")
    if scene.light != 1.0 or scene.camera != CameraOffset():
        raise UsageError(
            "world 'simpler': SimplerEnv's light and camera cannot be changed: leave the factors "
            "'light' and 'camera' out"
        )


def _check_resting(state: State, scene: PickUpScene) -> None:
    title = objects().of(scene.target.object).title
    x, y, z = state.object
    if z < TABLE_TOP - _FALLEN or not is_over_table(x, y):
        raise SceneError(f"the {title} fell off the table")
    if z > TABLE_TOP + _HIGHEST:
        raise SceneError(f"the {title} came to rest above the table, on something")


def _triple(numbers: F64) -> tuple[float, float, float]:
    return float(numbers[0]), float(numbers[1]), float(numbers[2])


def _quad(numbers: F64) -> tuple[float, float, float, float]:
    return float(numbers[0]), float(numbers[1]), float(numbers[2]), float(numbers[3])
