"""Meshes of the driving domain's objects: `build(kind, variant)`, true to scale, built by our code.

Every mesh keeps the project's frame (faces +x, origin on the ground under its middle); only the
lit lamps of the traffic light hang where the light's body has its lamps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from ....core import UnknownNameError, UsageError
from ....rendering import shapes
from ....rendering.baking import baked
from ....rendering.mesh import Mesh
from . import barriers, cars, cycles, pedestrians, signals, street

_BUILDERS: dict[str, tuple[int, Callable[[int], Mesh]]] = {
    "pedestrian": (len(pedestrians.ADULTS), pedestrians.adult),
    "child_pedestrian": (len(pedestrians.CHILDREN), pedestrians.child),
    "police_pedestrian": (len(pedestrians.OFFICERS), pedestrians.officer),
    "wheelchair_pedestrian": (len(cycles.SITTERS), cycles.wheelchair),
    "cyclist": (len(cycles.RIDERS), cycles.cyclist),
    "emergency_vehicle": (4, cars.emergency_vehicle),
    "parked_car": (len(cars.PARKED), cars.parked_car),
    "cone": (len(street.CONES), street.cone),
    "garbage_bin": (len(street.BINS), street.garbage_bin),
    "bus_stop": (len(street.STOPS), street.bus_stop),
    "chain_barrier": (len(barriers.CHAINS), barriers.chain_barrier),
    "debris": (3, barriers.debris),
    "obstruction": (len(barriers.CONTAINERS), barriers.obstruction),
    "traffic_light_body": (1, signals.body),
    "traffic_light_red": (1, signals.red),
    "traffic_light_green": (1, signals.green),
}

VARIANTS: Mapping[str, int] = MappingProxyType({k: n for k, (n, _) in _BUILDERS.items()})
"""Number of variants of each kind; variants count from 0."""

SOURCES = (
    Path(__file__).parent,
    Path(shapes.__file__).parent,
    Path(shapes.__file__).parents[1] / "mesh.py",
)
"""The code that decides the meshes: baked ones are named by its digest."""


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
    if kind not in _BUILDERS:
        raise UnknownNameError("kind of object", kind, _BUILDERS)
    count, builder = _BUILDERS[kind]
    if not 0 <= variant < count:
        raise UsageError(f"{kind} has no variant {variant}: there are 0 to {count - 1}.")
    return baked(f"{kind}-{variant}", SOURCES, lambda: builder(variant))


__all__ = ["SOURCES", "VARIANTS", "build"]
