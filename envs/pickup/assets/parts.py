"""What the builders of the pick-up objects share: marks laid on round and on flat skins."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.primitives import F64, I64, Colour, triangulate

WHITE: Colour = (0.93, 0.93, 0.92)
SILVER: Colour = (0.80, 0.82, 0.85)
STEEL: Colour = (0.86, 0.87, 0.89)

_LIFT = 0.0003  # m: a mark's height over its skin, enough for single precision at arm's length


def polygon(outline: npt.ArrayLike, longest: float) -> tuple[F64, I64]:
    """Return points `n x 2` and triangles of a polygon whose edges are at most `longest` m."""
    points = np.asarray(outline, dtype=np.float64)
    if _area(points) < 0.0:
        points = points[::-1]
    return finer(points, triangulate(points), longest)


def _area(p: F64) -> float:
    q = np.roll(p, -1, axis=0)
    return 0.5 * float(np.sum(p[:, 0] * q[:, 1] - q[:, 0] * p[:, 1]))


def finer(points: F64, faces: I64, longest: float) -> tuple[F64, I64]:
    """Return the triangles, halved across their longest edges until none exceeds `longest` m."""
    corners = points[faces]
    while True:
        edges = np.linalg.norm(np.roll(corners, -1, axis=1) - corners, axis=2)
        at = np.flatnonzero(edges.max(axis=1) > longest)
        if len(at) == 0:
            break
        order = (np.argmax(edges[at], axis=1)[:, None] + np.arange(3)) % 3
        a, b, c = (corners[at, order[:, k]] for k in range(3))
        middle = 0.5 * (a + b)
        halves = [np.stack([a, middle, c], 1), np.stack([middle, b, c], 1)]
        corners = np.concatenate([np.delete(corners, at, axis=0), *halves])
    flat = corners.reshape(-1, corners.shape[2])
    return flat, np.arange(len(flat)).reshape(-1, 3)


def disc(radius: float, sides: int = 24) -> F64:
    """Return the outline `sides x 2` of a circle."""
    angle = np.arange(sides) * (2.0 * np.pi / sides)
    return radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def wrapped(
    outline: npt.ArrayLike,
    radius: float,
    angle: float,
    z: float,
    colour: Colour,
    material: Material = Material.GLOSSY,
    lift: float = _LIFT,
) -> Mesh:
    """Return a polygon laid round an upright cylinder.

    Args:
        outline: `n x 2`: along the skin to the right seen from outside, and up, m.
        radius: Of the cylinder, m.
        angle: Where the outline's origin lies, radians from +x.
        z: Its height, m.
        colour: sRGB.
        material: Material.
        lift: Height over the skin, m.
    """
    p, faces = polygon(outline, 0.28 * radius)
    turn = angle + p[:, 0] / radius
    r = radius + lift
    around = np.stack([r * np.cos(turn), r * np.sin(turn), z + p[:, 1]], axis=1)
    return Mesh.build(around, faces, colour, material, 60.0)


def spots(
    middles: npt.ArrayLike,
    sizes: npt.ArrayLike,
    origin: npt.ArrayLike,
    axes: npt.ArrayLike,
    colour: Colour,
    sides: int = 7,
) -> Mesh:
    """Return round spots on a flat skin.

    Args:
        middles: `n x 2` in the skin's own plane, m.
        sizes: `n` radii, m.
        origin: Of the plane, `3`, m.
        axes: Of the plane, `2 x 3`; their cross product points outside.
        colour: sRGB.
        sides: Corners of a spot.
    """
    m, s = np.asarray(middles, dtype=np.float64), np.asarray(sizes, dtype=np.float64)
    flat = (m[:, None] + s[:, None, None] * disc(1.0, sides)).reshape(-1, 2)
    fan = np.array([(0, k, k + 1) for k in range(1, sides - 1)])
    faces = (np.arange(len(m))[:, None, None] * sides + fan).reshape(-1, 3)
    placed = np.asarray(origin, dtype=np.float64) + flat @ np.asarray(axes, dtype=np.float64)
    return Mesh.build(placed, faces, colour, Material.MATTE, 0.0)


def sheet(grid: npt.ArrayLike, colour: Colour, material: Material, crease: float = 60.0) -> Mesh:
    """Return the skin over a grid of points, `rows x columns x 3`, closed along the columns."""
    g = np.asarray(grid, dtype=np.float64)
    rows, columns = g.shape[:2]
    i, j = (a.ravel() for a in np.meshgrid(np.arange(rows - 1), np.arange(columns), indexing="ij"))
    k = (j + 1) % columns
    a, b, c, d = i * columns + j, i * columns + k, (i + 1) * columns + j, (i + 1) * columns + k
    faces = np.concatenate([np.stack([a, b, d], 1), np.stack([a, d, c], 1)])
    v = g.reshape(-1, 3)
    corners = v[faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return Mesh.build(v, faces[np.linalg.norm(across, axis=1) > 1e-10], colour, material, crease)


def speckled(mesh: Mesh, strength: float, seed: int) -> Mesh:
    """Return the mesh with the brightness of each face varied by up to `strength` of it."""
    rng = np.random.default_rng(seed)
    share = 1.0 + strength * rng.uniform(-1.0, 1.0, (len(mesh.faces), 1))
    colours = np.clip(mesh.colours * share, 0.0, 1.0).astype(np.float32)
    return Mesh(mesh.vertices, mesh.faces, colours, mesh.materials, mesh.normals)
