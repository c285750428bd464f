"""What a vla-eval server announces, and how its numbers become ours and ours become its own.

The names of conventions are those of the package's ``vla_eval.specs``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...core.text import tamed

if TYPE_CHECKING:
    from .vla_eval_spec import VlaEvalSpec

F32: TypeAlias = npt.NDArray[np.float32]

SIZE = 7
"""Numbers of an action: 3 of position, 3 of rotation, 1 of the gripper."""

LONGEST_CHUNK = 1000
"""Actions of one reply."""

POSITIONS = ("delta_xyz",)

ROTATIONS = ("axis_angle", "euler_xyz")
"""Euler angles are about the fixed axes x, y, z in this order, as in ``vla_eval.rotation``."""

GRIPPERS: Mapping[str, Callable[[F32], F32]] = {
    "binary_close_positive": lambda g: -g,
    "binary_close_negative": lambda g: g,
    "binary_close_01": lambda g: 1 - 2 * g,
    "continuous_01": lambda g: 2 * g - 1,
}
"""From a server's gripper to ours, which is +1 open and -1 closed. ``continuous_01`` is the share
of the opening, as the package's GR00T server and DuoBench benchmark have it."""

OUR_STATE = "eef_pos3_quat_wxyz4_opening1"
"""The state as it is here: position in m, quaternion w, x, y, z, opening in m."""

STATES = (
    OUR_STATE,
    "eef_pos3_quat4_gripper1",
    "eef_pos3_axisangle3_gripper2",
    "eef_pos3_euler3_gripper2",
)
"""Layouts of the state: ours; the quaternion w, x, y, z and the share of the opening (SimplerEnv);
a rotation vector or Euler angles and the places of the two fingers in m (LIBERO, CALVIN)."""

WIDEST = 0.09
"""Opening of the gripper when it is fully open, m."""

_COMPONENTS = {"position": (3, POSITIONS), "rotation": (3, ROTATIONS), "gripper": (1, GRIPPERS)}

_GIVEN = frozenset({"send_state", "send_wrist_image"})


class UnknownConventionError(ValueError):
    """The server announces, or asks for, what cannot be translated."""


@dataclass(frozen=True, slots=True)
class Conventions:
    """How we and one server understand each other.

    Attributes:
        camera: Key of the picture.
        size: Width and height that the picture is scaled to, or None.
        state: Layout of the state that is sent along, or None.
        rotation: One of `ROTATIONS`.
        gripper: One of `GRIPPERS`.
        scale: Metres of a unit of position.
        turn_scale: Radians of a unit of rotation.
        chunk: Actions of a reply that are used, at most.
    """

    camera: str
    size: tuple[int, int] | None
    state: str | None
    rotation: str
    gripper: str
    scale: float = 1.0
    turn_scale: float = 1.0
    chunk: int | None = None

    def observation(self, ours: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the server gets of an observation (`envs.pickup.worlds.world`)."""
        image = np.ascontiguousarray(ours["image"], np.uint8)
        if self.size is not None and (image.shape[1], image.shape[0]) != self.size:
            from PIL import Image

            scaled = Image.fromarray(image).resize(self.size, Image.Resampling.LANCZOS)
            image = np.asarray(scaled)
        sent: dict[str, Any] = {
            "images": {self.camera: image},
            "task_description": str(ours["instruction"]),
        }
        if self.state is not None:
            sent["states"] = laid_out(np.asarray(ours["state"], np.float32), self.state)
        return sent

    def actions(self, payload: Any) -> F32:
        """Return a reply's chunk of actions as ours, `k x 7`.

        Raises:
            ValueError: It holds none, of another shape, too many, or what is no finite number.
        """
        given = payload.get("actions", payload.get("action")) if isinstance(payload, dict) else None
        if given is None:
            raise ValueError("the server's reply holds no actions")
        try:
            plain = np.asarray(given)
        except (TypeError, ValueError):
            raise ValueError("the server's actions are no numbers") from None
        if plain.dtype.kind not in "iuf":  # numpy would make numbers of text and dates too
            raise ValueError("the server's actions are no numbers")
        with np.errstate(over="ignore"):  # what is too large is not finite then
            rows = np.array(plain, np.float32, ndmin=2)
        if rows.ndim != 2 or rows.shape[1] != SIZE or not 1 <= len(rows) <= LONGEST_CHUNK:
            raise ValueError(
                f"the server's actions have shape {np.shape(given)}, expected {SIZE} or k x {SIZE} "
                f"with k from 1 to {LONGEST_CHUNK}"
            )
        if not np.isfinite(rows).all():
            raise ValueError("an action of the server is not finite")
        rows = rows[: self.chunk]
        rows[:, :3] *= np.float32(self.scale)
        rows[:, 3:6] *= np.float32(self.turn_scale)
        if self.rotation == "euler_xyz":
            from scipy.spatial.transform import Rotation

            rows[:, 3:6] = Rotation.from_euler("xyz", rows[:, 3:6]).as_rotvec()
        rows[:, 6] = GRIPPERS[self.gripper](rows[:, 6])
        return rows


def conventions(hello: Mapping[str, Any], options: VlaEvalSpec) -> Conventions:
    """Return how to talk to a server that said `hello`.

    Args:
        hello: Payload of its HELLO: ``action_spec``, ``observation_spec``, ``observation_params``.
        options: What the user says; it comes before what the server announces.

    Raises:
        UnknownConventionError: With what is unknown and how to state it, in one line.
    """
    params = _plain(hello.get("observation_params"))
    acts = _formats(hello.get("action_spec"))
    sees = _formats(hello.get("observation_spec"))
    found = {name: _component(name, acts, getattr(options, name)) for name in _COMPONENTS}
    others = sorted(set(acts) - set(_COMPONENTS) - {"actions"})
    if others:
        raise UnknownConventionError(f"the server acts with {others[0]}, which the robot lacks")
    if options.position is None:
        _check_relative(params)
    for name, value in params.items():
        if name.startswith("send_") and value and name not in _GIVEN:
            raise UnknownConventionError(
                f"the server asks for {name.removeprefix('send_')}, and there is none to send"
            )
    pictures = [name for name, (form, _) in sees.items() if form == "rgb_hwc_uint8"]
    if (params.get("send_wrist_image") or len(pictures) > 1) and options.wrist != "omit":
        raise UnknownConventionError(
            "the server asks for a wrist camera's picture, and there is one camera: ?wrist=omit "
            "sends that picture alone, of which the server must make the best"
        )
    named = pictures[0] if pictures and pictures[0] != "image" else "primary"
    return Conventions(
        camera=options.camera or named,
        size=options.size,
        state=_state(sees, params, options.state),
        rotation=found["rotation"],
        gripper=found["gripper"],
        scale=options.scale,
        turn_scale=options.turn_scale,
        chunk=options.chunk,
    )


def laid_out(state: F32, layout: str) -> F32:
    """Return our state (8: position, quaternion w, x, y, z, opening) in a layout of `STATES`."""
    if layout == OUR_STATE:
        return state
    opening = state[7:8]
    if layout == "eef_pos3_quat4_gripper1":
        return np.concatenate([state[:7], np.clip(opening / np.float32(WIDEST), 0, 1)])
    from scipy.spatial.transform import Rotation

    turn = Rotation.from_quat(state[[4, 5, 6, 3]])
    angles = turn.as_rotvec() if "axisangle" in layout else turn.as_euler("xyz")
    fingers = np.concatenate([opening / 2, -opening / 2])
    return np.concatenate([state[:3], angles, fingers]).astype(np.float32)


def _component(name: str, acts: Mapping[str, tuple[str, int]], stated: str | None) -> str:
    dims, known = _COMPONENTS[name]
    if stated is not None:
        return stated
    form, size = acts.get(name, ("", dims))
    if form in known and size == dims:
        return form
    said = f"announces {name} {form!r} of {size}" if form else f"does not announce its {name}"
    raise UnknownConventionError(
        f"the server {said}: state what it is with ?{name}=..., one of {', '.join(known)}"
    )


def _check_relative(params: Mapping[str, Any]) -> None:
    """Refuse a server that announces changes of position and asks for absolute control."""
    mode = params.get("control_mode")
    absolute = isinstance(mode, str) and "delta_pose" not in mode
    if params.get("absolute_action") or absolute:
        raise UnknownConventionError(
            "the server asks for absolute control of the arm, and an action here is a change of "
            "position: if its actions are changes all the same, say ?position=delta_xyz"
        )


def _state(
    sees: Mapping[str, tuple[str, int]], params: Mapping[str, Any], stated: str | None
) -> str | None:
    if stated is not None:
        return None if stated == "none" else stated
    form = sees["state"][0] if "state" in sees else "raw" if params.get("send_state") else None
    if form is None or form in STATES:
        return form
    raise UnknownConventionError(
        f"the server asks for a state {form!r}, whose layout is unknown: state it with ?state=..., "
        f"one of {', '.join(STATES)}, or none"
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _plain(announced: Any) -> dict[str, str | int | float]:
    """Return the parameters that are words, numbers or flags."""
    return {
        tamed(name, 60): value
        for name, value in _mapping(announced).items()
        if isinstance(name, str) and isinstance(value, (str, int, float))
    }


def _formats(announced: Any) -> dict[str, tuple[str, int]]:
    """Return format and size by component of an announced spec, whatever else it holds."""
    found: dict[str, tuple[str, int]] = {}
    for name, spec in _mapping(announced).items():
        row = _mapping(spec)
        form, size = row.get("format"), row.get("dims")
        if isinstance(form, str) and isinstance(size, int):
            found[tamed(str(name), 60)] = (tamed(form, 60), size)
    return found
