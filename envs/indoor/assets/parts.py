"""What the builders of the indoor things share."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.primitives import F64, Colour, Point, ellipsoid, sweep

Place = tuple[float, float, float]
Builders = dict[str, tuple[int, Callable[[int], Mesh]]]
Anchors = dict[str, Callable[[int], dict[str, Place]]]

WHITE: Colour = (0.94, 0.94, 0.93)
BLACK: Colour = (0.055, 0.055, 0.06)
STEEL: Colour = (0.82, 0.83, 0.85)
GLASS_TINT: Colour = (0.62, 0.86, 0.92)
GLASS_EDGE: Colour = (0.88, 0.96, 0.97)
COFFEE: Colour = (0.17, 0.075, 0.025)


def generator(kind: str, variant: int) -> np.random.Generator:
    """Return the random numbers of one mesh."""
    return np.random.default_rng([zlib.crc32(kind.encode()), variant])


def lying(mesh: Mesh) -> Mesh:
    """Return an extrusion laid flat: its outline's z turns to y, its +y end faces down."""
    return mesh.transformed(roll=-np.pi / 2)


def turned(
    profile: npt.ArrayLike,
    segments: int = 20,
    colour: npt.ArrayLike = GLASS_TINT,
    material: Material = Material.CLEAR,
    *,
    tops: npt.ArrayLike | None = None,
) -> Mesh:
    """Return an open sheet of revolution about z: a glass's wall, which nothing closes.

    Args:
        profile: `n x 2` (radius, height), upwards.
        segments: Steps round the axis.
        colour: sRGB.
        material: Material.
        tops: `segments` factors of the heights: a broken rim.
    """
    p = np.asarray(profile, dtype=np.float64)
    high = np.ones(segments) if tops is None else np.asarray(tops, dtype=np.float64)
    angle = np.arange(segments) * (2 * np.pi / segments)
    vertices = np.stack(
        [
            np.outer(p[:, 0], np.cos(angle)),
            np.outer(p[:, 0], np.sin(angle)),
            np.outer(p[:, 1], high),
        ],
        axis=-1,
    )
    row, column = (a.ravel() for a in np.indices((len(p) - 1, segments)))
    here, beside = row * segments + column, row * segments + (column + 1) % segments
    quads = ((here, beside, beside + segments), (here, beside + segments, here + segments))
    faces = np.concatenate([np.stack(q, 1) for q in quads])
    v = vertices.reshape(-1, 3)
    corners = v[faces]
    area = np.linalg.norm(
        np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
    )
    return Mesh.build(v, faces[area > 1e-10], colour, material, 50.0)


def flat(outline: npt.ArrayLike, z: float, colour: npt.ArrayLike, material: Material) -> Mesh:
    """Return a star-shaped outline, `n x 2` (x, y), as a flat sheet that faces up."""
    p = np.asarray(outline, dtype=np.float64)
    n = len(p)
    vertices = np.concatenate([np.c_[p, np.full(n, z)], [[*p.mean(axis=0), z]]])
    ring = np.arange(n)
    faces = np.stack([ring, np.roll(ring, -1), np.full(n, n)], 1)
    return Mesh.build(vertices, faces, colour, material, 0.0)


def lumpy(
    random: np.random.Generator, radii: Sequence[float], rough: float = 0.16, points: int = 36
) -> F64:
    """Return a star-shaped outline `points x 2` with lobes; it fills its radii about exactly."""
    angle = np.arange(points) * (2 * np.pi / points)
    away = np.ones(points)
    for k in (2, 3, 5, 7):
        away += (
            rough * random.uniform(0.4, 1.0) / k**0.5 * np.cos(k * angle + random.uniform(0, 6.3))
        )
    p = np.stack([np.cos(angle) * away, np.sin(angle) * away], 1)
    p -= 0.5 * (p.max(axis=0) + p.min(axis=0))
    return np.asarray(p / np.abs(p).max(axis=0) * np.asarray(radii))


def pool(outline: npt.ArrayLike, height: float, colour: npt.ArrayLike, rim: float = 0.016) -> Mesh:
    """Return liquid within an outline, `n x 2`, star-shaped about its middle; z = 0 is the ground.

    Surface tension rounds its rim, `rim` wide: that is what catches the light.
    """
    p = np.asarray(outline, dtype=np.float64)
    middle = 0.5 * (p.max(axis=0) + p.min(axis=0))
    n = len(p)
    away = p - middle
    reach = np.linalg.norm(away, axis=1, keepdims=True)
    rings = []
    for inset, level in (
        (0.0, 0.0004),
        (0.2 * rim, 0.6 * height),
        (0.55 * rim, 0.9 * height),
        (rim, height),
    ):
        ring = middle + away * np.maximum(1.0 - inset / reach, 0.1)
        rings.append(np.c_[ring, np.full(n, level)])
    vertices = np.concatenate([*rings, [[*middle, height]]])
    k = np.arange(n)
    after = (k + 1) % n
    last = (len(rings) - 1) * n
    faces = [np.stack([k + last, after + last, np.full(n, last + n)], 1)]
    for low in range(0, last, n):
        faces.append(np.stack([k + low, after + low, after + low + n], 1))
        faces.append(np.stack([k + low, after + low + n, k + low + n], 1))
    return Mesh.build(vertices, np.concatenate(faces), colour, Material.LIQUID, 70.0)


def wisp(
    path: npt.ArrayLike,
    widest: float,
    colour: Colour,
    material: Material = Material.VAPOUR,
    *,
    belly: float = 0.5,
    sides: int = 8,
) -> Mesh:
    """Return a spindle along a path, `n x 3`, thickest at the share `belly` of its length."""
    p = np.asarray(path, dtype=np.float64)
    t = np.linspace(0.0, 1.0, len(p))
    sharp = np.log(0.5) / np.log(belly)
    swell = np.sin(np.pi * t**sharp)
    return sweep(p, np.maximum(widest * swell, 0.02 * widest), colour, material, sides=sides)


def puff(radii: Sequence[float], centre: Point, colour: Colour, segments: int = 10) -> Mesh:
    """Return a cloud's lump."""
    return ellipsoid(radii, [float(c) for c in centre], colour, Material.VAPOUR, segments)
