"""Cars of a backdrop: few triangles, for driveways and side streets beyond ten metres.

The scene's own vehicles are `assets`; these would waste their detail.
"""

from __future__ import annotations

import numpy as np

from ...rendering.mesh import Material, Mesh
from ...rendering.shapes.builder import RGB, Builder

PAINTS: tuple[RGB, ...] = (
    (0.72, 0.73, 0.74),
    (0.20, 0.22, 0.25),
    (0.52, 0.10, 0.11),
    (0.13, 0.22, 0.42),
    (0.85, 0.85, 0.84),
    (0.22, 0.33, 0.29),
    (0.45, 0.46, 0.48),
    (0.60, 0.55, 0.44),
)
Corner = tuple[float, float, float]
PANE: RGB = (0.13, 0.16, 0.18)
TYRE: RGB = (0.07, 0.07, 0.07)

# Outline of the body in (x, z), counter-clockwise seen from the right side.
_BODY = np.array(
    [
        (-2.02, 0.26),
        (2.02, 0.26),
        (2.14, 0.48),
        (2.08, 0.66),
        (1.80, 0.80),
        (0.95, 0.93),
        (-1.70, 0.98),
        (-2.05, 0.92),
        (-2.14, 0.66),
        (-2.12, 0.42),
    ]
)
# Cabin: x of rear and front at the waist, the same at the roof.
_CABINS = {"hatch": (-2.00, 1.02, -1.55, 0.22), "saloon": (-1.45, 1.00, -0.90, 0.18)}


def plain_car(kind: str, paint: RGB, tall: float = 1.0) -> Mesh:
    """Return a parked car of about 270 triangles, 4.3 m long and 1.8 m wide.

    Args:
        kind: "hatch" or "saloon".
        paint: sRGB.
        tall: Factor on its height; 1.12 makes a compact SUV.
    """
    b = Builder()
    _hull(b, paint)
    _cabin(b, paint, _CABINS[kind])
    half = 0.88
    for x in (-1.32, 1.34):
        for side in (-1, 1):
            y = side * (half + 0.012)
            b.tube((x, side * 0.7, 0.31), (x, y, 0.31), 0.31, TYRE, Material.MATTE, 10)
            angle = np.arange(8) * np.pi / 4 * -side
            rim = np.column_stack(
                [
                    x + 0.19 * np.cos(angle),
                    np.full(8, y + side * 0.006),
                    0.31 + 0.19 * np.sin(angle),
                ]
            )
            fan = np.array([(0, i, i + 1) for i in range(1, 7)])
            b.triangles(rim[fan], (0.62, 0.63, 0.64), Material.METAL)
    for side in (-1, 1):
        y0, y1 = sorted((side * 0.42, side * 0.78))
        front = [(2.125, y0, 0.55), (2.125, y1, 0.55), (2.11, y1, 0.68), (2.11, y0, 0.68)]
        rear = [(-2.15, y1, 0.66), (-2.15, y0, 0.66), (-2.10, y0, 0.86), (-2.10, y1, 0.86)]
        b.quads([front], (0.88, 0.90, 0.92), Material.GLOSSY)
        b.quads([rear], (0.60, 0.06, 0.06), Material.GLOSSY)
    plate = [(-2.15, 0.26, 0.5), (-2.15, -0.26, 0.5), (-2.15, -0.26, 0.61), (-2.15, 0.26, 0.61)]
    b.quads([plate], (0.9, 0.9, 0.86), Material.RETRO)
    return b.mesh().transformed(scale=(1.0, 1.0, tall))


def _hull(b: Builder, paint: RGB) -> None:
    centre = _BODY.mean(axis=0)
    n = len(_BODY)
    rings = [(-0.88, 0.955), (-0.80, 1.0), (0.80, 1.0), (0.88, 0.955)]
    points = np.array(
        [
            (*(centre + (p - centre) * (1.0, shrink) * (1.0 if shrink == 1.0 else 0.985)), y)
            for y, shrink in rings
            for p in _BODY
        ]
    )[:, [0, 2, 1]]
    i = np.arange(n)
    j = (i + 1) % n
    faces = []
    for k in range(3):
        a, c = k * n, (k + 1) * n
        faces += [np.column_stack([a + i, c + j, a + j]), np.column_stack([a + i, c + i, c + j])]
    fan = np.array([(0, m, m + 1) for m in range(1, n - 1)])
    faces += [fan, 3 * n + fan[:, ::-1]]
    b.add(Mesh.build(points, np.concatenate(faces), paint, Material.GLOSSY, 50.0))
    # A dark sill and underside ground the car.
    b.box((-1.95, -0.84, 0.14), (1.95, 0.84, 0.30), (0.06, 0.06, 0.06), Material.MATTE, "-z +z")


def _cabin(b: Builder, paint: RGB, form: tuple[float, float, float, float]) -> None:
    rear, front, roof_rear, roof_front = form
    waist, roof, low_y, high_y = 0.94, 1.44, 0.80, 0.60

    def at(x: float, t: float, side: float, out: float = 0.0) -> tuple[float, float, float]:
        """Return a point on a side wall: `x` along it, `t` from waist to roof."""
        return x, side * (low_y + t * (high_y - low_y) + out), waist + t * (roof - waist)

    def lean(x: float, t: float) -> float:
        """Return the x at height `t` of the upright whose foot is at share `x` of the cabin."""
        foot = rear + x * (front - rear)
        top = roof_rear + x * (roof_front - roof_rear)
        return foot + t * (top - foot)

    def sheet(x0: float, x1: float, t0: float, t1: float, side: int, out: float) -> list[Corner]:
        corners = [(x0, t0), (x1, t0), (x1, t1), (x0, t1)]
        quad = [at(lean(x, t), t, side, out) for x, t in corners]
        return quad if side < 0 else quad[::-1]

    for side in (-1, 1):
        b.quads([sheet(0.0, 1.0, 0.0, 1.0, side, 0.0)], paint, Material.GLOSSY)
        panes = [sheet(x0, x1, 0.08, 0.86, side, 0.008) for x0, x1 in ((0.1, 0.47), (0.51, 0.93))]
        b.quads(panes, PANE, Material.GLASS)
    for x, sign in ((0.0, -1), (1.0, 1)):
        ends = []
        for inset, out in ((0.0, 0.0), (0.06, 0.008)):
            t0, t1 = (0.0, 1.0) if inset == 0.0 else (0.08, 0.9)
            quad = [
                (lean(x, t) + sign * out, y * (low_y + t * (high_y - low_y) - inset), z)
                for t, y in ((t0, -1), (t0, 1), (t1, 1), (t1, -1))
                for z in (waist + t * (roof - waist),)
            ]
            ends.append(quad if sign > 0 else quad[::-1])
        b.quads(ends[:1], paint, Material.GLOSSY)
        b.quads(ends[1:], PANE, Material.GLASS)
    crown = roof + 0.045
    rim = [(roof_rear, -high_y), (roof_front, -high_y), (roof_front, high_y), (roof_rear, high_y)]
    inner = [(roof_rear + 0.2, -0.42), (roof_front - 0.2, -0.42), (roof_front - 0.2, 0.42)]
    inner.append((roof_rear + 0.2, 0.42))
    points = [(*p, roof) for p in rim] + [(*p, crown) for p in inner]
    faces = [(4, 5, 6), (4, 6, 7)]
    for i in range(4):
        j = (i + 1) % 4
        faces += [(i, j, 4 + j), (i, 4 + j, 4 + i)]
    b.add(Mesh.build(points, faces, paint, Material.GLOSSY, 60.0))
