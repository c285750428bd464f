"""Electrical outlets on the wall, without and with their cover plate.

They face +x; the origin is on the wall, at their middle.
"""

from __future__ import annotations

import numpy as np

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.primitives import (
    Colour,
    box,
    cylinder,
    disc,
    frustum,
    loft,
    rounded_box,
    sweep,
)
from .parts import BLACK, STEEL, Anchors, Builders, Place, generator

_HOLE: Colour = (0.015, 0.015, 0.018)
_VEILED: Colour = (0.44, 0.44, 0.46)  # a hole behind a clouded cap
_COPPER: Colour = (0.85, 0.42, 0.18)
_FACE = (0.050, 0.054)  # m: width, height of a socket
_SLOTS = ((-0.011, 0.008), (0.011, 0.008), (0.0, -0.013))  # (y, z) of a socket's holes


def _socket(colour: Colour, hole: Colour = _HOLE) -> Mesh:
    """Return a socket that faces +x; x = 0 is its face."""
    width, height = _FACE
    parts = [
        rounded_box((0.012, width, height), 0.0055, (-0.006, 0, 0), colour, Material.GLOSSY),
        box((0.0016, 0.0058, 0.017), (0.0, -0.011, 0.008), hole),
        box((0.0016, 0.0058, 0.020), (0.0, 0.011, 0.008), hole),
        disc(0.0058, 0.0016, (0.0, 0, -0.013), hole, segments=12),
    ]
    return Mesh.merge(parts)


COVERS: tuple[tuple[Colour, Colour, Colour], ...] = (
    ((0.97, 0.97, 0.96), (0.93, 0.93, 0.92), (0.78, 0.85, 0.92)),
    ((0.96, 0.955, 0.93), (0.92, 0.91, 0.88), (0.80, 0.87, 0.82)),
    ((0.97, 0.97, 0.97), (0.92, 0.92, 0.93), (0.90, 0.85, 0.78)),
)
"""Colour of the plate, of the sockets, of the caps' tabs."""

_SIDES = (-0.033, 0.033)  # y of the two sockets
_PLATE = 0.008  # m: how far the plate stands out


def outlet_covered(variant: int) -> Mesh:
    """Return two sockets behind their plate, each closed by a clear cap with a pale tab."""
    plate, socket, tab = COVERS[variant]
    parts = [
        rounded_box((0.004, 0.146, 0.136), 0.0018, (0.002, 0, 0), (0.50, 0.50, 0.51), segments=1),
        rounded_box((_PLATE, 0.14, 0.13), 0.0035, (_PLATE / 2, 0, 0), plate, Material.GLOSSY),
        disc(0.0035, 0.002, (_PLATE, 0, 0), (0.70, 0.70, 0.71), Material.METAL, 10),
    ]
    for y in _SIDES:
        width, height = _FACE
        rim = rounded_box(
            (0.003, width + 0.006, height + 0.006), 0.0014, (_PLATE, y, 0), (0.74, 0.74, 0.75)
        )
        parts += [rim, _socket(socket, _VEILED).transformed((_PLATE + 0.003, y, 0))]
        parts.append(_cap(tab).transformed((_PLATE + 0.003, y, 0)))
    return Mesh.merge(parts)


def _cap(tab: Colour) -> Mesh:
    """Return a safety cap: a clear shell that stands before the holes, with a tab to pull."""
    width, height = _FACE
    pane = [(0.010, -width / 2, -height / 2), (0.010, width / 2, -height / 2),
            (0.010, width / 2, height / 2), (0.010, -width / 2, height / 2)]  # fmt: skip
    shell = Mesh.build(pane, [(0, 1, 2), (0, 2, 3)], (0.90, 0.95, 0.99), Material.CLEAR, 0.0)
    rail = 0.0032
    bars = [
        box((0.011, width + rail, rail), (0.0055, 0, s * height / 2), tab, Material.GLOSSY)
        for s in (1.0, -1.0)
    ] + [
        box((0.011, rail, height + rail), (0.0055, s * width / 2, 0), tab, Material.GLOSSY)
        for s in (1.0, -1.0)
    ]
    grip = rounded_box(
        (0.010, 0.020, 0.007), 0.002, (0.013, 0, -height / 2), tab, Material.GLOSSY, 1
    )
    return Mesh.merge([shell, *bars, grip])


def _covered_holes(_: int) -> dict[str, Place]:
    return _named([(_PLATE + 0.003, side + y, z) for side in _SIDES for y, z in _SLOTS])


def _named(holes: list[Place]) -> dict[str, Place]:
    return {f"hole_{k}": hole for k, hole in enumerate(holes)}


EXPOSED: tuple[tuple[float, float, Colour], ...] = (
    (0.66, 0.24, (0.86, 0.81, 0.70)),
    (-0.58, -0.26, (0.88, 0.86, 0.82)),
    (0.78, 0.20, (0.84, 0.78, 0.66)),
)
"""Roll (about x) and yaw of the sockets that hang out, radians; their colour."""

_APART = 0.029  # m: half the distance of the two sockets
_GAPE = (0.146, 0.136)  # m: width and height of the hole
_FRAME: Colour = (0.80, 0.81, 0.83)


def _hung(variant: int) -> Place:
    """Return where the sockets hang before the wall, to the side to which they lean, m."""
    return (0.046, -0.050 * float(np.sign(EXPOSED[variant][0])), -0.024)


def _rotation(variant: int) -> np.ndarray:
    roll, yaw, _ = EXPOSED[variant]
    cr, sr, cy, sy = np.cos(roll), np.sin(roll), np.cos(yaw), np.sin(yaw)
    about_z = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    return np.asarray(about_z @ np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]]))


def outlet_exposed(variant: int) -> Mesh:
    """Return a hole in the plaster out of which two sockets hang on their wires,
    without a plate.
    """
    random = generator("outlet_exposed", variant)
    roll, yaw, colour = EXPOSED[variant]
    wide, high = _GAPE
    parts = [box((0.002, wide, high), (0.001, 0, 0), (0.006, 0.006, 0.007)), _torn(random)]
    lip = 0.007
    for s in (-1.0, 1.0):  # the metal box's lips
        parts.append(
            box((0.014, lip, high), (0.007, s * (wide - lip) / 2, 0), _FRAME, Material.GLOSSY)
        )
        z = s * (high - lip) / 2
        parts.append(box((0.014, wide, lip), (0.007, 0, z), _FRAME, Material.GLOSSY))
        lug = (0.007, 0, z - s * 0.009)
        parts.append(box((0.013, 0.018, 0.012), lug, _FRAME, Material.GLOSSY))
    hung = [
        box((0.002, 0.026, 0.150), (-0.010, 0, 0), STEEL, Material.METAL),
        box((0.026, 0.040, 0.104), (-0.022, 0, 0), BLACK),
        *(_socket(colour).transformed((0, 0, z)) for z in (-_APART, _APART)),
        *(cylinder((-0.020, s * 0.019, z), (-0.020, s * 0.025, z),
        0.005, _COPPER, Material.METAL, 8)
          for s in (-1.0, 1.0) for z in (-0.02, 0.02)),
    ]  # fmt: skip
    at = _hung(variant)
    parts.append(Mesh.merge(hung).transformed(at, yaw=yaw, roll=roll))
    s = 1.0 if at[1] > 0 else -1.0
    runs = (
        ((0.88, 0.07, 0.06), (-0.030, 0.052), (0.030, -0.006), 0.016),
        ((0.98, 0.80, 0.06), (-0.056, 0.030), (0.026, -0.022), 0.014),
        ((0.10, 0.30, 0.90), (-0.056, -0.030), (0.030, -0.042), -0.016),
    )  # fmt: skip
    for wire, (y, z), (end_y, end_z), aside in runs:
        path = _arc((0.004, s * y, z), (0.024, s * end_y, end_z), s * aside, 0.012)
        parts.append(sweep(path, 0.0046, wire, Material.GLOSSY, sides=7))
    # One wire ends in the open, stripped to the copper.
    path = _arc((0.004, -s * 0.050, -0.048), (0.050, -s * 0.070, -0.066), 0.010 * s, 0.012)
    parts.append(sweep(path, 0.0044, (0.88, 0.07, 0.06), Material.GLOSSY, sides=7))
    tip = path[-1] + (path[-1] - path[-2]) * 1.8
    parts.append(frustum(path[-1], tip, 0.0032, 0.0020, _COPPER, Material.METAL, 6))
    return Mesh.merge(parts)


def _arc(start: Place, end: Place, aside: float, out: float) -> np.ndarray:
    t = np.linspace(0, 1, 9)[:, None]
    line = np.asarray(start) * (1 - t) + np.asarray(end) * t
    bow = np.sin(np.pi * t)
    return np.asarray(line + bow * np.array([out, aside, 0.0]))


def _torn(random: np.random.Generator) -> Mesh:
    """Return the plaster's broken rim round the hole."""
    n = 40
    angle = np.arange(n) * (2 * np.pi / n)
    square = 1.0 / np.maximum(np.abs(np.cos(angle)), np.abs(np.sin(angle)))
    square = np.minimum(square, 1.25)
    unit = np.stack([np.cos(angle), np.sin(angle)], 1) * square[:, None]
    inner = unit * (0.0735, 0.0685) * random.uniform(0.98, 1.05, (n, 1))
    outer = inner * random.uniform(1.05, 1.13, (n, 1))
    middle = 0.5 * (inner + outer)
    rings = [
        np.c_[np.full(n, x), ring]
        for x, ring in ((0.0, outer), (0.0035, outer * 0.985), (0.007, middle), (0.004, inner),
                        (0.0, inner))
    ]  # fmt: skip
    rim = loft(np.stack(rings), (0.80, 0.76, 0.69), Material.PLASTER, 20.0, closed=True)
    colours = rim.colours * random.uniform(0.72, 1.08, (len(rim.faces), 1)).astype(np.float32)
    return Mesh(rim.vertices, rim.faces, np.clip(colours, 0, 1), rim.materials, rim.normals)


def _open_holes(variant: int) -> dict[str, Place]:
    turn = _rotation(variant)
    holes = []
    for side in (-_APART, _APART):
        for y, z in _SLOTS:
            x, y2, z2 = turn @ np.array([0.0, y, side + z]) + _hung(variant)
            holes.append((float(x), float(y2), float(z2)))
    return _named(holes)


BUILDERS: Builders = {
    "outlet_exposed": (len(EXPOSED), outlet_exposed),
    "outlet_covered": (len(COVERS), outlet_covered),
}
ANCHORS: Anchors = {"outlet_exposed": _open_holes, "outlet_covered": _covered_holes}
