"""What blocks the road: chain barriers, rubble, containers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.lettering import draped, lettering
from ....rendering.shapes.primitives import (
    Colour,
    bands,
    box,
    cut,
    cylinder,
    disc,
    ellipsoid,
    extrude,
    frustum,
    rounded_box,
    sweep,
    torus,
)

_RED = (0.85, 0.08, 0.08)
_WHITE = (0.95, 0.95, 0.95)
_YELLOW = (0.98, 0.80, 0.05)
_BLACK = (0.05, 0.05, 0.055)


CHAINS: tuple[tuple[Colour, Colour, tuple[float, ...], str], ...] = (
    (_RED, _WHITE, (-1.5, 0.0, 1.5), "disc"),
    (_YELLOW, _BLACK, (-1.5, 1.5), "disc"),
    (_RED, _WHITE, (-1.5, 1.5), "board"),
)
"""Colours of posts and chain, places of the posts (y, m), form of the sign."""


def chain_barrier(variant: int) -> Mesh:
    """Return posts with two sagging chains across 3.2 m, and a sign; 1.1 m high."""
    first, second, ys, sign = CHAINS[variant]
    parts = []
    for y in ys:
        parts.append(frustum((0, y, 0), (0, y, 0.08), 0.20, 0.15, _BLACK, Material.MATTE, 16))
        post = cylinder((0, y, 0.05), (0, y, 1.03), 0.065, first, Material.RETRO, 12)
        stripes = [(0.08, 0.24), (0.40, 0.56), (0.72, 0.88)]
        parts.append(bands(post, 2, stripes, second, Material.RETRO))
        parts.append(ellipsoid((0.078, 0.078, 0.06), (0, y, 1.03), first, Material.GLOSSY, 10))
    for a, b in pairwise(ys):
        for top, sag in ((0.93, 0.17), (0.60, 0.15)):
            parts += _chain(
                a + 0.06, b - 0.06, top, sag * (1.0 if len(ys) == 3 else 1.5), first, second
            )
    z = 0.74 if len(ys) == 3 else 0.64
    for way in (1.0, -1.0):  # the sign is for both directions
        yaw = 0.0 if way > 0 else np.pi
        board = _closed_board() if sign == "board" else _no_entry()
        parts += [part.transformed((way * 0.075, 0, z), yaw=yaw) for part in board]
    return Mesh.merge(parts)


def _no_entry() -> list[Mesh]:
    """Return a no-entry disc that faces +x, centred on the origin."""
    return [
        disc(0.24, 0.02, (0, 0, 0), _WHITE, Material.RETRO, 24),
        disc(0.22, 0.026, (0, 0, 0), _RED, Material.RETRO, 24),
        box((0.034, 0.31, 0.08), (0, 0, 0), _WHITE, Material.RETRO),
    ]


def _closed_board() -> list[Mesh]:
    """Return a white board with words in a red frame; it faces +x."""
    parts = [
        box((0.020, 1.0, 0.48), (0, 0, 0), _RED, Material.RETRO),
        box((0.024, 0.88, 0.36), (0, 0, 0), _WHITE, Material.RETRO),
    ]
    for word, z in (("ROAD", 0.085), ("CLOSED", -0.085)):
        ink = lettering(word, 0.13, _BLACK, width=0.105 * len(word) + 0.16)
        parts.append(ink.transformed((0.013, 0, z)))
    return parts


def _chain(
    start: float, end: float, top: float, sag: float, first: Colour, second: Colour
) -> list[Mesh]:
    """Return the links of a chain hung between two points at y = start, end."""
    t = np.linspace(0.0, 1.0, 400)
    y = start + (end - start) * t
    z = top - sag * 4 * t * (1 - t)
    length = np.r_[0.0, np.cumsum(np.hypot(np.diff(y), np.diff(z)))]
    count = max(round(float(length[-1]) / 0.15), 4)
    s = (np.arange(count) + 0.5) / count * length[-1]
    link = torus(0.058, 0.024, segments=8, sides=4)
    links = []
    for k, at in enumerate(s):
        yk, zk = float(np.interp(at, length, y)), float(np.interp(at, length, z))
        slope = float(np.interp(at, length[1:], np.diff(z) / np.diff(y)))
        # Longer spans of the bright colour: black links are lost on asphalt.
        colour = second if k % 4 == 3 or (k % 4 == 2 and second == _WHITE) else first
        one = link.painted(colour, Material.RETRO).transformed(scale=(1.55, 1.0, 1.0))
        one = one.transformed(roll=0.0 if k % 2 else np.pi / 2)
        one = one.transformed(yaw=np.pi / 2).transformed(roll=np.arctan(slope))
        links.append(one.transformed((0.0, yk, zk)))
    return links


def debris(variant: int) -> Mesh:
    """Return rubble with planks (0), broken slabs with bars (1), or junk (2); 2.5 x 1.4 m."""
    rng = np.random.default_rng(900 + variant)
    parts: list[Mesh] = []
    heaps = (
        ((-0.05, 0.70, 0.46, 0.42), (0.05, -0.05, 0.54, 0.60), (-0.05, -0.80, 0.40, 0.34)),
        ((0.00, 0.10, 0.60, 0.46), (-0.05, -0.75, 0.46, 0.30), (0.05, 0.85, 0.38, 0.26)),
        ((0.00, 0.70, 0.50, 0.30), (0.00, -0.50, 0.56, 0.34)),
    )[variant]
    soil: Colour = ((0.45, 0.31, 0.20), (0.34, 0.27, 0.21), (0.40, 0.34, 0.28))[variant]
    stones, bricks = ((10, 8), (11, 11), (7, 6))[variant]
    for x, y, radius, height in heaps:
        parts.append(_heap(rng, x, y, radius, height, soil))
        for kind in ["stone"] * stones + ["brick"] * bricks:
            r, a = radius * rng.uniform(0.2, 1.15), rng.uniform(0, 2 * np.pi)
            z = max(height * (1 - (r / radius) ** 2) * 0.9, 0.0)
            size = rng.uniform(0.07, 0.17)
            if kind == "stone":
                grey = rng.uniform(0.58, 0.86)
                piece = _stone(rng, size, (grey, grey * 0.98, grey * 0.94))
                z += size * 0.3
            else:
                piece = box((0.24, 0.12, 0.09), (0, 0, 0), (0.72, 0.25, 0.15), Material.MATTE)
                turn = rng.uniform((0, -0.5, -0.4), (3.1, 0.5, 0.4))
                piece = piece.transformed(yaw=turn[0], pitch=turn[1], roll=turn[2])
                z += 0.06
            parts.append(piece.transformed((x + r * np.cos(a) * 0.9, y + r * np.sin(a), z)))
    parts += (_timber, _slabs, _junk)[variant](rng)
    mesh = Mesh.merge(parts)
    vertices = mesh.vertices.copy()
    vertices[:, 2] = np.maximum(vertices[:, 2], 0.0)
    return Mesh(vertices, mesh.faces, mesh.colours, mesh.materials, mesh.normals)


_TIMBER = (0.80, 0.60, 0.34)


def _timber(rng: np.random.Generator) -> list[Mesh]:
    """Return planks that lie over a heap and stick out of it, and a tyre."""
    parts = []
    for k in range(5):
        plank = box((rng.uniform(0.8, 1.2), 0.14, 0.035), (0, 0, 0), _TIMBER, Material.WOOD)
        turn = rng.uniform((0.5, -0.35, -0.3), (2.6, 0.35, 0.3))
        plank = plank.transformed(yaw=turn[0], pitch=turn[1], roll=turn[2])
        parts.append(plank.transformed((rng.uniform(-0.1, 0.1), -0.8 + 0.38 * k, 0.42)))
    for y, lean, yaw in ((-0.30, 0.55, -1.9), (0.30, 0.65, 1.3), (0.0, 0.85, 0.4)):
        post = box((1.0, 0.13, 0.05), (0.2, 0, 0), _TIMBER, Material.WOOD)
        parts.append(post.transformed(pitch=-lean).transformed((0, y, 0.38), yaw=yaw))
    return [*parts, _tyre((0.12, -0.88, 0.33), pitch=1.1, yaw=0.5)]


def _slabs(rng: np.random.Generator) -> list[Mesh]:
    """Return broken plates of concrete with rusty bars, one painted as kerbs are."""
    rust = (0.50, 0.22, 0.10)
    parts = []
    for k, (y, z, lean, yaw) in enumerate(
        ((-0.72, 0.28, 0.5, 0.4), (0.10, 0.44, 0.75, -1.3), (0.72, 0.26, 0.45, 1.2),
         (-0.25, 0.42, -0.55, 2.2), (0.38, 0.40, 0.3, 0.2))
    ):  # fmt: skip
        grey = 0.66 + 0.05 * (k % 3)
        corners = [
            (r * np.cos(a), r * np.sin(a))
            for a, r in zip(
                np.arange(6) * np.pi / 3 + rng.uniform(-0.2, 0.2, 6),
                rng.uniform(0.26, 0.42, 6),
                strict=True,
            )
        ]
        slab = extrude(corners, 0.11, (grey, grey * 0.99, grey * 0.96), Material.CONCRETE)
        parts_here = [slab.transformed(roll=np.pi / 2)]
        for at in (-0.12, 0.08):
            bend = [(0.0, at, 0.0), (0.40, at, 0.01), (0.55, at + 0.03, 0.10)]
            parts_here.append(sweep(bend, 0.014, rust, Material.METAL, sides=4))
        parts += [m.transformed(pitch=-lean).transformed((0, y, z), yaw=yaw) for m in parts_here]
    for x, y, yaw, pitch in (
        (0.1, 0.1, 1.2, -0.3),
        (0.15, -0.55, -0.5, -0.7),
        (0.0, 0.55, 2.6, -0.6),
    ):
        plank = box((1.2, 0.15, 0.04), (0, 0, 0), _TIMBER, Material.WOOD)
        parts.append(plank.transformed((x, y, 0.5), yaw=yaw, pitch=pitch))
    return parts


def _junk(rng: np.random.Generator) -> list[Mesh]:
    """Return tyres, a pallet on edge, cardboard boxes, rubbish bags and planks in a heap."""
    card = (0.72, 0.53, 0.32)
    parts = [
        _tyre((0.10, -0.62, 0.48), pitch=0.35, yaw=0.3),
        _tyre((-0.20, 1.00, 0.16), pitch=0.15, yaw=0.0),
        _tyre((0.25, 0.62, 0.34), pitch=1.2, yaw=1.1),
    ]
    for size, at, yaw, lean in (
        ((0.46, 0.40, 0.34), (0.0, 0.15, 0.50), 0.5, 0.2),
        ((0.38, 0.34, 0.30), (0.15, -1.02, 0.17), -0.4, 0.0),
        ((0.34, 0.30, 0.26), (-0.32, -0.25, 0.42), 1.1, -0.35),
    ):
        carton = [box(size, (0, 0, 0), card)]
        carton.append(box((size[0] * 1.01, 0.06, size[2] * 1.01), (0, 0, 0), (0.88, 0.78, 0.55)))
        flap = box((size[0], size[1] * 0.5, 0.012), (0, 0, 0), (0.80, 0.62, 0.40))
        carton.append(flap.transformed((0, size[1] * 0.66, size[2] * 0.62), roll=0.6))
        parts += [m.transformed(pitch=lean).transformed(at, yaw=yaw) for m in carton]
    pallet = [box((0.95, 0.10, 0.03), (0, -0.35 + 0.175 * k, 0.07), _TIMBER) for k in range(5)]
    pallet += [box((0.09, 0.80, 0.10), (x, 0, 0), (0.66, 0.48, 0.27)) for x in (-0.43, 0, 0.43)]
    parts += [
        m.painted(material=Material.WOOD)
        .transformed(pitch=-0.42)
        .transformed((0.0, 0.42, 0.38), yaw=2.2)
        for m in pallet
    ]
    for x, y, z, r, shade in (
        (0.30, -0.05, 0.24, 0.25, (0.92, 0.92, 0.94)),
        (-0.30, -0.70, 0.30, 0.25, (0.15, 0.17, 0.20)),
        (0.28, 0.98, 0.16, 0.20, (0.16, 0.34, 0.70)),
    ):
        bag = ellipsoid((r, r * 1.05, r * 0.85), (x, y, z), shade, Material.GLOSSY, 10)
        lumps = rng.uniform(0.88, 1.10, (len(bag.vertices), 1))
        middle = np.array([x, y, z])
        parts.append(
            Mesh.build(middle + (bag.vertices - middle) * lumps, bag.faces, shade, Material.GLOSSY)
        )
        parts.append(cylinder((x, y, z + r * 0.8), (x, y, z + r * 1.1), 0.05, shade, segments=6))
    for y, lean, yaw in ((-0.55, 0.75, -2.2), (0.05, 0.95, 0.5), (0.30, 0.60, 1.4)):
        plank = box((1.15, 0.13, 0.04), (0.2, 0, 0), _TIMBER, Material.WOOD)
        parts.append(plank.transformed(pitch=-lean).transformed((0, y, 0.40), yaw=yaw))
    for k in range(10):
        brick = box((0.24, 0.12, 0.09), (0, 0, 0), (0.72, 0.25, 0.15), Material.MATTE)
        turn = rng.uniform((0, -0.3, -0.3), (3.1, 0.3, 0.3))
        brick = brick.transformed(yaw=turn[0], pitch=turn[1], roll=turn[2])
        at = (rng.uniform(0.25, 0.55) * (-1) ** k, -1.0 + 0.22 * k, 0.09)
        parts.append(brick.transformed(at))
    return parts


def _tyre(at: tuple[float, float, float], *, pitch: float, yaw: float) -> Mesh:
    """Return a worn tyre, 0.6 m across; it lies flat at pitch 0."""
    ring = torus(0.22, 0.085, (0.10, 0.10, 0.105), segments=16, sides=8)
    ring = ring.transformed(roll=np.pi / 2, scale=(1.0, 1.15, 1.0))
    return ring.transformed(pitch=pitch).transformed(at, yaw=yaw)


def _stone(rng: np.random.Generator, size: float, colour: Colour) -> Mesh:
    ball = ellipsoid(1.0, segments=6)
    shape = rng.uniform(0.7, 1.25, (len(ball.vertices), 1)) * size * rng.uniform(0.6, 1.1, 3)
    return Mesh.build(ball.vertices * shape, ball.faces, colour, Material.CONCRETE, 0.0)


def _heap(
    rng: np.random.Generator, x: float, y: float, radius: float, height: float, soil: Colour
) -> Mesh:
    rings, around = 7, 20
    points = []
    bump = rng.uniform(0.85, 1.15, around)
    for i in range(rings + 1):
        share = i / rings
        r = radius * 1.25 * (1 - share) * bump
        z = height * np.sin(share * np.pi / 2) ** 1.5 * rng.uniform(0.88, 1.12, around)
        a = np.arange(around) * 2 * np.pi / around
        points.append(np.stack([x + r * np.cos(a) * 0.95, y + r * np.sin(a), z], 1))
    vertices = np.concatenate(points)
    row, column = np.divmod(np.arange(rings * around), around)
    right = row * around + (column + 1) % around
    here = row * around + column
    faces = np.concatenate(
        [
            np.stack([here, right, right + around], 1),
            np.stack([here, right + around, here + around], 1),
        ]
    )
    tone = rng.uniform(0.75, 1.2, (len(faces), 1))
    colours = np.clip(np.array(soil) * tone, 0, 1)
    return Mesh.build(vertices, faces, colours, Material.MATTE, 25.0)


CONTAINERS: tuple[tuple[str, Colour, float, str], ...] = (
    ("container", (0.10, 0.32, 0.68), 4.0, "QVLU 304718"),
    ("container", (0.76, 0.20, 0.13), 6.0, "KZEU 571206"),
    ("container", (0.14, 0.50, 0.30), 5.0, "XFMU 860943"),
    ("skip", (0.94, 0.72, 0.08), 3.6, ""),
)
"""Form, colour, length in m, number (made up)."""

_RUST = np.array((0.42, 0.20, 0.10))
_STEEL = (0.72, 0.73, 0.75)


def obstruction(variant: int) -> Mesh:
    """Return a container with its doors at -x and +x, 2.4 m wide; the last variant is a skip."""
    form, colour, length, number = CONTAINERS[variant]
    if form == "skip":
        return _skip(colour, length)
    return _container(colour, length, number, np.random.default_rng(500 + variant))


def _container(colour: Colour, length: float, number: str, rng: np.random.Generator) -> Mesh:
    w, h = 2.4, 2.5
    dark: Colour = (colour[0] * 0.62, colour[1] * 0.62, colour[2] * 0.62)
    parts = []
    for yaw in (0.0, np.pi):
        side = _flank(colour, length, h, number, rng)
        parts += [m.transformed((0, -w / 2 + 0.02, 0)).transformed(yaw=yaw) for m in side]
    parts.append(box((length - 0.1, w - 0.1, 0.06), (0, 0, h - 0.06), dark, Material.GLOSSY))
    parts.append(box((length - 0.1, w - 0.14, 0.10), (0, 0, 0.12), dark))
    casting: Colour = (0.66, 0.66, 0.64)
    for x in (-length / 2 + 0.07, length / 2 - 0.07):
        for y in (-w / 2 + 0.07, w / 2 - 0.07):
            parts.append(box((0.15, 0.15, h), (x, y, h / 2), dark, Material.GLOSSY))
            for z in (0.075, h - 0.075):
                block = (x * 0.995, y * 0.992, z)
                parts.append(box((0.20, 0.20, 0.15), block, casting, Material.METAL))
                parts.append(box((0.205, 0.07, 0.06), block, _BLACK))
                parts.append(box((0.07, 0.205, 0.06), block, _BLACK))
        for z in (0.09, h - 0.09):
            parts.append(box((0.14, w - 0.2, 0.18), (x, 0, z), dark, Material.GLOSSY))
    for y in (-w / 2 + 0.07, w / 2 - 0.07):
        for z in (0.08, h - 0.07):
            parts.append(box((length - 0.2, 0.12, 0.14), (0, y, z), dark, Material.GLOSSY))
    for end in (0.0, np.pi):
        parts += [m.transformed(yaw=end) for m in _doors(colour, number, length / 2, w, h)]
    return Mesh.merge(parts)


def _flank(
    colour: Colour, length: float, h: float, number: str, rng: np.random.Generator
) -> list[Mesh]:
    """Return a long side that faces -y: folded steel, a large word, the number, fork pockets."""
    wall = _corrugated(colour, length - 0.24, h - 0.30, rng)
    width = min(0.62 * length, 3.2)
    word = lettering("CARGO", 0.66, _WHITE, width=width)
    word = word.transformed((0, 0, 1.22), yaw=-np.pi / 2)
    for edge in np.unique(np.round(wall.vertices[:, 0], 5)):
        if abs(edge) < width / 2:  # so that the paint follows every fold
            word = cut(word, (1, 0, 0), float(edge))
    at = (length / 2 - 1.15, 0.0, 2.14)
    plate = box((1.85, 0.012, 0.24), at, colour, Material.GLOSSY)
    code = lettering(number, 0.17, _WHITE, width=1.70).transformed(at, yaw=-np.pi / 2)
    parts = [wall, draped(word, wall, (0, 1, 0), lift=0.003), plate, draped(code, plate, (0, 1, 0))]
    for x in (-0.55, 0.55):  # for the forks of a lift truck
        parts.append(box((0.34, 0.02, 0.11), (x, -0.012, 0.075), _BLACK))
    return parts


def _corrugated(colour: Colour, length: float, height: float, rng: np.random.Generator) -> Mesh:
    """Return a folded steel wall that faces -y, its ridges at y = 0, from 0.15 m up; rusty."""
    folds = int(length / 0.30)
    shares = np.array([0.0, 0.30, 0.50, 0.80])
    x = np.append((np.arange(folds)[:, None] + shares).ravel(), folds) / folds * length - length / 2
    y = np.append(np.tile([0.0, 0.0, 0.038, 0.038], folds), 0.0)
    z = 0.15 + np.array([0.0, 0.14, 0.34, height - 0.16, height])
    rows, columns = len(z), len(x)
    points = np.stack([np.tile(x, rows), np.tile(y, rows), np.repeat(z, columns)], axis=1)
    row, column = np.divmod(np.arange((rows - 1) * (columns - 1)), columns - 1)
    here = row * columns + column
    above = here + columns
    faces = np.concatenate(
        [np.stack([here, here + 1, above + 1], 1), np.stack([here, above + 1, above], 1)]
    )
    # Folds are told apart without sun too: the steel is darker where it is set back.
    shade = np.array([1.0, 0.80, 0.70, 0.88])[column % 4]
    chance = np.array([0.55, 0.18, 0.0, 0.16])[row]
    rusty = np.where(rng.random(len(row)) < chance, rng.uniform(0.4, 0.95, len(row)), 0.0)
    paint = np.array(colour) * shade[:, None]
    paint += (_RUST - paint) * rusty[:, None]
    return Mesh.build(points, faces, np.tile(paint, (2, 1)), Material.GLOSSY, 0.0)


def _doors(colour: Colour, number: str, x: float, w: float, h: float) -> list[Mesh]:
    """Return two door leaves with locking bars, facing +x."""
    shade: Colour = (colour[0] * 0.8, colour[1] * 0.8, colour[2] * 0.8)
    parts = []
    for side in (1.0, -1.0):
        y = side * (w / 4 - 0.05)
        leaf = (0.05, w / 2 - 0.16, h - 0.34)
        parts.append(box(leaf, (x - 0.08, y, h / 2), colour, Material.GLOSSY))
        for k in range(4):
            fold = (0.02, w / 2 - 0.28, 0.20)
            parts.append(box(fold, (x - 0.05, y, 0.42 + k * 0.42), shade, Material.GLOSSY))
        for offset in (0.14, w / 2 - 0.32):
            yb = side * offset
            ends = ((x - 0.01, yb, 0.12), (x - 0.01, yb, h - 0.12))
            parts.append(cylinder(*ends, 0.028, _STEEL, Material.METAL, 8))
            for z in (0.25, 0.95, h - 0.95, h - 0.25):
                parts.append(box((0.05, 0.10, 0.07), (x - 0.015, yb, z), _STEEL, Material.METAL))
            lever = (x + 0.01, yb + side * 0.12, 1.10)
            parts.append(box((0.03, 0.28, 0.05), lever, _STEEL, Material.METAL))
        for z in (0.35, 0.95, 1.55, 2.15):  # hinges
            parts.append(box((0.05, 0.10, 0.12), (x - 0.045, side * (w / 2 - 0.17), z), shade))
    parts.append(box((0.02, 0.03, h - 0.34), (x - 0.045, 0, h / 2), _BLACK))
    owner, serial = number.split()
    for word, wide, z in ((owner, 0.42, 2.20), (serial, 0.60, 2.02)):
        parts.append(lettering(word, 0.13, _WHITE, width=wide).transformed((x - 0.052, 0.51, z)))
    parts.append(box((0.012, 0.34, 0.24), (x - 0.045, -0.57, 2.10), _WHITE))
    for k in range(3):
        parts.append(box((0.016, 0.26, 0.03), (x - 0.045, -0.57, 2.17 - 0.07 * k), _BLACK))
    for k in range(8):  # a warning stripe along the foot
        stripe = (0.02, (w - 0.4) / 8, 0.12)
        at = (x + 0.002, (k - 3.5) * (w - 0.4) / 8, 0.09)
        parts.append(box(stripe, at, (_YELLOW, _BLACK)[k % 2], Material.RETRO))
    return parts


def _skip(colour: Colour, length: float) -> Mesh:
    w, h = 1.9, 1.45
    side = [(-length / 2 + 0.55, 0.0), (length / 2 - 0.55, 0.0), (length / 2, h),
            (-length / 2, h)]  # fmt: skip
    dark: Colour = (colour[0] * 0.7, colour[1] * 0.7, colour[2] * 0.7)
    parts = [extrude(side, w - 0.1, colour, Material.GLOSSY)]
    for x in (-length / 2, length / 2):
        parts.append(rounded_box((0.12, w + 0.1, 0.12), 0.03, (x * 0.985, 0, h), dark))
    for y in (-w / 2, w / 2):
        parts.append(rounded_box((length, 0.12, 0.12), 0.03, (0, y, h), dark))
        for x in (-0.9, -0.3, 0.3, 0.9):
            parts.append(box((0.09, 0.08, h - 0.12), (x, y, h / 2), dark))
        parts.append(cylinder((0.6, y - 0.08, 0.9), (0.6, y + 0.08, 0.9), 0.06, _BLACK))
    for x, low in ((-length / 2 + 0.55, -1.0), (length / 2 - 0.55, 1.0)):
        for k in range(4):  # red-white warning boards on the two ends
            share = (k + 0.5) / 4
            parts.append(
                box((0.02, 0.22, 0.22), (0, 0, 0), (_RED, _WHITE)[k % 2], Material.RETRO)
                .transformed(pitch=low * 0.372)
                .transformed((x + low * (0.55 * 0.62 + 0.02), (share - 0.5) * 0.9, 0.93))
            )
    for x in (-1.24, 1.24):  # and along the sides
        for y in (-w / 2, w / 2):
            for k in range(3):
                shade = (_RED, _WHITE)[k % 2]
                at = (x + np.sign(x) * 0.20 * (k - 1) * 0.9, y * 1.005, 1.18)
                parts.append(box((0.18, 0.02, 0.18), at, shade, Material.RETRO))
    rng = np.random.default_rng(77)
    for k in range(34):
        size = rng.uniform(0.12, 0.26)
        x, y = rng.uniform(-1.45, 1.45), rng.uniform(-0.72, 0.72)
        grey = rng.uniform(0.45, 0.80)
        tone = (0.70, 0.26, 0.16) if k % 5 == 0 else (grey, grey * 0.95, grey * 0.88)
        heap = 0.32 * (1 - (x / 1.6) ** 2) * (1 - (y / 0.95) ** 2)
        parts.append(_stone(rng, size, tone).transformed((x, y, h + heap)))
    for x, y, yaw, pitch in (
        (0.5, 0.1, 0.7, -0.5),
        (-0.6, -0.2, 2.3, -0.6),
        (0.0, 0.3, -1.2, -0.35),
    ):
        plank = box((1.5, 0.14, 0.04), (0, 0, 0), _TIMBER, Material.WOOD)
        parts.append(plank.transformed((x, y, h + 0.25), yaw=yaw, pitch=pitch))
    return Mesh.merge(parts)
