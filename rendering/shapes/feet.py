"""Bare feet: toes, nails and heels that still read as bare when a foot is a few dozen pixels."""

from __future__ import annotations

import numpy as np

from ..mesh import Material, Mesh
from .fields import blend, half_space, limb, surface
from .figures import Person, Skeleton, turn
from .primitives import Colour, sweep
from .primitives import ellipsoid as ball

_STEP = 0.028
_SOLE = -0.052
"""Height of the sole under the ankle, in body heights; that of shoes too."""

_TOES = (
    (0.60, 0.160, 0.100, 0.098),
    (0.605, 0.035, 0.082, 0.060),
    (0.575, -0.062, 0.076, 0.055),
    (0.525, -0.150, 0.070, 0.051),
    (0.455, -0.228, 0.064, 0.047),
)
"""Of each toe from the big one: place ahead of the ankle, place towards the inner side, half
length, half breadth, in foot lengths."""


def bare_feet(person: Person, bones: Skeleton) -> list[Mesh]:
    """Return both feet of a person, bare."""
    u = bones.unit
    length = 0.165 * u
    drop = _SOLE * u / length  # from here on in foot lengths
    skin = person.skin
    rosy: Colour = (min(skin[0] * 1.01, 1.0), skin[1] * 0.94, skin[2] * 0.92)
    nail: Colour = tuple(min(c * 1.06 + 0.06, 1.0) for c in skin)  # type: ignore[assignment]
    parts = []
    for i, side in enumerate((1.0, -1.0)):
        pitch = person.pose.toes[i]
        rotation = turn(side * 0.12, pitch)
        bend = pitch if 0.0 < pitch < 1.0 else 0.0  # toes lie flat under a raised heel
        shape = blend(
            [
                limb((-0.20, 0, drop + 0.15), (-0.02, 0, drop + 0.18), 0.17, 0.16),
                limb(
                    (0.40, -side * 0.06, drop + 0.12),
                    (0.34, side * 0.12, drop + 0.10),
                    0.15,
                    0.12,
                    (1.0, 1.0, 0.86),
                ),
                limb((-0.02, 0, 0.06), (0.36, -side * 0.03, drop + 0.13), 0.17, 0.13),
                limb((-0.06, 0, drop + 0.2), (-0.02, 0, 0.10), 0.17, 0.165),
            ],
            0.10,
        )
        foot = half_space(shape, (0, 0, -1), -drop)
        meshes = [surface(foot, _STEP * u / length, skin, Material.SKIN)]
        for ahead, inner, long, broad in _TOES:
            y, z = -side * inner, drop + broad * 0.82
            toe = ball((long, broad, broad * 0.84), (ahead, y, z), rosy, Material.SKIN, 6)
            place = (ahead + long * 0.42, y, z + broad * 0.66)
            plate = ball((long * 0.42, broad * 0.62, 0.020), place, nail, Material.SKIN, 5)
            joint = (ahead - long, 0.0, drop + 0.09)
            meshes += [
                _bent(part, joint, bend) for part in (toe, plate)[: 2 if broad > 0.054 else 1]
            ]
        # A roll across the toes: no gap is left between them that looks black from afar.
        roll = [
            (ahead + 0.020, -side * inner, drop + 0.75 * broad) for ahead, inner, _, broad in _TOES
        ]
        web = sweep(roll, [0.74 * broad for *_, broad in _TOES], rosy, Material.SKIN, sides=6)
        meshes.append(_bent(web, (0.50, 0.0, drop + 0.09), bend))
        merged = Mesh.merge(meshes)
        parts.append(
            Mesh(
                (merged.vertices @ (rotation * length).T + bones.ankles[i]).astype(np.float32),
                merged.faces,
                merged.colours,
                merged.materials,
                (merged.normals @ rotation.T).astype(np.float32),
            )
        )
    return parts


def _bent(mesh: Mesh, joint: tuple[float, float, float], angle: float) -> Mesh:
    """Return the mesh pitched up about a joint."""
    if angle == 0.0:
        return mesh
    x, y, z = joint
    return mesh.transformed((-x, -y, -z)).transformed(joint, pitch=-angle)
