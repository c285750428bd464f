"""The pick-up scene as a MuJoCo model, written in code from `objects` and `arm`.

Only the objects of a scene are in its model. Everything that touches has elliptic friction cones
with turning and rolling friction, and stiff contacts: a gripped thing must not creep.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from typing import Any

from ....core import MissingDependencyError
from ..arm import AXES, BASE_POSITION, BASE_TURN, Arm, Link, Solid, arm
from ..objects import Part, PickUpObject, objects
from ..scene import TABLE, TABLE_TOP

SUBSTEPS = 80
"""Physics steps in an action: 1/3 s / 80 = 4.17 ms each."""

TIMESTEP = 1.0 / (3.0 * SUBSTEPS)
"""Physics step, s."""

GRIP_SITE = "grip"
"""Site between the finger tips, turned as the hand."""

GRIP_FORCE = 20.0
"""Largest force of each finger, N."""

_STIFFNESS: tuple[float, ...] = (1500.0, 1500.0, 1000.0, 240.0, 240.0, 160.0)
"""Position gains of the turning joints, Nm/rad."""

_ARMATURE: tuple[float, ...] = (0.5, 0.5, 0.3, 0.06, 0.06, 0.03)
"""Rotor inertia felt at the joints, kg m2: it makes their gains independent of the pose."""

_TORQUE: tuple[float, ...] = (150.0, 150.0, 100.0, 25.0, 25.0, 15.0)
"""Largest torque of the turning joints, Nm: the arm gives way to what it is pushed against."""

_FINGER_STIFFNESS = 6000.0
"""Position gain of a finger, N/m: its force is at the limit a few mm before its goal."""

_FINGER_ARMATURE = 0.1
"""Rotor inertia felt at a finger, kg."""

_TURNING_FRICTION = 0.006
"""Torsional friction of objects, m: about the radius of the patch in which they touch."""

_ROLLING_FRICTION = 0.0004
"""Rolling friction of objects, m."""

_SURROUNDINGS, _OBJECT, _ROBOT = 1, 2, 4
"""Collision groups. The robot does not collide with itself."""


def load_mujoco() -> Any:
    """Return the engine's module.

    Raises:
        MissingDependencyError: It is not installed.
    """
    try:
        import mujoco
    except ImportError as error:
        raise MissingDependencyError("mujoco", "pickup", "the pick-up world") from error
    return mujoco


def build_model(names: Sequence[str] = ()) -> Any:
    """Return the compiled ``MjModel`` with the objects of these ids, in this order."""
    return load_mujoco().MjModel.from_xml_string(model_text(names))


def model_text(names: Sequence[str] = ()) -> str:
    """Return the model's MJCF text."""
    root = ET.Element("mujoco", model="pick-up")
    ET.SubElement(root, "compiler", angle="radian", autolimits="true", inertiafromgeom="true")
    option = ET.SubElement(
        root,
        "option",
        timestep=_text(TIMESTEP),
        integrator="implicitfast",
        cone="elliptic",
        impratio="50",
        iterations="50",
        ls_iterations="100",
    )
    ET.SubElement(option, "flag", multiccd="enable")
    world = ET.SubElement(root, "worldbody")
    _add_surroundings(world)
    robot = arm()
    _add_arm(world, robot)
    for name in names:
        _add_object(world, objects().of(name))
    _add_drives(root, robot)
    return ET.tostring(root, encoding="unicode")


def _add_surroundings(world: ET.Element) -> None:
    groups = {"contype": str(_SURROUNDINGS), "conaffinity": "0"}
    floor = ET.SubElement(world, "body", name="floor")
    ET.SubElement(floor, "geom", {"type": "plane", "size": "5 5 1", **groups})
    low_x, high_x, low_y, high_y = TABLE
    half = 0.02
    middle = _text((low_x + high_x) / 2, (low_y + high_y) / 2, TABLE_TOP - half)
    table = ET.SubElement(world, "body", name="table", pos=middle)
    size = _text((high_x - low_x) / 2, (high_y - low_y) / 2, half)
    ET.SubElement(table, "geom", {"type": "box", "size": size, **groups, **_contact(stiff=False)})


def _add_arm(world: ET.Element, robot: Arm) -> None:
    bodies: dict[str, ET.Element] = {}
    armature = iter(_ARMATURE)
    for link in robot.links:
        body = {"name": link.name, "gravcomp": "1"}
        if link.parent is None:
            place = {"pos": _text(*BASE_POSITION), "quat": _text(*BASE_TURN)}
            bodies[link.name] = ET.SubElement(world, "body", {**body, **place})
        else:
            place = {"pos": _text(0, 0, link.offset)}
            bodies[link.name] = ET.SubElement(bodies[link.parent], "body", {**body, **place})
        if link.joint is not None:
            ET.SubElement(
                bodies[link.name],
                "joint",
                name=link.name,
                type="hinge" if link.joint.kind == "turn" else "slide",
                axis=_text(*AXES[link.joint.axis]),
                range=_text(link.joint.low, link.joint.high),
                armature=_text(next(armature, _FINGER_ARMATURE)),
            )
        _add_solids(bodies[link.name], link)
    ET.SubElement(bodies["hand"], "site", name=GRIP_SITE, pos=_text(0, 0, robot.grip_point))


def _add_solids(body: ET.Element, link: Link) -> None:
    total = sum(_volume(solid) for solid in link.solids)
    for solid in link.solids:
        size = solid.half_size or (solid.radius, solid.half_length)
        attributes = {
            "type": solid.shape,
            "size": _text(*size),
            "pos": _text(*solid.at),
            "zaxis": _text(*AXES[solid.axis]),
            "mass": _text(link.mass * _volume(solid) / total),
            "contype": str(_ROBOT),
            "conaffinity": str(_SURROUNDINGS | _OBJECT),
        }
        ET.SubElement(body, "geom", {**attributes, **_contact(stiff=True)})


def _add_object(world: ET.Element, thing: PickUpObject) -> None:
    body = ET.SubElement(world, "body", name=thing.id)
    ET.SubElement(body, "freejoint", name=thing.id)
    total = sum(_volume(part) for part in thing.parts)
    for part in thing.parts:
        size: tuple[float, ...] = part.half_extents
        if part.shape in ("cylinder", "capsule"):
            size = (part.radius, part.half_length)
        attributes = {
            "type": part.shape,
            "size": _text(*size),
            "pos": _text(0, 0, part.z),
            "mass": _text(thing.mass * _volume(part) / total),
            "contype": str(_OBJECT),
            "conaffinity": str(_SURROUNDINGS | _OBJECT),
            # The object's own friction counts against whatever it touches.
            "priority": "1",
            "friction": _text(thing.friction, _TURNING_FRICTION, _ROLLING_FRICTION),
        }
        ET.SubElement(body, "geom", {**attributes, **_contact(stiff=True)})


def _contact(*, stiff: bool) -> dict[str, str]:
    softness = "0.99 0.999 0.001 0.5 2" if stiff else "0.95 0.99 0.001 0.5 2"
    return {"condim": "6", "solref": _text(2.4 * TIMESTEP, 1.0), "solimp": softness}


def _add_drives(root: ET.Element, robot: Arm) -> None:
    drives = ET.SubElement(root, "actuator")
    fingers = robot.fingers
    joints = [link.name for link in (*robot.turning, *fingers)]
    gains = (*_STIFFNESS, *(_FINGER_STIFFNESS for _ in fingers))
    rotors = (*_ARMATURE, *(_FINGER_ARMATURE for _ in fingers))
    limits = (*_TORQUE, *(GRIP_FORCE for _ in fingers))
    for joint, gain, rotor, limit in zip(joints, gains, rotors, limits, strict=True):
        ET.SubElement(
            drives,
            "position",
            name=joint,
            joint=joint,
            kp=_text(gain),
            # A little more than critical damping of the rotor.
            kv=_text(2.2 * math.sqrt(gain * rotor)),
            forcerange=_text(-limit, limit),
        )
    left, right = fingers
    # Both fingers move as one, else a gripped thing could wander along the closing direction.
    links = ET.SubElement(root, "equality")
    ET.SubElement(links, "joint", joint1=left.name, joint2=right.name, solref="0.01 1")


def _volume(piece: Part | Solid) -> float:
    if piece.shape == "box":
        assert piece.half_size is not None
        a, b, c = piece.half_size
        return 8.0 * a * b * c
    if isinstance(piece, Part) and piece.shape == "ellipsoid":
        a, b, c = piece.half_extents
        return 4.0 / 3.0 * math.pi * a * b * c
    body = 2.0 * math.pi * piece.radius**2 * piece.half_length
    caps = 4.0 / 3.0 * math.pi * piece.radius**3 if piece.shape == "capsule" else 0.0
    return body + caps


def _text(*numbers: float) -> str:
    return " ".join(repr(float(number)) for number in numbers)
