"""What stands in the pick-up scene: the seven objects, the arm, the table and the room.

Every shape is ours. An object's mesh is in the frame of `objects.PickUpObject`: its long axis
along z, its broad side along x.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from ....core import UnknownNameError
from ....rendering.mesh import Mesh
from . import drinks, household, produce

BUILDERS: dict[str, Callable[[], Mesh]] = {
    "redbull_can": drinks.can,
    "blue_plastic_bottle": drinks.bottle,
    "eggplant": produce.eggplant,
    "carrot": produce.carrot,
    "apple": produce.apple,
    "spoon": household.spoon,
    "sponge": household.sponge,
}


@cache
def object_mesh(name: str) -> Mesh:
    """Return the mesh of an object by its id, one for the process: it is never changed.

    Raises:
        UnknownNameError: There is no such object.
    """
    if name not in BUILDERS:
        raise UnknownNameError("object", name, tuple(BUILDERS))
    return BUILDERS[name]()
