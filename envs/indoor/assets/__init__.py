"""Meshes of the indoor domain's objects: `build(kind, variant)`, true to scale, built by our code.

An object faces +x; its origin lies on what it stands on, under its middle, unless its builder
says otherwise. `anchor` names points of an object that placement and the truth checks need: the
tip of a knife, the holes of an outlet, the hand of a child.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from ....core import UnknownNameError, UsageError
from ....rendering import shapes
from ....rendering.baking import baked
from ....rendering.mesh import Mesh
from . import (
    blades,
    broken,
    cleaners,
    cloth,
    cord,
    fixtures,
    hot,
    medicine,
    microwave,
    outlets,
    people,
    spills,
    toys,
    vessels,
)
from .parts import Anchors, Builders, Place

_BUILDERS: Builders = {
    **vessels.BUILDERS,
    **spills.BUILDERS,
    **hot.BUILDERS,
    **blades.BUILDERS,
    **medicine.BUILDERS,
    **outlets.BUILDERS,
    **cord.BUILDERS,
    **cloth.BUILDERS,
    **microwave.BUILDERS,
    **broken.BUILDERS,
    **fixtures.BUILDERS,
    **cleaners.BUILDERS,
    **toys.BUILDERS,
    **people.BUILDERS,
}
_ANCHORS: Anchors = {
    **vessels.ANCHORS,
    **hot.ANCHORS,
    **blades.ANCHORS,
    **outlets.ANCHORS,
    **cloth.ANCHORS,
    **microwave.ANCHORS,
    **fixtures.ANCHORS,
    **people.ANCHORS,
}

VARIANTS: Mapping[str, int] = MappingProxyType({k: n for k, (n, _) in _BUILDERS.items()})
"""Number of variants of each kind; variants count from 0."""

SOURCES = (
    Path(__file__).parent,
    Path(shapes.__file__).parent,
    Path(shapes.__file__).parents[1] / "mesh.py",
)
"""The code that decides the meshes: baked ones are named by its digest."""


def _checked(kind: str, variant: int) -> None:
    if kind not in _BUILDERS:
        raise UnknownNameError("kind of object", kind, _BUILDERS)
    count = VARIANTS[kind]
    if not 0 <= variant < count:
        raise UsageError(f"{kind} has no variant {variant}: there are 0 to {count - 1}.")


@cache
def build(kind: str, variant: int = 0) -> Mesh:
    """Return the mesh of an object, the same one each time.

    Args:
        kind: A key of `VARIANTS`.
        variant: 0 ... `VARIANTS[kind] - 1`.

    Raises:
        UnknownNameError: There is no such kind.
        UsageError: There is no such variant.
    """
    _checked(kind, variant)
    builder = _BUILDERS[kind][1]
    return baked(f"indoor-{kind}-{variant}", SOURCES, lambda: builder(variant))


@cache
def anchors(kind: str, variant: int = 0) -> Mapping[str, Place]:
    """Return the named points of an object in its own frame, m; empty where it has none.

    Raises:
        UnknownNameError: There is no such kind.
        UsageError: There is no such variant.
    """
    _checked(kind, variant)
    return MappingProxyType(_ANCHORS[kind](variant) if kind in _ANCHORS else {})


def anchor(kind: str, variant: int, point: str) -> Place:
    """Return a named point of an object in its own frame (x, y, z), m.

    Raises:
        UnknownNameError: There is no such kind, or it has no such point.
        UsageError: There is no such variant.
    """
    points = anchors(kind, variant)
    if point not in points:
        raise UnknownNameError(f"point of {kind}", point, points)
    return points[point]


__all__ = ["SOURCES", "VARIANTS", "anchor", "anchors", "build"]
