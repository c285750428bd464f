"""Street furniture: lamps, signs, fences, walls, benches, tubs, post boxes.

Nothing here looks like a concept of the catalogue: no bin, no barrier, no shelter.

Each stands on z = 0 at its origin; what reaches over the street reaches along +x.
"""

from __future__ import annotations

import numpy as np

from ...rendering.mesh import Material, Mesh
from ...rendering.shapes.builder import RGB, Builder, shade

STEEL: RGB = (0.50, 0.52, 0.53)
IRON: RGB = (0.12, 0.14, 0.14)
PLANK: RGB = (0.55, 0.42, 0.29)


def mast_lamp(reach: float = 1.8) -> Mesh:
    """Return a tall steel street light, head at 7.6 m, `reach` m from its post."""
    b = Builder()
    b.tube((0, 0, 0), (0, 0, 0.9), 0.11, STEEL, Material.METAL, 8)
    b.tube((0, 0, 0.9), (0, 0, 7.2), (0.075, 0.05), STEEL, Material.METAL, 8, False)
    b.tube((0, 0, 7.2), (0.5, 0, 7.65), (0.05, 0.04), STEEL, Material.METAL, 6, False)
    b.tube((0.48, 0, 7.65), (reach, 0, 7.75), (0.04, 0.035), STEEL, Material.METAL, 6, False)
    b.box(
        (reach - 0.1, -0.13, 7.66),
        (reach + 0.65, 0.13, 7.80),
        shade(STEEL, 0.9),
        Material.METAL,
        "",
    )
    b.box((reach, -0.10, 7.63), (reach + 0.55, 0.10, 7.67), (0.9, 0.9, 0.85), Material.GLOSSY, "")
    return b.mesh()


def lantern_lamp() -> Mesh:
    """Return an old-town lantern on a cast-iron post, 4.3 m high."""
    b = Builder()
    b.tube((0, 0, 0), (0, 0, 0.7), (0.13, 0.09), IRON, Material.METAL, 8)
    b.tube((0, 0, 0.7), (0, 0, 3.5), (0.055, 0.04), IRON, Material.METAL, 8, False)
    b.box((-0.35, -0.02, 3.1), (0.35, 0.02, 3.14), IRON, Material.METAL, "")
    b.tube((0, 0, 3.5), (0, 0, 3.62), (0.05, 0.16), IRON, Material.METAL, 8)
    b.tube((0, 0, 3.62), (0, 0, 4.02), (0.14, 0.21), (0.88, 0.87, 0.80), Material.GLOSSY, 8)
    b.tube((0, 0, 4.02), (0, 0, 4.22), (0.26, 0.06), IRON, Material.METAL, 8)
    b.tube((0, 0, 4.22), (0, 0, 4.34), (0.03, 0.015), IRON, Material.METAL, 6)
    return b.mesh()


def wall_lamp() -> Mesh:
    """Return a lantern on a wall bracket: its wall is x = 0, its height 3.4 m."""
    b = Builder()
    b.box((0, -0.06, 3.2), (0.04, 0.06, 3.6), IRON, Material.METAL, "-x")
    b.tube((0, 0, 3.5), (0.6, 0, 3.62), 0.022, IRON, Material.METAL, 6, False)
    b.tube((0.6, 0, 3.18), (0.6, 0, 3.5), (0.1, 0.15), (0.88, 0.87, 0.80), Material.GLOSSY, 8)
    b.tube((0.6, 0, 3.5), (0.6, 0, 3.66), (0.19, 0.03), IRON, Material.METAL, 8)
    return b.mesh()


def sign(kind: str) -> Mesh:
    """Return a traffic sign that faces +x: "limit", "priority", "parking", "name"."""
    b = Builder()
    b.tube((0, 0, 0), (0, 0, 2.9), 0.032, STEEL, Material.METAL, 8)

    def disc(radius: float, out: float, colour: RGB, corners: int, turn: float) -> None:
        angle = np.arange(corners) * 2 * np.pi / corners + turn
        p = np.column_stack(
            [np.full(corners, out), radius * np.cos(angle), 2.55 + radius * np.sin(angle)]
        )
        fan = np.array([(0, i, i + 1) for i in range(1, corners - 1)])
        b.triangles(p[fan], colour, Material.RETRO)
        if out < 0.045:
            b.triangles((p - (0.012, 0, 0))[fan[:, ::-1]], STEEL, Material.METAL)

    def stroke(y0: float, y1: float, z0: float, z1: float) -> None:
        x = 0.056
        quad = [(x, y0, z0), (x, y1, z0), (x, y1, z1), (x, y0, z1)]
        b.quads([quad], (0.08, 0.08, 0.09), Material.GLOSSY)

    if kind == "limit":
        disc(0.31, 0.04, (0.80, 0.08, 0.08), 24, 0.0)
        disc(0.24, 0.05, (0.94, 0.94, 0.92), 24, 0.0)
        # "30" as strokes, read from the front: +y is on the reader's right.
        for z in (2.42, 2.54, 2.66):
            stroke(-0.15, -0.03, z - 0.018, z + 0.018)
        stroke(-0.062, -0.03, 2.42, 2.66)
        for y in (0.03, 0.118):
            stroke(y, y + 0.032, 2.42, 2.66)
        for z in (2.42, 2.66):
            stroke(0.03, 0.15, z - 0.018, z + 0.018)
    elif kind == "priority":
        disc(0.36, 0.04, (0.95, 0.95, 0.93), 4, 0.0)
        disc(0.27, 0.05, (0.92, 0.72, 0.10), 4, 0.0)
    elif kind == "parking":
        disc(0.36, 0.04, (0.10, 0.28, 0.62), 4, np.pi / 4)
        disc(0.08, 0.05, (0.94, 0.94, 0.94), 4, np.pi / 4)
    else:
        b.box((0.03, -0.5, 2.5), (0.06, 0.5, 2.72), (0.12, 0.26, 0.42), Material.RETRO, "")
        b.box((0.055, -0.4, 2.58), (0.065, 0.4, 2.64), (0.93, 0.93, 0.93), Material.RETRO, "")
    return b.mesh()


def board_fence(length: float, height: float, colour: RGB, board: float = 0.27) -> Mesh:
    """Return a fence of level boards on posts along y, its middle at the origin.

    Args:
        length: m.
        height: m.
        colour: sRGB.
        board: Height of one board, about, m.
    """
    b = Builder()
    boards = max(3, round(height / board))
    step = (height - 0.1) / boards
    for k in range(boards):
        z = 0.1 + k * step
        tone = shade(colour, 0.94 + 0.06 * ((k * 7) % 3 - 1))
        b.box(
            (-0.015, -length / 2, z),
            (0.015, length / 2, z + step - 0.025),
            tone,
            Material.WOOD,
            "-z +y -y",
        )
    for y in np.linspace(-length / 2, length / 2, max(2, round(length / 2.2) + 1)):
        b.box(
            (-0.06, y - 0.05, 0),
            (0.06, y + 0.05, height + 0.06),
            shade(colour, 0.85),
            Material.WOOD,
        )
    return b.mesh()


def picket_fence(length: float, height: float, colour: RGB, pitch: float = 0.22) -> Mesh:
    """Return a fence of pointed pickets, one each `pitch` m, along y, its middle at the origin."""
    b = Builder()
    half = 0.29 * pitch
    count = max(2, round(length / pitch))
    y = np.linspace(-length / 2, length / 2, count)
    outline = np.array(
        [
            (-half, 0.08),
            (half, 0.08),
            (half, height - 0.08),
            (0, height),
            (-half, height - 0.08),
        ]
    )
    p = np.zeros((count, 5, 3))
    p[..., 0] = 0.025  # one sheet: a face is lit on the side that is seen
    p[..., 1] = y[:, None] + outline[:, 0]
    p[..., 2] = outline[:, 1]
    b.triangles(p[:, [0, 1, 2, 0, 2, 3, 0, 3, 4]], colour, Material.WOOD)
    for z in (0.25, height - 0.3):
        b.box(
            (-0.02, -length / 2, z),
            (0.015, length / 2, z + 0.08),
            shade(colour, 0.93),
            Material.WOOD,
            "+y -y",
        )
    return b.mesh()


def garden_wall(length: float, height: float, colour: RGB) -> Mesh:
    """Return a low brick wall with a coping along y, its middle at the origin."""
    b = Builder()
    h = length / 2
    b.box((-0.13, -h, -0.1), (0.13, h, height), colour, Material.BRICK)
    b.box(
        (-0.17, -h - 0.03, height),
        (0.17, h + 0.03, height + 0.07),
        (0.66, 0.64, 0.60),
        Material.CONCRETE,
        "",
    )
    return b.mesh()


def bench() -> Mesh:
    """Return a park bench that faces +x, 1.6 m long."""
    b = Builder()
    for k in range(3):
        x = -0.2 + 0.16 * k
        b.box((x, -0.8, 0.44), (x + 0.13, 0.8, 0.48), PLANK, Material.WOOD, "")
    for k in range(2):
        z = 0.62 + 0.18 * k
        b.box((-0.29, -0.8, z), (-0.25, 0.8, z + 0.13), PLANK, Material.WOOD, "")
    for y in (-0.65, 0.65):
        b.box((-0.3, y - 0.03, 0), (-0.23, y + 0.03, 0.92), IRON, Material.METAL)
        b.box((-0.3, y - 0.03, 0.38), (0.28, y + 0.03, 0.44), IRON, Material.METAL, "")
        b.box((0.2, y - 0.03, 0), (0.26, y + 0.03, 0.42), IRON, Material.METAL)
    return b.mesh()


def planter(colour: RGB = (0.55, 0.53, 0.50)) -> Mesh:
    """Return a square concrete tub with earth, 0.55 m high and 1 m wide."""
    b = Builder()
    b.box((-0.5, -0.5, 0), (0.5, 0.5, 0.55), colour, Material.CONCRETE)
    b.rectangle((-0.42, 0.42), (-0.42, 0.42), 0.553, (0.22, 0.16, 0.12), Material.MATTE)
    return b.mesh()


def letter_box(colour: RGB) -> Mesh:
    """Return a letter box on a wooden post, its flap towards +x."""
    b = Builder()
    b.box((-0.05, -0.05, 0), (0.05, 0.05, 1.0), PLANK, Material.WOOD)
    b.box((-0.22, -0.12, 0.98), (0.22, 0.12, 1.26), colour, Material.GLOSSY, "")
    return b.mesh()
