"""People: smooth bodies in layers of clothes, by age, build and pose.

Trunks are blended fields, limbs are tubes along the bones: rings lie where a limb bends or swells,
so that a few hundred triangles look smooth. Every garment is its own surface, so that hems, cuffs
and collars are real edges. The maths is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..mesh import F32, Material, Mesh
from .feet import bare_feet
from .fields import Field, blend, ellipsoid, half_space, limb, surface
from .figures import (
    STEPPING,
    Person,
    Pose,
    Skeleton,
    hand_length,
    infancy,
    reaching,
    skeleton,
    turn,
    youth,
)
from .heads import head, head_frame, without_hidden
from .patterns import dot, patch, printed, star
from .primitives import F64, Colour, Point, bands, cut, frustum, loft, paint_where, sweep
from .primitives import ellipsoid as ball

_TRUNK_STEP = np.array([0.034, 0.036, 0.040])
_SHOE_STEP = 0.030
_STRIPE_EDGES = (0.20, 0.50, 0.80, 1.10, 1.40, 1.70)


def person_mesh(
    person: Person,
    carried: Sequence[Mesh] = (),
    *,
    grounded: bool = True,
    cover: Field | None = None,
) -> Mesh:
    """Return the person's mesh, about 4k triangles.

    Args:
        person: Looks and pose.
        carried: Meshes in the skeleton's frame that go with the person.
        grounded: Shift the whole so that its lowest point is at z = 0.
        cover: A carried garment; what it hides is left out.
    """
    bones = skeleton(person)
    mesh = Mesh.merge([*head(person, bones), *_clothes(person, bones)])
    if cover is not None:
        mesh = without_hidden(mesh, cover, 0.004)
    mesh = Mesh.merge([mesh, *_hands(person, bones), *_feet(person, bones), *carried])
    if not grounded:
        return mesh
    return mesh.transformed((0.0, 0.0, -float(mesh.bounds[0][2])))


def person_reaching(
    person: Person, reaches: Sequence[tuple[int, Point]], carried: Sequence[Mesh] = ()
) -> Mesh:
    """Return the mesh of a person on the ground whose fingertips are at given points.

    Args:
        person: Looks and pose.
        reaches: (0 = left, 1 = right; the point of the middle fingertip in the mesh's frame, m).
        carried: Meshes in the mesh's frame that go with the person.

    Raises:
        ValueError: A point is out of the arm's reach.
    """
    bones = skeleton(person)
    standing = Mesh.merge([*_clothes(person, bones), *_feet(person, bones)])
    lowest = float(standing.vertices[np.unique(standing.faces)][:, 2].min())
    for side, (x, y, z) in reaches:
        person = reaching(person, side, (x, y, z + lowest))
    mesh = person_mesh(person, grounded=False).transformed((0.0, 0.0, -lowest))
    return Mesh.merge([mesh, *carried])


def torso_fields(person: Person, bones: Skeleton, grow: float = 0.0) -> list[Field]:
    """Return the trunk without limbs as fields in the person's frame, grown by `grow` metres."""
    u, w = bones.unit, person.width
    young = youth(person)
    chest_y = (0.106 if not person.woman else 0.093) * w
    waist_y = (0.094 if not person.woman else 0.076) * w + 0.012 * young
    hip_y = (0.100 if not person.woman else 0.112) * w
    depth = 0.070 * (0.5 + 0.5 * w)
    if infancy(person) > 0:  # narrow shoulders over a round belly
        chest_y *= 0.88
    shapes = [
        ellipsoid((0.004, 0, 0.225), (depth + 0.006, chest_y, 0.135)),
        ellipsoid((0.006 + 0.012 * young, 0, 0.10), (depth - 0.004 + 0.012 * young, waist_y, 0.14)),
        ellipsoid((-0.006, 0, 0.0), (depth + 0.002, hip_y, 0.085)),
        *(
            limb(
                (-0.010, 0, 0.325),
                (-0.008, s * (0.095 - 0.020 * infancy(person)) * w, 0.293),
                0.040,
                0.033,
            )
            for s in (1.0, -1.0)
        ),
        limb((-0.01, 0, 0.30), (-0.006, 0, 0.358), 0.060, 0.042),
    ]
    if infancy(person) > 0:
        for joint in bones.shoulders:  # round shoulders, from which the arms grow
            x, y, z = bones.trunk.T @ (joint - bones.pelvis) / u
            shapes.append(
                ellipsoid((x, 0.97 * y, z / bones.stretch + 0.003), (0.038, 0.034, 0.034))
            )
        shapes.append(ellipsoid((0.030, 0, 0.075), (0.098, 0.092 * w, 0.100)))
    elif person.woman:
        shapes += [ellipsoid((0.055, s * 0.044, 0.215), (0.040, 0.042, 0.042)) for s in (1.0, -1.0)]
    tall = np.array([1.0, 1.0, bones.stretch])
    return [_scaled(f, u * tall, grow).moved(bones.trunk, bones.pelvis) for f in shapes]


def _scaled(shape: Field, unit: float | F64, grow: float) -> Field:
    """Return a field in metres from one in body heights, its surface `grow` metres outside."""
    least = float(np.min(unit))
    return Field(
        lambda p: shape.value(p / unit) * least - grow,
        shape.low * unit - grow,
        shape.high * unit + grow,
    )


def _along(start: F64, joint: F64, end: F64, at: float) -> F64:
    """Return a point of a two-bone limb, 0 = start, 1 = joint, 2 = end; the bend is rounded."""
    if at <= 0.8:
        return start + (joint - start) * at
    if at >= 1.2:
        return joint + (end - joint) * (at - 1.0)
    before, after, t = start + (joint - start) * 0.8, joint + (end - joint) * 0.2, at / 0.4 - 2.0
    return np.asarray((1 - t) ** 2 * before + 2 * t * (1 - t) * joint + t**2 * after)


def _tube(
    bones: tuple[F64, F64, F64],
    rings: Sequence[tuple[float, float]],
    unit: float,
    grow: float,
    colour: Colour,
    material: Material = Material.CLOTH,
    sides: int = 9,
    stripes: Colour | None = None,
) -> Mesh:
    """Return a limb: `rings` are (place along it, radius in body heights)."""
    if stripes is not None:
        known, widths = [at for at, _ in rings], [radius for _, radius in rings]
        places = {*known, *(at for at in _STRIPE_EDGES if known[1] < at < known[-1])}
        rings = [(at, float(np.interp(at, known, widths))) for at in sorted(places)]
    path = np.array([_along(*bones, at) for at, _ in rings])
    radii = [radius * unit + grow for _, radius in rings]
    tube = sweep(path, radii, colour, material, sides=sides)
    if stripes is None:
        return tube
    first = np.min(tube.faces // sides, axis=1).clip(0, len(rings) - 2)
    middle = np.array([0.5 * (a + b) for (a, _), (b, _) in pairwise(rings)])
    inside = np.searchsorted(_STRIPE_EDGES, middle[first]) % 2 == 1
    colours = np.where(inside[:, None], np.asarray(stripes, dtype=np.float32), tube.colours)
    return tube.painted(colours)


def _stripes(person: Person) -> tuple[Colour | None, int]:
    """Return the colour of a limb's stripes, if any, and the sides of its tube: they cost rings."""
    return (person.inner, 7) if person.pattern == "stripes" else (None, 10)


def _sleeves(person: Person, bones: Skeleton, cloth: float) -> list[Mesh]:
    u = bones.unit
    thick = u * (0.92 if person.woman else 1.0) * (0.6 + 0.4 * person.width)
    thick *= 1 + 0.25 * youth(person)
    thick *= 1 + 0.06 * infancy(person)
    parts = []
    start = [(-0.11, 0.014), (-0.06, 0.029), (0.06, 0.038)]
    if infancy(person) > 0:  # the trunk has the shoulders
        start = [(-0.06, 0.012), (-0.01, 0.027), (0.12, 0.036)]
    for limb_bones in zip(bones.shoulders, bones.elbows, bones.wrists, strict=True):
        if person.sleeves == "short":
            rings = [*start, (0.35, 0.038), (0.64, 0.040)]
            parts.append(_tube(limb_bones, rings, thick, cloth, person.top, sides=10))
            rings = [(0.50, 0.033), (0.80, 0.030), (1.0, 0.028), (1.2, 0.030), (1.45, 0.029),
                     (1.8, 0.019), (2.0, 0.017)]  # fmt: skip
            parts.append(_tube(limb_bones, rings, thick, 0.0, person.skin, Material.SKIN, 8))
            continue
        if person.bare:
            rings = [*start, (0.40, 0.035), (0.80, 0.031), (1.0, 0.029), (1.2, 0.031),
                     (1.5, 0.029), (1.85, 0.020), (2.0, 0.019)]  # fmt: skip
            parts.append(_tube(limb_bones, rings, thick, 0.0, person.skin, Material.SKIN, 9))
            continue
        if person.pattern != "none":
            cuff = [(1.80, 0.026), (1.82, 0.031), (1.96, 0.030), (1.98, 0.020)]
            parts.append(_tube(limb_bones, cuff, thick, cloth, person.inner, sides=7))
        rings = [*start, (0.40, 0.037), (0.80, 0.032), (1.0, 0.033), (1.2, 0.031), (1.6, 0.027),
                 (1.93, 0.024), (2.0, 0.026)]  # fmt: skip
        stripes, sides = _stripes(person)
        parts.append(
            _tube(limb_bones, rings, thick, cloth, person.top, sides=sides, stripes=stripes)
        )
    return parts


def top_surface(
    person: Person, bones: Skeleton, grow: float = 0.0, *, sleeves: bool = True
) -> Mesh:
    """Return the upper garment, trunk to the hem and its sleeves, grown by `grow` metres."""
    step = _TRUNK_STEP * bones.unit * (1 + 0.2 * infancy(person))
    mesh = surface(trunk_field(person, bones, grow), step, person.top, Material.CLOTH)
    mesh = _detailed(mesh, person, bones)
    if not sleeves:
        return mesh
    cloth = 0.006 * bones.unit + grow
    return Mesh.merge([mesh, *_sleeves(person, bones, cloth), *_collar_ring(person, bones)])


def trunk_field(person: Person, bones: Skeleton, grow: float = 0.0) -> Field:
    """Return the upper garment without sleeves, neck to hem, grown by `grow` metres."""
    u = bones.unit
    cloth = 0.006 * u + grow
    parts = torso_fields(person, bones, cloth)
    # The hem hangs clear of the hips and thighs.
    flare = (0.010 if person.hem > 0.1 else 0.0) * u
    low = bones.on_trunk(0, 0, -person.hem - 0.03)
    y = (0.105 + 0.010 * person.woman) * person.width * u + cloth
    parts.append(limb(bones.on_trunk(0, 0, 0.04), low, y, y + 0.004 * u + flare, (0.72, 1.0, 1.0)))
    if person.hem > 0.035:  # long tops lie over the thighs
        thigh = 0.056 * person.width * u + cloth + 0.004 * u
        for h, k in zip(bones.hips, bones.knees, strict=True):
            share = person.hem + 0.03
            parts.append(limb(h, h + (k - h) * min(share / 0.28, 1.0), thigh, thigh))
    trunk = blend(parts, 0.05 * u)
    down = -bones.trunk[:, 2]
    trunk = half_space(trunk, down, float(down @ bones.on_trunk(0, 0, -person.hem)))
    return half_space(trunk, -down, float(-down @ bones.on_trunk(0, 0, 0.372)))


def _collar_ring(person: Person, bones: Skeleton) -> list[Mesh]:
    """Return what lies around the neck: a round neckline, or a turned-up collar open in front."""
    u, young = bones.unit, youth(person)
    wide = person.detail in ("zip", "open")
    gap = np.radians(32.0 if wide else 0.0)
    angles = np.linspace(gap, 2 * np.pi - gap, 11)
    neck = (0.047 + 0.010 * young) * (0.92 if person.woman else 1.0)
    infant = infancy(person)
    neck, high = neck + 0.009 * infant, 0.358 - 0.004 * infant
    path = np.array(
        [
            bones.on_trunk(
                -0.006 + neck * np.cos(a), neck * 1.08 * np.sin(a), high - 0.012 * np.cos(a)
            )
            for a in angles
        ]
    )
    thick = (0.014 if wide else 0.010 + 0.006 * infant) * u
    return [sweep(path, thick, tuple(c * 0.85 for c in person.top), Material.CLOTH, sides=5)]


def _detailed(mesh: Mesh, person: Person, bones: Skeleton) -> Mesh:
    """Paint zip, collar or stripes onto a top."""
    u = bones.unit
    if person.detail in ("zip", "open"):
        wide = person.detail == "open"
        mesh = collar(mesh, bones, 0.20 if wide else 0.31, 0.33 if wide else 0.5, person.inner)
        half = (0.004 if wide else 0.006) * u
        front = bones.trunk[:, 0]
        start = float(front @ bones.pelvis) + 0.02 * u
        high = float(bones.on_trunk(0, 0, 0.20 if wide else 0.31)[2])

        def ahead(m: F32) -> npt.NDArray[np.bool_]:
            return np.asarray((m @ front > start) & (m[:, 2] < high + 0.02 * u))

        for y in (-half, half):
            mesh = cut(mesh, (0, 1, 0), y, ahead)
        dark = tuple(c * 0.45 for c in person.top) if wide else person.inner
        mesh = paint_where(
            mesh,
            lambda m: (np.abs(m[:, 1]) < half) & (m @ front > start) & (m[:, 2] < high),
            dark,
        )
    elif person.pattern == "stripes":
        z = bones.pelvis[2]
        limits = [(z + a * u, z + (a + 0.07) * u) for a in (0.03, 0.17)]
        mesh = bands(mesh, 2, limits, person.inner)
    elif person.detail == "stripes":
        z = bones.pelvis[2]
        limits = [(z + a * u, z + (a + 0.045) * u) for a in (0.11, 0.21)]
        mesh = bands(mesh, 2, limits, person.inner)
    return mesh


def collar(mesh: Mesh, bones: Skeleton, depth: float, slope: float, colour: npt.ArrayLike) -> Mesh:
    """Paint the V of an open collar.

    Args:
        mesh: A top.
        bones: The wearer.
        depth: Height of the V's tip over the hips, in body heights.
        slope: Half width over height of the V.
        colour: What shows in it.
    """
    tip = bones.on_trunk(0, 0, depth)
    sides = [bones.trunk @ np.array([0.0, s, -slope]) for s in (1.0, -1.0)]
    front = bones.trunk[:, 0]
    middle = float(front @ bones.on_trunk(0.02, 0, depth))
    up = bones.trunk[:, 2]
    low = float(up @ tip) - 0.02 * bones.unit
    for side in sides:
        mesh = cut(
            mesh, tuple(side), float(side @ tip), lambda m: (m @ front > middle) & (m @ up > low)
        )
    return paint_where(
        mesh,
        lambda m: np.logical_and.reduce(
            [m @ side < side @ tip for side in sides] + [m @ front > middle]
        ),
        colour,
    )


def _bare_trunk(person: Person, bones: Skeleton) -> list[Mesh]:
    """Return the skin of trunk and arms."""
    u = bones.unit
    field = blend(torso_fields(person, bones), 0.05 * u)
    skin = surface(field, 1.15 * _TRUNK_STEP * u, person.skin, Material.SKIN)
    dark = (person.skin[0] * 0.66, person.skin[1] * 0.58, person.skin[2] * 0.55)
    navel = patch(skin, bones.on_trunk(0.11, 0, 0.055), bones.trunk[:, 0], dot(0.009 * u), dark)
    return [skin, *_sleeves(person, bones, 0.0), *([] if navel is None else [navel])]


def _nappy(person: Person, bones: Skeleton) -> list[Mesh]:
    """Return a puffed nappy with two tapes in front, and the bare legs below it."""
    u = bones.unit
    wide = person.width
    legs = list(zip(bones.hips, bones.knees, bones.ankles, strict=True))
    hip = ellipsoid((-0.006, 0, -0.008), (0.118, 0.128 * wide, 0.125))
    puffed = _scaled(hip, u, 0.0).moved(bones.trunk, bones.pelvis)
    stubs = [limb(h, h + (k - h) * 0.26, 0.080 * u, 0.077 * u) for h, k, _ in legs]
    up = bones.trunk[:, 2]
    field = half_space(
        blend([puffed, *stubs], 0.03 * u), up, float(up @ bones.on_trunk(0, 0, 0.042))
    )
    seat = surface(field, 0.030 * u, person.bottom)
    tapes = [
        patch(
            seat,
            bones.on_trunk(0.10, s * 0.055, 0.026),
            bones.trunk @ np.array([0.9, s * 0.45, 0.0]),
            dot(0.017 * u, 6),
            person.inner,
        )
        for s in (1.0, -1.0)
    ]
    rings = [(0.12, 0.056), (0.40, 0.054), (0.70, 0.046), (0.90, 0.041), (1.0, 0.041),
             (1.15, 0.040), (1.40, 0.042), (1.65, 0.035), (1.88, 0.029), (2.0, 0.029)]  # fmt: skip
    plump = u * 1.25 * (0.5 + 0.5 * wide)
    skin = [_tube(leg, rings, plump, 0.0, person.skin, Material.SKIN, 10) for leg in legs]
    return [*skin, seat, *(tape for tape in tapes if tape is not None)]


def _pyjamas(person: Person, bones: Skeleton) -> list[Mesh]:
    """Return pyjamas: top and trousers of one cloth, cuffs, buttons, bare ankles, a print."""
    u = bones.unit
    thick = u * (1 + 0.25 * youth(person)) * (0.5 + 0.5 * person.width)
    legs = list(zip(bones.hips, bones.knees, bones.ankles, strict=True))
    loose = [(0.12, 0.057), (0.40, 0.056), (0.80, 0.050), (1.0, 0.049), (1.2, 0.048), (1.5, 0.045),
             (1.68, 0.044), (1.73, 0.038)]  # fmt: skip
    cuff = [(1.68, 0.034), (1.69, 0.048), (1.76, 0.047), (1.85, 0.043), (1.86, 0.028)]
    ankle = [(1.70, 0.030), (1.86, 0.029), (2.0, 0.029)]
    stripes, sides = _stripes(person)
    trousers = Mesh.merge(
        [_tube(leg, loose, thick, 0.0, person.bottom, sides=sides, stripes=stripes) for leg in legs]
    )
    parts = [_tube(leg, cuff, thick, 0.0, person.inner, sides=7) for leg in legs]
    parts += [_tube(leg, ankle, thick, 0.0, person.skin, Material.SKIN, 6) for leg in legs]
    top, trunk = top_surface(person, bones), trunk_field(person, bones)
    front = bones.trunk[:, 0]
    for z in (0.06, 0.15, 0.24):
        button = patch(top, bones.on_trunk(0.12, 0, z), front, dot(0.013 * u, 6), person.inner)
        parts += [] if button is None else [button]
    if person.pattern != "stripes":
        stars = person.pattern == "stars"
        shape, gap = (star(0.030 * u), 0.100 * u) if stars else (dot(0.020 * u, 6), 0.076 * u)
        parts.append(printed(top, shape, gap, person.inner, None, 1))
        parts.append(printed(trousers, shape, gap, person.inner, trunk, 2))
    return [top, trousers, *parts]


def _clothes(person: Person, bones: Skeleton) -> list[Mesh]:
    u = bones.unit
    trunk = trunk_field(person, bones)
    wide = person.width * (1.04 if person.woman else 1.0)
    if infancy(person) > 0:  # the belly is broad, the seat below it is not
        wide = 0.35 + 0.6 * person.width
    thick = u * (1 + 0.25 * youth(person))
    legs = list(zip(bones.hips, bones.knees, bones.ankles, strict=True))
    parts = _bare_trunk(person, bones) if person.bare else [top_surface(person, bones)]
    if person.legs == "nappy":
        return [*parts, *_nappy(person, bones)]
    if person.pattern != "none":
        parts = _pyjamas(person, bones)
    elif person.legs == "trousers":
        rings = [(0.12, 0.057), (0.40, 0.056), (0.80, 0.048), (1.0, 0.047), (1.2, 0.046),
                 (1.5, 0.043), (1.85, 0.038), (1.97, 0.041)]  # fmt: skip
        parts += [_tube(leg, rings, thick * wide, 0.0, person.bottom, sides=10) for leg in legs]
    else:
        rings = [(0.30, 0.050), (0.60, 0.043), (0.85, 0.037), (1.0, 0.037), (1.25, 0.041),
                 (1.5, 0.038), (1.85, 0.026), (2.0, 0.025)]  # fmt: skip
        parts += [_tube(leg, rings, thick, 0.0, person.skin, Material.SKIN, 8) for leg in legs]
    if person.legs == "skirt":
        return [*parts, _skirt(person, bones)]
    hip = ellipsoid(np.zeros(3), np.array([0.072, 0.104 * wide, 0.085]) * u).moved(
        bones.trunk, bones.pelvis
    )
    stubs = [limb(h, h + (k - h) * 0.3, 0.058 * thick * wide, 0.054 * thick * wide)
             for h, k, _ in legs]  # fmt: skip
    step = (0.034 + 0.010 * infancy(person)) * u
    seat = surface(blend([hip, *stubs], 0.03 * u), step, person.bottom)
    parts.append(without_hidden(seat, trunk, 0.004))
    if person.legs == "shorts":
        rings = [(0.1, 0.057 * wide), (0.85 * 0.5, 0.059 * wide), (0.85, 0.061)]
        parts += [_tube(leg, rings, thick, 0.0, person.bottom, sides=10) for leg in legs]
    return parts


def _skirt(person: Person, bones: Skeleton) -> Mesh:
    """Return a flared skirt that spans both thighs."""
    u = bones.unit
    thick = 0.060 * u * (1 + 0.2 * youth(person))
    angle = np.arange(18) * (2 * np.pi / 18)
    rings = []
    for share in (-0.22, 0.0, 0.3, 0.6, 0.95):
        knees = [
            h + (k - h) * max(share, 0.0) for h, k in zip(bones.hips, bones.knees, strict=True)
        ]
        x = [float(k[0]) for k in knees]
        flare = 0.05 * max(share, 0.0) * u
        depth = (max(x) - min(x)) / 2 + thick * 1.05 + flare
        breadth = (0.098 if share < 0 else 0.112) * u * person.width + flare
        z = float(bones.pelvis[2]) - share * 0.25 * u
        pleat = 1 + 0.03 * max(share, 0.0) * np.cos(9 * angle)
        rings.append(
            np.stack(
                [
                    (max(x) + min(x)) / 2 + depth * pleat * np.cos(angle),
                    breadth * pleat * np.sin(angle),
                    np.full(18, z),
                ],
                axis=1,
            )
        )
    return loft(np.stack(rings), person.bottom, Material.CLOTH, 60.0)


def _hands(person: Person, bones: Skeleton) -> list[Mesh]:
    size = hand_length(person, bones.head_height)
    colour = person.skin if person.gloves is None else person.gloves
    material = Material.SKIN if person.gloves is None else Material.CLOTH
    parts = []
    for i, side in enumerate((1.0, -1.0)):
        w, e = bones.wrists[i], bones.elbows[i]
        # The hand's own frame: x along the fingers, y out of its back, z towards the thumb.
        along = (w - e) / max(float(np.linalg.norm(w - e)), 1e-9)
        fingers = person.pose.fingers[i]
        if fingers is not None:
            along = np.asarray(fingers, dtype=np.float64)
            along = along / np.linalg.norm(along)
        # A hanging hand has its thumb ahead, a raised one shows its palm.
        ahead = np.array([0.15, -side, 0.0] if along[2] > 0.5 else [1.0, 0.0, 0.25])
        thumb = person.pose.thumbs[i]
        if thumb is not None:
            ahead = np.asarray(thumb, dtype=np.float64)
        thumb_side = ahead - along * (ahead @ along)
        thumb_side /= max(float(np.linalg.norm(thumb_side)), 1e-9)
        frame = np.stack([along, np.cross(thumb_side, along), thumb_side], axis=1) * size
        if person.gloves is not None:  # a gauntlet over the sleeve
            cuff = [w - along * share * size for share in (0.75, 0.70, 0.0, -0.05)]
            radii = [r * bones.unit for r in (0.020, 0.039, 0.034, 0.020)]
            parts.append(sweep(cuff, radii, colour, material, sides=9))
        for mesh in _hand(person.pose.grips[i], -side, colour, material, person.close):
            matrix = (mesh.vertices @ frame.T + w).astype(np.float32)
            parts.append(
                Mesh(
                    matrix,
                    mesh.faces,
                    mesh.colours,
                    mesh.materials,
                    (mesh.normals @ (frame / size).T).astype(np.float32),
                )
            )
    return parts


def _hand(
    grip: float, palm: float, colour: Colour, material: Material, close: bool = False
) -> list[Mesh]:
    """Return a hand of length 1 along x: a palm, four fingers, a thumb towards z.

    Args:
        grip: 0 = flat and spread, 1 = a fist.
        palm: The side (+1 or -1 along y) to which the fingers close.
        colour: sRGB.
        material: Material.
        close: Whether the fingers lie side by side, as in a hand at rest.
    """
    parts = [
        frustum((-0.12, 0, 0), (0.16, 0, 0), 0.135, 0.14, colour, material, 7),
        ball((0.30, 0.095, 0.205), (0.26, 0, 0), colour, material, 8),
    ]
    spread = 0.92 if close else 1.30 - 0.30 * min(grip / 0.3, 1.0)
    radii = (0.060, 0.058, 0.045) if close else (0.056, 0.052, 0.036)
    for j, length in enumerate((0.92, 1.0, 0.97, 0.84)):
        z = 0.150 - 0.098 * j
        curl = palm * 0.36 * grip
        middle = (0.44 + 0.28 * (1 - 0.25 * grip), curl * 0.45, z * (1 + spread) / 2)
        tip = (length * (1 - grip) + 0.48 * grip, curl * 1.05, z * spread)
        parts.append(sweep([(0.36, 0, z), middle, tip], radii, colour, material, sides=6))
    out = 0.10 * (spread - 1)
    thumb = [
        (0.05, 0, 0.10),
        (0.26, palm * 0.06, 0.245 + out),
        (0.46, palm * (0.07 + 0.2 * grip), 0.27 + 1.5 * out),
    ]
    parts.append(sweep(thumb, (0.07, 0.062, 0.040), colour, material, sides=6))
    return parts


def _feet(person: Person, bones: Skeleton) -> list[Mesh]:
    if person.feet == "bare":
        return bare_feet(person, bones)
    u = bones.unit
    length = 0.165 * u
    parts = []
    for i, side in enumerate((1.0, -1.0)):
        ankle = bones.ankles[i]
        rotation = turn(side * 0.12, person.pose.toes[i])
        drop = -0.052 * u
        sole = drop + 0.0
        heel = (-0.26 * length, 0.0, drop + 0.17 * length)
        toe = (0.60 * length, 0.0, drop + 0.12 * length)
        shape = blend(
            [
                limb(heel, toe, 0.20 * length, 0.17 * length, (1.0, 1.12, 1.0)),
                limb(
                    (-0.10 * length, 0, drop + 0.1 * length),
                    (0, 0, 0.05 * length),
                    0.21 * length,
                    0.17 * length,
                ),
            ],
            0.08 * length,
        )
        shoe = half_space(shape, (0, 0, -1), -sole).moved(rotation, ankle)
        parts.append(surface(shoe, _SHOE_STEP * u, person.shoes, Material.GLOSSY))
    return parts


__all__ = [
    "STEPPING",
    "Person",
    "Pose",
    "Skeleton",
    "collar",
    "head_frame",
    "person_mesh",
    "person_reaching",
    "reaching",
    "skeleton",
    "top_surface",
    "torso_fields",
    "trunk_field",
    "without_hidden",
]
