"""The worktop, the sink in it and the tap."""

from __future__ import annotations

import itertools

import numpy as np

from ...rendering.mesh import Material
from ...rendering.shapes.builder import RGB, shade
from ...rendering.shapes.primitives import cylinder, lathe, sweep
from .layout import COUNTER_FRONT, COUNTER_THICKNESS, COUNTER_TOP
from .room_palettes import IRON, STEEL, WHITE, Palette
from .room_parts import FINE, Cell, Parts, Range, cells, rounded_rectangle

BASIN_X: Range = (-0.54, -0.15)
BASIN_HALF = 0.26
"""Half the basin's width along y, m."""

BASIN_DEPTH = 0.17
UPSTAND = 0.06
"""Height of the strip between worktop and splashback, m."""

_STAVE = 0.064
_FLANGE = 0.022


def worktop(b: Parts, look: Palette, y: Range, sink: float, rng: np.random.Generator) -> None:
    """Add the worktop over `y` with a hole for the sink in the middle of `sink`."""
    radius = 0.016 if look.rounded else 0.003
    x0 = COUNTER_FRONT + radius
    hole = (
        BASIN_X[0] - 0.006,
        BASIN_X[1] + 0.006,
        sink - BASIN_HALF - 0.006,
        sink + BASIN_HALF + 0.006,
    )
    origin, u, v = (0.0, 0.0, COUNTER_TOP), (1, 0, 0), (0, 1, 0)
    if look.top_material == Material.WOOD:
        pieces, tints = _staves((x0, 0.0), y, hole, look.top, rng)
        b.sheet(origin, u, v, pieces, tints, look.top_material)
    else:
        b.sheet(origin, u, v, cells((x0, 0.0), y, FINE, hole), look.top, look.top_material)
    _edge(b, look, y, radius)
    top, bottom = COUNTER_TOP, COUNTER_TOP - COUNTER_THICKNESS
    for side, end in enumerate(y):
        corner = [
            (x0, end, bottom), (0.0, end, bottom), (0.0, end, top), (x0, end, top),
            (COUNTER_FRONT, end, top - radius), (COUNTER_FRONT, end, bottom + radius),
        ]  # fmt: skip
        fan = [(corner[0], corner[i], corner[i + 1]) for i in range(1, 5)]
        b.triangles(
            fan if side == 0 else [t[::-1] for t in fan], shade(look.top, 0.95), look.top_material
        )
    low, high = (-0.016, y[0], top), (0.0, y[1], top + UPSTAND)
    b.box(low, high, look.top, look.top_material, skip="-z +x")


def _staves(
    x: Range, y: Range, hole: Cell, colour: RGB, rng: np.random.Generator
) -> tuple[list[Cell], np.ndarray]:
    """Cut a wooden top into staves along y, each of its own tint, round a hole."""
    pieces: list[Cell] = []
    tints = []
    edges = list(np.linspace(x[0], x[1], max(2, round((x[1] - x[0]) / _STAVE)) + 1))
    for a0, a1 in itertools.pairwise(edges):
        start = y[0] - float(rng.uniform(0.0, 0.6))
        while start < y[1]:
            end = start + float(rng.uniform(0.45, 0.8))
            light = 1.0 + float(rng.uniform(-0.09, 0.09))
            tint = np.clip(np.asarray(colour) * light, 0.0, 1.0)
            tint[2] *= 1.0 + float(rng.uniform(-0.06, 0.06))
            low, high = max(start, y[0]), min(end, y[1])
            if high - low > 1e-6:
                part = cells((a0, a1), (low, high), FINE, hole)
                pieces += part
                tints += [tint] * len(part)
            start = end
    return pieces, np.clip(np.array(tints), 0.0, 1.0)


def _edge(b: Parts, look: Palette, y: Range, radius: float) -> None:
    """Add the worktop's front edge and its underside before the doors."""
    top, bottom = COUNTER_TOP, COUNTER_TOP - COUNTER_THICKNESS
    steps = 4 if look.rounded else 1
    quarter = np.linspace(0.0, np.pi / 2, steps + 1)
    profile = [
        (COUNTER_FRONT + radius * (1 - np.sin(t)), top - radius * (1 - np.cos(t))) for t in quarter
    ]
    profile += [
        (COUNTER_FRONT + radius * (1 - np.cos(t)), bottom + radius * (1 - np.sin(t)))
        for t in quarter
    ]
    stations = np.linspace(y[1], y[0], max(2, round((y[1] - y[0]) / FINE)) + 1)
    rings = [[(x, s, z) for s in stations] for x, z in profile[::-1]]
    b.skin(rings, look.top, look.top_material, 40.0, closed=False)
    x0 = COUNTER_FRONT + radius
    under = [(x0, y[0], bottom), (x0, y[1], bottom), (-0.5, y[1], bottom), (-0.5, y[0], bottom)]
    b.quads([under], shade(look.top, 0.7), Material.MATTE)


def sink(b: Parts, look: Palette, middle: float) -> None:
    """Add the steel basin, sunk into the worktop, with its drain, tap and trap."""
    x = 0.5 * sum(BASIN_X)
    hx, hy = 0.5 * (BASIN_X[1] - BASIN_X[0]), BASIN_HALF
    top = COUNTER_TOP

    def ring(grow: float, z: float, radius: float) -> np.ndarray:
        flat = rounded_rectangle(hx + grow, hy + grow, radius, 6)
        return np.column_stack([flat[:, 0] + x, flat[:, 1] + middle, np.full(len(flat), z)])

    depth = BASIN_DEPTH
    rings = [
        ring(_FLANGE, top, 0.030),
        ring(_FLANGE - 0.002, top + 0.003, 0.029),
        ring(0.004, top + 0.003, 0.054),
        ring(0.001, top + 0.001, 0.052),
        ring(-0.002, top - 0.010, 0.050),
        ring(-0.010, top - depth + 0.035, 0.056),
        ring(-0.018, top - depth + 0.011, 0.060),
        ring(-0.040, top - depth + 0.002, 0.070),
        ring(-0.120, top - depth - 0.002, 0.060),
        ring(-0.185, top - depth - 0.004, 0.005),
    ]
    b.skin(rings, STEEL, Material.METAL, 50.0)
    low = top - depth - 0.004
    b.add(lathe([(0.0, 0.0), (0.045, 0.0), (0.043, 0.004), (0.030, 0.002), (0.0, 0.002)], 16,
                shade(STEEL, 0.8), Material.METAL).transformed((x, middle, low)))  # fmt: skip
    b.add(cylinder((x, middle, low + 0.001), (x, middle, low + 0.005), 0.022, IRON, Material.METAL))
    _tap(b, look, middle)
    _trap(b, x, middle, low)


def _tap(b: Parts, look: Palette, middle: float) -> None:
    """Add a swan-neck tap with a lever at its side."""
    metal = look.handle_colour if look.handle_colour != IRON else STEEL
    foot = (-0.085, middle, COUNTER_TOP)
    b.add(
        lathe(
            [(0, 0), (0.027, 0), (0.026, 0.006), (0.020, 0.010), (0.019, 0.075), (0, 0.078)],
            14, metal, Material.METAL,
        ).transformed(foot)
    )  # fmt: skip
    rise, bend = COUNTER_TOP + 0.22, 0.095
    arc = np.linspace(0.0, np.pi, 10)
    path = [(foot[0], middle, COUNTER_TOP + 0.06), (foot[0], middle, rise - 0.03)]
    path += [(foot[0] - bend * (1 - np.cos(t)), middle, rise + bend * np.sin(t)) for t in arc]
    tip = (foot[0] - 2 * bend, middle, rise - 0.045)
    path.append(tip)
    b.add(sweep(path, 0.012, metal, Material.METAL, sides=10))
    b.add(cylinder(tip, (tip[0], middle, tip[2] - 0.014), 0.014, metal, Material.METAL, 10))
    b.add(
        cylinder(
            (foot[0], middle - 0.014, COUNTER_TOP + 0.05),
            (foot[0], middle - 0.042, COUNTER_TOP + 0.05), 0.010, metal, Material.METAL, 10,
        )
    )  # fmt: skip
    b.add(
        cylinder(
            (foot[0], middle - 0.036, COUNTER_TOP + 0.05),
            (foot[0] - 0.012, middle - 0.050, COUNTER_TOP + 0.125), 0.005, metal, Material.METAL, 8,
        )
    )  # fmt: skip


def _trap(b: Parts, x: float, middle: float, top: float) -> None:
    """Add the waste pipe: down from the drain, a bend that holds water, back into the wall."""
    turn = np.linspace(0.0, np.pi, 7)
    bend, low = 0.055, top - 0.22
    path = [(x, middle, top - 0.02), (x, middle, top - 0.10)]
    path += [(x + bend * (1 - np.cos(t)), middle, low - bend * np.sin(t)) for t in turn]
    back = x + 2 * bend
    path += [
        (back, middle, low + 0.05),
        (back + 0.02, middle, low + 0.075),
        (-0.06, middle, low + 0.08),
    ]
    grey = shade(WHITE, 0.9)
    b.add(sweep(path, 0.021, grey, Material.GLOSSY, sides=10))
    for z in (top - 0.03, low + 0.01):
        b.add(cylinder((x, middle, z), (x, middle, z + 0.035), 0.029, grey, Material.GLOSSY, 12))
    for side, colour in ((-0.09, (0.55, 0.20, 0.18)), (0.09, (0.22, 0.32, 0.50))):
        hose = [
            (-0.085, middle + side / 3, top),
            (-0.11, middle + side, 0.5),
            (-0.09, middle + side, 0.36),
        ]
        b.add(sweep(hose, 0.007, shade(STEEL, 0.85), Material.METAL, sides=6))
        b.add(cylinder((-0.105, middle + side, 0.345), (-0.13, middle + side, 0.345), 0.016, colour,
                       Material.GLOSSY, 8))  # fmt: skip
