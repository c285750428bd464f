"""A builder with the parts that kitchens are made of; what faces the room faces -x."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...rendering.mesh import Material, Mesh
from ...rendering.shapes.builder import RGB, Builder

Range = tuple[float, float]
Cell = tuple[float, float, float, float]

FINE = 0.25
"""Largest edge of a face where the darkness of corners shows, m."""


def cells(a: Range, b: Range, step: float, hole: Cell | None = None) -> list[Cell]:
    """Cut a rectangle into cells `(a0, a1, b0, b1)` of at most `step` m, none of them in `hole`.

    Large surfaces are cut so that the darkness of corners can be baked into them.
    """
    lines = []
    for axis, (low, high) in enumerate((a, b)):
        cuts = {low, high}
        if hole is not None:
            cuts |= {edge for edge in hole[2 * axis : 2 * axis + 2] if low < edge < high}
        ordered = sorted(cuts)
        fine = [low]
        for start, end in itertools.pairwise(ordered):
            count = max(1, math.ceil((end - start) / step - 1e-9))
            fine += [start + (end - start) * k / count for k in range(1, count + 1)]
        lines.append(fine)
    return [
        (a0, a1, b0, b1)
        for a0, a1 in itertools.pairwise(lines[0])
        for b0, b1 in itertools.pairwise(lines[1])
        if hole is None
        or not (hole[0] < 0.5 * (a0 + a1) < hole[1] and hole[2] < 0.5 * (b0 + b1) < hole[3])
    ]


def rounded_rectangle(
    half_x: float, half_y: float, radius: float, steps: int = 4
) -> npt.NDArray[np.float64]:
    """Return the outline of a rectangle with round corners, `n x 2`, counter-clockwise."""
    quarter = np.linspace(0.0, np.pi / 2, steps + 1)
    parts = []
    for turn, (sx, sy) in enumerate(((1, 1), (-1, 1), (-1, -1), (1, -1))):
        angle = turn * np.pi / 2 + quarter
        middle = np.array([sx * (half_x - radius), sy * (half_y - radius)])
        parts.append(middle + radius * np.stack([np.cos(angle), np.sin(angle)], 1))
    return np.concatenate(parts)


class Parts(Builder):
    """A `Builder` that knows boards, panels and open skins."""

    def front(self, x: float, y: Range, z: Range, colour: RGB, material: Material) -> None:
        """Add an upright rectangle at `x` that faces the room."""
        self.sheet((x, 0, 0), (0, 0, 1), (0, 1, 0), cells(z, y, FINE), colour, material)

    def plain(self, x: float, y: Range, z: Range, colour: RGB, material: Material) -> None:
        """Add an upright rectangle at `x` that faces the room, uncut."""
        self.sheet((x, 0, 0), (0, 0, 1), (0, 1, 0), [(*z, *y)], colour, material)

    def rim(
        self, outer: tuple[float, Range, Range], inner: tuple[float, Range, Range], colour: RGB,
        material: Material,
    ) -> None:  # fmt: skip
        """Add the four faces between two upright rectangles `(x, y, z)`, seen from the room."""
        rings = [
            [(x, y1, z0), (x, y0, z0), (x, y0, z1), (x, y1, z1)]
            for x, (y0, y1), (z0, z1) in (outer, inner)
        ]
        a, b = rings
        self.quads(
            [[a[i], a[(i + 1) % 4], b[(i + 1) % 4], b[i]] for i in range(4)], colour, material
        )

    def sheet(
        self, origin: Sequence[float], u: Sequence[float], v: Sequence[float],
        pieces: Sequence[Cell], colour: npt.ArrayLike, material: Material,
    ) -> None:  # fmt: skip
        """Add cells of a plane, in one colour or one each; `u x v` points to where it faces.

        A cell `(a0, a1, b0, b1)` lies at `origin + a u + b v`.
        """
        p = np.asarray(pieces, dtype=np.float64)
        o, du, dv = (np.asarray(q, dtype=np.float64) for q in (origin, u, v))
        corners = np.stack(
            [
                o + p[:, i, None] * du + p[:, j, None] * dv
                for i, j in ((0, 2), (1, 2), (1, 3), (0, 3))
            ],
            axis=1,
        )
        self.quads(corners, colour, material)

    def skin(
        self, rings: npt.ArrayLike, colour: RGB, material: Material, crease: float = 40.0,
        *, closed: bool = True,
    ) -> None:  # fmt: skip
        """Add the open skin over `rings x points x 3`, faces to the left of the rings' order.

        Args:
            rings: Points; those of a ring run counter-clockwise seen from where the skin faces
                when the rings shrink.
            colour: sRGB.
            material: Material.
            crease: Edges below this angle are smooth, degrees.
            closed: Whether the last point of a ring is joined to its first.
        """
        r = np.asarray(rings, dtype=np.float64)
        rows, columns = r.shape[:2]
        i, j = np.meshgrid(np.arange(rows - 1), np.arange(columns - (not closed)), indexing="ij")
        here, there = (i * columns + j).ravel(), (i * columns + (j + 1) % columns).ravel()
        faces = np.concatenate(
            [
                np.stack([here, there, there + columns], 1),
                np.stack([here, there + columns, here + columns], 1),
            ]
        )
        self.add(Mesh.build(r.reshape(-1, 3), faces, colour, material, crease))
