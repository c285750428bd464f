"""What blocks the road: chain barriers, rubble, containers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.primitives import (
    Colour,
    bands,
    box,
    cylinder,
    disc,
    ellipsoid,
    extrude,
    frustum,
    rounded_box,
    torus,
)

_RED = (0.85, 0.08, 0.08)
_WHITE = (0.95, 0.95, 0.95)
_YELLOW = (0.98, 0.80, 0.05)
_BLACK = (0.05, 0.05, 0.055)


def chain_barrier(variant: int) -> Mesh:
    """Return posts with two sagging chains across 3.2 m, and a no-entry disc; 1 m high."""
    first, second = ((_RED, _WHITE), (_YELLOW, _BLACK))[variant]
    ys = (-1.5, 0.0, 1.5) if variant == 0 else (-1.5, 1.5)
    parts = []
    for y in ys:
        parts.append(frustum((0, y, 0), (0, y, 0.07), 0.19, 0.15, _BLACK, Material.MATTE, 20))
        post = cylinder((0, y, 0.05), (0, y, 1.0), 0.05, first, Material.RETRO, 14)
        stripes = [(0.18, 0.36), (0.54, 0.72), (0.88, 0.96)]
        parts.append(bands(post, 2, stripes, second, Material.RETRO))
        parts.append(ellipsoid((0.062, 0.062, 0.05), (0, y, 1.0), first, Material.GLOSSY, 12))
    for a, b in pairwise(ys):
        for top, sag in ((0.92, 0.16), (0.62, 0.14)):
            parts += _chain(
                a + 0.05, b - 0.05, top, sag * (1.0 if len(ys) == 3 else 1.5), first, second
            )
    z = 0.70 if variant == 0 else 0.60
    for x in (0.07, -0.07):  # the sign is for both directions
        parts += [
            disc(0.20, 0.02, (x, 0, z), _WHITE, Material.RETRO, 28),
            disc(0.185, 0.026, (x, 0, z), _RED, Material.RETRO, 28),
            box((0.034, 0.26, 0.065), (x, 0, z), _WHITE, Material.RETRO),
        ]
    return Mesh.merge(parts)


def _chain(
    start: float, end: float, top: float, sag: float, first: Colour, second: Colour
) -> list[Mesh]:
    """Return the links of a chain hung between two points at y = start, end."""
    t = np.linspace(0.0, 1.0, 400)
    y = start + (end - start) * t
    z = top - sag * 4 * t * (1 - t)
    length = np.r_[0.0, np.cumsum(np.hypot(np.diff(y), np.diff(z)))]
    count = max(round(float(length[-1]) / 0.125), 4)
    s = (np.arange(count) + 0.5) / count * length[-1]
    link = torus(0.048, 0.017, segments=8, sides=4)
    links = []
    for k, at in enumerate(s):
        yk, zk = float(np.interp(at, length, y)), float(np.interp(at, length, z))
        slope = float(np.interp(at, length[1:], np.diff(z) / np.diff(y)))
        colour = first if (k // 3) % 2 == 0 else second
        one = link.painted(colour, Material.GLOSSY).transformed(scale=(1.6, 1.0, 1.0))
        one = one.transformed(roll=0.0 if k % 2 else np.pi / 2)
        one = one.transformed(yaw=np.pi / 2).transformed(roll=np.arctan(slope))
        links.append(one.transformed((0.0, yk, zk)))
    return links


def debris(variant: int) -> Mesh:
    """Return three heaps of earth with broken concrete, bricks and planks, 2.4 x 1.4 x 0.45 m."""
    rng = np.random.default_rng(900 + variant)
    parts = []
    heaps = ((-0.05, 0.78, 0.42, 0.36), (0.10, -0.02, 0.50, 0.42), (-0.05, -0.80, 0.40, 0.33))
    for x, y, radius, height in heaps:
        parts.append(_heap(rng, x, y, radius, height))
        for _ in range(9):
            r, a = radius * rng.uniform(0.25, 1.15), rng.uniform(0, 2 * np.pi)
            size = rng.uniform(0.06, 0.16)
            z = max(height * (1 - (r / radius) ** 2) * 0.9, 0.0) + size * 0.30
            grey = rng.uniform(0.55, 0.80)
            stone = _stone(rng, size, (grey, grey * 0.98, grey * 0.94))
            parts.append(stone.transformed((x + r * np.cos(a) * 0.9, y + r * np.sin(a), z)))
        for _ in range(4):
            r, a = radius * rng.uniform(0.4, 1.1), rng.uniform(0, 2 * np.pi)
            z = max(height * (1 - (r / radius) ** 2) * 0.9, 0.0) + 0.05
            brick = box((0.22, 0.11, 0.075), (0, 0, 0), (0.66, 0.25, 0.16), Material.MATTE)
            parts.append(
                brick.transformed(
                    (x + r * np.cos(a) * 0.9, y + r * np.sin(a), z),
                    yaw=rng.uniform(0, 3.1),
                    pitch=rng.uniform(-0.5, 0.5),
                    roll=rng.uniform(-0.4, 0.4),
                )
            )
    for k in range(6):
        plank = box(
            (rng.uniform(0.7, 1.15), 0.12, 0.03), (0, 0, 0), (0.72, 0.54, 0.32), Material.WOOD
        )
        parts.append(
            plank.transformed(
                (rng.uniform(-0.1, 0.15), -0.75 + 0.3 * k, rng.uniform(0.28, 0.34)),
                yaw=rng.uniform(0.5, 2.6),
                pitch=rng.uniform(-0.3, 0.3),
                roll=rng.uniform(-0.3, 0.3),
            )
        )
    mesh = Mesh.merge(parts)
    vertices = mesh.vertices.copy()
    vertices[:, 2] = np.maximum(vertices[:, 2], 0.0)
    return Mesh(vertices, mesh.faces, mesh.colours, mesh.materials, mesh.normals)


def _stone(rng: np.random.Generator, size: float, colour: Colour) -> Mesh:
    ball = ellipsoid(1.0, segments=6)
    shape = rng.uniform(0.7, 1.25, (len(ball.vertices), 1)) * size * rng.uniform(0.6, 1.1, 3)
    return Mesh.build(ball.vertices * shape, ball.faces, colour, Material.CONCRETE, 0.0)


def _heap(rng: np.random.Generator, x: float, y: float, radius: float, height: float) -> Mesh:
    rings, around = 8, 22
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
    colours = np.clip(np.array([0.40, 0.27, 0.16]) * tone, 0, 1)
    return Mesh.build(vertices, faces, colours, Material.MATTE, 25.0)


CONTAINERS: tuple[tuple[str, Colour, float], ...] = (
    ("container", (0.12, 0.28, 0.58), 4.0),
    ("container", (0.68, 0.17, 0.12), 6.0),
    ("container", (0.13, 0.42, 0.26), 5.0),
    ("skip", (0.92, 0.70, 0.08), 3.6),
)
"""Form, colour, length in m."""


def obstruction(variant: int) -> Mesh:
    """Return a container with its doors at -x and +x, 2.4 m wide; the last variant is a skip."""
    form, colour, length = CONTAINERS[variant]
    return _skip(colour, length) if form == "skip" else _container(colour, length)


def _container(colour: Colour, length: float) -> Mesh:
    w, h = 2.4, 2.5
    dark: Colour = (colour[0] * 0.72, colour[1] * 0.72, colour[2] * 0.72)
    parts = []
    # Corrugated long sides and roof: one zigzag section each.
    n = int(length / 0.28) * 4
    xs = np.linspace(-length / 2 + 0.1, length / 2 - 0.1, n + 1)
    wave = np.where((np.arange(n + 1) % 4) < 2, 0.0, 0.045)
    for side in (1.0, -1.0):
        outline = [(x, wv) for x, wv in zip(xs, wave, strict=True)]
        outline += [(xs[-1], -0.03), (xs[0], -0.03)]
        panel = extrude(outline, h - 0.3, colour, Material.GLOSSY, 20)
        roll = -np.pi / 2
        panel = panel.transformed(roll=roll).transformed(scale=(1, side, 1))
        parts.append(panel.transformed((0, side * (w / 2 - 0.055), h / 2)))
    parts.append(box((length - 0.1, w - 0.1, 0.06), (0, 0, h - 0.06), dark, Material.GLOSSY))
    parts.append(box((length - 0.1, w - 0.1, 0.10), (0, 0, 0.12), dark))
    for x in (-length / 2 + 0.07, length / 2 - 0.07):
        for y in (-w / 2 + 0.07, w / 2 - 0.07):
            parts.append(box((0.14, 0.14, h), (x, y, h / 2), dark, Material.GLOSSY))
            for z in (0.06, h - 0.06):
                parts.append(box((0.18, 0.18, 0.12), (x * 0.992, y * 0.992, z), (0.45, 0.46, 0.47)))
        for z in (0.09, h - 0.09):
            parts.append(box((0.14, w - 0.2, 0.18), (x, 0, z), dark, Material.GLOSSY))
    for y in (-w / 2 + 0.07, w / 2 - 0.07):
        for z in (0.08, h - 0.07):
            parts.append(box((length - 0.2, 0.12, 0.14), (0, y, z), dark, Material.GLOSSY))
    for end in (1.0, -1.0):
        parts += [m.transformed(scale=(end, 1, 1)) for m in _doors(colour, length / 2, w, h)]
    return Mesh.merge(parts)


def _doors(colour: Colour, x: float, w: float, h: float) -> list[Mesh]:
    steel = (0.72, 0.73, 0.75)
    parts = []
    for side in (1.0, -1.0):
        y = side * (w / 4 - 0.05)
        parts.append(
            box((0.05, w / 2 - 0.16, h - 0.34), (x - 0.08, y, h / 2), colour, Material.GLOSSY)
        )
        for k in range(4):
            parts.append(
                box(
                    (0.03, w / 2 - 0.28, 0.22),
                    (x - 0.05, y, 0.48 + k * 0.52),
                    colour,
                    Material.GLOSSY,
                )
            )
        for offset in (0.14, w / 2 - 0.32):
            yb = side * offset
            parts.append(
                cylinder(
                    (x - 0.01, yb, 0.12), (x - 0.01, yb, h - 0.12), 0.024, steel, Material.METAL, 8
                )
            )
            for z in (0.25, 0.95, h - 0.95, h - 0.25):
                parts.append(box((0.05, 0.09, 0.06), (x - 0.015, yb, z), steel, Material.METAL))
            parts.append(
                box((0.03, 0.26, 0.04), (x + 0.01, yb + side * 0.12, 1.10), steel, Material.METAL)
            )
    parts.append(box((0.02, 0.03, h - 0.34), (x - 0.045, 0, h / 2), _BLACK))
    # Markings: a plate and a warning stripe.
    parts.append(box((0.012, 0.36, 0.22), (x - 0.03, 0.66, 1.86), _WHITE))
    parts.append(box((0.012, 0.30, 0.06), (x - 0.028, -0.66, 1.98), _WHITE))
    parts.append(box((0.012, 0.30, 0.06), (x - 0.028, -0.66, 1.87), _WHITE))
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
    rng = np.random.default_rng(77)
    for _ in range(22):
        size = rng.uniform(0.10, 0.26)
        grey = rng.uniform(0.35, 0.75)
        tone = (grey, grey * 0.9, grey * 0.8)
        stone = _stone(rng, size, tone)
        parts.append(stone.transformed((rng.uniform(-1.4, 1.4), rng.uniform(-0.7, 0.7), h + 0.02)))
    return Mesh.merge(parts)
