"""Houses: detached ones with pitched roofs, terraces with shops, garages.

Every house faces +x with its facade at x = 0, its middle at y = 0, and stands on z = 0.
"""

from __future__ import annotations

import itertools

import numpy as np

from ...rendering.mesh import Material, Mesh
from .town_parts import RGB, Builder, shade

WHITE: RGB = (0.90, 0.90, 0.87)
PANE: RGB = (0.16, 0.20, 0.24)
CURTAIN: RGB = (0.72, 0.70, 0.64)
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


class _Facade:
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
        o, a, n = self._frame  # plain floats: arrays of three cost ten times as much
        return o[0] + u * a[0] + out * n[0], o[1] + u * a[1] + out * n[1], o[2] + z

    def rect(self, op: Opening, out: float, colour: RGB, material: Material) -> None:
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
        self.b.wall(
            self.o, self.u, self.width, self.height, self.colour, self.material, self.openings
        )


def _gable_roof(
    b: Builder,
    width: float,
    depth: float,
    eaves: float,
    rise: float,
    over: float,
    colour: RGB,
    wall: RGB,
    material: Material,
) -> None:
    """Add a roof whose ridge runs along y, with its gable walls."""
    ridge, y = eaves + rise, width / 2
    drop = over * rise / (depth / 2)
    front, back, middle = over, -depth - over, -depth / 2
    low = eaves - drop + 0.10
    y0, y1 = -y - over * 0.7, y + over * 0.7
    top = ridge + 0.10
    b.slab(
        [(front, y0, low), (front, y1, low), (middle, y1, top), (middle, y0, top)],
        0.16,
        colour,
        Material.ROOF,
    )
    b.slab(
        [(back, y1, low), (back, y0, low), (middle, y0, top), (middle, y1, top)],
        0.16,
        colour,
        Material.ROOF,
    )
    b.triangles(
        [
            [(0, y, eaves), (-depth, y, eaves), (middle, y, ridge)],
            [(-depth, -y, eaves), (0, -y, eaves), (middle, -y, ridge)],
        ],
        wall,
        material,
    )
    b.box(
        (middle - 0.12, y0, top - 0.06),
        (middle + 0.12, y1, top + 0.05),
        shade(colour, 0.8),
        Material.ROOF,
    )
    for x in (front, back):
        b.box((x - 0.07, y0, low - 0.16), (x + 0.07, y1, low - 0.03), WHITE, Material.METAL, "")


def _front_gable(
    b: Builder,
    width: float,
    depth: float,
    eaves: float,
    rise: float,
    over: float,
    colour: RGB,
    wall: RGB,
    material: Material,
) -> None:
    """Add a roof whose ridge runs along x, so that a gable faces the street."""
    y, ridge = width / 2, eaves + rise
    drop = over * rise / y
    low, top = eaves - drop + 0.10, ridge + 0.10
    front, back = over * 0.8, -depth - over * 0.8
    b.slab(
        [(back, -y - over, low), (front, -y - over, low), (front, 0.0, top), (back, 0.0, top)],
        0.16,
        colour,
        Material.ROOF,
    )
    b.slab(
        [(front, y + over, low), (back, y + over, low), (back, 0.0, top), (front, 0.0, top)],
        0.16,
        colour,
        Material.ROOF,
    )
    b.triangles(
        [
            [(0.0, -y, eaves), (0.0, y, eaves), (0.0, 0.0, ridge)],
            [(-depth, y, eaves), (-depth, -y, eaves), (-depth, 0.0, ridge)],
        ],
        wall,
        material,
    )
    for side in (-1, 1):
        at = side * (y + over)
        b.box(
            (back, at - 0.07, low - 0.16), (front, at + 0.07, low - 0.03), WHITE, Material.METAL, ""
        )
    # Barge boards close the open verge of the front gable.
    for side in (-1, 1):
        edge = [(front, side * (y + over), low), (front, 0.0, top)]
        lower = [(front + 0.04, p[1], p[2] - 0.26) for p in edge]
        upper = [(front + 0.04, p[1], p[2] + 0.02) for p in edge]
        quad = [lower[0], lower[1], upper[1], upper[0]]
        b.quads([quad if side < 0 else quad[::-1]], WHITE, Material.WOOD)


def _chimney(b: Builder, x: float, y: float, foot: float, top: float, colour: RGB) -> None:
    b.box((x - 0.35, y - 0.45, foot), (x + 0.35, y + 0.45, top), colour, Material.BRICK)
    b.box(
        (x - 0.42, y - 0.52, top),
        (x + 0.42, y + 0.52, top + 0.12),
        (0.6, 0.58, 0.55),
        Material.CONCRETE,
        "",
    )
    for dy in (-0.2, 0.2):
        b.tube(
            (x, y + dy, top + 0.1),
            (x, y + dy, top + 0.5),
            0.11,
            (0.6, 0.33, 0.24),
            Material.BRICK,
            6,
        )


def detached(
    rng: np.random.Generator, width: float, depth: float, storeys: int, seen: int, near: bool = True
) -> Mesh:
    """Return a detached family house of about 700 triangles, fewer when not `near`.

    Only the gable wall towards `seen` (1 = +y, -1 = -y) has windows.
    """
    b = Builder()
    brick = rng.random() < 0.42
    wall = BRICKS[rng.integers(len(BRICKS))] if brick else PLASTERS[rng.integers(len(PLASTERS))]
    material = Material.BRICK if brick else Material.PLASTER
    roof = TILES[rng.integers(len(TILES))]
    frame = WHITE if rng.random() < 0.8 else (0.30, 0.22, 0.16)
    plinth, storey = 0.45, 2.75
    eaves = plinth + storeys * storey
    y = width / 2
    rise = float(rng.uniform(0.62, 0.85)) * min(width, depth) / 2
    across = bool(rng.random() < 0.45)

    front = _Facade(b, (0, -y, 0), (0, 1, 0), width, eaves, wall, material, frame, near)
    right = _Facade(b, (0, y, 0), (-1, 0, 0), depth, eaves, wall, material, frame, near)
    left = _Facade(b, (-depth, -y, 0), (1, 0, 0), depth, eaves, wall, material, frame, near)
    back = _Facade(b, (-depth, y, 0), (0, -1, 0), width, eaves, wall, material, frame, near)
    columns = 3 if width < 10.5 else 4
    pitch = width / columns
    door_at = int(rng.integers(columns))
    door_colour = DOORS[rng.integers(len(DOORS))]
    shutters = None if brick or rng.random() < 0.5 else DOORS[rng.integers(len(DOORS))]
    for level in range(storeys):
        z = plinth + level * storey
        for k in range(columns):
            c = (k + 0.5) * pitch
            if level == 0 and k == door_at:
                front.door((c - 0.5, c + 0.5, plinth, plinth + 2.25), door_colour)
                continue
            wide = 1.5 if level == 0 else 1.15
            op = (c - wide / 2, c + wide / 2, z + 0.85, z + 2.2)
            front.window(op, bars=1 if level else 2)
            if shutters:
                for u0 in (op[0] - 0.46, op[1] + 0.04):
                    front.bar((u0, u0 + 0.42, op[2], op[3]), (0.0, 0.05), shutters, Material.WOOD)
        for facade in (right if seen > 0 else left,):
            for c in (0.28 * depth, 0.72 * depth):
                if rng.random() < 0.75:
                    facade.window((c - 0.5, c + 0.5, z + 0.9, z + 2.2))
    for facade in (front, right, left, back):
        facade.finish()
    b.box(
        (-depth - 0.05, -y - 0.05, -0.2),
        (0.05, y + 0.05, plinth - 0.12),
        (0.50, 0.49, 0.47),
        Material.CONCRETE,
    )
    c = (door_at + 0.5) * pitch - y
    for k, reach in enumerate((1.0, 0.65)):
        b.box(
            (0, c - 0.8, -0.2),
            (reach + 0.3, c + 0.8, plinth * (k + 1) / 2 - 0.02),
            (0.62, 0.60, 0.57),
            Material.CONCRETE,
        )
    if rng.random() < 0.7:  # a porch roof on two posts
        b.slab(
            [(1.3, c - 1.1, 2.95), (1.3, c + 1.1, 2.95), (0, c + 1.1, 3.25), (0, c - 1.1, 3.25)],
            0.12,
            roof,
            Material.ROOF,
        )
        for dy in (-0.95, 0.95):
            b.box((1.08, c + dy - 0.06, 0), (1.2, c + dy + 0.06, 2.9), WHITE, Material.WOOD)
    roof_of = _front_gable if across else _gable_roof
    roof_of(b, width, depth, eaves, rise, 0.45, roof, wall, material)
    if across:  # a window in the gable
        gable = _Facade(b, (0.02, -0.5, eaves + 0.25), (0, 1, 0), 1, 1, WHITE, Material.WOOD, frame)
        gable.bar((0, 1.0, 0, 1.1), (0.0, 0.06), frame, Material.GLOSSY)
        gable.rect((0.1, 0.9, 0.1, 1.0), 0.065, PANE, Material.GLASS)
    else:
        for dy in (-0.25, 0.25) if rng.random() < 0.5 else ():
            _dormer(b, dy * width, depth, eaves, rise, roof, frame)
    ridge = eaves + rise
    at = -depth / 2 + (0.0 if across else 0.5)
    side = y * 0.62 * (1 if rng.random() < 0.5 else -1)
    foot = eaves if across else ridge - 1.2
    _chimney(
        b,
        at - (1.5 if across else 0),
        side * (0.5 if across else 1),
        foot,
        ridge + 0.8,
        BRICKS[rng.integers(len(BRICKS))],
    )
    for dy in (-y + 0.12, y - 0.12):
        b.box((0, dy - 0.05, 0.2), (0.1, dy + 0.05, eaves - 0.1), (0.8, 0.8, 0.78), Material.METAL)
    return b.mesh()


def _dormer(
    b: Builder, y: float, depth: float, eaves: float, rise: float, roof: RGB, frame: RGB
) -> None:
    slope = rise / (depth / 2)
    x = -1.0
    foot = eaves + slope * 1.0 + 0.05
    top = foot + 1.25
    back = -(top - eaves) / slope
    b.box((back, y - 0.75, foot - 0.3), (x, y + 0.75, top), WHITE, Material.WOOD, "-z -x")
    face = _Facade(b, (x, y - 0.55, foot + 0.1), (0, 1, 0), 1.1, 1.0, WHITE, Material.WOOD)
    face.rect((0.05, 1.05, 0.05, 0.95), 0.02, PANE, Material.GLASS)
    face.rect((0.52, 0.58, 0.05, 0.95), 0.03, frame, Material.GLOSSY)
    b.slab(
        [
            (x + 0.25, y - 0.95, top),
            (x + 0.25, y + 0.95, top),
            (back - 0.3, y + 0.95, top + 0.25),
            (back - 0.3, y - 0.95, top + 0.25),
        ],
        0.12,
        roof,
        Material.ROOF,
    )


def garage(rng: np.random.Generator, wall: RGB = (0.84, 0.82, 0.77)) -> Mesh:
    """Return a single garage, 3.2 m wide and 6 m deep."""
    b = Builder()
    front = _Facade(b, (0, -1.6, 0), (0, 1, 0), 3.2, 2.7, wall, Material.PLASTER)
    door = DOORS[rng.integers(len(DOORS))] if rng.random() < 0.5 else (0.80, 0.80, 0.78)
    op = (0.3, 2.9, 0.0, 2.2)
    front.recess(op, 0.15)
    for k in range(5):
        z = 0.44 * k
        front.rect((0.3, 2.9, z, z + 0.41), -0.13, door, Material.GLOSSY)
        front.rect((0.3, 2.9, z + 0.41, z + 0.44), -0.14, shade(door, 0.6), Material.GLOSSY)
    front.finish()
    b.box((-6, -1.6, -0.2), (0, 1.6, 2.7), wall, Material.PLASTER, "+x -z")
    b.box((-6.15, -1.75, 2.7), (0.2, 1.75, 2.86), (0.33, 0.32, 0.31), Material.ROOF, "")
    return b.mesh()


def terrace(
    rng: np.random.Generator,
    width: float,
    depth: float,
    storeys: int,
    shop: bool,
    ends: bool,
    near: bool = True,
) -> Mesh:
    """Return one house of a terrace, about 700 triangles; `ends` glazes its side walls."""
    b = Builder()
    brick = rng.random() < 0.5
    wall = BRICKS[rng.integers(len(BRICKS))] if brick else PLASTERS[rng.integers(len(PLASTERS))]
    material = Material.BRICK if brick else Material.PLASTER
    frame = WHITE if rng.random() < 0.7 else shade(DOORS[rng.integers(len(DOORS))], 0.8)
    ground, storey = (3.7 if shop else 3.2), 3.0
    height = ground + (storeys - 1) * storey + 0.35
    y = width / 2
    front = _Facade(b, (0, -y, 0), (0, 1, 0), width, height, wall, material, frame, near)
    columns = max(2, round(width / 2.6))
    pitch = width / columns
    trim = (0.80, 0.78, 0.73) if brick else shade(wall, 1.12)
    for level in range(1, storeys):
        z = ground + (level - 1) * storey
        for k in range(columns):
            c = (k + 0.5) * pitch
            op = (c - 0.55, c + 0.55, z + 0.75, z + 2.45)
            front.window(op, bars=1)
            head = (op[0] - 0.1, op[1] + 0.1, op[3], op[3] + 0.2)
            front.rect(head, 0.03, trim, Material.CONCRETE)
    if shop:
        _shop(front, rng, width)
    else:
        door_at = int(rng.integers(columns))
        for k in range(columns):
            c = (k + 0.5) * pitch
            if k == door_at:
                front.door((c - 0.55, c + 0.55, 0.15, 2.75), DOORS[rng.integers(len(DOORS))])
                front.bar((c - 0.85, c + 0.85, 2.85, 3.0), (0.0, 0.35), trim, Material.CONCRETE)
                front.bar((c - 0.7, c + 0.7, 0.0, 0.15), (0.0, 0.25), trim, Material.CONCRETE)
            else:
                front.window((c - 0.65, c + 0.65, 0.95, 2.6), bars=1)
        front.bar((0, width, 0.0, 0.55), (0.0, 0.04), shade(trim, 0.75), Material.CONCRETE)
    front.bar((0, width, ground - 0.02, ground + 0.18), (0.0, 0.08), trim, Material.CONCRETE)
    front.bar((0, width, height - 0.3, height), (0.0, 0.28), trim, Material.CONCRETE)
    front.finish()
    for facade in (
        _Facade(b, (0, y, 0), (-1, 0, 0), depth, height, wall, material, frame, near),
        _Facade(b, (-depth, -y, 0), (1, 0, 0), depth, height, wall, material, frame, near),
    ):
        for level in range(1, storeys) if ends else ():
            z = ground + (level - 1) * storey
            for c in (0.3 * depth, 0.7 * depth):
                facade.window((c - 0.5, c + 0.5, z + 0.75, z + 2.3))
        facade.finish()
    b.box((-depth, -y, 0), (-depth + 0.2, y, height), wall, material, "+x -z")
    roof = TILES[rng.integers(len(TILES))]
    if rng.random() < 0.65:
        _gable_roof(b, width, depth, height, 0.36 * depth, 0.12, roof, wall, material)
        top = height + 0.36 * depth
        _chimney(b, -depth / 2, y - 0.5, top - 1.4, top + 0.9, wall)
        for dy in (-0.22, 0.22) if storeys < 4 and rng.random() < 0.5 else ():
            _dormer(b, dy * width, depth, height, 0.36 * depth, roof, frame)
    else:  # a parapet hides the flat roof
        b.box((-depth, -y, height), (0.04, y, height + 0.55), shade(wall, 0.96), material)
        b.box((-depth, -y, height + 0.55), (0.12, y, height + 0.68), trim, Material.CONCRETE, "")
        _chimney(b, -depth * 0.6, -y + 0.8, height + 0.5, height + 1.9, wall)
    b.box((0, y - 0.16, 0.1), (0.1, y - 0.06, height - 0.3), (0.35, 0.35, 0.35), Material.METAL)
    return b.mesh()


AWNINGS: tuple[tuple[RGB, RGB], ...] = (
    ((0.70, 0.13, 0.13), (0.92, 0.90, 0.85)),
    ((0.12, 0.36, 0.26), (0.92, 0.90, 0.85)),
    ((0.14, 0.26, 0.48), (0.92, 0.90, 0.85)),
    ((0.80, 0.50, 0.14), (0.93, 0.89, 0.80)),
    ((0.42, 0.16, 0.28), (0.42, 0.16, 0.28)),
)


def _shop(front: _Facade, rng: np.random.Generator, width: float) -> None:
    """Fill the ground floor with shop windows, a fascia and an awning."""
    b = front.b
    colour = DOORS[rng.integers(len(DOORS))]
    margin, door = 0.45, 1.1
    at_left = bool(rng.random() < 0.5)
    door_u = margin if at_left else width - margin - door
    panes = (
        (margin + door + 0.25, width - margin)
        if at_left
        else (margin, width - margin - door - 0.25)
    )
    count = max(1, round((panes[1] - panes[0]) / 2.2))
    step = (panes[1] - panes[0]) / count
    for k in range(count):
        u0 = panes[0] + k * step
        front.window((u0 + 0.06, u0 + step - 0.06, 0.6, 2.75), bars=0, sill=False, cross=False)
    front.door((door_u, door_u + door, 0.12, 2.75), colour)
    front.bar((0.2, width - 0.2, 0.1, 0.58), (0.0, 0.06), colour, Material.WOOD)
    front.bar((0.2, width - 0.2, 2.85, 3.5), (0.0, 0.1), colour, Material.WOOD)
    letters = (0.92, 0.88, 0.74)
    u = width / 2 - 1.2
    while u < width / 2 + 1.2:  # a name, too far to read
        wide = rng.uniform(0.12, 0.26)
        front.rect((u, u + wide, 3.02, rng.choice([3.24, 3.34])), 0.105, letters, Material.GLOSSY)
        u += wide + 0.07
    first, second = AWNINGS[rng.integers(len(AWNINGS))]
    stripes = max(4, round((panes[1] - panes[0]) / 0.45))
    us = np.linspace(panes[0] - 0.1, panes[1] + 0.1, stripes + 1)
    for k, (u0, u1) in enumerate(itertools.pairwise(us)):
        tint = second if k % 2 else first
        high = [front.point(u, 3.0, 0.1) for u in (u0, u1)]
        low = [front.point(u, 2.55, 1.15) for u in (u0, u1)]
        hem = [front.point(u, 2.35, 1.16) for u in (u0, u1)]
        under = -0.02 * front.n - np.array([0, 0, 0.02])
        b.quads(
            [
                [low[0], low[1], high[1], high[0]],
                [hem[0], hem[1], low[1], low[0]],
                [low[1] + under, low[0] + under, high[0] + under, high[1] + under],
            ],
            tint,
            Material.CLOTH,
        )


def plain_block(
    rng: np.random.Generator, width: float, depth: float, storeys: int, pitched: bool
) -> Mesh:
    """Return a house for the second row: walls, flat windows, a roof; about 100 triangles."""
    b = Builder()
    wall = (*BRICKS, *PLASTERS)[rng.integers(len(BRICKS) + len(PLASTERS))]
    height = 0.4 + 2.9 * storeys
    y = width / 2
    b.box((-depth, -y, -0.2), (0, y, height), wall, Material.PLASTER)
    columns = max(2, round(width / 3.2))
    windows = [
        (x, sign * (k + 0.5 - columns / 2) * width / columns, 1.2 + 2.9 * level)
        for level in range(storeys)
        for k in range(columns)
        for x, sign in ((0.03, 1),)
    ]
    for x, at, z in windows:
        b.quads(
            [[(x, at - 0.5, z), (x, at + 0.5, z), (x, at + 0.5, z + 1.3), (x, at - 0.5, z + 1.3)]],
            PANE,
            Material.GLASS,
        )
    if pitched:
        roof = TILES[rng.integers(len(TILES))]
        _gable_roof(b, width, depth, height, 0.35 * depth, 0.35, roof, wall, Material.PLASTER)
    else:
        b.box(
            (-depth - 0.1, -y - 0.1, height),
            (0.1, y + 0.1, height + 0.3),
            shade(wall, 0.85),
            Material.CONCRETE,
        )
    return b.mesh()
