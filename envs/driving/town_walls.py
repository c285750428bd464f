"""Walls with windows and doors, and the colours houses are made of."""

from __future__ import annotations

import numpy as np

from ...rendering.mesh import Material
from ...rendering.shapes.builder import RGB, Builder, shade

WHITE: RGB = (0.90, 0.90, 0.87)
PANE: RGB = (0.16, 0.20, 0.24)
DOORS: tuple[RGB, ...] = (
    (0.20, 0.30, 0.24),
    (0.45, 0.13, 0.12),
    (0.17, 0.24, 0.38),
    (0.36, 0.24, 0.15),
    (0.28, 0.28, 0.30),
    (0.62, 0.55, 0.38),
)
BRICKS: tuple[RGB, ...] = (
    (0.55, 0.30, 0.22),
    (0.62, 0.37, 0.27),
    (0.48, 0.27, 0.22),
    (0.66, 0.52, 0.40),
    (0.56, 0.42, 0.34),
)
PLASTERS: tuple[RGB, ...] = (
    (0.88, 0.86, 0.80),
    (0.86, 0.79, 0.64),
    (0.80, 0.68, 0.56),
    (0.70, 0.74, 0.76),
    (0.74, 0.78, 0.68),
    (0.84, 0.70, 0.62),
    (0.78, 0.75, 0.70),
)
TILES: tuple[RGB, ...] = (
    (0.50, 0.25, 0.19),
    (0.42, 0.24, 0.19),
    (0.30, 0.29, 0.30),
    (0.36, 0.31, 0.28),
    (0.56, 0.33, 0.24),
)
Opening = tuple[float, float, float, float]


class Facade:
    """A wall with its openings filled: reveals, frames, panes, sills, doors."""

    def __init__(
        self,
        b: Builder,
        origin: tuple[float, float, float],
        along: tuple[float, float, float],
        width: float,
        height: float,
        colour: RGB,
        material: Material,
        frame: RGB = WHITE,
        near: bool = True,
    ) -> None:
        """Begin a wall whose measures and looks are those of `Builder.wall`.

        Window frames get the colour `frame`; windows are recessed where `near`, far ones lie flat
        on the wall.
        """
        self.near = near
        self.b, self.colour, self.material, self.frame = b, colour, material, frame
        self.o = np.array(origin)
        self.u = np.array(along)
        normal = (along[1], -along[0], 0.0)
        self._frame = (origin, along, normal)
        self.n = np.array(normal)
        self.width, self.height = width, height
        self.openings: list[Opening] = []

    def point(self, u: float, z: float, out: float = 0.0) -> tuple[float, float, float]:
        """Return the point `u` along the wall, `z` up it and `out` in front of it, m."""
        o, a, n = self._frame  # plain floats: arrays of three cost ten times as much
        return o[0] + u * a[0] + out * n[0], o[1] + u * a[1] + out * n[1], o[2] + z

    def rect(self, op: Opening, out: float, colour: RGB, material: Material) -> None:
        """Add a flat panel `out` in front of the wall."""
        u0, u1, z0, z1 = op
        p = [self.point(u, z, out) for u, z in ((u0, z0), (u1, z0), (u1, z1), (u0, z1))]
        self.b.quads([p], colour, material)

    def bar(self, op: Opening, out: tuple[float, float], colour: RGB, material: Material) -> None:
        """Add a box in front of the wall from `out[0]` to `out[1]`, open at the back."""
        u0, u1, z0, z1 = op
        corner = [(u0, z0), (u1, z0), (u1, z1), (u0, z1)]
        back = [self.point(u, z, out[0]) for u, z in corner]
        front = [self.point(u, z, out[1]) for u, z in corner]
        sides = [[front[i], back[i], back[(i + 1) % 4], front[(i + 1) % 4]] for i in range(4)]
        self.b.quads([front, *sides], colour, material)

    def ledge(self, op: Opening, out: float, colour: RGB) -> None:
        """Add a projecting ledge of which only the front and the top are seen."""
        u0, u1, z0, z1 = op
        back = [self.point(u, z1) for u in (u0, u1)]
        front = [self.point(u, z1, out) for u in (u0, u1)]
        low = [self.point(u, z0, out) for u in (u0, u1)]
        self.b.quads(
            [[low[0], low[1], front[1], front[0]], [front[0], front[1], back[1], back[0]]],
            colour,
            Material.CONCRETE,
        )

    def recess(self, op: Opening, depth: float) -> None:
        """Leave `op` open in the wall and add its four reveals."""
        self.openings.append(op)
        u0, u1, z0, z1 = op
        corner = [(u0, z0), (u1, z0), (u1, z1), (u0, z1)]
        front = [self.point(u, z) for u, z in corner]
        back = [self.point(u, z, -depth) for u, z in corner]
        sides = [[front[i], front[(i + 1) % 4], back[(i + 1) % 4], back[i]] for i in range(4)]
        self.b.quads(sides, shade(self.colour, 0.9), self.material)

    def window(self, op: Opening, bars: int = 1, sill: bool = True, cross: bool = True) -> None:
        """Add a window: `bars` upright bars, and a transom when `cross`."""
        depth = 0.12
        if not self.near:
            u0, u1, z0, z1 = op
            around = (u0 - 0.05, u1 + 0.05, z0 - 0.05, z1 + 0.05)
            self.rect(around, 0.02, self.frame, Material.GLOSSY)
            self.rect(op, 0.035, PANE, Material.GLASS)
            return
        self.recess(op, depth)
        u0, u1, z0, z1 = op
        self.rect(op, -depth, self.frame, Material.GLOSSY)
        # One frame-coloured sheet with the panes a centimetre in front of it: half the triangles
        # of separate bars, the same look.
        us = np.linspace(u0 + 0.07, u1 - 0.07, bars + 2)
        cut = z0 + 0.68 * (z1 - z0)
        zs = [z0 + 0.07, cut, z1 - 0.07] if cross else [z0 + 0.07, z1 - 0.07]
        half_bar = 0.03
        for k in range(bars + 1):
            left = us[k] + (half_bar if k else 0.0)
            right = us[k + 1] - (half_bar if k < bars else 0.0)
            for m in range(len(zs) - 1):
                low = zs[m] + (half_bar if m else 0.0)
                high = zs[m + 1] - (half_bar if m < len(zs) - 2 else 0.0)
                self.rect((left, right, low, high), -depth + 0.01, PANE, Material.GLASS)
        if sill:
            self.ledge((u0 - 0.06, u1 + 0.06, z0 - 0.08, z0), 0.09, WHITE)

    def door(self, op: Opening, colour: RGB, glazed: bool = True) -> None:
        """Add a recessed door; a tall one gets a fanlight."""
        depth = 0.16
        self.recess(op, depth)
        u0, u1, z0, z1 = op
        top = z1 - 0.42 if z1 - z0 > 2.3 else z1
        self.rect((u0, u1, z0, top), -depth, colour, Material.GLOSSY)
        if top < z1:
            self.rect((u0, u1, top, z1), -depth, PANE, Material.GLASS)
            self.rect((u0, u1, top - 0.03, top + 0.05), -depth + 0.02, self.frame, Material.GLOSSY)
        w = u1 - u0
        if glazed:
            pane = (u0 + 0.25 * w, u1 - 0.25 * w, z0 + 1.2, z0 + 1.8)
            self.rect(pane, -depth + 0.015, PANE, Material.GLASS)
        panel = (u0 + 0.16 * w, u1 - 0.16 * w, z0 + 0.2, z0 + 0.95)
        self.rect(panel, -depth + 0.015, shade(colour, 0.82), Material.GLOSSY)
        knob = (u1 - 0.14, u1 - 0.08, z0 + 1.0, z0 + 1.1)
        self.bar(knob, (-depth, -depth + 0.06), (0.75, 0.70, 0.55), Material.METAL)

    def finish(self) -> None:
        """Add the wall itself round all openings."""
        self.b.wall(
            self.o, self.u, self.width, self.height, self.colour, self.material, self.openings
        )
