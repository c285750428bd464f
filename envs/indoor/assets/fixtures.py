"""The fire extinguisher on the wall and the kitchen chair."""

from __future__ import annotations

import numpy as np

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.lettering import draped, lettering
from ....rendering.shapes.primitives import (
    Colour,
    box,
    cylinder,
    disc,
    extrude,
    frustum,
    lathe,
    rounded_box,
    sweep,
)
from .parts import BLACK, STEEL, WHITE, Anchors, Builders, Place

_RED: Colour = (0.82, 0.03, 0.03)
_AXIS = 0.098  # m: of the bottle, before the wall
_LOW = -0.235  # m: its bottom, under the origin
_RADIUS = 0.078
_LEVER = (_AXIS + 0.045, 0.0, 0.232)


def extinguisher(_variant: int) -> Mesh:
    """Return a red fire extinguisher in its bracket; it faces +x, its origin is on the wall."""
    r = _RADIUS
    body = lathe(
        [(0, 0), (r - 0.006, 0), (r, 0.012), (r, 0.32), (r - 0.012, 0.355), (r - 0.040, 0.385),
         (0.026, 0.395), (0.026, 0.41), (0, 0.41)],
        28, _RED, Material.GLOSSY,
    )  # fmt: skip
    band = lathe([(0, 0.0), (r + 0.002, 0.0), (r + 0.002, 0.016), (0, 0.016)], 28, BLACK)
    label = Mesh.build(*_bent(r + 0.0012, 0.95, 0.085, 0.245), WHITE, Material.GLOSSY, 60.0)
    word = draped(
        lettering("FIRE", 0.040, _RED).transformed((r + 0.01, 0, 0.212)), body, (-1, 0, 0)
    )
    flame = [(0.0, 0.0), (0.020, 0.008), (0.024, 0.026), (0.010, 0.046), (0.004, 0.064),
    (-0.006, 0.046),
             (-0.010, 0.036), (-0.020, 0.030), (-0.022, 0.012)]  # fmt: skip
    mark = extrude(flame, 0.004, (0.95, 0.42, 0.05)).transformed(
        (r + 0.0015, 0.0, 0.105), yaw=np.pi / 2
    )
    bottle = Mesh.merge(
        [body, label, word, mark, band.transformed((0, 0, 0.275)), band.transformed((0, 0, 0.05))]
    )
    top = 0.41
    head = [
        cylinder((0, 0, top), (0, 0, top + 0.03), 0.020, (0.72, 0.68, 0.50), Material.METAL, 12),
        box((0.050, 0.034, 0.022), (0.006, 0, top + 0.038), BLACK, Material.GLOSSY),
        disc(0.015, 0.012, (0.026, 0.0, top + 0.012), WHITE, Material.GLOSSY, 14),
        disc(0.009, 0.014, (0.026, 0.0, top + 0.012), (0.15, 0.60, 0.20), Material.MATTE, 10),
        extrude([(-0.02, 0.046), (0.085, 0.036), (0.098, 0.030), (0.096, 0.040), (0.080, 0.048),
        (-0.02, 0.056)],
                0.028, BLACK, Material.GLOSSY).transformed((0, 0, top)),
        extrude([(-0.02, 0.062), (0.060, 0.082), (0.100, 0.078), (0.100, 0.088), (0.058, 0.094),
        (-0.02, 0.076)],
                0.028, _RED, Material.GLOSSY).transformed((0, 0, top)),
        cylinder((-0.008, 0, top + 0.04), (-0.008, 0, top + 0.07), 0.008, STEEL, Material.METAL, 8),
    ]  # fmt: skip
    turn = np.linspace(0, 1, 14)
    hose = np.stack(
        [0.02 + 0.03 * np.sin(np.pi * turn),
        -0.02 - (r + 0.006) * np.clip(2.2 * turn, 0, 1) ** 0.8 * 0.9 - 0.006,
         top + 0.030 + 0.03 * np.sin(np.pi * np.minimum(turn * 2.2,
         1)) - 0.27 * np.clip(turn * 1.25 - 0.25, 0, 1)], 1,
    )  # fmt: skip
    head.append(sweep(hose, 0.011, BLACK, Material.GLOSSY, sides=8))
    end = hose[-1]
    head.append(frustum(end, end - (0.0, 0.0, 0.085), 0.012, 0.026, BLACK, Material.GLOSSY, 12))
    unit = Mesh.merge([bottle, *head]).transformed((_AXIS, 0, _LOW))
    bracket = [
        box((0.006, 0.085, 0.42), (0.003, 0, -0.03), (0.30, 0.31, 0.33), Material.METAL),
        box((0.10, 0.10, 0.008), (0.05, 0, _LOW - 0.004), (0.30, 0.31, 0.33), Material.METAL),
        box((0.020, 0.05, 0.030), (0.012, 0, _LOW + 0.283), BLACK),
    ]
    return Mesh.merge([unit, *bracket])


def _bent(radius: float, half: float, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Return a sheet bent round the z axis before +x: vertices and faces."""
    angle = np.linspace(-half, half, 9)
    ring = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    vertices = np.concatenate([np.c_[ring, np.full(9, z)] for z in (low, high)])
    k = np.arange(8)
    return vertices, np.concatenate(
        [np.stack([k, k + 1, k + 10], 1), np.stack([k, k + 10, k + 9], 1)]
    )


CHAIRS: tuple[tuple[Colour, Colour], ...] = (
    ((0.66, 0.43, 0.22), (0.74, 0.50, 0.27)),
    ((0.34, 0.19, 0.10), (0.42, 0.24, 0.13)),
)
"""Colour of the frame, of the seat."""

SEAT_HEIGHT = 0.45
"""Height of the seat's upper face, m."""


def chair(variant: int) -> Mesh:
    """Return a wooden kitchen chair; who sits on it looks along +x."""
    frame, seat = CHAIRS[variant]
    wood = Material.WOOD
    parts = [
        rounded_box((0.42, 0.42, 0.034), 0.015, (0.0, 0, SEAT_HEIGHT - 0.017), seat, wood),
    ]
    for y in (-0.175, 0.175):
        parts += [
            frustum((0.185, y * 1.06, 0), (0.165, y, 0.42), 0.014, 0.020, frame, wood, 10),
            frustum((-0.205, y * 1.06, 0), (-0.180, y, 0.43), 0.014, 0.020, frame, wood, 10),
            sweep([(-0.180, y, 0.42), (-0.190, y, 0.60), (-0.225, y, 0.78), (-0.250, y, 0.90)],
                  [0.020, 0.019, 0.017, 0.016], frame, wood, sides=8),
            cylinder((0.175, y, 0.20), (-0.192, y, 0.20), 0.010, frame, wood, 8),
            box((0.33, 0.018, 0.05), (-0.008, y, 0.395), frame, wood),
        ]  # fmt: skip
    parts += [
        cylinder((0.0, -0.18, 0.20), (0.0, 0.18, 0.20), 0.010, frame, wood, 8),
        box((0.018, 0.34, 0.05), (0.165, 0, 0.395), frame, wood),
        rounded_box((0.022, 0.40, 0.085), 0.009, (-0.243, 0, 0.870), frame, wood),
        rounded_box((0.018, 0.35, 0.045), 0.007, (-0.196, 0, 0.640), frame, wood),
    ]
    if variant == 0:
        for y in (-0.11, -0.055, 0.0, 0.055, 0.11):
            parts.append(cylinder((-0.196, y, 0.65), (-0.240, y, 0.84), 0.0085, frame, wood, 8))
    else:
        for z, x in ((0.715, -0.210), (0.790, -0.226)):
            parts.append(rounded_box((0.018, 0.35, 0.040), 0.007, (x, 0, z), frame, wood))
    return Mesh.merge(parts)


def _handle(_: int) -> dict[str, Place]:
    return {"handle": _LEVER}


BUILDERS: Builders = {"extinguisher": (1, extinguisher), "chair": (len(CHAIRS), chair)}
ANCHORS: Anchors = {
    "extinguisher": _handle,
    "chair": lambda _: {"seat": (0.0, 0.0, SEAT_HEIGHT)},
}
