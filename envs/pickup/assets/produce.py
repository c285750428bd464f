"""The eggplant, the carrot and the apple."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.primitives import F64, Colour, ellipsoid, lathe, loft, sweep
from .parts import sheet

_PURPLE: Colour = (0.16, 0.035, 0.21)
_CALYX: Colour = (0.26, 0.45, 0.13)
_STALK: Colour = (0.40, 0.52, 0.22)

_ORANGE: Colour = (0.95, 0.42, 0.035)
_GREEN: Colour = (0.17, 0.50, 0.09)

_APPLE_RED = np.array([0.74, 0.035, 0.045])
_APPLE_DARK = np.array([0.52, 0.015, 0.035])
_APPLE_YELLOW = np.array([0.86, 0.66, 0.16])
_BROWN: Colour = (0.25, 0.15, 0.07)


def _eggplant_radius(z: npt.ArrayLike) -> F64:
    h = np.asarray(z, dtype=np.float64)
    big = 0.0300 * np.sqrt(np.maximum(1.0 - ((h + 0.022) / 0.048) ** 2, 0.0))
    small = 0.0225 * np.sqrt(np.maximum(1.0 - ((h - 0.018) / 0.045) ** 2, 0.0))
    # A soft maximum: belly and neck are one skin.
    over = np.maximum(0.008 - np.abs(big - small), 0.0)
    return np.asarray(np.maximum(big, small) + np.where((big > 0) & (small > 0), over**2 / 0.05, 0))


def eggplant() -> Mesh:
    """Return an eggplant: dark purple and shiny, with a green star-shaped calyx and a stalk."""
    t = np.linspace(0.0, np.pi, 26)
    z = -0.0035 - 0.0665 * np.cos(t)
    r = _eggplant_radius(z)
    r[0] = r[-1] = 0.0
    body = lathe(np.stack([r, z], 1), 28, _PURPLE, Material.GLOSSY, 70.0)
    angle = np.arange(60) * (2 * np.pi / 60)
    lobe = 0.5 + 0.5 * np.cos(5 * angle)
    low = 0.0530 - 0.0290 * lobe**1.3
    rows = []
    for share in np.linspace(0.0, 1.0, 9):
        h = 0.0618 + share * (low - 0.0618)
        lift = 0.0016 if share < 1.0 else -0.0006
        away = _eggplant_radius(h) + lift
        rows.append(np.stack([away * np.cos(angle), away * np.sin(angle), h + 0.0008], 1))
    calyx = sheet(rows[::-1], _CALYX, Material.MATTE)
    stalk = sweep(
        [(0, 0, 0.056), (0.0003, 0, 0.063), (0.0008, 0, 0.069), (0.0015, 0, 0.0740)],
        [0.0078, 0.0056, 0.0052, 0.0058], _STALK, Material.MATTE, sides=10,
    )  # fmt: skip
    return Mesh.merge([body, calyx, stalk])


def carrot() -> Mesh:
    """Return a carrot: tapered, ringed, with the cut stalks of its leaves."""
    z = np.concatenate([np.linspace(-0.0695, -0.060, 6), np.linspace(-0.0565, 0.052, 38)])
    r = np.interp(
        z, (-0.058, -0.020, 0.018, 0.045, 0.060), (0.0092, 0.0124, 0.0156, 0.0176, 0.0172)
    )
    tip = np.clip((z + 0.0695) / 0.0115, 0.0, 1.0)
    r *= np.sqrt(tip * (2.0 - tip))
    rng = np.random.default_rng(31)
    r[8:-2] += rng.uniform(-0.00035, 0.00035, len(r) - 10)
    shoulder = [
        (0.0170, 0.0560),
        (0.0157, 0.0600),
        (0.0132, 0.0630),
        (0.0098, 0.0645),
        (0.0, 0.0630),
    ]
    profile = np.concatenate([np.stack([r, z], 1), shoulder])
    body = lathe(profile, 20, _ORANGE, Material.MATTE, 55.0)
    middle = body.vertices[body.faces].mean(axis=1)
    turn = np.arctan2(middle[:, 1], middle[:, 0])
    colours = body.colours.copy()
    for height in np.sort(rng.uniform(-0.058, 0.050, 22)):
        start, wide = rng.uniform(-np.pi, np.pi), rng.uniform(0.5, 1.5)
        near = np.abs(middle[:, 2] - height) < 0.0013
        off = np.abs((turn - start + np.pi) % (2 * np.pi) - np.pi)
        colours[near & (off < wide)] = (0.72, 0.26, 0.02)
    colours[middle[:, 2] > 0.0615] = (0.62, 0.38, 0.06)
    body = Mesh(body.vertices, body.faces, colours, body.materials, body.normals)
    return Mesh.merge([body, *_stalks(rng)])


def _stalks(rng: np.random.Generator) -> list[Mesh]:
    """Return the tuft on a carrot: stalks cut short, which spread."""
    parts = []
    places = [(0.0, 0.0)] + [(0.0040, a) for a in np.arange(5) * 1.2566] + [
        (0.0078, a + 0.4) for a in np.arange(9) * 0.698
    ]  # fmt: skip
    for away, angle in places:
        out = np.array([np.cos(angle), np.sin(angle), 0.0])
        foot = 0.75 * away
        reach = away * 1.55
        top = 0.058 + float(np.sqrt(0.0203**2 - (reach + 0.0012) ** 2)) - rng.uniform(0.0, 0.0012)
        path = [
            foot * out + (0, 0, 0.060),
            (foot + 0.4 * (reach - foot)) * out + (0, 0, 0.060 + 0.55 * (top - 0.060)),
            reach * out + (0, 0, top),
        ]
        bright = rng.uniform(0.75, 1.35)
        colour = tuple(min(1.0, c * bright) for c in _GREEN)
        parts.append(sweep(path, [0.0024, 0.0022, 0.0015], colour, Material.MATTE, sides=6))
    return parts


def apple() -> Mesh:
    """Return a red apple with a yellow flush round its stem, and a leaf."""
    t = np.linspace(-np.pi / 2, np.pi / 2, 30)
    r = 0.0375 * np.cos(t) * (1.0 + 0.05 * np.sin(t))
    z = 0.034 * np.sin(t)
    r[0] = r[-1] = 0.0
    top = np.clip(1.0 - (r / 0.0165) ** 2, 0.0, 1.0) * (t > 0)
    bottom = np.clip(1.0 - (r / 0.0120) ** 2, 0.0, 1.0) * (t < 0)
    z = z + 0.0008 * (t > 0) * np.sin(t) - 0.0085 * top**1.4 + 0.0045 * bottom**1.4
    segments = 32
    body = lathe(np.stack([r, z], 1), segments, (0.7, 0.05, 0.05), Material.GLOSSY, 75.0)
    # Five soft ribs below: an apple, not a ball.
    v = body.vertices.astype(np.float64)
    turn = np.arctan2(v[:, 1], v[:, 0])
    rib = 1.0 + 0.016 * np.cos(5 * turn) * np.clip(-v[:, 2] / 0.034, 0.0, 1.0)
    v[:, :2] *= rib[:, None]
    middle = v[body.faces].mean(axis=1)
    colours = _apple_skin(middle)
    body = Mesh(v.astype(np.float32), body.faces, colours, body.materials, body.normals)
    stem = sweep(
        [(0, 0, 0.0245), (0.0004, 0.0003, 0.030), (0.0012, 0.0007, 0.033), (0.0022, 0.001, 0.0357)],
        [0.0014, 0.0012, 0.0013, 0.0018], _BROWN, Material.MATTE, sides=7,
    )  # fmt: skip
    return Mesh.merge([body, stem, _leaf(), *_blossom()])


def _apple_skin(middle: F64) -> npt.NDArray[np.float32]:
    """Return the colours of faces at `n x 3`: red with streaks, yellow about the stem."""
    turn = np.arctan2(middle[:, 1], middle[:, 0])
    away = np.hypot(middle[:, 0], middle[:, 1])
    streak = 0.5 + 0.5 * np.sin(17 * turn + 1.3 * np.sin(5 * turn)) * np.sin(3 * turn + 0.7)
    skin = _APPLE_RED + (_APPLE_DARK - _APPLE_RED) * (0.55 * streak)[:, None]
    flush = np.clip(1.0 - away / (0.0175 + 0.005 * streak), 0.0, 1.0) ** 0.7
    flush = np.where(middle[:, 2] > 0.0, flush, 0.9 * flush)
    side = 0.42 * np.clip(np.cos(turn - 2.3) - 0.45, 0.0, 1.0) * np.clip(1.0 - streak, 0.2, 1.0)
    share = np.maximum(flush, side)[:, None]
    return np.asarray(skin + (_APPLE_YELLOW - skin) * share, dtype=np.float32)


def _blossom() -> list[Mesh]:
    """Return what is left of the blossom in the apple's lower hollow: five dry sepals."""
    parts = [ellipsoid((0.0026, 0.0026, 0.0012), (0, 0, -0.0292), (0.16, 0.10, 0.05))]
    for turn in np.arange(5) * 1.2566:
        out = np.array([np.cos(turn), np.sin(turn), 0.0])
        path = [0.0015 * out + (0, 0, -0.0292), 0.0042 * out + (0, 0, -0.0312),
                0.0052 * out + (0, 0, -0.0336)]  # fmt: skip
        parts.append(sweep(path, [0.0012, 0.0013, 0.0004], _BROWN, Material.MATTE, sides=5))
    return parts


def _leaf() -> Mesh:
    """Return a leaf that lies over the apple's shoulder."""
    rings = []
    for share in np.linspace(0.0, 1.0, 9):
        away = 0.004 + 0.024 * share
        half = 0.0075 * np.sin(np.pi * min(0.06 + 0.94 * share, 0.985)) ** 0.8
        height = 0.034 * np.sqrt(1.0 - (away / 0.0385) ** 2) + 0.0022 - 0.0012 * (share - 0.3) ** 2
        ring = []
        for side, up in ((-1.0, 0.0), (0.0, -0.0006), (1.0, 0.0), (0.0, -0.0012)):
            ring.append((away, side * half, height + up - 0.0010 * abs(side) * half / 0.0075))
        rings.append(ring)
    leaf = loft(rings, (0.24, 0.50, 0.10), Material.MATTE, 50.0)
    return leaf.transformed(yaw=0.6)
