"""Bottles of household chemicals, as they stand under the sink."""

from __future__ import annotations

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.primitives import (
    Colour,
    box,
    cylinder,
    extrude,
    frustum,
    lathe,
    rounded_box,
    sweep,
)
from .parts import BLACK, WHITE, Builders

_GLOSS = Material.GLOSSY


def _diamond(size: float) -> Mesh:
    """Return a plain hazard diamond that faces +x: red frame, white field, black mark."""

    def tile(half: float, x: float, colour: Colour) -> Mesh:
        corners = [(x, 0, -half), (x, half, 0), (x, 0, half), (x, -half, 0)]
        return Mesh.build(corners, [(0, 1, 2), (0, 2, 3)], colour, Material.MATTE, 0.0)

    return Mesh.merge([
        tile(size / 2, 0.0, (0.85, 0.04, 0.04)),
        tile(size * 0.36, 0.0006, (0.97, 0.97, 0.96)),
        box((0.0008, size * 0.10, size * 0.26), (0.0008, 0, size * 0.06), BLACK),
        box((0.0008, size * 0.10, size * 0.09), (0.0008, 0, -size * 0.17), BLACK),
    ])  # fmt: skip


def _spray(body: Colour, head: Colour) -> Mesh:
    """Return a trigger spray bottle, 0.275 m."""
    bottle = lathe(
        [(0, 0), (0.040, 0), (0.043, 0.006), (0.043, 0.125), (0.034, 0.165), (0.017, 0.195),
        (0.015, 0.21),
         (0, 0.21)],
        18, body, _GLOSS,
    )  # fmt: skip
    parts = [
        bottle,
        cylinder((0, 0, 0.205), (0, 0, 0.230), 0.019, head, _GLOSS, 14),
        extrude([(-0.030, 0.228), (0.020, 0.228), (0.055, 0.246), (0.060, 0.262), (0.030, 0.275),
        (-0.030, 0.270),
                 (-0.040, 0.250)], 0.030, head, _GLOSS, inset=0.004),
        cylinder((0.055, 0, 0.256), (0.072, 0, 0.256), 0.010, (0.80, 0.12, 0.10), _GLOSS, 10),
        extrude([(0.026, 0.236), (0.038, 0.238), (0.040, 0.205), (0.052, 0.182), (0.042, 0.180),
        (0.030, 0.205)],
                0.014, (0.80, 0.12, 0.10), _GLOSS),
        box((0.001, 0.060, 0.075), (0.0435, 0, 0.075), WHITE),
        _diamond(0.055).transformed((0.0446, 0, 0.075)),
    ]  # fmt: skip
    return Mesh.merge(parts)


def _jug(body: Colour, cap: Colour, label: Colour) -> Mesh:
    """Return a bleach jug with its handle, 0.28 m."""
    parts = [
        rounded_box((0.105, 0.125, 0.175), 0.022, (0, 0, 0.0875), body, _GLOSS),
        frustum((0, -0.012, 0.165), (0, -0.025, 0.235), 0.050, 0.021, body, _GLOSS, 16),
        cylinder((0, -0.025, 0.232), (0, -0.025, 0.272), 0.022, cap, _GLOSS, 16),
        sweep([(0, 0.046, 0.150), (0, 0.056, 0.185), (0, 0.046, 0.222), (0, 0.012, 0.232),
        (0, -0.015, 0.226)],
              0.0115, body, _GLOSS, sides=8),
        box((0.001, 0.085, 0.105), (0.0528, 0, 0.085), label),
        _diamond(0.070).transformed((0.0540, 0, 0.082)),
    ]  # fmt: skip
    return Mesh.merge(parts)


def _washing_up(body: Colour, cap: Colour) -> Mesh:
    """Return an oval bottle of washing liquid, 0.25 m."""
    profile = [(0, 0), (0.038, 0), (0.043, 0.008), (0.040, 0.08), (0.043, 0.135), (0.030, 0.185),
    (0.014, 0.205),
               (0, 0.205)]  # fmt: skip
    bottle = lathe(profile, 18, body, _GLOSS).transformed(scale=(0.78, 1.0, 1.0))
    parts = [
        bottle,
        frustum((0, 0, 0.202), (0, 0, 0.228), 0.017, 0.012, cap, _GLOSS, 12),
        cylinder((0, 0, 0.226), (0, 0, 0.248), 0.006, cap, _GLOSS, 10),
        box((0.001, 0.052, 0.070), (0.0335, 0, 0.080), WHITE),
        _diamond(0.050).transformed((0.0346, 0, 0.080)),
    ]
    return Mesh.merge(parts)


def _drain(body: Colour, cap: Colour) -> Mesh:
    """Return a round bottle of drain cleaner with a ribbed cap, 0.23 m."""
    bottle = lathe(
        [(0, 0), (0.039, 0), (0.042, 0.005), (0.042, 0.155), (0.030, 0.180), (0.022, 0.185),
        (0, 0.185)], 18, body,
        _GLOSS,
    )  # fmt: skip
    parts = [
        bottle,
        cylinder((0, 0, 0.183), (0, 0, 0.226), 0.026, cap, _GLOSS, 12),
        box((0.001, 0.058, 0.085), (0.0425, 0, 0.085), (0.98, 0.85, 0.10)),
        _diamond(0.062).transformed((0.0436, 0, 0.085)),
    ]
    return Mesh.merge(parts)


def _powder(body: Colour, lid: Colour) -> Mesh:
    """Return a can of scouring powder, 0.20 m."""
    parts = [
        cylinder((0, 0, 0), (0, 0, 0.19), 0.040, body, _GLOSS, 18),
        cylinder((0, 0, 0.19), (0, 0, 0.20), 0.042, lid, _GLOSS, 18),
        cylinder((0, 0, 0.135), (0, 0, 0.16), 0.0408, lid, _GLOSS, 18),
        _diamond(0.055).transformed((0.0412, 0, 0.075)),
    ]
    return Mesh.merge(parts)


def chemicals(variant: int) -> Mesh:
    """Return four or five bottles of cleaner with hazard diamonds; they face +x."""
    spray = _spray(((0.12, 0.50, 0.88), (0.30, 0.72, 0.30), (0.60, 0.22, 0.70))[variant], WHITE)
    jug = _jug(WHITE, ((0.08, 0.22, 0.68), (0.80, 0.10, 0.10), (0.08, 0.45, 0.28))[variant],
               ((0.20, 0.42, 0.85), (0.95, 0.80, 0.15), (0.25, 0.62, 0.50))[variant])  # fmt: skip
    washing = _washing_up(((0.98, 0.80, 0.06), (0.95, 0.45, 0.08), (0.18, 0.66, 0.28))[variant],
                          ((0.85, 0.12, 0.10), WHITE, WHITE)[variant])  # fmt: skip
    drain = _drain(((0.78, 0.06, 0.07), (0.12, 0.14, 0.18), (0.86, 0.30, 0.05))[variant],
                   (WHITE, (0.80, 0.08, 0.08), BLACK)[variant])  # fmt: skip
    powder = _powder(((0.10, 0.45, 0.30), (0.12, 0.30, 0.70), (0.90, 0.76, 0.12))[variant],
                     ((0.95, 0.84, 0.12), WHITE, (0.75, 0.08, 0.10))[variant])  # fmt: skip
    rows = (
        ((jug, 0.155, -0.045), (spray, 0.020, 0.020), (washing, -0.080, -0.040),
        (drain, -0.175, 0.025),
         (powder, 0.085, 0.070)),
        ((spray, 0.190, 0.010), (drain, 0.085, 0.035), (jug, -0.030, -0.045),
        (washing, -0.145, 0.040),
         (powder, -0.195, -0.060)),
        ((washing, 0.185, 0.030), (jug, 0.060, -0.040), (drain, -0.055, 0.050),
        (spray, -0.165, 0.000)),
    )[variant]  # fmt: skip
    turns = (0.12, -0.2, 0.15, -0.1, 0.2)
    parts = [
        bottle.transformed((x, y, 0), yaw=turn)
        for (bottle, y, x), turn in zip(rows, turns, strict=False)
    ]
    return Mesh.merge(parts)


BUILDERS: Builders = {"chemicals": (3, chemicals)}
