"""Small worlds for the renderer's tests."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vlmfail.rendering.mesh import Material, Mesh
from vlmfail.rendering.world import Atmosphere, Camera, Instance, World

CAMERA = Camera(0.0, 0.0, 1.5, width=128, height=96)
CLEAR = Atmosphere(sun_direction=(0.2, 0.6, 0.77), clouds=0.1)
OVERCAST = Atmosphere(
    sun=(0.0, 0.0, 0.0), zenith=(0.6, 0.65, 0.7), horizon=(0.7, 0.73, 0.76), clouds=1.0
)
FOG = replace(OVERCAST, fog=0.12)
RAIN = replace(OVERCAST, rain=1.0, wetness=1.0, fog=0.01)

_CORNERS = [[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (0.0, 1.0)]
_FACES = [
    [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
    [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3],
]  # fmt: skip


def box(
    length: float = 1.0,
    width: float = 1.0,
    height: float = 1.0,
    colour: tuple[float, float, float] = (0.8, 0.1, 0.1),
    material: Material = Material.MATTE,
) -> Mesh:
    """A box standing on its origin."""
    return Mesh.build(
        np.array(_CORNERS) * (length, width, height), _FACES, colour, material, crease_degrees=0
    )


def ground() -> Mesh:
    return Mesh.build(
        [[-50, -80, 0], [200, -80, 0], [200, 80, 0], [-50, 80, 0]],
        [[0, 1, 2], [0, 2, 3]],
        (0.5, 0.5, 0.5),
        Material.ASPHALT,
    )


def world(*objects: Instance, atmosphere: Atmosphere = CLEAR, **changes) -> World:
    """The objects on a plain."""
    probes = changes.pop("probes", tuple(item.name for item in objects))
    base = World(ground(), "plain", objects, CAMERA, atmosphere, probes)
    return replace(base, **changes)


def busy_world() -> World:
    """Every material, a lamp, rain, puddles: all of the shading at once."""
    items = [
        Instance(material.name, box(1.0, 0.8, 1.0, (0.7, 0.4, 0.2), material), 6.0 + k, -4.0 + k)
        for k, material in enumerate(Material)
    ]
    return world(*items, atmosphere=replace(RAIN, sun=(1.0, 0.9, 0.8), rain=0.5))
