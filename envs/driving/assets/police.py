"""Police officers on foot: hi-vis vest with POLICE on it, peaked cap, white gloves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.lettering import lettering
from ....rendering.shapes.people import (
    Person,
    Pose,
    Skeleton,
    collar,
    head_frame,
    person_mesh,
    skeleton,
    top_surface,
    trunk_field,
)
from ....rendering.shapes.primitives import (
    bands,
    ellipsoid,
    lathe,
    paint_where,
    rounded_box,
)

_NAVY = (0.07, 0.09, 0.17)
_HI_VIS = (0.82, 0.98, 0.10)
_SILVER = (0.86, 0.88, 0.90)
_WHITE = (0.95, 0.95, 0.95)
_CHECKS = 16

_STOP = Pose(
    hands=((0.03, 0.185, 0.515), (0.22, -0.19, 1.01)), elbows=(0.1, 0.7, -1.0), grips=(0.3, 0.0)
)
_RAISED = Pose(
    hands=((0.03, 0.185, 0.515), (0.14, -0.21, 1.15)), elbows=(0.1, 1.0, -0.4), grips=(0.3, 0.0)
)
_LEFT_STOP = Pose(
    hands=((0.22, 0.19, 1.02), (0.03, -0.185, 0.515)), elbows=(0.1, 0.7, -1.0), grips=(0.0, 0.3)
)
_BOTH = Pose(
    hands=((0.20, 0.20, 0.70), (0.14, -0.21, 1.13)), elbows=(0.1, 1.0, -0.5), grips=(0.0, 0.0)
)

OFFICERS: tuple[Person, ...] = (
    Person(height=1.82, width=1.06, hair=(0.25, 0.16, 0.09), pose=_STOP),
    Person(height=1.74, woman=True, hair_style="bun", skin=(0.62, 0.43, 0.32), pose=_RAISED),
    Person(height=1.80, width=1.04, skin=(0.85, 0.66, 0.55), beard=True,
           hair=(0.45, 0.28, 0.14), pose=_LEFT_STOP),
    Person(height=1.78, skin=(0.42, 0.28, 0.20), hair=(0.05, 0.04, 0.04), pose=_BOTH),
)  # fmt: skip


def officer(variant: int) -> Mesh:
    """Return a police officer who stops the traffic; 1.75 to 1.9 m, a raised hand higher."""
    person = replace(
        OFFICERS[variant],
        top=_NAVY,
        bottom=_NAVY,
        shoes=(0.03, 0.03, 0.03),
        hem=0.05,
        gloves=_WHITE,
    )
    bones = skeleton(person)
    grow = 0.013 * bones.unit
    cover = trunk_field(replace(person, hem=0.04), bones, grow)
    return person_mesh(person, [*_vest(person, bones, grow), *_cap(bones)], cover=cover)


def _vest(person: Person, bones: Skeleton, grow: float) -> list[Mesh]:
    u, z0 = bones.unit, float(bones.pelvis[2])
    vest = top_surface(replace(person, top=_HI_VIS, hem=0.04), bones, grow, sleeves=False)
    vest = vest.painted(_HI_VIS, Material.RETRO)
    silver = [(z0 + a * u, z0 + (a + 0.036) * u) for a in (0.0, 0.095)]
    vest = bands(vest, 2, silver, _SILVER, Material.RETRO)
    vest = collar(vest, bones, 0.27, 0.45, _NAVY)
    parts = [vest]
    for front, height, size in ((True, 0.195, 0.044), (False, 0.215, 0.052)):
        centre = z0 + height * u
        width = (0.155 if front else 0.175) * u
        panel = _panel(width + 0.016 * u, (size + 0.018) * u)
        word = lettering("POLICE", size * u, _WHITE, width=width)
        label = Mesh.merge([panel, word.transformed((0.005, 0.0, 0.0))])
        parts.append(_draped(label, vest, centre, 0.004, front=front))
    radio = rounded_box((0.04, 0.06, 0.12), 0.012, (0, 0, 0), (0.03, 0.03, 0.03))
    parts.append(radio.transformed(tuple(bones.on_trunk(0.082, 0.085, 0.27))))
    return parts


def _panel(width: float, height: float) -> Mesh:
    """Return a flat navy panel in the y-z plane that can be bent about z."""
    y = np.linspace(-width / 2, width / 2, 9)
    grid = np.stack([np.zeros(18), np.repeat(y, 2), np.tile([-height / 2, height / 2], 9)], axis=1)
    k = np.arange(8) * 2
    faces = np.concatenate([np.stack([k, k + 2, k + 3], 1), np.stack([k, k + 3, k + 1], 1)])
    return Mesh.build(grid, faces, _NAVY, Material.CLOTH, 0.0)


def _draped(mesh: Mesh, garment: Mesh, height: float, out: float, *, front: bool) -> Mesh:
    """Bend a flat mesh of the y-z plane about a garment's front or back.

    Args:
        mesh: Centred on the origin, seen by who looks at +x.
        garment: The garment.
        height: Where the mesh's middle comes to lie, m.
        out: Least distance from the garment, m.
        front: On the front; else on the back, turned round.
    """
    side = 1.0 if front else -1.0
    placed = mesh.transformed((0.0, 0.0, height), yaw=0.0 if front else np.pi)
    points = garment.vertices.astype(np.float64) * (side, 1.0, 1.0)
    low, high = mesh.bounds
    near = points[:, 0] > 0.0
    near &= np.abs(points[:, 1]) < 0.5 * float(high[1] - low[1])
    near &= np.abs(points[:, 2] - height) < 0.5 * float(high[2] - low[2]) + 0.02
    x, _, z = points[near].T
    bow = points[near][:, 1] ** 2
    terms = np.stack([np.ones_like(z), bow, z - height], axis=1)
    (_, curve, slope), *_ = np.linalg.lstsq(terms, x, rcond=None)
    base = float((x - curve * bow - slope * (z - height)).max()) + out
    vertices = placed.vertices.copy()
    vertices[:, 0] += side * (
        base + curve * vertices[:, 1] ** 2 + slope * (vertices[:, 2] - height)
    )
    return Mesh(vertices, placed.faces, placed.colours, placed.materials, placed.normals)


def _cap(bones: Skeleton) -> list[Mesh]:
    long = (1.12, 1.0, 1.0)
    crown = lathe(
        [(0, 0.0), (0.385, 0.0), (0.40, 0.14), (0.56, 0.27), (0.52, 0.33), (0, 0.37)],
        16,
        _NAVY,
        Material.CLOTH,
    ).transformed((-0.03, 0, 0.24), scale=long, pitch=-0.06)
    band = lathe([(0.0, 0.0), (0.40, 0.0), (0.405, 0.065), (0.41, 0.13), (0.0, 0.13)], _CHECKS,
                 _WHITE)  # fmt: skip
    band = paint_where(band, _is_dark, (0.03, 0.04, 0.08)).transformed(
        (-0.03, 0, 0.245), scale=long, pitch=-0.06
    )
    peak = ellipsoid((0.32, 0.35, 0.035), (0.34, 0, 0.23), (0.02, 0.02, 0.02), Material.GLOSSY, 12)
    peak = peak.transformed(pitch=0.18)
    badge = ellipsoid((0.03, 0.08, 0.09), (0.50, 0, 0.47), (0.9, 0.75, 0.2), Material.METAL, 8)
    return [head_frame(bones, part) for part in (crown, band, peak, badge)]


def _is_dark(middle: np.ndarray) -> np.ndarray:
    """Whether a face of the cap's band is one of the dark checks."""
    column = np.floor(np.arctan2(middle[:, 1], middle[:, 0]) * _CHECKS / (2 * np.pi))
    return np.asarray((column + (middle[:, 2] > 0.065)) % 2 == 0)


__all__ = ["OFFICERS", "officer"]
