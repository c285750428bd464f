"""A builder that gathers flat-shaded pieces of a street or a room into one mesh."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..mesh import F32, Material, Mesh

Point = Sequence[float]
RGB = tuple[float, float, float]

# Corner indices of the six faces of a box whose corners are (x, y, z) in binary order.
_BOX_FACES = {
    "-x": (0, 1, 3, 2),
    "+x": (4, 6, 7, 5),
    "-y": (0, 4, 5, 1),
    "+y": (2, 3, 7, 6),
    "-z": (0, 2, 6, 4),
    "+z": (1, 5, 7, 3),
}

_HALVES = np.array([0, 1, 2, 0, 2, 3])


class Builder:
    """Collects triangles; `mesh()` joins them. Faces are counter-clockwise seen from outside."""

    def __init__(self) -> None:
        self._triangles: list[F32] = []
        self._colours: list[F32] = []
        self._materials: list[npt.NDArray[np.uint8]] = []
        self._meshes: list[Mesh] = []

    def triangles(self, corners: npt.ArrayLike, colour: npt.ArrayLike, material: Material) -> None:
        """Add `n x 3 x 3` corners in one colour or `n x 3` colours."""
        tri = np.asarray(corners, dtype=np.float32).reshape(-1, 3, 3)
        self._triangles.append(tri)
        colours = np.empty((len(tri), 3), dtype=np.float32)
        colours[:] = colour
        self._colours.append(colours)
        self._materials.append(np.full(len(tri), int(material), dtype=np.uint8))

    def quads(self, corners: npt.ArrayLike, colour: npt.ArrayLike, material: Material) -> None:
        """Add `n x 4 x 3` corners in one colour or `n x 3` colours."""
        quad = np.asarray(corners, dtype=np.float32).reshape(-1, 4, 3)
        colours = np.empty((len(quad), 2, 3), dtype=np.float32)
        colours[:] = np.asarray(colour, dtype=np.float32).reshape(-1, 1, 3)
        self.triangles(quad[:, _HALVES], colours.reshape(-1, 3), material)

    def rectangle(self, x: Point, y: Point, z: float, colour: RGB, material: Material) -> None:
        """Add a level rectangle over the ranges `x` and `y`, seen from above."""
        (x0, x1), (y0, y1) = x, y
        self.quads([[(x0, y0, z), (x1, y0, z), (x1, y1, z), (x0, y1, z)]], colour, material)

    def polygon(self, points: npt.ArrayLike, z: float, colour: RGB, material: Material) -> None:
        """Add a level convex polygon, `n x 2` points counter-clockwise."""
        flat = np.asarray(points, dtype=np.float32)
        p = np.column_stack([flat, np.full(len(flat), z, dtype=np.float32)])
        n = len(p)
        fan = np.array([(0, i, i + 1) for i in range(1, n - 1)])
        self.triangles(p[fan], colour, material)

    def box(self, lo: Point, hi: Point, colour: RGB, material: Material, skip: str = "-z") -> None:
        """Add an upright box; `skip` names faces to leave out, such as "-z +x"."""
        corner = np.array(
            [(x, y, z) for x in (lo[0], hi[0]) for y in (lo[1], hi[1]) for z in (lo[2], hi[2])],
            dtype=np.float32,
        )
        left_out = skip.split()
        faces = [face for name, face in _BOX_FACES.items() if name not in left_out]
        self.quads(corner[np.array(faces)], colour, material)

    def slab(self, top: npt.ArrayLike, thickness: float, colour: RGB, material: Material) -> None:
        """Add a plate under the quad `top` (`4 x 3`, counter-clockwise from above)."""
        t = np.asarray(top, dtype=np.float32)
        b = t - np.array([0, 0, thickness], dtype=np.float32)
        sides = [[t[i], b[i], b[(i + 1) % 4], t[(i + 1) % 4]] for i in range(4)]
        self.quads([list(t), list(b[::-1]), *sides], colour, material)

    def tube(
        self,
        start: Point,
        end: Point,
        radius: float | tuple[float, float],
        colour: RGB,
        material: Material,
        sides: int = 6,
        capped: bool = True,
    ) -> None:
        """Add a smooth cone frustum from `start` to `end`; `radius` may differ at the ends."""
        r0, r1 = (radius, radius) if isinstance(radius, float) else radius
        a, b = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
        axis = (b - a) / np.linalg.norm(b - a)
        helper = np.array([1.0, 0, 0]) if abs(axis[0]) < 0.9 else np.array([0, 1.0, 0])
        u = np.cross(axis, helper)
        u /= np.linalg.norm(u)
        v = np.cross(axis, u)
        angle = np.arange(sides) * (2 * np.pi / sides)
        ring = np.cos(angle)[:, None] * u + np.sin(angle)[:, None] * v
        points = np.concatenate([a + r0 * ring, b + r1 * ring, [b]])
        i = np.arange(sides)
        j = (i + 1) % sides
        faces = [np.column_stack([i, j, sides + j]), np.column_stack([i, sides + j, sides + i])]
        if capped:
            faces.append(np.column_stack([sides + i, sides + j, np.full(sides, 2 * sides)]))
        crease = 75.0 if sides < 8 else 50.0
        self.add(Mesh.build(points, np.concatenate(faces), colour, material, crease))

    def add(self, mesh: Mesh) -> None:
        """Add a finished mesh with its own normals."""
        self._meshes.append(mesh)

    def wall(
        self,
        origin: npt.ArrayLike,
        along: npt.ArrayLike,
        width: float,
        height: float,
        colour: RGB,
        material: Material,
        openings: Sequence[tuple[float, float, float, float]] = (),
    ) -> None:
        """Add an upright wall that leaves `openings` free.

        Args:
            origin: Lower corner, on the left seen from outside.
            along: Horizontal unit vector to the right seen from outside.
            width: m.
            height: m.
            colour: sRGB.
            material: Of the wall.
            openings: `(u0, u1, z0, z1)` from the origin, m; not overlapping.
        """
        o, u = np.asarray(origin, dtype=np.float64), np.asarray(along, dtype=np.float64)
        levels = sorted({0.0, height, *(z for op in openings for z in op[2:])})
        cells = []
        for z0, z1 in itertools.pairwise(levels):
            left = 0.0
            for u0, u1, low, high in sorted(openings):
                if low <= z0 and high >= z1:
                    cells.append((left, u0, z0, z1))
                    left = u1
            cells.append((left, width, z0, z1))
        cells = [cell for cell in cells if cell[1] - cell[0] > 1e-6]
        up = np.array([0.0, 0.0, 1.0])
        self.quads(
            [
                [o + a * u + c * up, o + b * u + c * up, o + b * u + d * up, o + a * u + d * up]
                for a, b, c, d in cells
            ],
            colour,
            material,
        )

    def mesh(self) -> Mesh:
        """Return everything added so far as one mesh."""
        if not self._triangles:
            return Mesh.merge(self._meshes)
        tri = np.concatenate(self._triangles)
        normal = np.cross(tri[:, 1] - tri[:, 0], tri[:, 2] - tri[:, 0])
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
        flat = Mesh(
            tri.reshape(-1, 3),
            np.arange(3 * len(tri), dtype=np.int32).reshape(-1, 3),
            np.concatenate(self._colours),
            np.concatenate(self._materials),
            np.repeat(normal[:, None, :], 3, axis=1).astype(np.float32),
        )
        return Mesh.merge([flat, *self._meshes])


def shade(colour: RGB, factor: float) -> RGB:
    """Return `colour` made darker (`factor` < 1) or lighter, clipped to [0, 1]."""
    r, g, b = (min(1.0, max(0.0, channel * factor)) for channel in colour)
    return r, g, b
