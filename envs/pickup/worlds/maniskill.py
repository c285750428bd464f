"""The pick-up world in ManiSkill 3: PhysX moves a Panda, SAPIEN shows it."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ....core import (
    EnvironmentFault,
    MissingDependencyError,
    Picture,
    SceneError,
    UnknownNameError,
    UsageError,
)
from ..objects import objects
from ..scene import TABLE_TOP, PickUpScene, Pose
from .placing import is_over_table, reach_below
from .success import RAISED_FREE, ROBOT_NAME
from .turns import F64, from_vector, inverse, matrix, product, upright
from .world import ACTION_SIZE, F32, State

MAX_MOVE = 0.10
"""Largest move along each axis in one action, m."""

MAX_TURN = 0.6
"""Largest turn in one action, radians."""

GRIP_AHEAD = 0.003
"""The grip point lies so far ahead of Panda's tool point, m: 6 mm behind the finger tips."""

SETTLE_SECONDS = 2.0
"""An object has this long to come to rest."""

DRIVERS = ("VK_ICD_FILENAMES", "VK_DRIVER_FILES")
"""Variables that name the Vulkan drivers; where one is set, it is left alone."""

SOFTWARE_DRIVER = "lvp_icd*.json"
"""Mesa's driver that renders on the CPU."""

_DRIVER_FOLDERS = ("/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d")
_PROBE = "import sapien; sapien.render.RenderSystem(); print('found')"
_PROBE_SECONDS = 240.0
_SHARES = (0.3, 0.75, 1.0, 1.0, 1.0)  # of an action's way at the end of each of its pieces
_STILL = 0.02  # m/s and rad/s: slower than this is at rest
_OVERLAP = 0.0005  # m: deeper contacts at the start are an overlap
_RAISED = 0.002  # m: what is higher and does not touch the table lies on something
_FALLEN = 0.01  # m below the table's top: no longer on it
_LOST = (0.05, 0.3)  # m, radians: a goal that far from the gripper cannot be reached
_HALF_TURN = np.array([0.0, 0.0, 0.0, 1.0])
_POINTING_DOWN = np.array([0.0, 0.0, 1.0, 0.0])


@functools.cache
def vulkan_device() -> str:
    """Look for a Vulkan device in a child process, since a bad driver crashes its process.

    Returns:
        "" if there is one, else why not. Where only Mesa's software driver works, it is named in
        ``VK_ICD_FILENAMES`` of this process.
    """
    tries: list[dict[str, str]] = []
    if not any(os.environ.get(name) for name in DRIVERS):
        files = [path for folder in _DRIVER_FOLDERS for path in Path(folder).glob(SOFTWARE_DRIVER)]
        tries = [{DRIVERS[0]: str(path)} for path in sorted(files)]
        if _has_graphics_device():
            tries.insert(0, {})
    said = ""
    for extra in tries or [{}]:
        said = _probed({**os.environ, **extra})
        if not said:
            os.environ.update(extra)
            return ""
    return said


def _has_graphics_device() -> bool:
    return any(Path("/dev").glob("nvidia[0-9]*")) or any(Path("/dev/dri").glob("renderD*"))


def _probed(environment: dict[str, str]) -> str:
    command = [sys.executable, "-c", _PROBE]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=_PROBE_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"looking for one failed ({type(error).__name__})"
    if done.returncode == 0 and "found" in done.stdout:
        return ""
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    if done.returncode < 0:
        return f"its driver crashed (signal {-done.returncode})"
    return lines[-1].strip()[:200] if lines else f"exit code {done.returncode}"


class ManiSkillWorld:
    """ManiSkill 3 with a Panda, on the CPU.

    The task is `maniskill_task.PickObjectEnv`; it is driven by ``pd_ee_delta_pose``. As in the
    embedded world an action moves the target pose of the gripper by at most `MAX_MOVE` along each
    axis and `MAX_TURN`. Every scene is built anew, so that nothing is left of the one before.

    Args:
        picture_size: Width and height of what a policy sees; None: its observations have no
            ``image``.

    Attributes:
        name: ``"maniskill"``.
        deterministic: True: measured, the same scene and actions give the same states.
        scene: The scene that is set up, or None.
    """

    name = "maniskill"
    deterministic = True

    def __init__(self, picture_size: tuple[int, int] | None = (160, 128)) -> None:
        """Build the task.

        Raises:
            MissingDependencyError: ManiSkill is not installed.
            EnvironmentFault: There is no Vulkan device.
        """
        self._size = picture_size
        self._env = _make(picture_size or (160, 128))
        self._task = self._env.unwrapped
        self.scene: PickUpScene | None = None

    def start(self, scene: PickUpScene) -> State:
        """Set a scene up and let it settle; see `World.start`."""
        self.scene = None
        poses = (scene.target, *scene.distractors)
        _check(poses)
        self._env.reset(seed=0, options={"scene": scene, "reconfigure": True})
        self._task.scene.step()
        overlap = self._task.overlap()
        if overlap is not None and overlap[2] > _OVERLAP:
            raise SceneError(f"{_title(overlap[0])} and {_title(overlap[1])} overlap")
        self._settle()
        self._check_resting(poses)
        self._task.begin()
        self.scene = scene
        self._success = False
        self._target, self._target_turn = self._tool()
        return self._state()

    def observe(self) -> Mapping[str, Any]:
        """Return what the policy sees now; see `world.Observation`.

        The base of its ``state`` is the Panda's, at (0.24, 0.20, 0.87) m.
        """
        from .maniskill_task import BASE, BASE_TURN

        scene = self._running()
        position, turn = self._gripper()
        base_turn = upright(product(inverse(np.array(BASE_TURN)), turn), _POINTING_DOWN)
        in_base = matrix(BASE_TURN).T @ (position - np.array(BASE))
        state = np.array([*in_base, *base_turn, self._opening()], np.float32)
        seen: dict[str, Any] = {"instruction": scene.instruction, "state": state}
        if self._size is not None:
            self._task.scene.update_render(update_sensors=True, update_human_render_cameras=False)
            self._task.capture_sensor_data()
            shown = self._task._sensors["view"].get_obs(
                rgb=True, depth=False, segmentation=False, position=False
            )
            seen["image"] = np.ascontiguousarray(shown["rgb"][0].cpu().numpy(), np.uint8)
        return seen

    def step(self, action: F32) -> State:
        """Carry out one action; see `world.ACTION_SIZE`.

        Raises:
            UsageError: It is not `ACTION_SIZE` finite numbers.
            EnvironmentFault: The engine became unstable.
        """
        self._running()
        move, rotation, gripper = _checked(action)
        start, start_turn = self._target, self._target_turn
        for share in _SHARES:
            # Base and scene differ by half a turn about z.
            goal = start + share * move * (-1.0, -1.0, 1.0)
            turn = product(from_vector(share * rotation * (-1.0, -1.0, 1.0)), start_turn)
            self._drive(goal, turn, gripper)
        self._target, self._target_turn = goal, upright(turn)
        at, turned = self._tool()
        if not (np.isfinite(at).all() and np.isfinite(self._task.target.pose.p.numpy()).all()):
            raise EnvironmentFault("the physics engine became unstable: the episode is void")
        if np.abs(at - goal).max() > _LOST[0] or _angle(turned, turn) > _LOST[1]:
            self._target, self._target_turn = at, turned
        return self._state()

    def picture(self) -> Picture:
        """Return a picture for people of what is so now."""
        self._running()
        shown = self._task.render_rgb_array()
        return Picture.from_pixels(np.ascontiguousarray(shown[0].cpu().numpy(), np.uint8))

    def close(self) -> None:
        """Free the engine."""
        self._env.close()
        self.scene = None

    def _drive(self, goal: F64, turn: F64, gripper: float) -> None:
        """Take a step of the task towards a pose of the tool (scene's frame)."""
        at, turned = self._tool()
        move = (goal - at) * (-1.0, -1.0, 1.0)
        to_go = product(turn, inverse(turned))
        in_base = product(product(_HALF_TURN, to_go), inverse(_HALF_TURN))
        command = np.array([*move, *_euler(matrix(in_base)), gripper], np.float32)
        self._success = bool(self._env.step(command)[4]["success"][0])

    def _running(self) -> PickUpScene:
        if self.scene is None:
            raise UsageError("the world holds no scene: call start() first")
        return self.scene

    def _settle(self) -> None:
        """Step until everything has been at rest for a while, or the time is over."""
        step = self._task.sim_timestep
        still = 0
        for _ in range(round(SETTLE_SECONDS / (10 * step))):
            for _ in range(10):
                self._task.scene.step()
            speeds = [
                float(speed.abs().max())
                for thing in self._task.things.values()
                for speed in (thing.linear_velocity, thing.angular_velocity)
            ]
            still = still + 1 if max(speeds) < _STILL else 0
            if still >= 3:
                return

    def _check_resting(self, poses: tuple[Pose, ...]) -> None:
        for pose in poses:
            thing = objects().of(pose.object)
            where, turn = _pose(self._task.things[pose.object].pose)
            lowest = float(where[2]) - reach_below(thing, turn)
            if lowest < TABLE_TOP - _FALLEN or not is_over_table(float(where[0]), float(where[1])):
                raise SceneError(f"the {thing.title} fell off the table")
            if "table" not in self._task.contacts(pose.object) and lowest > TABLE_TOP + _RAISED:
                raise SceneError(f"the {thing.title} came to rest above the table, on something")

    def _tool(self) -> tuple[F64, F64]:
        return _pose(self._task.agent.tcp.pose)

    def _gripper(self) -> tuple[F64, F64]:
        position, turn = self._tool()
        # The Panda's hand is turned half round its own axis against the embedded arm's.
        turned = product(turn, _HALF_TURN)
        return position + GRIP_AHEAD * matrix(turn)[:, 2], upright(turned, _HOME_TURN)

    def _opening(self) -> float:
        return max(0.0, float(self._task.agent.robot.get_qpos()[0, -2:].sum()))

    def _state(self) -> State:
        assert self.scene is not None
        target = self.scene.target.object
        where, turn = _pose(self._task.target.pose)
        position, turned = self._gripper()
        held = self._task.held()
        return State(
            object=_triple(where),
            turn=_quad(upright(turn)),
            gripper=_triple(position),
            turn_of_gripper=_quad(turned),
            opening=self._opening(),
            raised=self._task.raised(target),
            grasped=held == target,
            touching=self._task.contacts(target),
            held=held,
            success=self._success,
            also_raised=frozenset(
                name
                for name in self._task.things
                if name != target
                and self._task.raised(name) > RAISED_FREE
                and self._task.contacts(name) == {ROBOT_NAME}
            ),
        )


_HOME_TURN = product(_HALF_TURN, _POINTING_DOWN)


def _make(size: tuple[int, int]) -> Any:
    """Return the task of ManiSkill."""
    from importlib.util import find_spec

    if find_spec("mani_skill") is None:
        raise MissingDependencyError("mani-skill", "maniskill", "the pick-up world in ManiSkill")
    missing = vulkan_device()
    if missing:
        raise EnvironmentFault(
            f"ManiSkill needs a Vulkan device, even without pictures: {missing}. On Debian and "
            "Ubuntu, Mesa 23 or newer renders on the processor (docs/engines.md)"
        )
    import gymnasium

    from .maniskill_task import TASK

    return gymnasium.make(
        TASK,
        obs_mode="none",
        reward_mode="none",
        control_mode="pd_ee_delta_pose",
        sim_backend="physx_cpu",
        render_backend="cpu",
        picture_size=size,
        max_episode_steps=10**9,
    )


def _check(poses: tuple[Pose, ...]) -> None:
    known = [one.id for one in objects().objects]
    for pose in poses:
        if pose.object not in known:
            raise UnknownNameError("object", pose.object, known)
        if not is_over_table(pose.x, pose.y):
            title = objects().of(pose.object).title
            raise SceneError(f"the {title} at x {pose.x:.3f}, y {pose.y:.3f} is not on the table")
    if len({pose.object for pose in poses}) < len(poses):
        raise SceneError("an object stands on the table twice: each can be there once")


def _checked(action: F32) -> tuple[F64, F64, float]:
    """Return move (m) and turn (radians) in the base's frame, clipped, and the gripper's goal."""
    numbers = np.asarray(action, np.float64)
    if numbers.shape != (ACTION_SIZE,) or not np.isfinite(numbers).all():
        raise UsageError(
            f"action: expected {ACTION_SIZE} finite numbers, got {np.array2string(numbers)[:200]}"
        )
    rotation = numbers[3:6]
    angle = float(np.linalg.norm(rotation))
    if angle > MAX_TURN:
        rotation = rotation * (MAX_TURN / angle)
    opening = 0.5 * (float(np.clip(numbers[6], -1.0, 1.0)) + 1.0)
    # The task's -1 is 1 cm below closed, which makes the grip.
    gripper = -1.0 if opening < 0.02 else -0.6 + 1.6 * opening
    return np.clip(numbers[:3], -MAX_MOVE, MAX_MOVE), rotation, gripper


def _pose(pose: Any) -> tuple[F64, F64]:
    numbers = pose.raw_pose[0].numpy().astype(np.float64)
    return numbers[:3], numbers[3:] / np.linalg.norm(numbers[3:])


def _angle(one: F64, other: F64) -> float:
    return 2.0 * float(np.arccos(np.clip(abs(one @ other), 0.0, 1.0)))


def _euler(turn: F64) -> tuple[float, float, float]:
    """Return angles (a, b, c) so that the turn is Rx(a) Ry(b) Rz(c), radians."""
    middle = float(np.arcsin(np.clip(turn[0, 2], -1.0, 1.0)))
    first = float(np.arctan2(-turn[1, 2], turn[2, 2]))
    return first, middle, float(np.arctan2(-turn[0, 1], turn[0, 0]))


def _title(name: str) -> str:
    return f"the {objects().of(name).title}"


def _triple(numbers: F64) -> tuple[float, float, float]:
    return float(numbers[0]), float(numbers[1]), float(numbers[2])


def _quad(numbers: F64) -> tuple[float, float, float, float]:
    return float(numbers[0]), float(numbers[1]), float(numbers[2]), float(numbers[3])
