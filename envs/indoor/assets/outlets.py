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
_COPPER: Colour = (0.85, 0.42, 0.18)
_FACE = (0.050, 0.054)  # m: width, height of a socket
_SLOTS = ((-0.011, 0.008), (0.011, 0.008), (0.0, -0.013))  # (y, z) of a socket's holes


def _socket(colour: Colour) -> Mesh:
    """Return a socket that faces +x; x = 0 is its face."""
    width, height = _FACE
    parts = [
        rounded_box((0.012, width, height), 0.0055, (-0.006, 0, 0), colour, Material.GLOSSY),
        box((0.0016, 0.0058, 0.017), (0.0, -0.011, 0.008), _HOLE),
        box((0.0016, 0.0058, 0.020), (0.0, 0.011, 0.008), _HOLE),
        disc(0.0058, 0.0016, (0.0, 0, -0.013), _HOLE, segments=12),
    ]
    return Mesh.merge(parts)


COVERS: tuple[tuple[Colour, Colour, Colour], ...] = (
    ((0.95, 0.95, 0.94), (0.88, 0.88, 0.87), (0.20, 0.50, 0.85)),
    ((0.93, 0.90, 0.82), (0.84, 0.80, 0.71), (0.20, 0.62, 0.35)),
    ((0.95, 0.95, 0.94), (0.86, 0.87, 0.88), (0.92, 0.50, 0.12)),
)
"""Colour of the plate, of the sockets, of the caps' tabs."""

_SIDES = (-0.033, 0.033)  # y of the two sockets
_PLATE = 0.008  # m: how far the plate stands out


def outlet_covered(variant: int) -> Mesh:
    """Return two sockets behind their plate, each closed by a clear cap with a coloured tab."""
    plate, socket, tab = COVERS[variant]
    parts = [
        rounded_box((0.004, 0.146, 0.136), 0.0018, (0.002, 0, 0), (0.42, 0.42, 0.43), segments=1),
        rounded_box((_PLATE, 0.14, 0.13), 0.0035, (_PLATE / 2, 0, 0), plate, Material.GLOSSY),
        disc(0.0035, 0.002, (_PLATE, 0, 0), (0.55, 0.55, 0.56), Material.METAL, 10),
    ]
    for y in _SIDES:
        width, height = _FACE
        rim = rounded_box(
            (0.003, width + 0.006, height + 0.006), 0.0014, (_PLATE, y, 0), (0.55, 0.55, 0.56)
        )
        parts += [rim, _socket(socket).transformed((_PLATE + 0.003, y, 0))]
        parts.append(_cap(tab).transformed((_PLATE + 0.003, y, 0)))
    return Mesh.merge(parts)


def _cap(tab: Colour) -> Mesh:
    """Return a safety cap: a clear shell that stands before the holes, with a tab to pull."""
    width, height = _FACE
    pane = [(0.010, -width / 2, -height / 2), (0.010, width / 2, -height / 2),
            (0.010, width / 2, height / 2), (0.010, -width / 2, height / 2)]  # fmt: skip
    shell = Mesh.build(pane, [(0, 1, 2), (0, 2, 3)], (0.80, 0.90, 0.98), Material.CLEAR, 0.0)
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
    (0.16, 0.22, (0.93, 0.90, 0.82)),
    (-0.14, -0.25, (0.94, 0.94, 0.93)),
    (0.26, 0.18, (0.90, 0.86, 0.76)),
)
"""Roll (about x) and yaw of the sockets that hang out, radians; their colour."""

_HUNG = (0.036, 0.0, -0.004)  # m: where the sockets hang, before the wall
_APART = 0.029  # m: half the distance of the two sockets


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
    parts = [box((0.002, 0.15, 0.14), (0.001, 0, 0), (0.02, 0.018, 0.016)), _torn(random)]
    for y in (-0.066, 0.066):  # the metal box's lips
        parts.append(box((0.012, 0.004, 0.124), (0.006, y, 0), (0.55, 0.56, 0.58), Material.METAL))
    for z in (-0.060, 0.060):
        parts.append(box((0.012, 0.136, 0.004), (0.006, 0, z), (0.55, 0.56, 0.58), Material.METAL))
        parts.append(box((0.013, 0.018, 0.012), (0.006, 0, z * 0.93), STEEL, Material.METAL))
    hung = [
        box((0.002, 0.026, 0.150), (-0.010, 0, 0), STEEL, Material.METAL),
        box((0.026, 0.040, 0.104), (-0.022, 0, 0), BLACK),
        *(_socket(colour).transformed((0, 0, z)) for z in (-_APART, _APART)),
        *(cylinder((-0.020, s * 0.019, z), (-0.020, s * 0.025, z),
        0.005, _COPPER, Material.METAL, 8)
          for s in (-1.0, 1.0) for z in (-0.02, 0.02)),
    ]  # fmt: skip
    parts.append(Mesh.merge(hung).transformed(_HUNG, yaw=yaw, roll=roll))
    s = 1.0 if roll > 0 else -1.0
    runs = (
        ((0.85, 0.10, 0.08), 1.0, 0.03), ((0.12, 0.30, 0.80), 1.0, -0.025),
        ((0.93, 0.78, 0.10), -1.0, 0.02), ((0.10, 0.55, 0.22), -1.0, -0.03),
    )  # fmt: skip
    for wire, side, z in runs:
        path = _arc(
            (0.004, side * 0.052, z * 1.5), (0.022, side * 0.024, z * 0.7), side * 0.012, 0.02
        )
        parts.append(sweep(path, 0.0032, wire, Material.GLOSSY, sides=6))
    # Two wires end in the open, stripped to the copper.
    for wire, start, end in (
        ((0.85, 0.10, 0.08), (0.004, 0.050 * s, 0.040), (0.052, 0.068 * s, 0.006)),
        ((0.12, 0.30, 0.80), (0.004, -0.046 * s, -0.036), (0.050, -0.070 * s, -0.058)),
    ):
        path = _arc(start, end, 0.012 * s, 0.012)
        parts.append(sweep(path, 0.0034, wire, Material.GLOSSY, sides=6))
        tip = path[-1] + (path[-1] - path[-2]) * 1.6
        parts.append(frustum(path[-1], tip, 0.0026, 0.0018, _COPPER, Material.METAL, 6))
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
    inner = unit * (0.071, 0.066) * random.uniform(0.95, 1.06, (n, 1))
    outer = inner * random.uniform(1.10, 1.24, (n, 1))
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
            x, y2, z2 = turn @ np.array([0.0, y, side + z]) + _HUNG
            holes.append((float(x), float(y2), float(z2)))
    return _named(holes)


BUILDERS: Builders = {
    "outlet_exposed": (len(EXPOSED), outlet_exposed),
    "outlet_covered": (len(COVERS), outlet_covered),
}
ANCHORS: Anchors = {"outlet_exposed": _open_holes, "outlet_covered": _covered_holes}
