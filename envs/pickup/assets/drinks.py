"""The can and the bottle."""

from __future__ import annotations

import numpy as np

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.primitives import Colour, bands, cylinder, lathe, loft, rounded_box
from .parts import SILVER, WHITE, disc, sheet, wrapped

_CAN_BLUE: Colour = (0.035, 0.10, 0.42)
_RED: Colour = (0.82, 0.035, 0.05)
_YELLOW: Colour = (0.99, 0.78, 0.06)
_CAN_RADIUS = 0.0265
_WALL = (-0.0610, 0.0600)  # heights between which the can is straight, m
_SLANT = 0.34  # radians by which a panel's edge leans between the can's middle and its end

# A horned head, half of it; ours. Millimetres.
_HORNED = (
    (0.0, 5.2), (2.8, 5.6), (5.0, 4.2), (8.0, 5.4), (9.6, 8.0), (10.6, 9.8), (11.4, 6.6),
    (10.4, 2.6), (6.6, 0.4), (4.6, -0.6), (3.6, -5.0), (2.4, -8.4), (0.0, -9.6),
)  # fmt: skip

_BLUE: Colour = (0.03, 0.27, 0.78)
_PALE: Colour = (0.55, 0.80, 0.97)


def can() -> Mesh:
    """Return a slim drink can: panels of blue and silver, a red emblem on a yellow disc."""
    r = _CAN_RADIUS
    low, high = _WALL
    parts = [
        lathe(
            [(0.0, -0.0635), (0.016, -0.0645), (0.0205, -0.067), (0.0230, -0.067),
             (0.0246, -0.0648), (0.0262, low), (r, low)],
            40, SILVER, Material.METAL,
        ),
        lathe(
            [(r, high), (0.0262, high), (0.0246, 0.0640), (0.0252, 0.0650), (0.0252, 0.0670),
             (0.0234, 0.0670), (0.0226, 0.0642), (0.0, 0.0642)],
            40, SILVER, Material.METAL,
        ),
        _panels(low, 0.0, 1.0, 0),
        _panels(0.0, high, -1.0, 1),
        rounded_box((0.016, 0.010, 0.0012), 0.0005, (0.004, 0.0, 0.0650), SILVER, Material.METAL),
        cylinder((-0.012, 0, 0.0640), (-0.012, 0, 0.0646), 0.006, (0.10, 0.10, 0.11),
                 Material.MATTE, 14),
    ]  # fmt: skip
    half = np.array(_HORNED) * 1e-3
    head = np.concatenate([half, (half * (-1.0, 1.0))[-2:0:-1]])
    for quarter in range(4):
        angle = quarter * np.pi / 2
        parts.append(wrapped(disc(0.0125), r, angle, 0.0, _YELLOW, lift=0.0004))
        parts.append(wrapped(1.06 * head, r, angle, 0.0, _RED, lift=0.0008))
    # One emblem of four looks where the camera stands.
    return Mesh.merge(parts).transformed(yaw=-0.75)


def _panels(low: float, high: float, lean: float, first: int) -> Mesh:
    """Return a half of the can's wall, its quarters blue and silver in turn, their edges slanted.

    Args:
        low: From this height, m.
        high: To this one, m.
        lean: Side to which the edges lean away from the can's middle: +1 or -1.
        first: Whether the first quarter is silver (0) or blue (1).
    """
    sides, rows = 12, 4
    z = np.linspace(low, high, rows + 1)
    parts = []
    for quarter in range(4):
        turn = (quarter + np.linspace(0.0, 1.0, sides + 1)) * np.pi / 2
        away = np.abs(z) / max(abs(low), abs(high))
        # Every second edge leans the other way: trapezoids.
        sway = np.linspace(1.0, -1.0, sides + 1) * (1.0 if quarter % 2 else -1.0)
        at = turn[None] + lean * _SLANT * away[:, None] * sway[None]
        grid = np.stack(
            [
                _CAN_RADIUS * np.cos(at),
                _CAN_RADIUS * np.sin(at),
                np.repeat(z[:, None], sides + 1, 1),
            ],
            axis=-1,
        )
        silver = (quarter + first) % 2 == 0
        parts.append(
            _strip(
                grid, SILVER if silver else _CAN_BLUE, Material.METAL if silver else Material.GLOSSY
            )
        )
    return Mesh.merge(parts)


def _strip(grid: np.ndarray, colour: Colour, material: Material) -> Mesh:
    """Return the skin over a grid of points on the can's wall."""
    rows, columns = grid.shape[:2]
    i, j = (
        a.ravel() for a in np.meshgrid(np.arange(rows - 1), np.arange(columns - 1), indexing="ij")
    )
    a, c = i * columns + j, (i + 1) * columns + j
    faces = np.concatenate([np.stack([a, a + 1, c + 1], 1), np.stack([a, c + 1, c], 1)])
    v = grid.reshape(-1, 3)
    built = Mesh.build(v, faces, colour, material, 60.0)
    out = v * (1.0, 1.0, 0.0)
    normals = (out / np.linalg.norm(out, axis=1, keepdims=True))[faces]
    return Mesh(
        built.vertices, built.faces, built.colours, built.materials, normals.astype(np.float32)
    )


def bottle() -> Mesh:
    """Return a blue plastic bottle with a white screw cap and a pale label."""
    profile = [
        (0.0, -0.0975),
        (0.020, -0.0985),
        (0.026, -0.100),
        (0.0300, -0.0985),
        (0.0320, -0.094),
    ]
    for groove in (-0.080, -0.068):
        profile += _groove(groove)
    profile += [(0.0320, -0.0585), (0.0313, -0.0575), (0.0313, 0.0055), (0.0320, 0.0065)]
    profile += _groove(0.018)
    profile += [
        (0.0320, 0.0300), (0.0313, 0.0350), (0.0288, 0.0385), (0.0262, 0.0415), (0.0250, 0.0450),
        (0.0246, 0.0540), (0.0232, 0.0595), (0.0200, 0.0640), (0.0168, 0.0670), (0.0150, 0.0700),
        (0.0140, 0.0735), (0.0160, 0.0738), (0.0160, 0.0758), (0.0136, 0.0762), (0.0136, 0.0800),
        (0.0, 0.0800),
    ]  # fmt: skip
    body = lathe(profile, 44, _BLUE, Material.GLOSSY, 50.0)
    body = bands(body, 2, [(-0.0575, 0.0055)], _PALE)
    cap = lathe(
        [(0.0, 0.0772), (0.0158, 0.0772), (0.0158, 0.0975), (0.0146, 0.0996), (0.0, 0.1000)],
        32, WHITE, Material.GLOSSY, 35.0,
    )  # fmt: skip
    parts = [
        body,
        cap,
        *(_knurl(k) for k in range(20)),
        _wave(-0.034, 0.0045),
        _wave(-0.042, 0.002),
    ]
    drop = _drop()
    for side in range(3):
        parts.append(wrapped(drop, 0.0313, side * 2 * np.pi / 3, -0.014, _BLUE))
    return Mesh.merge(parts)


def _groove(z: float) -> list[tuple[float, float]]:
    """Return the profile of a ring pressed into the bottle."""
    return [(0.0320, z - 0.0035), (0.0303, z - 0.001), (0.0303, z + 0.001), (0.0320, z + 0.0035)]


def _knurl(k: int) -> Mesh:
    """Return one of the ridges of the cap."""
    angle = 2 * np.pi * k / 20
    out, along = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    base, tip = 0.0156, 0.0165
    rings = []
    for z in (0.0785, 0.0965):
        ring = [base * out - 0.0011 * along, tip * out - 0.0005 * along,
                tip * out + 0.0005 * along, base * out + 0.0011 * along]  # fmt: skip
        rings.append([(*p, z) for p in ring])
    return loft(rings, WHITE, Material.GLOSSY, 20.0)


def _wave(z: float, half: float) -> Mesh:
    """Return a wavy band round the label, its middle at height `z`, `half` m up and down."""
    angle = np.arange(60) * (2 * np.pi / 60)
    middle = z + 0.004 * np.sin(3 * angle)
    r = 0.0313 + 0.0003
    rows = [
        np.stack([r * np.cos(angle), r * np.sin(angle), middle + side * half], 1)
        for side in (-1.0, 1.0)
    ]
    return sheet(rows, _BLUE, Material.GLOSSY)


def _drop() -> np.ndarray:
    """Return the outline of a drop of water, m."""
    angle = np.linspace(-0.25 * np.pi, 1.25 * np.pi, 18)
    round_part = 0.0062 * np.stack([np.cos(angle), np.sin(angle)], 1) * (1.0, -1.0)
    return np.concatenate([round_part[::-1], [(0.0, 0.0125)]])
