"""Signed-distance fields and the surface nets that turn them into smooth meshes.

Method: naive surface nets (Gibson 1998), vertices then moved onto the surface by Newton steps;
normals are the field's own gradient, so coarse grids still shade smoothly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..mesh import Material, Mesh
from .primitives import F64, I64, Point


@dataclass(frozen=True, slots=True)
class Field:
    """A scalar field, negative inside.

    Attributes:
        value: Maps points `n x 3` to `n` distances, m (approximate away from the surface).
        low: Lowest corner of a box that holds the inside.
        high: Highest corner.
        creases: Pairs of fields whose zero surfaces meet in a sharp edge.
    """

    value: Callable[[F64], F64]
    low: F64
    high: F64
    creases: tuple[tuple[Field, Field], ...] = ()

    def moved(self, rotation: F64, shift: Point) -> Field:
        """Return the field turned by the `3 x 3` matrix, then shifted."""
        t = np.asarray(shift, dtype=np.float64)
        box = np.stack([self.low, self.high])
        choice = np.stack(np.meshgrid([0, 1], [0, 1], [0, 1], indexing="ij"), -1).reshape(8, 3)
        corners = box[choice, np.arange(3)]
        turned = corners @ rotation.T + t
        inner = self.value
        return Field(
            lambda p: inner((p - t) @ rotation),
            turned.min(axis=0),
            turned.max(axis=0),
            tuple((a.moved(rotation, shift), b.moved(rotation, shift)) for a, b in self.creases),
        )


def _length(vectors: F64) -> F64:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)))


def ellipsoid(centre: Point, radii: Point) -> Field:
    """Return an axis-aligned ellipsoid."""
    c, r = np.asarray(centre, dtype=np.float64), np.asarray(radii, dtype=np.float64)

    def value(p: F64) -> F64:
        q = p - c
        q = q / r
        near = _length(q)
        steep = _length(q / r)
        return np.asarray(near * (near - 1.0) / np.maximum(steep, 1e-9))

    return Field(value, c - r, c + r)


def limb(
    start: Point,
    end: Point,
    radius_start: float,
    radius_end: float,
    flatten: Point = (1.0, 1.0, 1.0),
) -> Field:
    """Return a round cone between two points; `flatten` scales its section along each axis."""
    a, b = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
    s = np.asarray(flatten, dtype=np.float64)
    axis = (b - a) / s
    length = max(float(axis @ axis), 1e-9)

    def value(p: F64) -> F64:
        q = (p - a) / s
        t = np.minimum(np.maximum(q @ (axis / length), 0.0), 1.0)
        away = _length(q - t[:, None] * axis)
        return np.asarray((away - (radius_start + t * (radius_end - radius_start))) * s.min())

    low = np.minimum(a - radius_start * s, b - radius_end * s)
    return Field(value, low, np.maximum(a + radius_start * s, b + radius_end * s))


def blend(fields: Sequence[Field], smooth: float) -> Field:
    """Return the union; seams are rounded over about `smooth` metres."""

    def value(p: F64) -> F64:
        out = fields[0].value(p)
        for field in fields[1:]:
            other = field.value(p)
            h = np.maximum(smooth - np.abs(other - out), 0.0) / smooth
            out = np.minimum(other, out) - h * h * (smooth / 4)
        return out

    low = np.min([f.low for f in fields], axis=0) - smooth / 4
    high = np.max([f.high for f in fields], axis=0) + smooth / 4
    return Field(value, low, high, tuple(pair for f in fields for pair in f.creases))


def half_space(field: Field, normal: Point, offset: float) -> Field:
    """Keep the part of `field` where `normal . p < offset`."""
    n = np.asarray(normal, dtype=np.float64)
    n = n / np.linalg.norm(n)
    low, high = field.low.copy(), field.high.copy()
    for axis in range(3):  # a cut across an axis narrows the box
        if abs(n[axis]) > 0.999:
            if n[axis] > 0:
                high[axis] = min(high[axis], offset)
            else:
                low[axis] = max(low[axis], -offset)
    plane = Field(lambda p: p @ n - offset, low, high)
    creases = (*field.creases, (field, plane))
    return Field(lambda p: np.maximum(field.value(p), p @ n - offset), low, high, creases)


def gradient(field: Field, points: F64, step: float = 1e-3) -> F64:
    """Return the field's gradient at the points, `n x 3`."""
    out = np.empty_like(points)
    for axis in range(3):
        shift = np.zeros(3)
        shift[axis] = step
        out[:, axis] = (field.value(points + shift) - field.value(points - shift)) / (2 * step)
    return out


def surface(
    field: Field,
    step: float | Point,
    colour: npt.ArrayLike,
    material: Material = Material.CLOTH,
) -> Mesh:
    """Return the zero surface of a field as a mesh with smooth normals.

    Args:
        field: The field.
        step: Grid step, m; one number or one for each axis (limbs bear a longer one along them).
        colour: sRGB.
        material: Material.
    """
    h = np.broadcast_to(np.asarray(step, dtype=np.float64), (3,))
    origin = field.low - 1.5 * h
    shape = np.ceil((field.high - field.low) / h).astype(int) + 4
    axes = [origin[i] + h[i] * np.arange(shape[i]) for i in range(3)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    f = field.value(points.reshape(-1, 3)).reshape(shape)
    vertices, faces = _surface_nets(f)
    v = origin + vertices * h
    for _ in range(2):
        v = v + np.clip(_newton(field, v), -0.5 * h, 0.5 * h)
    v, edges = _snap(field, v, float(h.max()))
    corners = v[faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(across, axis=1)
    faces, across = faces[area > 1e-9], across[area > 1e-9]
    own = across / np.linalg.norm(across, axis=1, keepdims=True)
    normals = _unit(gradient(field, v))[faces]
    for index, first, second in edges:
        # Either side of a sharp edge has its own normal: each corner takes that of its face.
        on_edge = np.zeros(len(v), dtype=bool)
        on_edge[index] = True
        face, corner = np.nonzero(on_edge[faces])
        points = v[faces[face, corner]]
        a, b = _unit(gradient(first, points)), _unit(gradient(second, points))
        agree_a = np.einsum("ij,ij->i", a, own[face])
        agree_b = np.einsum("ij,ij->i", b, own[face])
        normals[face, corner] = np.where((agree_a > agree_b)[:, None], a, b)
    agree = np.einsum("fci,fi->fc", normals, own)
    normals = np.where((agree < 0.3)[..., None], own[:, None, :], normals)
    built = Mesh.build(v, faces, colour, material, 0.0)
    return Mesh(
        built.vertices, built.faces, built.colours, built.materials, normals.astype(np.float32)
    )


def _unit(vectors: F64) -> F64:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9))


def _newton(field: Field, points: F64) -> F64:
    """Return the step of each point towards the field's zero surface."""
    here = field.value(points)
    g = np.empty_like(points)
    for axis in range(3):  # one-sided differences do for a step that is repeated
        ahead = points.copy()
        ahead[:, axis] += 1e-4
        g[:, axis] = (field.value(ahead) - here) * 1e4
    squared = np.maximum(np.einsum("ij,ij->i", g, g), 0.05)
    return np.asarray(-here[:, None] * g / squared[:, None])


def _snap(field: Field, points: F64, step: float) -> tuple[F64, list[tuple[I64, Field, Field]]]:
    """Move points near a sharp edge onto it; return them and who was moved for which pair."""
    out, moved = points.copy(), []
    for first, second in field.creases:
        near = np.abs(first.value(points)) < 0.75 * step
        near &= np.abs(second.value(points)) < 0.75 * step
        index = np.flatnonzero(near)
        if not len(index):
            continue
        target = points[index]
        for _ in range(4):
            target = target + _newton(first, target)
            target = target + _newton(second, target)
        kept = np.abs(field.value(target)) < 0.1 * step  # else the edge is buried by a blend
        kept &= np.linalg.norm(target - points[index], axis=1) < 1.2 * step
        out[index[kept]] = target[kept]
        moved.append((index[kept], first, second))
    return out, moved


def _surface_nets(f: F64) -> tuple[F64, I64]:
    """Return vertices in grid units and triangles of the zero surface of a sampled field."""
    inside = f < 0
    cells = tuple(n - 1 for n in f.shape)
    total = np.zeros((*cells, 3))
    count = np.zeros(cells)
    for axis in range(3):
        others = [i for i in range(3) if i != axis]
        for d0 in (0, 1):
            for d1 in (0, 1):
                shift = [0, 0, 0]
                shift[others[0]], shift[others[1]] = d0, d1
                a = tuple(slice(s, s + n) for s, n in zip(shift, cells, strict=True))
                shift[axis] = 1
                b = tuple(slice(s, s + n) for s, n in zip(shift, cells, strict=True))
                crossing = inside[a] != inside[b]
                fa, fb = f[a], f[b]
                t = np.where(crossing, fa / np.where(crossing, fa - fb, 1.0), 0.0)
                total[..., axis] += t
                total[..., others[0]] += np.where(crossing, d0, 0)
                total[..., others[1]] += np.where(crossing, d1, 0)
                count += crossing
    active = count > 0
    index = np.full(cells, -1, dtype=np.int64)
    index[active] = np.arange(int(active.sum()))
    vertices = np.argwhere(active) + total[active] / count[active][:, None]
    quads = []
    for axis in range(3):
        one, two = (axis + 1) % 3, (axis + 2) % 3
        first = [slice(1, n) for n in cells]
        first[axis] = slice(0, cells[axis])
        second = list(first)
        second[axis] = slice(1, cells[axis] + 1)
        start, end = inside[tuple(first)], inside[tuple(second)]
        where = np.argwhere(start != end)
        if not len(where):
            continue
        outward = start[tuple(where.T)]
        corners = []
        for step_one, step_two in ((0, 0), (1, 0), (1, 1), (0, 1)):
            cell = where.copy()
            cell[:, one] += step_one
            cell[:, two] += step_two
            corners.append(index[tuple(cell.T)])
        quad = np.stack(corners, 1)
        quads.append(np.where(outward[:, None], quad, quad[:, ::-1]))
    q = np.concatenate(quads)
    return vertices, np.concatenate([q[:, [0, 1, 2]], q[:, [0, 2, 3]]])
