"""Trees, hedges and bushes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ...rendering.mesh import Material, Mesh
from ...rendering.shapes.builder import RGB, Builder, shade

BARK: RGB = (0.33, 0.26, 0.20)


def _icosphere(level: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    t = (1 + 5**0.5) / 2
    v = [(-1.0, t, 0.0), (1.0, t, 0.0), (-1.0, -t, 0.0), (1.0, -t, 0.0)]
    v += [(c, a, b) for a, b, c in v]
    v += [(b, c, a) for a, b, c in v[:4]]
    points = np.array(v, dtype=np.float64)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    # Twelve points at equal distance: the 20 faces are the triples of mutual neighbours.
    near = np.linalg.norm(points[:, None] - points[None], axis=2) < 1.2
    faces = np.array(
        [
            (i, j, k) if np.dot(np.cross(points[i], points[j]), points[k]) > 0 else (i, k, j)
            for i in range(12)
            for j in range(i + 1, 12)
            for k in range(j + 1, 12)
            if near[i, j] and near[j, k] and near[i, k]
        ]
    )
    for _ in range(level):
        a, b, c = points[faces[:, 0]], points[faces[:, 1]], points[faces[:, 2]]
        ab, bc, ca = (m / np.linalg.norm(m, axis=1, keepdims=True) for m in (a + b, b + c, c + a))
        n = len(faces)
        points = np.concatenate([a, b, c, ab, bc, ca])
        i = np.arange(n)
        parts = [(0, 3, 5), (3, 1, 4), (5, 4, 2), (3, 4, 5)]
        faces = np.concatenate([np.column_stack([i + n * p for p in part]) for part in parts])
        points, inverse = np.unique(np.round(points, 9), axis=0, return_inverse=True)
        faces = inverse.reshape(-1)[faces]
    return points, faces


def _directions(rng: np.random.Generator, count: int) -> npt.NDArray[np.float64]:
    """Return `count` directions spread evenly over the sphere and jittered, `count x 3`."""
    k = np.arange(count) + 0.5
    z = 1 - 2 * k / count
    turn = k * np.pi * (3 - 5**0.5) + rng.uniform(0, 2 * np.pi)
    flat = np.sqrt(1 - z * z)
    out = np.column_stack([flat * np.cos(turn), flat * np.sin(turn), z])
    out += rng.normal(size=out.shape) * 0.45 / np.sqrt(count)
    unit: npt.NDArray[np.float64] = out / np.linalg.norm(out, axis=1, keepdims=True)
    return unit


class _Crown:
    """A leafy body: an ellipsoid that bulges where its boughs end.

    Colours follow the boughs, bright on the bulges and dark between them, so that few triangles
    read as heaps of leaves.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        centre: Sequence[float],
        radii: Sequence[float],
        colour: RGB,
        boughs: int,
    ) -> None:
        """Place the boughs; `radii` are those of the ellipsoid, m."""
        self.rng, self.colour = rng, np.array(colour)
        self.centre, self.radii = np.array(centre), np.array(radii)
        self.boughs = _directions(rng, boughs)
        self.reach = rng.uniform(0.24, 0.42, boughs)
        self.width = 0.98 * np.sqrt(4 / boughs)
        # Boughs differ in hue: some catch more yellow, some are older and bluer.
        warm = rng.normal(size=(boughs, 1)) * (0.05, 0.02, -0.02)
        self.hues = np.clip(1 + warm + rng.normal(size=(boughs, 1)) * 0.05, 0.75, 1.25)

    def skin(
        self, directions: npt.NDArray[np.float64]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Return the skin's points, how far they bulge (0 to 1) and the bough they belong to."""
        angle = np.arccos(np.clip(directions @ self.boughs.T, -1, 1)) / self.width
        bulge = np.sqrt(np.clip(1 - angle * angle, 0, 1)) * self.reach
        owner = bulge.argmax(axis=1)
        height = bulge.max(axis=1)
        points = self.centre + directions * self.radii * (0.69 + height)[:, None]
        return points, height / self.reach.max(), owner

    def tones(
        self,
        directions: npt.NDArray[np.float64],
        bulge: npt.NDArray[np.float64],
        owner: npt.NDArray[np.int64],
    ) -> npt.NDArray[np.float64]:
        """Return leaf colours, sRGB: lighter above, outside, and at the ends of boughs."""
        light = 0.62 + 0.40 * bulge + 0.16 * np.clip(directions[:, 2], -0.8, 1)
        tones: npt.NDArray[np.float64] = np.clip(
            self.colour * self.hues[owner] * light[:, None], 0, 1
        )
        return tones

    def body(self, level: int) -> Mesh:
        """Return the closed skin with 20 * 4^`level` triangles."""
        points, faces = _icosphere(level)
        turn = self.rng.uniform(0, 2 * np.pi)
        c, s = np.cos(turn), np.sin(turn)
        points = points @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])
        skin, _, _ = self.skin(points)
        skin += self.rng.normal(size=skin.shape) * 0.015 * self.radii
        middles = points[faces].mean(axis=1)
        middles /= np.linalg.norm(middles, axis=1, keepdims=True)
        _, bulge, owner = self.skin(middles)
        mesh = Mesh.build(
            skin, faces, self.tones(middles, bulge, owner), Material.FOLIAGE, crease_degrees=100
        )
        # Half the normal of the whole crown: one round body with bulges, no facets.
        normals = mesh.normals * 0.55 + points[faces] * 0.45
        normals /= np.linalg.norm(normals, axis=2, keepdims=True)
        return replace(mesh, normals=normals.astype(np.float32))

    def leaves(self, count: int, size: float) -> Mesh:
        """Return `count` sprays of two triangles, about `size` m long, that fray the outline."""
        rng = self.rng
        out = self.boughs[rng.integers(len(self.boughs), size=count)]
        out = out + rng.normal(size=out.shape) * 0.55 * self.width
        out /= np.linalg.norm(out, axis=1, keepdims=True)
        points, bulge, owner = self.skin(out)
        points += out * size * rng.uniform(-0.25, 0.25, (count, 1))
        along = rng.normal(size=(count, 3))
        along += out * (0.45 - np.einsum("ij,ij->i", along, out))[:, None]
        along /= np.linalg.norm(along, axis=1, keepdims=True)
        across = np.cross(out + 0.5 * rng.normal(size=(count, 3)), along)
        across /= np.linalg.norm(across, axis=1, keepdims=True)
        u = along * size * rng.uniform(0.40, 0.70, (count, 1))
        v = across * size * rng.uniform(0.24, 0.38, (count, 1))
        quads = np.stack([points - u, points + v - 0.1 * u, points + u, points - v - 0.1 * u], 1)
        flip = np.einsum("ij,ij->i", np.cross(u, v), out) > 0
        quads[flip] = quads[flip][:, ::-1]
        quads = quads[:, ::-1]
        corners = quads[:, [0, 1, 2, 0, 2, 3]].reshape(-1, 3)
        tones = self.tones(out, np.minimum(bulge + 0.15, 1.1), owner)
        tones *= rng.uniform(0.92, 1.14, (count, 1))
        faces = np.arange(len(corners), dtype=np.int32).reshape(-1, 3)
        return Mesh(
            corners.astype(np.float32),
            faces,
            np.repeat(np.clip(tones, 0, 1), 2, axis=0).astype(np.float32),
            np.full(len(faces), int(Material.FOLIAGE), dtype=np.uint8),
            np.repeat(np.repeat(out, 2, axis=0)[:, None, :], 3, axis=1).astype(np.float32),
        )


def tree(
    rng: np.random.Generator,
    height: float,
    spread: float,
    colour: RGB,
    *,
    leaves: int = 52,
    detail: int = 2,
) -> Mesh:
    """Return a broad-leaved tree of about 20 * 4^`detail` + 2 * `leaves` + 40 triangles.

    Args:
        rng: Source of its shape.
        height: m.
        spread: Radius of the crown, m.
        colour: Of the leaves, sRGB.
        leaves: Number of loose leaf sprays on the crown.
        detail: 2 near the street, 1 for trees behind houses.
    """
    b = Builder()
    base = 0.26 * height
    girth = 0.018 * height + 0.05
    lean = rng.normal(size=2) * 0.015 * height
    half = (height - base) / 2
    middle = (float(lean[0]), float(lean[1]), base + half)
    fork = (middle[0], middle[1], base + 0.25 * half)
    b.tube((0, 0, -0.1), (0, 0, 0.35), (1.5 * girth, 1.1 * girth), BARK, Material.WOOD, 7, False)
    b.tube((0, 0, 0.35), fork, (1.1 * girth, 0.75 * girth), BARK, Material.WOOD, 7, False)
    crown = _Crown(rng, middle, (spread * 0.92, spread * 0.92, half * 0.95), colour, 13)
    for k in range(3 if detail > 1 else 0):  # boughs that are seen from below
        angle = 2.1 * k + rng.uniform(0, 1)
        end = (
            middle[0] + 0.6 * spread * np.cos(angle),
            middle[1] + 0.6 * spread * np.sin(angle),
            base + 0.55 * half,
        )
        low = (middle[0], middle[1], base - 0.05 * half)
        b.tube(low, end, (0.5 * girth, 0.25 * girth), BARK, Material.WOOD, 4, False)
    b.add(crown.body(detail))
    b.add(crown.leaves(leaves, 0.22 * spread))
    return b.mesh()


def conifer(rng: np.random.Generator, height: float, colour: RGB) -> Mesh:
    """Return a spruce of about 170 triangles: drooping tiers round a stem."""
    b = Builder()
    girth = 0.016 * height + 0.04
    b.tube((0, 0, -0.1), (0, 0, 0.9 * height), (girth, 0.03), BARK, Material.WOOD, 6, False)
    tiers, sides = 7, 12
    for k in range(tiers):
        share = k / tiers
        z = height * (0.14 + 0.78 * share)
        r = 0.24 * height * (1 - share) + 0.1
        angle = np.arange(sides) * 2 * np.pi / sides + rng.uniform(0, 1)
        reach = r * np.where(np.arange(sides) % 2, 0.72, 1.0) * rng.uniform(0.88, 1.08, sides)
        rim = np.column_stack(
            [reach * np.cos(angle), reach * np.sin(angle), z - 0.28 * reach + 0.1 * r]
        )
        top = np.array([[0, 0, z + 0.20 * height * (1 - 0.6 * share)]])
        i = np.arange(sides)
        j = (i + 1) % sides
        hollow = np.array([[0, 0, z]])
        points = np.concatenate([rim, top, hollow])
        faces = np.concatenate(
            [
                np.column_stack([i, j, np.full(sides, sides)]),
                np.column_stack([j, i, np.full(sides, sides + 1)]),
            ]
        )
        tone = shade(colour, rng.uniform(0.85, 1.1))
        b.add(Mesh.build(points, faces, tone, Material.FOLIAGE, 60))
    return b.mesh()


def hedge(
    rng: np.random.Generator, length: float, height: float, depth: float, colour: RGB
) -> Mesh:
    """Return a clipped hedge along y, standing on the ground, its middle at the origin."""
    count = max(2, round(length / 0.8))
    y = np.linspace(-length / 2, length / 2, count + 1)
    h, d = height, depth / 2
    profile = np.array(
        [
            (d, 0.0),
            (1.04 * d, 0.55 * h),
            (0.72 * d, h),
            (-0.72 * d, h),
            (-1.04 * d, 0.55 * h),
            (-d, 0.0),
        ]
    )
    rough = rng.normal(size=(count + 1, len(profile), 2)) * 0.035
    rough[:, [0, -1], 1] = 0
    ring = profile[None] + rough
    points = np.stack(
        [ring[..., 0], np.broadcast_to(y[:, None], ring.shape[:2]), ring[..., 1]], axis=2
    )
    m = len(profile)
    a = (np.arange(count)[:, None] * m + np.arange(m - 1)).reshape(-1)
    # Profile runs from +x over the top to -x, so a step along +y turns the face outwards.
    faces = np.concatenate(
        [np.column_stack([a, a + m, a + m + 1]), np.column_stack([a, a + m + 1, a + 1])]
    )
    n = count * m
    ends = [(0, k, k + 1) for k in range(1, m - 1)] + [
        (n, n + k + 1, n + k) for k in range(1, m - 1)
    ]
    faces = np.concatenate([faces, np.array(ends)])
    tone = np.clip(np.array(colour) * rng.uniform(0.85, 1.12, (len(faces), 1)), 0, 1)
    return Mesh.build(points.reshape(-1, 3), faces, tone, Material.FOLIAGE, 60)


def bush(rng: np.random.Generator, size: float, colour: RGB) -> Mesh:
    """Return a round shrub of 120 triangles, `size` m high."""
    crown = _Crown(rng, (0, 0, 0.40 * size), (0.62 * size, 0.62 * size, 0.58 * size), colour, 7)
    return Mesh.merge([crown.body(1), crown.leaves(20, 0.22 * size)])


def flowers(rng: np.random.Generator, length: float, depth: float, colour: RGB) -> Mesh:
    """Return a bed of flowers along y, about 30 triangles a metre, its middle at the origin."""
    low = hedge(rng, length, 0.24, depth, (0.33, 0.47, 0.22))
    count = max(4, round(9 * length))
    at = np.column_stack(
        [
            rng.uniform(-0.45, 0.45, count) * depth,
            rng.uniform(-0.48, 0.48, count) * length,
            rng.uniform(0.22, 0.36, count),
        ]
    )
    turn = rng.uniform(0, np.pi / 2, (count, 1)) + np.arange(4) * np.pi / 2
    size = rng.uniform(0.09, 0.15, (count, 1))
    tilt = rng.uniform(0.4, 0.8, (count, 1))  # heads lean towards the street
    ring = np.stack(
        [
            at[:, :1] + size * np.cos(turn) * 0.7,
            at[:, 1:2] + size * np.sin(turn),
            at[:, 2:] - size * np.cos(turn) * tilt,
        ],
        axis=2,
    )
    heads = Builder()
    tones = np.clip(np.array(colour) * rng.uniform(0.85, 1.1, (count, 1)), 0, 1)
    heads.quads(ring, tones, Material.MATTE)
    return Mesh.merge([low, heads.mesh()])
