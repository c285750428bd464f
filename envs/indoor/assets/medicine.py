"""An open bottle of pills."""

from __future__ import annotations

import numpy as np

from ....rendering.mesh import Material, Mesh
from ....rendering.shapes.lettering import lettering
from ....rendering.shapes.primitives import Colour, box, ellipsoid, lathe, paint_where, sweep
from .parts import WHITE, Builders, generator

_AMBER: Colour = (0.93, 0.38, 0.03)
_DEEP: Colour = (0.50, 0.16, 0.01)
_RADIUS, _HEIGHT = 0.027, 0.100

PILLS: tuple[tuple[Colour, Colour], ...] = (
    ((0.85, 0.10, 0.12), (0.97, 0.95, 0.90)),
    ((0.10, 0.36, 0.80), (0.97, 0.86, 0.25)),
)
"""The two halves of the capsules; tablets are white."""


def _bottle() -> Mesh:
    r, h = _RADIUS, _HEIGHT
    body = lathe(
        [(0, 0), (r - 0.002, 0), (r, 0.003), (r, h - 0.022), (r - 0.004, h - 0.016),
         (r - 0.005, h - 0.015), (r - 0.005, h), (r - 0.008, h), (r - 0.008, h - 0.02),
         (0, h - 0.02)],
        20, _AMBER, Material.GLOSSY,
    )  # fmt: skip
    colours = body.colours.copy()
    middle = body.vertices[body.faces].mean(axis=1)
    colours[(middle[:, 2] > h - 0.03) & (np.hypot(middle[:, 0], middle[:, 1]) < r - 0.007)] = _DEEP
    body = Mesh(body.vertices, body.faces, colours, body.materials, body.normals)
    label = lathe([(0, 0.018), (r + 0.0006, 0.018), (r + 0.0006, 0.070), (0, 0.070)], 20, WHITE)
    stripe = lathe([(0, 0.058), (r + 0.001, 0.058), (r + 0.001, 0.068), (0, 0.068)], 20,
                   (0.80, 0.12, 0.12))  # fmt: skip
    word = lettering("RX", 0.020, (0.10, 0.14, 0.35)).transformed((r + 0.0015, 0, 0.043))
    lines = [
        box((0.001, 0.028, 0.0025), (r + 0.0005, 0, z), (0.35, 0.36, 0.40)) for z in (0.024, 0.029)
    ]
    return Mesh.merge([body, label, stripe, word, *lines])


def _cap() -> Mesh:
    r = 0.0275
    cap = lathe(
        [(0, 0), (r, 0), (r, 0.016), (r - 0.003, 0.019), (0, 0.019)], 24, WHITE, Material.GLOSSY
    )
    # Every other step of the skirt is a rib.
    colours = cap.colours.copy()
    middle = cap.vertices[cap.faces].mean(axis=1)
    angle = np.arctan2(middle[:, 1], middle[:, 0])
    rib = (np.floor(angle / (2 * np.pi / 24)) % 2 == 0) & (middle[:, 2] > 0.002)
    rib &= np.hypot(middle[:, 0], middle[:, 1]) > r - 0.003
    colours[rib] = (0.74, 0.74, 0.75)
    return Mesh(cap.vertices, cap.faces, colours, cap.materials, cap.normals)


def _pill(random: np.random.Generator, colours: tuple[Colour, Colour], tablet: bool) -> Mesh:
    if tablet:
        return ellipsoid((0.0065, 0.0065, 0.0034), (0, 0, 0.0034), WHITE, Material.GLOSSY, 8)
    radius, half = 0.0046, 0.0106
    along = np.array([-1.0, -0.9, -0.62, 0.0, 0.62, 0.9, 1.0]) * half
    wide = np.array([0.15, 0.7, 1.0, 1.0, 1.0, 0.7, 0.15]) * radius
    path = np.stack([along, np.zeros(7), np.full(7, radius)], 1)
    whole = sweep(path, wide.tolist(), colours[1], Material.GLOSSY, sides=7)
    whole = paint_where(whole, lambda m: np.asarray(m[:, 0] > 0), colours[0])
    return whole.transformed(yaw=random.uniform(0, np.pi))


def pill_bottle(variant: int) -> Mesh:
    """Return an open amber bottle, its white cap beside it, pills before it.

    Variant 1 lies on its side and has spilled them.
    """
    random = generator("pill_bottle", variant)
    if variant == 0:
        at = (-0.045, -0.02)
        parts = [_bottle().transformed((*at, 0))]
        cap = _cap().transformed((-0.020, 0.062, 0.0))
        low, high = (-0.055, -0.095), (0.090, 0.100)
    else:
        lying = (
            _bottle()
            .transformed(roll=-0.5)
            .transformed((-0.105, 0, _RADIUS + 0.0006), pitch=np.pi / 2)
        )
        parts = [lying.transformed(yaw=0.75).transformed((0.0, -0.015, 0))]
        cap = _cap().transformed((-0.060, 0.075, 0.020), roll=np.radians(60))
        cap = cap.transformed((0, 0, -float(cap.vertices[:, 2].min())))
        low, high = (-0.02, -0.075), (0.105, 0.100)
    parts.append(cap)
    solid = Mesh.merge(parts).vertices[:, :2]
    placed: list[np.ndarray] = []
    wanted = 16
    for _ in range(4000):
        if len(placed) == wanted:
            break
        p = random.uniform(low, high)
        if variant == 1 and random.random() < 0.5:  # most lie where they ran out
            p = np.array([0.012, 0.045]) + random.normal(0, 0.024, 2)
        far = np.linalg.norm(solid - p, axis=1).min() > 0.011
        if far and all(np.linalg.norm(p - q) > 0.0155 for q in placed):
            placed.append(p)
    for k, p in enumerate(placed):
        pill = _pill(random, PILLS[variant], tablet=k % 3 == 2)
        parts.append(pill.transformed((float(p[0]), float(p[1]), 0)))
    mesh = Mesh.merge(parts)
    lowest, highest = mesh.bounds
    return mesh.transformed(
        (-0.5 * float(lowest[0] + highest[0]), -0.5 * float(lowest[1] + highest[1]), 0)
    )


BUILDERS: Builders = {"pill_bottle": (len(PILLS), pill_bottle)}
