"""Solid primitives: every closed one has its faces turned outward.

All lengths are metres, all angles radians; colours are sRGB triples in [0, 1].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from ..mesh import F32, Material, Mesh

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Point = Sequence[float] | F64
Colour = tuple[float, float, float]

_GREY: Colour = (0.5, 0.5, 0.5)


def _grid_faces(rows: int, columns: int, *, wrap_rows: bool, wrap_columns: bool) -> I64:
    """Return the triangles of a `rows x columns` vertex grid, optionally closed on itself."""
    i = np.arange(rows if wrap_rows else rows - 1)
    j = np.arange(columns if wrap_columns else columns - 1)
    grid = np.meshgrid(i, j, indexing="ij")
    a, b = grid[0].ravel(), grid[1].ravel()
    a2, b2 = (a + 1) % rows, (b + 1) % columns
    p00, p01 = a * columns + b, a * columns + b2
    p10, p11 = a2 * columns + b, a2 * columns + b2
    faces = np.concatenate([np.stack([p00, p10, p11], 1), np.stack([p00, p11, p01], 1)])
    return faces.astype(np.int64)


def signed_volume(vertices: npt.ArrayLike, faces: npt.ArrayLike) -> float:
    """Return the volume enclosed by a closed mesh, m³; negative when it is turned inside out."""
    v = np.asarray(vertices, dtype=np.float64)
    corners = v[np.asarray(faces, dtype=np.int64)]
    return float(
        np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6.0
    )


def _closed(
    vertices: F64, faces: I64, colour: npt.ArrayLike, material: Material, crease: float
) -> Mesh:
    """Build a closed mesh without zero-area faces, turned outward."""
    corners = vertices[faces]
    area = np.linalg.norm(
        np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
    )
    faces = faces[area > 1e-10]
    if signed_volume(vertices, faces) < 0:
        faces = faces[:, ::-1]
    return Mesh.build(vertices, faces, colour, material, crease)


def _basis(direction: F64) -> tuple[F64, F64]:
    """Return two unit vectors that span the plane across `direction`."""
    helper = np.array([0.0, 0.0, 1.0]) if abs(direction[2]) < 0.9 else np.array([1.0, 0.0, 0.0])
    first = np.cross(helper, direction)
    first /= np.linalg.norm(first)
    return first, np.cross(direction, first)


def box(
    size: Point,
    centre: Point = (0.0, 0.0, 0.0),
    colour: npt.ArrayLike = _GREY,
    material: Material = Material.MATTE,
) -> Mesh:
    """Return an axis-aligned box of the given edge lengths (x, y, z)."""
    corners = np.array(
        [[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)], dtype=np.float64
    )
    quads = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    faces = np.array([[q[0], q[i], q[i + 1]] for q in quads for i in (1, 2)])
    vertices = corners * np.asarray(size, dtype=np.float64) + np.asarray(centre, dtype=np.float64)
    return Mesh.build(vertices, faces, colour, material, 0.0)


def rounded_box(
    size: Point,
    radius: float,
    centre: Point = (0.0, 0.0, 0.0),
    colour: npt.ArrayLike = _GREY,
    material: Material = Material.MATTE,
    segments: int = 2,
) -> Mesh:
    """Return a box whose edges are rounded by `radius`, `segments` steps to each quarter turn."""
    half = np.asarray(size, dtype=np.float64) / 2
    inner = np.maximum(half - radius, 0.0)
    # A sphere's latitude-longitude grid whose octants are pulled apart.
    quarter = np.linspace(0.0, np.pi / 2, segments + 1)
    around = np.concatenate([q * np.pi / 2 + quarter for q in range(4)])
    around_signs = np.repeat([[1, 1], [-1, 1], [-1, -1], [1, -1]], segments + 1, axis=0)
    up = np.concatenate([quarter - np.pi / 2, quarter])
    up_signs = np.repeat([-1, 1], segments + 1)
    sphere = np.stack(
        [
            np.outer(np.cos(up), np.cos(around)),
            np.outer(np.cos(up), np.sin(around)),
            np.outer(np.sin(up), np.ones(len(around))),
        ],
        axis=-1,
    )
    offset = np.empty_like(sphere)
    offset[..., :2] = around_signs[None]
    offset[..., 2] = up_signs[:, None]
    ring = (sphere * radius + offset * inner).reshape(-1, 3)
    columns = len(around)
    faces = _grid_faces(len(up), columns, wrap_rows=False, wrap_columns=True)
    low = _fan(np.arange(columns), len(ring))[:, ::-1]
    high = _fan(np.arange(columns) + (len(up) - 1) * columns, len(ring) + 1)
    tips = np.array([[0, 0, -half[2]], [0, 0, half[2]]])
    vertices = np.concatenate([ring, tips]) + np.asarray(centre, dtype=np.float64)
    return _closed(vertices, np.concatenate([faces, low, high]), colour, material, 50.0)


def _fan(ring: I64, tip: int) -> I64:
    """Return the triangles from each edge of a ring of indices to a tip."""
    return np.stack([ring, np.full(len(ring), tip), np.roll(ring, -1)], 1)


def loft(
    rings: npt.ArrayLike,
    colour: npt.ArrayLike = _GREY,
    material: Material = Material.MATTE,
    crease: float = 40.0,
    *,
    closed: bool = False,
) -> Mesh:
    """Return the skin over rings of points, `rings x points x 3`.

    Ends are capped by fans to the ring's middle (rings should be roughly convex), unless the last
    ring is joined to the first (`closed`).
    """
    r = np.asarray(rings, dtype=np.float64)
    rows, columns = r.shape[:2]
    vertices = r.reshape(-1, 3)
    faces = _grid_faces(rows, columns, wrap_rows=closed, wrap_columns=True)
    if not closed:
        middle = np.stack([r[0].mean(axis=0), r[-1].mean(axis=0)])
        start, end = np.arange(columns), np.arange(columns) + (rows - 1) * columns
        caps = [_fan(start, len(vertices))[:, ::-1], _fan(end, len(vertices) + 1)]
        faces = np.concatenate([faces, *caps])
        vertices = np.concatenate([vertices, middle])
    return _closed(vertices, faces, colour, material, crease)


def lathe(
    profile: npt.ArrayLike,
    segments: int = 20,
    colour: npt.ArrayLike = _GREY,
    material: Material = Material.MATTE,
    crease: float = 40.0,
) -> Mesh:
    """Return a solid of revolution about z; `profile` is `n x 2` (radius, height)."""
    p = np.asarray(profile, dtype=np.float64)
    angle = np.arange(segments) * (2 * np.pi / segments)
    rings = np.stack(
        [
            np.outer(p[:, 0], np.cos(angle)),
            np.outer(p[:, 0], np.sin(angle)),
            np.outer(p[:, 1], np.ones(segments)),
        ],
        axis=-1,
    )
    return loft(rings, colour, material, crease)


def frustum(
    start: Point,
    end: Point,
    radius_start: float,
    radius_end: float,
    colour: npt.ArrayLike = _GREY,
    material: Material = Material.MATTE,
    segments: int = 12,
) -> Mesh:
    """Return a cone stump between two points."""
    a, b = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
    direction = (b - a) / max(float(np.linalg.norm(b - a)), 1e-9)
    u, v = _basis(direction)
    angle = np.arange(segments) * (2 * np.pi / segments)
    circle = np.outer(np.cos(angle), u) + np.outer(np.sin(angle), v)
    return loft(
        np.stack([a + circle * radius_start, b + circle * radius_end]), colour, material, 50.0
    )


def cylinder(
    start: Point,
    end: Point,
    radius: float,
    colour: npt.ArrayLike = _GREY,
    material: Material = Material.MATTE,
    segments: int = 12,
) -> Mesh:
    """Return a cylinder between two points."""
    return frustum(start, end, radius, radius, colour, material, segments)


def ellipsoid(
    radii: Sequence[float] | float,
    centre: Sequence[float] = (0.0, 0.0, 0.0),
    colour: npt.ArrayLike = _GREY,
    material: Material = Material.MATTE,
    segments: int = 12,
) -> Mesh:
    """Return an ellipsoid (a sphere when `radii` is one number)."""
    latitude = np.linspace(-np.pi / 2, np.pi / 2, max(segments // 2, 3) + 1)
    ball = lathe(
        np.stack([np.cos(latitude), np.sin(latitude)], 1), segments, colour, material, 60.0
    )
    return ball.transformed(centre, scale=radii)


def capsule(
    start: Point,
    end: Point,
    radius_start: float,
    radius_end: float | None = None,
    colour: npt.ArrayLike = _GREY,
    material: Material = Material.MATTE,
    segments: int = 10,
) -> Mesh:
    """Return a cone stump with round ends; the radii are those of the two end balls."""
    a, b = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
    last = radius_start if radius_end is None else radius_end
    direction = (b - a) / max(float(np.linalg.norm(b - a)), 1e-9)
    u, v = _basis(direction)
    angle = np.arange(segments) * (2 * np.pi / segments)
    circle = np.outer(np.cos(angle), u) + np.outer(np.sin(angle), v)
    rings = []
    for point, radius, arc in (
        (a, radius_start, np.linspace(-np.pi / 2, 0, 4)),
        (b, last, np.linspace(0, np.pi / 2, 4)),
    ):
        rings += [point + direction * radius * np.sin(t) + circle * radius * np.cos(t) for t in arc]
    return loft(np.stack(rings), colour, material, 60.0)


def torus(
    major: float,
    minor: float,
    colour: npt.ArrayLike = _GREY,
    material: Material = Material.MATTE,
    *,
    arc: float = 2 * np.pi,
    segments: int = 28,
    sides: int = 6,
) -> Mesh:
    """Return a torus (or a part of one) about the y axis: a wheel that rolls along x."""
    whole = arc >= 2 * np.pi - 1e-6
    angle = np.linspace(0.0, arc, segments + (0 if whole else 1), endpoint=not whole)
    path = np.stack([np.cos(angle) * major, np.zeros(len(angle)), np.sin(angle) * major], 1)
    return sweep(path, minor, colour, material, sides=sides, closed=whole)


def sweep(
    path: npt.ArrayLike,
    radius: float | Sequence[float],
    colour: npt.ArrayLike = _GREY,
    material: Material = Material.MATTE,
    *,
    sides: int = 6,
    closed: bool = False,
) -> Mesh:
    """Return a tube along a path of points, `n x 3`; the radius may change from point to point."""
    p = np.asarray(path, dtype=np.float64)
    radii = np.broadcast_to(np.asarray(radius, dtype=np.float64), (len(p),))
    # Central differences; round the corner where the path is closed.
    ends = (p[-1:], p[:1]) if closed else (2 * p[:1] - p[1:2], 2 * p[-1:] - p[-2:-1])
    around = np.concatenate([ends[0], p, ends[1]])
    tangent = around[2:] - around[:-2]
    tangent /= np.maximum(np.linalg.norm(tangent, axis=1, keepdims=True), 1e-12)
    angle = (np.arange(sides) + 0.5) * (2 * np.pi / sides)
    u, _ = _basis(tangent[0])
    rings = []
    for point, along, r in zip(p, tangent, radii, strict=True):
        u = u - along * (u @ along)  # carried along the path, so that the tube does not twist
        u = u / np.linalg.norm(u)
        v = np.cross(along, u)
        rings.append(point + r * (np.outer(np.cos(angle), u) + np.outer(np.sin(angle), v)))
    return loft(np.stack(rings), colour, material, 70.0, closed=closed)


def triangulate(polygon: npt.ArrayLike) -> I64:
    """Return the triangles of a simple polygon, `n x 2`, counter-clockwise, by ear clipping."""
    p = np.asarray(polygon, dtype=np.float64)
    left = list(range(len(p)))
    out: list[tuple[int, int, int]] = []

    def cross(a: int, b: int, c: int) -> float:
        (ax, ay), (bx, by), (cx, cy) = p[a], p[b], p[c]
        return float((bx - ax) * (cy - ay) - (by - ay) * (cx - ax))

    while len(left) > 3:
        for i in range(len(left)):
            a, b, c = left[i - 1], left[i], left[(i + 1) % len(left)]
            if cross(a, b, c) <= 1e-12:
                continue
            rest = (q for q in left if q not in (a, b, c))
            if not any(
                cross(a, b, q) >= 0 and cross(b, c, q) >= 0 and cross(c, a, q) >= 0 for q in rest
            ):
                out.append((a, b, c))
                left.pop(i)
                break
        else:  # only collinear points are left
            left.pop(0)
    out.append((left[0], left[1], left[2]))
    return np.array(out, dtype=np.int64)


def extrude(
    polygon: npt.ArrayLike,
    depth: float,
    colour: npt.ArrayLike = _GREY,
    material: Material = Material.MATTE,
    crease: float = 30.0,
    *,
    inset: float = 0.0,
) -> Mesh:
    """Return a polygon in the x-z plane (`n x 2`), extruded symmetrically along y.

    Args:
        polygon: Outline, `n x 2`, either turn.
        depth: Length along y, m.
        colour: sRGB.
        material: Material.
        crease: Edges below this angle are smooth, degrees.
        inset: Bevel: the two end faces are shrunk by this much, m.
    """
    p = np.asarray(polygon, dtype=np.float64)
    nxt = np.roll(p, -1, axis=0)
    if float(np.sum(p[:, 0] * nxt[:, 1] - nxt[:, 0] * p[:, 1])) < 0:
        p = p[::-1]
    n = len(p)
    layers = [(p, -depth / 2), (p, depth / 2)]
    if inset > 0:
        edge = np.roll(p, -1, axis=0) - p
        normal = np.stack([-edge[:, 1], edge[:, 0]], 1)
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
        inward = normal + np.roll(normal, 1, axis=0)
        inward /= np.maximum(np.linalg.norm(inward, axis=1, keepdims=True), 1e-12)
        small = p + inward * inset
        layers = [
            (small, -depth / 2),
            (p, -depth / 2 + inset),
            (p, depth / 2 - inset),
            (small, depth / 2),
        ]
    vertices = np.concatenate([np.stack([q[:, 0], np.full(n, y), q[:, 1]], 1) for q, y in layers])
    sides = _grid_faces(len(layers), n, wrap_rows=False, wrap_columns=True)
    cap = triangulate(p)
    last = (len(layers) - 1) * n
    # Seen from -y, x-z is right-handed: the cap at -y keeps its turn, which the sides match.
    faces = np.concatenate([sides, cap, cap[:, ::-1] + last])
    return _closed(vertices, faces, colour, material, crease)


def disc(
    radius: float,
    thickness: float,
    centre: Point,
    colour: npt.ArrayLike = _GREY,
    material: Material = Material.MATTE,
    segments: int = 24,
    axis: Point = (1.0, 0.0, 0.0),
) -> Mesh:
    """Return a flat disc about `axis` (default: it faces +x)."""
    c, n = np.asarray(centre, dtype=np.float64), np.asarray(axis, dtype=np.float64)
    n = n / np.linalg.norm(n) * thickness / 2
    return cylinder(tuple(c - n), tuple(c + n), radius, colour, material, segments)


def cut(
    mesh: Mesh,
    normal: Point,
    offset: float,
    within: Callable[[F32], npt.NDArray[np.bool_]] | None = None,
) -> Mesh:
    """Split the faces along the plane `normal . p = offset`; nothing is removed.

    Gives clean borders to later painting by face. With `within`, only faces whose middle
    (`f x 3`, m) passes it are split, which saves triangles.
    """
    n = np.asarray(normal, dtype=np.float32)
    side = mesh.vertices @ n - np.float32(offset)
    side = np.where(np.abs(side) < 1e-5, np.float32(0), side)
    sign = np.sign(side)[mesh.faces]
    crossed = (sign.min(axis=1) < 0) & (sign.max(axis=1) > 0)
    if within is not None:
        crossed &= np.asarray(within(mesh.vertices[mesh.faces].mean(axis=1)), dtype=bool)
    if not crossed.any():
        return mesh
    vertices = [mesh.vertices]
    count = len(mesh.vertices)
    faces, normals, source = [], [], []
    for index in np.flatnonzero(crossed):
        ids = mesh.faces[index]
        points, d, corner = mesh.vertices[ids], side[ids], mesh.normals[index]
        poly: list[tuple[int, F32, float]] = []
        for k in range(3):
            m = (k + 1) % 3
            poly.append((int(ids[k]), corner[k], float(d[k])))
            if d[k] * d[m] < 0:
                t = d[k] / (d[k] - d[m])
                vertices.append((points[k] + t * (points[m] - points[k]))[None])
                mixed = corner[k] * (1 - t) + corner[m] * t
                mixed /= max(float(np.linalg.norm(mixed)), 1e-9)
                poly.append((count, mixed, 0.0))
                count += 1
        for keep in (1.0, -1.0):
            part = [q for q in poly if q[2] * keep >= 0]
            for k in range(1, len(part) - 1):
                trio = (part[0], part[k], part[k + 1])
                faces.append([q[0] for q in trio])
                normals.append([q[1] for q in trio])
                source.append(index)
    keep_mask = ~crossed
    return Mesh(
        np.concatenate(vertices).astype(np.float32),
        np.concatenate([mesh.faces[keep_mask], np.array(faces, dtype=np.int32)]),
        np.concatenate([mesh.colours[keep_mask], mesh.colours[source]]),
        np.concatenate([mesh.materials[keep_mask], mesh.materials[source]]),
        np.concatenate([mesh.normals[keep_mask], np.array(normals, dtype=np.float32)]),
    )


def paint_where(
    mesh: Mesh,
    test: Callable[[F32], npt.NDArray[np.bool_]],
    colour: npt.ArrayLike,
    material: Material | None = None,
) -> Mesh:
    """Paint the faces whose middle (`f x 3`, m) passes the test."""
    middle = mesh.vertices[mesh.faces].mean(axis=1)
    chosen = np.asarray(test(middle), dtype=bool)
    colours, materials = mesh.colours.copy(), mesh.materials.copy()
    colours[chosen] = np.asarray(colour, dtype=np.float32)
    if material is not None:
        materials[chosen] = int(material)
    return Mesh(mesh.vertices, mesh.faces, colours, materials, mesh.normals)


def bands(
    mesh: Mesh,
    axis: int,
    limits: Sequence[tuple[float, float]],
    colour: npt.ArrayLike,
    material: Material | None = None,
) -> Mesh:
    """Paint exact stripes across `axis` (0, 1, 2) between pairs of coordinates, m."""
    normal = tuple(1.0 if i == axis else 0.0 for i in range(3))
    for low, high in limits:

        def between(m: F32, low: float = low, high: float = high) -> npt.NDArray[np.bool_]:
            return np.asarray((m[:, axis] > low) & (m[:, axis] < high))

        mesh = paint_where(cut(cut(mesh, normal, low), normal, high), between, colour, material)
    return mesh
