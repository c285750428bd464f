"""Trees, hedges and bushes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...rendering.mesh import F32, Material, Mesh
from .town_parts import RGB, Builder, shade

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


def _leaves(
    rng: np.random.Generator,
    blobs: npt.NDArray[np.float64],
    count: int,
    size: float,
    colour: RGB,
) -> Mesh:
    """Return `count` loose leaf sprays on the skin of ellipsoids `blobs` (centre, radii).

    Their normals are those of the crown, so that the crown is shaded as one round body while
    its outline is ragged.
    """
    weight = np.prod(blobs[:, 3:], axis=1) ** (2 / 3)
    pick = rng.choice(len(blobs), count, p=weight / weight.sum())
    out = rng.normal(size=(count, 3))
    out /= np.linalg.norm(out, axis=1, keepdims=True)
    centre = blobs[pick, :3] + out * blobs[pick, 3:] * rng.uniform(0.84, 1.02, (count, 1))
    u = rng.normal(size=(count, 3))
    u -= 0.7 * out * np.einsum("ij,ij->i", u, out)[:, None]
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    v = np.cross(out + 0.45 * rng.normal(size=(count, 3)), u)
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    s = size * rng.uniform(0.6, 1.25, (count, 1))
    corners = np.stack(
        [centre - s * u - 0.4 * s * v, centre + s * u - 0.4 * s * v, centre + 0.8 * s * v], axis=1
    )
    flip = np.einsum("ij,ij->i", np.cross(u, v), out) < 0
    corners[flip] = corners[flip][:, ::-1]
    tri = corners.reshape(-1, 3)
    tone = rng.uniform(0.72, 1.22, (count, 1)) * (0.85 + 0.25 * np.clip(out[:, 2:], -0.6, 1))
    hue = np.array(colour) * (1 + rng.normal(size=(count, 3)) * (0.06, 0.03, 0.05))
    colours = np.clip(hue * tone, 0, 1).astype(np.float32)
    normals = np.repeat(out[:, None, :], 3, axis=1)
    faces = np.arange(len(tri), dtype=np.int32).reshape(-1, 3)
    return Mesh(
        tri.astype(np.float32),
        faces,
        colours,
        np.full(len(faces), int(Material.FOLIAGE), dtype=np.uint8),
        normals.astype(np.float32),
    )


def _core(blob: F32 | npt.NDArray[np.float64], level: int, colour: RGB) -> Mesh:
    points, faces = _icosphere(level)
    wobble = 1 + 0.07 * np.sin(5.1 * points[:, :1] + 3 * points[:, 1:2] + 4.3 * points[:, 2:])
    return Mesh.build(
        blob[:3] + points * wobble * blob[3:] * 0.93, faces, colour, Material.FOLIAGE, 80
    )


def tree(
    rng: np.random.Generator,
    height: float,
    spread: float,
    colour: RGB,
    leaves: int,
    boughs: int = 5,
) -> Mesh:
    """Return a broad-leaved tree of about `leaves` + 240 triangles.

    Args:
        rng: Source of its shape.
        height: m.
        spread: Radius of the crown, m.
        colour: Of the leaves, sRGB.
        leaves: Number of leaf sprays.
        boughs: Number of side crowns.
    """
    b = Builder()
    base = 0.30 * height
    girth = 0.020 * height + 0.05
    lean = rng.normal(size=2) * 0.02 * height
    fork = (lean[0], lean[1], base + 0.12 * height)
    b.tube((0, 0, -0.1), fork, (girth * 1.25, girth * 0.8), BARK, Material.WOOD, 7, False)
    middle = np.array([lean[0], lean[1], (base + height) / 2])
    half = (height - base) / 2
    blobs = [np.concatenate([middle, (0.72 * spread, 0.72 * spread, 0.92 * half)])]
    turn = rng.uniform(0, 2 * np.pi)
    for k in range(boughs):
        angle = turn + k * 2 * np.pi / boughs + rng.normal() * 0.2
        reach = spread * rng.uniform(0.45, 0.58)
        z = middle[2] + half * rng.uniform(-0.45, 0.35)
        centre = (lean[0] + reach * np.cos(angle), lean[1] + reach * np.sin(angle), z)
        r = spread * rng.uniform(0.40, 0.52)
        blobs.append(np.array([*centre, r, r, 0.9 * r]))
        if boughs > 3:
            b.tube(fork, centre, (girth * 0.55, girth * 0.2), BARK, Material.WOOD, 4, False)
    dark = shade(colour, 0.62)
    for k, blob in enumerate(blobs):
        b.add(_core(blob, 0 if k else 1, dark))
    size = 0.5 * spread / np.sqrt(leaves / 60)
    b.add(_leaves(rng, np.array(blobs), leaves, size, colour))
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


def bush(rng: np.random.Generator, size: float, colour: RGB, leaves: int = 38) -> Mesh:
    """Return a round shrub of about 20 + `leaves` triangles, `size` m high."""
    blob = np.array([0, 0, 0.42 * size, 0.62 * size, 0.62 * size, 0.56 * size])
    core = _core(blob, 0, shade(colour, 0.7))
    return Mesh.merge([core, _leaves(rng, blob[None], leaves, 0.16 * size, colour)])
