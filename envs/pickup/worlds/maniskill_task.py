"""The pick-up task as a task of ManiSkill 3; importing this module registers it.

It stands alone: ``gymnasium.make("VLMFailPickObject-v1", control_mode="pd_ee_delta_pose")``. Only
`maniskill` imports it, after it has made sure that there is a Vulkan device.
"""

from __future__ import annotations

import functools
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import sapien
import torch
from mani_skill.agents.registration import register_agent
from mani_skill.agents.robots.panda.panda import Panda
from mani_skill.envs.sapien_env import BaseEnv
from mani_skill.sensors.camera import CameraConfig
from mani_skill.utils.registration import register_env
from mani_skill.utils.structs.types import SimConfig

from ..objects import Part, PickUpObject, objects
from ..pictures import EYE, FIELD, PEOPLE_SIZE, PICTURE_SIZE, camera
from ..scene import TABLE, TABLE_TOP, PickUpScene, Pose
from .placing import put_down
from .success import ROBOT_NAME, SuccessRule
from .turns import F64, about, product
from .world import CONTROL_HZ

TASK = "VLMFailPickObject-v1"

ROBOT = "panda_pickup"

BASE = (0.24, 0.20, TABLE_TOP)
"""Where the Panda stands, m: from there it reaches the whole target area pointing down."""

BASE_TURN = (0.0, 0.0, 0.0, 1.0)
"""It looks along -x, as SimplerEnv's robot."""

REST = (0.0, -0.36, 0.0, -2.46, 0.0, 2.10, math.pi / 4, 0.04, 0.04)
"""Joints at the start, radians and m: the gripper above the near side of the targets."""

OPENING = 0.08
"""Distance between the fingers of the open gripper, m."""

PIECES = 5
"""Steps of the task in an action of `world.CONTROL_HZ`."""

SIM_HZ = 150

_RING, _RINGS = 20, 11  # corners of the ball that ellipsoids are scaled from: PhysX takes 255
_PEDESTAL = (0.15, 0.37, 0.08, 0.32)
_PALETTE: dict[str, tuple[tuple[float, float, float], ...]] = {
    "redbull_can": ((0.55, 0.62, 0.75),),
    "blue_plastic_bottle": ((0.05, 0.20, 0.70), (0.05, 0.20, 0.70), (0.85, 0.85, 0.88)),
    "eggplant": ((0.16, 0.03, 0.20), (0.16, 0.03, 0.20), (0.14, 0.35, 0.08)),
    "carrot": ((0.90, 0.35, 0.04), (0.90, 0.35, 0.04), (0.90, 0.35, 0.04)),
    "apple": ((0.70, 0.04, 0.04),),
    "spoon": ((0.60, 0.60, 0.62), (0.60, 0.60, 0.62)),
    "sponge": ((0.85, 0.70, 0.10),),
}
_ALONG_Z = (math.sqrt(0.5), 0.0, -math.sqrt(0.5), 0.0)  # the engine's round shapes lie along x
_DEFAULT = PickUpScene(Pose("redbull_can", -0.28, 0.20, True, 0.0), "pick red bull can")


class PickUpPanda(Panda):  # type: ignore[misc]
    """ManiSkill's Panda; ``pd_ee_delta_pose`` takes m and radians as they are.

    The original maps them from [-1, 1], turns at most 0.1 radians a step and, in some versions,
    the wrong way round.
    """

    uid = ROBOT

    @property
    def _controller_configs(self) -> dict[str, Any]:
        configs: dict[str, Any] = super()._controller_configs
        configs["pd_ee_delta_pose"]["arm"].normalize_action = False
        return configs


class PickObjectEnv(BaseEnv):  # type: ignore[misc]
    """A Panda at SimplerEnv's table picks up one of seven objects.

    The scene comes with ``reset(options={"scene": PickUpScene, "reconfigure": True})``; without
    one there is a standing can. One environment, on the CPU.

    An action of ``pd_ee_delta_pose`` is a move in m and a turn in radians (Euler angles XYZ), both
    in the frame of the base, and the gripper from -1 (closed) to 1. `PIECES` steps are an action of
    the pick-up domain; success is judged after each of these.
    """

    SUPPORTED_ROBOTS = (ROBOT,)
    agent: Any
    scene: Any

    def __init__(
        self,
        *args: Any,
        picture_size: tuple[int, int] = PICTURE_SIZE,
        people_size: tuple[int, int] = PEOPLE_SIZE,
        **kwargs: Any,
    ) -> None:
        """Build the task; all but the sizes of the pictures is ManiSkill's."""
        self._sizes = picture_size, people_size
        self._pick_up = _DEFAULT
        self.things: dict[str, Any] = {}
        super().__init__(*args, robot_uids=ROBOT, **kwargs)

    @property
    def _default_sim_config(self) -> Any:
        return SimConfig(sim_freq=SIM_HZ, control_freq=round(CONTROL_HZ * PIECES))

    @property
    def _default_sensor_configs(self) -> list[Any]:
        return [self._camera("view", self._sizes[0])]

    @property
    def _default_human_render_camera_configs(self) -> list[Any]:
        return [self._camera("people", self._sizes[1])]

    def _camera(self, name: str, size: tuple[int, int]) -> Any:
        view = camera(self._pick_up.camera, *size)
        turn = product(
            about((0.0, 0.0, 1.0), view.yaw),
            product(about((0.0, 1.0, 0.0), -view.pitch), about((1.0, 0.0, 0.0), view.roll)),
        )
        offset = self._pick_up.camera
        place = [EYE[0] + offset.x, EYE[1] + offset.y, EYE[2] + offset.z]
        width, height = size
        fov = 2.0 * math.atan(math.tan(FIELD / 2) * height / width)
        return CameraConfig(name, sapien.Pose(place, turn), width, height, fov, 0.05, 10.0)

    def _load_agent(self, options: dict[str, Any]) -> None:
        super()._load_agent(options, sapien.Pose(BASE, BASE_TURN))

    def _load_scene(self, options: dict[str, Any]) -> None:
        low_x, high_x, low_y, high_y = TABLE
        wood, grey = (0.42, 0.27, 0.16), (0.25, 0.25, 0.27)
        self._slab("table", (low_x, high_x, low_y, high_y), (0.0, TABLE_TOP), wood)
        self._slab("pedestal", _PEDESTAL, (0.0, TABLE_TOP), grey)
        self._slab("floor", (-4.0, 4.0, -4.0, 4.0), (-0.1, 0.0), (0.32, 0.32, 0.31))
        poses = (self._pick_up.target, *self._pick_up.distractors)
        self.things = {pose.object: self._thing(pose) for pose in poses}
        self.target = self.things[self._pick_up.target.object]

    def _slab(
        self,
        name: str,
        plan: tuple[float, float, float, float],
        heights: tuple[float, float],
        colour: tuple[float, float, float],
    ) -> None:
        bounds = np.array([plan[:2], plan[2:], heights])
        middle, half = bounds.mean(axis=1), np.diff(bounds, axis=1)[:, 0] / 2
        builder = self.scene.create_actor_builder()
        place = sapien.Pose(middle)
        builder.add_box_collision(half_size=half)
        builder.add_box_visual(half_size=half, material=_paint(colour))
        builder.initial_pose = place
        builder.build_static(name=name)

    def _thing(self, pose: Pose) -> Any:
        thing = objects().of(pose.object)
        builder = self.scene.create_actor_builder()
        material = sapien.physx.PhysxMaterial(thing.friction, thing.friction, 0.0)
        density = thing.mass / sum(_volume(part) for part in thing.parts)
        for part, colour in zip(thing.parts, _PALETTE[thing.id], strict=True):
            _add(builder, part, material, density, colour)
        builder.initial_pose = _let_go(thing, pose)
        return builder.build_dynamic(name=thing.id)

    def _load_lighting(self, options: dict[str, Any]) -> None:
        factor = self._pick_up.light
        self.scene.set_ambient_light([0.35 * factor] * 3)
        for way, strength in (([-0.4, 0.5, -1.0], 1.4), ([0.6, -0.5, -1.0], 0.6)):
            self.scene.add_directional_light(way, [strength * factor] * 3)

    def reset(self, seed: Any = None, options: dict[str, Any] | None = None) -> Any:
        """Reset; ``options["scene"]`` is what is set up, with ``reconfigure`` True."""
        self._pick_up = (options or {}).get("scene", self._pick_up)
        return super().reset(seed=seed, options=options)

    def _initialize_episode(self, env_idx: Any, options: dict[str, Any]) -> None:
        self.agent.reset(np.array(REST, np.float32))
        self.agent.robot.set_pose(sapien.Pose(BASE, BASE_TURN))
        # Else the drives pull towards zero until the first action.
        for joint, goal in zip(self.agent.robot.active_joints, REST, strict=True):
            joint.set_drive_target(np.array([goal], np.float32))
        for pose in (self._pick_up.target, *self._pick_up.distractors):
            self.things[pose.object].set_pose(_let_go(objects().of(pose.object), pose))
        self.begin()

    def begin(self) -> None:
        """Take what is so now for the start: the target's height counts from here."""
        self._start_heights = {
            name: float(thing.pose.p[0, 2]) for name, thing in self.things.items()
        }
        self._rule, self._judged, self._success = SuccessRule(), 0, False

    def contacts(self, name: str) -> frozenset[str]:
        """Return what an object touches: names of objects, ``table``, ``floor``, ``robot``."""
        found = set()
        for contact in self.scene.get_contacts():
            pair = [body.entity.name.removeprefix("scene-0_") for body in contact.bodies]
            if name in pair and any(np.any(point.impulse) for point in contact.points):
                other = pair[1] if pair[0] == name else pair[0]
                known = other in self.things or other in ("table", "floor", "pedestal")
                found.add(other if known else ROBOT_NAME)
        return frozenset("table" if one == "pedestal" else one for one in found)

    def overlap(self) -> tuple[str, str, float] | None:
        """Return the deepest contact between two objects, and its depth, m."""
        worst: tuple[str, str, float] | None = None
        for contact in self.scene.get_contacts():
            one, other = (body.entity.name.removeprefix("scene-0_") for body in contact.bodies)
            if one not in self.things or other not in self.things:
                continue
            depth = max((-float(point.separation) for point in contact.points), default=0.0)
            if worst is None or depth > worst[2]:
                worst = one, other, depth
        return worst

    def held(self) -> str:
        """Return the object between both fingers, the target first, or ""."""
        for name in sorted(self.things, key=lambda name: name != self._pick_up.target.object):
            if bool(self.agent.is_grasping(self.things[name], min_force=0.1)[0]):
                return name
        return ""

    def raised(self, name: str) -> float:
        """Return how far an object is above where it lay at the start, m."""
        return float(self.things[name].pose.p[0, 2]) - self._start_heights[name]

    def evaluate(self) -> dict[str, Any]:
        """Judge by SimplerEnv's rule (`success.SuccessRule`), once in `PIECES` steps."""
        target = self._pick_up.target.object
        step = int(self._elapsed_steps[0])
        raised = self.raised(target)
        grasped = self.held() == target
        if step and step % PIECES == 0 and step != self._judged:
            self._judged = step
            touching = self.contacts(target)
            self._success = self._rule.update(grasped=grasped, raised=raised, touching=touching)
        return {
            "success": torch.tensor([self._success]),
            "is_grasped": torch.tensor([grasped]),
            "raised": torch.tensor([raised]),
        }

    def _get_obs_extra(self, info: dict[str, Any]) -> dict[str, Any]:
        return {"tcp_pose": self.agent.tcp.pose.raw_pose}


def _let_go(thing: PickUpObject, pose: Pose) -> Any:
    position, turn = put_down(thing, pose)
    return sapien.Pose(position, turn)


def _paint(colour: tuple[float, float, float]) -> Any:
    material = sapien.render.RenderMaterial()
    material.base_color = [*colour, 1.0]
    material.roughness = 0.6
    material.specular = 0.3
    return material


def _volume(part: Part) -> float:
    a, b, c = part.half_extents
    if part.shape == "box":
        return 8.0 * a * b * c
    if part.shape == "ellipsoid":
        return 4.0 / 3.0 * math.pi * a * b * c
    straight = 2.0 * math.pi * part.radius**2 * part.half_length
    return straight + (4.0 / 3.0 * math.pi * part.radius**3 if part.shape == "capsule" else 0.0)


def _add(
    builder: Any, part: Part, material: Any, density: float, colour: tuple[float, float, float]
) -> None:
    """Add a part to an actor, for the physics and for the eye."""
    physics = {"material": material, "density": density}
    paint = {"material": _paint(colour)}
    straight = sapien.Pose([0.0, 0.0, part.z])
    if part.shape == "box":
        builder.add_box_collision(straight, half_size=part.half_size, **physics)
        builder.add_box_visual(straight, half_size=part.half_size, **paint)
        return
    if part.shape == "ellipsoid":
        scale = part.half_extents
        builder.add_convex_collision_from_file(_ball(), straight, scale=scale, **physics)
        builder.add_visual_from_file(_ball(), straight, scale=scale, **paint)
        return
    along = sapien.Pose([0.0, 0.0, part.z], _ALONG_Z)
    size = {"radius": part.radius, "half_length": part.half_length}
    if part.shape == "capsule":
        builder.add_capsule_collision(along, **size, **physics)
        builder.add_capsule_visual(along, **size, **paint)
    else:
        builder.add_cylinder_collision(along, **size, **physics)
        builder.add_cylinder_visual(along, **size, **paint)


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="vlmfail-")


@functools.cache
def _ball() -> str:
    """Write a convex ball of radius 1 m and return the file's path; the engine reads only files."""
    points, faces = ball(_RING, _RINGS)
    lines = [f"v {x:.9f} {y:.9f} {z:.9f}" for x, y, z in points]
    lines += [f"vn {x:.9f} {y:.9f} {z:.9f}" for x, y, z in points]
    lines += ["f " + " ".join(f"{corner + 1}//{corner + 1}" for corner in face) for face in faces]
    path = Path(_folder().name) / "ball.obj"
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
    return str(path)


def ball(ring: int, rings: int) -> tuple[F64, list[tuple[int, int, int]]]:
    """Return corners (`n x 3`, on the unit sphere) and outward triangles of a convex ball."""
    points = [(0.0, 0.0, -1.0)]
    for row in range(1, rings + 1):
        height = -math.cos(math.pi * row / (rings + 1))
        radius = math.sqrt(1.0 - height * height)
        for k in range(ring):
            angle = 2.0 * math.pi * k / ring
            points.append((radius * math.cos(angle), radius * math.sin(angle), height))
    points.append((0.0, 0.0, 1.0))
    top = len(points) - 1
    faces = []
    for k in range(ring):
        after = (k + 1) % ring
        faces.append((0, 1 + after, 1 + k))
        for row in range(rings - 1):
            low, high = 1 + row * ring, 1 + (row + 1) * ring
            faces.append((low + k, low + after, high + after))
            faces.append((low + k, high + after, high + k))
        last = 1 + (rings - 1) * ring
        faces.append((last + k, last + after, top))
    return np.array(points), faces


register_agent()(PickUpPanda)
register_env(TASK, max_episode_steps=80 * PIECES)(PickObjectEnv)
