"""The scene vectors of pick-up, and the scene that each stands for."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

from ...core import SceneError, UnknownNameError, UsageError
from ..vector_dimensions import DIGITS
from ..vector_space import Dimension, VectorSpace
from .objects import PickUpObject, objects
from .scene import TABLE, CameraOffset, PickUpScene, Pose
from .worlds.registry import SIMPLER

X_RANGE = (-0.5, -0.05)
"""Where targets lie along x, m (SimplerEnv)."""

Y_RANGE = (0.0, 0.4)
"""Where targets lie along y, m (SimplerEnv)."""

FACTORS = ("distractors", "light", "camera", "instruction")
"""Further dimensions that can be asked for (after VLATest's operators)."""

DISTRACTORS = 3
"""Other objects on the table at most."""

LIGHT_STOPS = 2.0
"""Light varies by so many stops up and down: a factor of 2 each (ours)."""

CAMERA_SHIFT = 0.05
"""The camera is moved by up to so much along each axis, m (VLATest)."""

CAMERA_TURN = 5.0
"""The camera is turned by up to so much about each axis, degrees (VLATest)."""

INSTRUCTIONS = (
    "pick {object}",
    "pick up the {object}",
    "grasp the {object} and lift it",
    "lift the {object} from the table",
    "take the {object}",
    "could you get me the {object}?",
    "I need the {object}, please pick it up",
    "raise the {object} into the air",
)
"""What the policy is told; the first unless the factor ``instruction`` varies it. Ours."""


def pickup_space(factors: Collection[str] = (), names: Sequence[str] | None = None) -> PickUpSpace:
    """Return the space of scene vectors.

    Args:
        factors: Further dimensions, of `FACTORS`.
        names: Ids of the objects to pick up, in the order of their bins; None: all seven.

    Raises:
        UnknownNameError: For a factor or an object that does not exist.
        UsageError: For no object.
    """
    for factor in factors:
        if factor not in FACTORS:
            raise UnknownNameError("pick-up factor", str(factor), FACTORS)
    known = tuple(one.id for one in objects().objects)
    chosen = known if names is None else tuple(dict.fromkeys(names))
    for name in chosen:
        if name not in known:
            raise UnknownNameError("object", str(name), known)
    if not chosen:
        raise UsageError("objects: at least one object must be there to pick up")
    dimensions = [
        Dimension("object", "choice", chosen),
        Dimension("x", "real", low=X_RANGE[0], high=X_RANGE[1], unit="m"),
        Dimension("y", "real", low=Y_RANGE[0], high=Y_RANGE[1], unit="m"),
        Dimension("standing", "flag", ("lying", "standing")),
        Dimension("yaw", "angle", only_if=("standing", False)),
    ]
    if "distractors" in factors:
        counts = tuple(str(count) for count in range(DISTRACTORS + 1))
        dimensions.append(Dimension("distractors", "choice", counts))
        for number in range(1, DISTRACTORS + 1):
            dimensions += _distractor(f"distractor_{number}", known, counts[number:])
    if "light" in factors:
        dimensions.append(
            Dimension("light", "real", low=-LIGHT_STOPS, high=LIGHT_STOPS, unit="stops")
        )
    if "camera" in factors:
        for axis in ("x", "y", "z"):
            dimensions.append(
                Dimension(f"camera_{axis}", "real", low=-CAMERA_SHIFT, high=CAMERA_SHIFT, unit="m")
            )
        for turn in ("roll", "pitch", "yaw"):
            dimensions.append(
                Dimension(
                    f"camera_{turn}", "real", low=-CAMERA_TURN, high=CAMERA_TURN, unit="degrees"
                )
            )
    if "instruction" in factors:
        dimensions.append(Dimension("instruction", "choice", INSTRUCTIONS))
    return PickUpSpace(dimensions)


class PickUpSpace(VectorSpace):
    """Scene vectors in which no object is named twice: there is one of each.

    A distractor that is the target or an earlier distractor stands for the next object that is not
    on the table yet, in the order of its bins; so says the canonical form.
    """

    def __init__(self, dimensions: Sequence[Dimension]) -> None:
        """Build the space."""
        super().__init__(dimensions)
        named = [f"distractor_{number}_object" for number in range(1, DISTRACTORS + 1)]
        self._others = [self.names.index(name) for name in named if name in self.names]

    def resolve(self, candidate: Any) -> tuple[list[float], list[bool], list[int]]:
        """Return what `VectorSpace.resolve` does, with each object once."""
        numbers, meaning, bins = super().resolve(candidate)
        taken = {self.dimensions[0].choices[bins[0]]}
        for i in self._others:
            if not meaning[i]:
                continue
            choices = self.dimensions[i].choices
            while choices[bins[i]] in taken:
                bins[i] = (bins[i] + 1) % len(choices)
            numbers[i] = round((bins[i] + 0.5) / len(choices), DIGITS)
            taken.add(choices[bins[i]])
        return numbers, meaning, bins


def _distractor(name: str, known: Sequence[str], counts: Sequence[str]) -> list[Dimension]:
    there = ("distractors", tuple(counts))
    return [
        Dimension(f"{name}_object", "choice", tuple(known), only_if=there),
        Dimension(f"{name}_x", "real", low=X_RANGE[0], high=X_RANGE[1], unit="m", only_if=there),
        Dimension(f"{name}_y", "real", low=Y_RANGE[0], high=Y_RANGE[1], unit="m", only_if=there),
        Dimension(f"{name}_yaw", "angle", only_if=there),
    ]


def scene_of(space: VectorSpace, candidate: Any, world: str = "") -> PickUpScene:
    """Return the scene that a vector stands for; nothing of it is drawn.

    Distractors lie.

    Args:
        space: The space of the vector.
        candidate: The vector.
        world: Name of the engine: SimplerEnv has names of its own for things, which policies that
            are made for it know.

    Raises:
        InvalidCandidateError: The vector is outside the box.
    """
    values: dict[str, Any] = space.values(space.check(candidate))
    standing = bool(values["standing"])
    target = Pose(
        object=str(values["object"]),
        x=float(values["x"]),
        y=float(values["y"]),
        standing=standing,
        yaw=0.0 if standing else float(values["yaw"]),
    )
    others = [
        Pose(
            object=str(values[f"distractor_{number}_object"]),
            x=float(values[f"distractor_{number}_x"]),
            y=float(values[f"distractor_{number}_y"]),
            standing=False,
            yaw=float(values[f"distractor_{number}_yaw"]),
        )
        for number in range(1, int(values.get("distractors", 0)) + 1)
    ]
    offset = {
        part: float(values[f"camera_{part}"])
        for part in ("x", "y", "z", "roll", "pitch", "yaw")
        if f"camera_{part}" in values
    }
    template = str(values.get("instruction", INSTRUCTIONS[0]))
    thing = objects().of(target.object)
    named = (thing.simpler_title or thing.title) if world == SIMPLER else thing.title
    return PickUpScene(
        target=target,
        instruction=template.format(object=named),
        distractors=tuple(others),
        light=2.0 ** float(values.get("light", 0.0)),
        camera=CameraOffset(**offset),
    )


def check_scene(scene: PickUpScene) -> None:
    """Check what needs no engine: known objects, each once, whole numbers of metres on the table.

    Raises:
        SceneError: With what is wrong.
    """
    known = {one.id: one for one in objects().objects}
    seen: set[str] = set()
    for pose in (scene.target, *scene.distractors):
        if pose.object not in known:
            raise SceneError(f"there is no object {pose.object!r}: {', '.join(known)}")
        if pose.object in seen:
            raise SceneError(f"there is one {known[pose.object].title}, and it is put down twice")
        seen.add(pose.object)
        if not all(math.isfinite(number) for number in (pose.x, pose.y, pose.yaw)):
            raise SceneError(f"the {known[pose.object].title}'s pose is not finite")
        edge = _edge(known[pose.object], pose)
        if edge is not None:
            raise SceneError(
                f"the {known[pose.object].title} at x = {pose.x:.2f} m, y = {pose.y:.2f} m sticks "
                f"out over the table's edge at {edge}"
            )


def _edge(thing: PickUpObject, pose: Pose) -> str | None:
    """Return the edge over which an object sticks out, or None."""
    reach_x = reach_y = max(part.half_extents[0] for part in thing.parts)
    ahead = behind = 0.0
    if not pose.standing:
        ahead, behind = thing.top, -thing.bottom
    along = math.cos(pose.yaw), math.sin(pose.yaw)
    low_x, high_x, low_y, high_y = TABLE
    for shift in (ahead, -behind):
        x, y = pose.x + shift * along[0], pose.y + shift * along[1]
        if x - reach_x < low_x or x + reach_x > high_x:
            return f"x = {low_x if x - reach_x < low_x else high_x:g} m"
        if y - reach_y < low_y or y + reach_y > high_y:
            return f"y = {low_y if y - reach_y < low_y else high_y:g} m"
    return None
