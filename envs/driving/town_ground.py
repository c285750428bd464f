"""The ground of a town: carriageway, markings, kerbs, sidewalks, crossing streets, horizon."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from ...rendering.mesh import Material
from ...rendering.shapes.builder import RGB, Builder, shade
from .street import (
    CENTRE_LINE_Y,
    CROSSING_WIDTH,
    GUTTER_WIDTH,
    JUNCTION_SETBACK,
    LANE_WIDTH,
    LEFT_EDGE_Y,
    LEFT_SIDEWALK,
    RIGHT_EDGE_Y,
    RIGHT_SIDEWALK,
    SIDEWALK_HEIGHT,
    SIDEWALK_WIDTH,
)

START, END = -16.0, 312.0
SIDE_REACH = 80.0
"""How far crossing streets run to either side, m."""

LOT_HEIGHT = SIDEWALK_HEIGHT - 0.01
"""Height of the lots beside the sidewalks, m."""

CORNER = 1.5
"""Radius of the kerb at a junction, m."""

KERB = 0.16
# Layers on the asphalt lie closer together than a shadow ray is lifted off a surface, so that
# paint casts no shadow beside itself.
PATCH_Z, IRON_Z, LID_Z, PAINT_Z = 0.0008, 0.0012, 0.0016, 0.0020
WHITE: RGB = (0.86, 0.86, 0.83)


@dataclass(frozen=True, slots=True)
class GroundStyle:
    """What a town's ground looks like; colours are sRGB.

    Attributes:
        asphalt: Of the carriageway.
        paving: Of the sidewalks.
        kerb: Of the kerb stones.
        lot: Of the land beside the sidewalks.
        lot_material: Grass or paving.
        far: Of the land behind the lots.
        slab: Length of a paving slab, m.
        zebra: Whether the approach to a junction has a zebra crossing.
        edge_lines: Whether white lines mark the outer edges of the lanes.
    """

    asphalt: RGB
    paving: RGB
    kerb: RGB
    lot: RGB
    lot_material: Material
    far: RGB
    slab: float
    zebra: bool
    edge_lines: bool


def blocks(junctions: tuple[float, ...]) -> list[tuple[float, float]]:
    """Return the x ranges between crossing streets, m."""
    starts = [START, *(x + JUNCTION_SETBACK + CROSSING_WIDTH for x in junctions)]
    ends = [*(x + JUNCTION_SETBACK for x in junctions), END]
    return list(zip(starts, ends, strict=True))


def lay_ground(
    b: Builder, style: GroundStyle, junctions: tuple[float, ...], rng: np.random.Generator
) -> None:
    """Add everything that lies flat."""
    _carriageway(b, style, junctions, rng)
    for x0, x1 in blocks(junctions):
        for side in (-1, 1):
            _sidewalk(b, style, x0, x1, side, junctions, rng)
            _lot(b, style, x0, x1, side)
    _main_markings(b, style, junctions)
    for x in junctions:
        _junction_markings(b, style, x)
    b.rectangle((-2500.0, 2500.0), (-2500.0, 2500.0), -0.06, style.far, Material.GRASS)


def _carriageway(
    b: Builder, style: GroundStyle, junctions: tuple[float, ...], rng: np.random.Generator
) -> None:
    asphalt, inner = style.asphalt, GUTTER_WIDTH
    b.rectangle(
        (START - 60, END + 700),
        (RIGHT_EDGE_Y + inner, LEFT_EDGE_Y - inner),
        0.0,
        asphalt,
        Material.ASPHALT,
    )
    gutter = shade(style.kerb, 0.78)
    for y0, y1 in (
        (RIGHT_EDGE_Y, RIGHT_EDGE_Y + inner),
        (LEFT_EDGE_Y - inner, LEFT_EDGE_Y),
    ):
        for x0, x1 in blocks(junctions):
            ends = (x0 + (CORNER if x0 > START else 0.0), x1 - (CORNER if x1 < END else 0.0))
            b.rectangle(ends, (y0, y1), 0.0, gutter, Material.CONCRETE)
        for x in junctions:
            near, far = x + JUNCTION_SETBACK, x + JUNCTION_SETBACK + CROSSING_WIDTH
            mouth = (near - CORNER, far + CORNER)
            b.rectangle(mouth, (y0, y1), 0.0, asphalt, Material.ASPHALT)
    for x in junctions:
        near, far = x + JUNCTION_SETBACK, x + JUNCTION_SETBACK + CROSSING_WIDTH
        # The corners are square asphalt; the sidewalks' rounded ends stand on top of it.
        b.rectangle(
            (near - CORNER, far + CORNER),
            (RIGHT_EDGE_Y - SIDE_REACH, RIGHT_EDGE_Y),
            0.0,
            asphalt,
            Material.ASPHALT,
        )
        b.rectangle(
            (near - CORNER, far + CORNER),
            (LEFT_EDGE_Y, LEFT_EDGE_Y + SIDE_REACH),
            0.0,
            asphalt,
            Material.ASPHALT,
        )
    for _ in range(16):  # trench repairs in a newer, darker or an older, paler asphalt
        x, long = rng.uniform(START, END - 10), rng.uniform(1.5, 9.0)
        y, wide = rng.uniform(-1.4, 4.0), rng.uniform(0.6, 1.2)
        tone = shade(asphalt, rng.uniform(0.80, 0.92) if rng.random() < 0.7 else 1.1)
        b.rectangle((x, x + long), (y, y + wide), PATCH_Z, tone, Material.ASPHALT)
    for _ in range(14):
        x, y = rng.uniform(START, END), rng.choice([-0.7, 0.5, 2.8, 4.3])
        disc = np.linspace(0, 2 * np.pi, 15)[:-1]
        ring = np.column_stack([x + 0.36 * np.cos(disc), y + 0.36 * np.sin(disc)])
        b.polygon(ring, IRON_Z, (0.36, 0.35, 0.34), Material.METAL)
        b.polygon((ring - (x, y)) * 0.82 + (x, y), LID_Z, (0.29, 0.285, 0.28), Material.CONCRETE)
    for x in np.arange(START + 6, END, 24.0):  # gully grates
        for y0 in (RIGHT_EDGE_Y + 0.02, LEFT_EDGE_Y - 0.28):
            b.rectangle((x, x + 0.5), (y0, y0 + 0.26), IRON_Z, (0.13, 0.13, 0.13), Material.METAL)


def _edge(x0: float, x1: float, rounded: tuple[bool, bool], inset: float) -> np.ndarray:
    """Return the road-side edge of a sidewalk, `n x 2` of (x, distance from the kerb line)."""
    points = []
    r = CORNER
    quarter = np.linspace(0, np.pi / 2, 6)
    if rounded[0]:
        arc = quarter[::-1]
        points += [(x0 + r - (r - inset) * np.sin(a), r - (r - inset) * np.cos(a)) for a in arc]
    else:
        points.append((x0, inset))
    if rounded[1]:
        points += [(x1 - r + (r - inset) * np.sin(a), r - (r - inset) * np.cos(a)) for a in quarter]
    else:
        points.append((x1, inset))
    return np.array(points)


def _sidewalk(
    b: Builder,
    style: GroundStyle,
    x0: float,
    x1: float,
    side: int,
    junctions: tuple[float, ...],
    rng: np.random.Generator,
) -> None:
    rounded = (x0 > START, x1 < END)
    kerb_line = RIGHT_EDGE_Y if side < 0 else LEFT_EDGE_Y

    def at(edge: np.ndarray, z: float) -> np.ndarray:
        return np.column_stack([edge[:, 0], kerb_line + side * edge[:, 1], np.full(len(edge), z)])

    def strip(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Quads between two lines; `second` lies farther from the road or higher."""
        quads = np.stack([first[:-1], first[1:], second[1:], second[:-1]], axis=1)
        return quads if side > 0 else quads[:, ::-1]

    h = SIDEWALK_HEIGHT
    outer, inner = _edge(x0, x1, rounded, 0.0), _edge(x0, x1, rounded, KERB)
    b.quads(strip(at(outer, 0.0), at(outer, h)), shade(style.kerb, 0.9), Material.CONCRETE)
    b.quads(strip(at(outer, h), at(inner, h)), style.kerb, Material.CONCRETE)
    # The corner between the rounded kerb and the straight part behind it.
    straight0 = x0 + (CORNER if rounded[0] else 0.0)
    straight1 = x1 - (CORNER if rounded[1] else 0.0)
    for end, straight in ((0, straight0), (1, straight1)):
        if rounded[end]:
            arc = inner[:6] if end == 0 else inner[-6:]
            centre = np.array([[straight, CORNER]])
            pie = at(np.concatenate([centre, arc]), h)[:, :2]
            b.polygon(pie if side > 0 else pie[::-1], h, style.paving, Material.CONCRETE)
            edge_x = arc[0, 0] if end == 0 else arc[-1, 0]
            y = sorted((kerb_line + side * CORNER, kerb_line + side * SIDEWALK_WIDTH))
            b.rectangle(sorted((straight, edge_x)), y, h, style.paving, Material.CONCRETE)
    count = max(1, round((straight1 - straight0) / style.slab))
    xs = np.linspace(straight0, straight1, count + 1)
    rows = np.linspace(KERB, SIDEWALK_WIDTH, 3)
    for low, high in itertools.pairwise(rows):
        first = at(np.column_stack([xs, np.full(len(xs), low)]), h)
        second = at(np.column_stack([xs, np.full(len(xs), high)]), h)
        tone = rng.uniform(0.93, 1.05, (count, 1))
        b.quads(
            strip(first, second),
            np.clip(np.array(style.paving) * tone, 0, 1),
            Material.CONCRETE,
        )
    for end, present in ((0, rounded[0]), (1, rounded[1])):
        if present:
            _side_sidewalk(b, style, x0 if end == 0 else x1, 1 if end == 0 else -1, side)


def _side_sidewalk(b: Builder, style: GroundStyle, kerb_x: float, inward: int, side: int) -> None:
    """Add the sidewalk along a crossing street, from the corner outwards."""
    kerb_line = RIGHT_EDGE_Y if side < 0 else LEFT_EDGE_Y
    h = SIDEWALK_HEIGHT
    near, far = kerb_line + side * CORNER, kerb_line + side * SIDE_REACH
    y = sorted((near, far))
    edge, back = kerb_x + inward * KERB, kerb_x + inward * SIDEWALK_WIDTH
    face = [(kerb_x, y[0], 0.0), (kerb_x, y[1], 0.0), (kerb_x, y[1], h), (kerb_x, y[0], h)]
    b.quads([face[::-1] if inward > 0 else face], shade(style.kerb, 0.9), Material.CONCRETE)
    b.rectangle(sorted((kerb_x, edge)), y, h, style.kerb, Material.CONCRETE)
    beyond = sorted((kerb_line + side * SIDEWALK_WIDTH, far))
    b.rectangle(sorted((edge, back)), beyond, h, style.paving, Material.CONCRETE)


def _lot(b: Builder, style: GroundStyle, x0: float, x1: float, side: int) -> None:
    low = x0 + (SIDEWALK_WIDTH if x0 > START else -60.0)
    high = x1 - (SIDEWALK_WIDTH if x1 < END else -300.0)
    y0 = RIGHT_SIDEWALK[0] if side < 0 else LEFT_SIDEWALK[1]
    y = sorted((y0, (RIGHT_EDGE_Y if side < 0 else LEFT_EDGE_Y) + side * SIDE_REACH))
    b.rectangle((low, high), y, LOT_HEIGHT, style.lot, style.lot_material)


def _main_markings(b: Builder, style: GroundStyle, junctions: tuple[float, ...]) -> None:
    def paint(x0: float, x1: float, y0: float, y1: float) -> None:
        b.rectangle((x0, x1), (y0, y1), PAINT_Z, WHITE, Material.CONCRETE)

    for x0, x1 in blocks(junctions):
        low = x0 + (CORNER if x0 > START else -40.0)
        high = x1 - (CORNER if x1 < END else -60.0)
        if style.edge_lines:
            y_right, y_left = RIGHT_EDGE_Y + GUTTER_WIDTH, LEFT_EDGE_Y - GUTTER_WIDTH
            paint(low, high, y_right + 0.02, y_right + 0.14)
            paint(low, high, y_left - 0.14, y_left - 0.02)
        solid_low = low + (12.0 if x0 > START else 0.0)
        solid_high = high - (12.0 if x1 < END else 0.0)
        if x0 > START:
            paint(low, solid_low, CENTRE_LINE_Y - 0.06, CENTRE_LINE_Y + 0.06)
        if x1 < END:
            paint(solid_high, high, CENTRE_LINE_Y - 0.06, CENTRE_LINE_Y + 0.06)
        for x in np.arange(solid_low + 2.0, solid_high - 3.0, 7.5):
            paint(x, x + 3.0, CENTRE_LINE_Y - 0.06, CENTRE_LINE_Y + 0.06)


def _junction_markings(b: Builder, style: GroundStyle, x: float) -> None:
    def paint(x0: float, x1: float, y0: float, y1: float) -> None:
        b.rectangle((x0, x1), (y0, y1), PAINT_Z, WHITE, Material.CONCRETE)

    far = x + JUNCTION_SETBACK + CROSSING_WIDTH
    middle = x + JUNCTION_SETBACK + CROSSING_WIDTH / 2
    half = LANE_WIDTH / 2
    # The stop line's near edge is the junction position; drivers stop before it.
    paint(x, x + 0.4, -half + 0.02, CENTRE_LINE_Y - 0.06)
    paint(far + CORNER - 0.4, far + CORNER, CENTRE_LINE_Y + 0.06, CENTRE_LINE_Y + LANE_WIDTH - 0.1)
    if style.zebra:
        for y in np.arange(RIGHT_EDGE_Y + 0.25, LEFT_EDGE_Y - 0.4, 1.0):
            paint(x + 0.9, x + 3.1, y, y + 0.5)
            paint(far - 1.7, far + 0.5, y, y + 0.5)
    for side, edge in ((-1, RIGHT_EDGE_Y), (1, LEFT_EDGE_Y)):
        first = edge + side * (CORNER + 0.2)
        lanes = (middle, far - 0.9) if side < 0 else (x + JUNCTION_SETBACK + 0.9, middle)
        paint(*lanes, *sorted((first, first + side * 0.4)))
        for k in range(9):
            y = first + side * (1.0 + 5.0 * k)
            paint(middle - 0.06, middle + 0.06, *sorted((y, y + side * 2.5)))


def close_horizon(
    b: Builder, rng: np.random.Generator, colour: RGB, low: float, high: float, blocky: bool
) -> None:
    """Add a ring of distant trees or roofs and hills behind it, so that no edge is open."""
    centre = (START + END) / 2

    def ring(radius: float, count: int, heights: np.ndarray, tint: RGB, stepped: bool) -> None:
        angle = np.linspace(0, 2 * np.pi, count + 1)
        x, y = centre + radius * np.cos(angle), radius * np.sin(angle)
        tops = np.append(heights, heights[0])
        foot = np.column_stack([x, y, np.full(count + 1, -0.06)])
        top = np.column_stack([x, y, tops])
        right = top[1:].copy()
        if stepped:
            right[:, 2] = top[:-1, 2]
        quads = np.stack([foot[1:], foot[:-1], top[:-1], right], axis=1)
        tones = np.clip(np.array(tint) * rng.uniform(0.85, 1.1, (count, 1)), 0, 1)
        b.quads(quads, tones, Material.MATTE)

    steps = rng.uniform(low, high, 260)
    if not blocky:
        steps = np.convolve(np.concatenate([steps, steps[:4]]), np.ones(5) / 5, mode="valid")
        steps += rng.uniform(0.0, 2.0, 260)
    ring(430.0, 260, steps, colour, blocky)
    wave = np.linspace(0, 2 * np.pi, 121)[:-1]
    hills = 26 + 12 * np.sin(3 * wave + rng.uniform(0, 6)) + 8 * np.sin(7 * wave)
    ring(1500.0, 120, hills, (0.45, 0.54, 0.60), False)
