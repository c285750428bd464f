"""Heads: faces, hair, beards, glasses and hats, made in head units.

In head units chin to crown is 1, the origin is the middle of the head, the face looks at +x.
Hair and hats are fields of their own; what they hide of the head is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..mesh import Material, Mesh
from .fields import Field, blend, ellipsoid, gradient, half_space, limb, surface
from .figures import Person, Skeleton, infancy, round_faced, youth
from .primitives import F64, Colour, Point, frustum, lathe, sweep, torus
from .primitives import ellipsoid as ball

_EYE_WHITE = (0.92, 0.91, 0.90)
_IRIS = (0.10, 0.07, 0.05)
_STRANDS = 19.0
_HAIR_STEP = 0.125
_FINE_HAIR_STEP = 0.100


def head_frame(bones: Skeleton, mesh: Mesh) -> Mesh:
    """Place a mesh made in head units (chin to crown = 1, origin mid-head, facing +x)."""
    matrix = bones.head_turn * bones.head_height
    return Mesh(
        (mesh.vertices @ matrix.T + bones.head).astype(np.float32),
        mesh.faces,
        mesh.colours,
        mesh.materials,
        (mesh.normals @ bones.head_turn.T).astype(np.float32),
    )


def without_hidden(mesh: Mesh, cover: Field, depth: float) -> Mesh:
    """Leave out the faces that lie wholly inside another body.

    Args:
        mesh: A mesh.
        cover: The body that hides it, in the mesh's frame.
        depth: Corners count as hidden from this depth on, in the mesh's units.
    """
    inside = cover.value(mesh.vertices.astype(np.float64)) < -depth
    kept = ~inside[mesh.faces].all(axis=1)
    return Mesh(
        mesh.vertices,
        mesh.faces[kept],
        mesh.colours[kept],
        mesh.materials[kept],
        mesh.normals[kept],
    )


def head(person: Person, bones: Skeleton) -> list[Mesh]:
    """Return head and neck of a person, placed on their skeleton."""
    face = _face_field(person)
    skin = surface(face, 0.115, person.skin, Material.SKIN)
    covers = [_hair_field(person), _hat_field(person)]
    parts = _features(person)
    for cover, colour, hair in zip(
        covers, (person.hair, person.hat_colour), (True, False), strict=True
    ):
        if cover is None:
            continue
        fine = hair and person.close and infancy(person) == 0 and person.hair_style != "curly"
        step = _FINE_HAIR_STEP if fine else _HAIR_STEP
        shell = surface(cover, step, colour, Material.MATTE if hair else Material.CLOTH)
        shell = without_hidden(shell, face, 0.03)
        skin = without_hidden(skin, cover, 0.03)
        # Strands are shaded by face: near to, light hair would show its triangles.
        strands = 0.02 if person.close else 0.12 - 0.06 * infancy(person)
        parts.append(_stranded(shell, strands) if hair else shell)
    if covers[0] is not None and covers[1] is not None:
        # Hair grows below the hat, which is the last part.
        parts[-2] = without_hidden(parts[-2], covers[1], 0.02)
    parts = [head_frame(bones, part) for part in [skin, *parts, *_hat_trim(person)]]
    slim = 1 - 0.10 * infancy(person)
    neck = frustum(
        bones.on_trunk(-0.008, 0, 0.325),
        bones.head + bones.head_turn @ np.array([-0.06, 0, -0.25]) * bones.head_height,
        (0.265 - 0.04 * person.woman) * bones.head_height * (1 - 0.12 * youth(person)) * slim,
        (0.235 - 0.02 * person.woman) * bones.head_height * slim,
        person.skin,
        Material.SKIN,
        10,
    )
    return [*parts, neck]


def _skull(young: float, grow: float = 0.0) -> list[Field]:
    """The head in head units; the young have rounder cheeks and a smaller jaw."""
    return [
        ellipsoid((-0.04, 0.0, 0.12), (0.42 + grow, 0.335 + grow, 0.38 + grow)),
        ellipsoid(
            (0.10, 0.0, -0.16 + 0.04 * young),
            (0.27 + grow, 0.245 + 0.07 * young + grow, 0.33 - 0.02 * young + grow),
        ),
    ]


def _face_field(person: Person) -> Field:
    young = youth(person)
    small = 1 - 0.25 * young
    chin = 0.115 - 0.02 * person.woman
    if round_faced(person):
        cheeks = [ellipsoid((0.19, s * 0.155, -0.175), (0.165, 0.155, 0.150)) for s in (1.0, -1.0)]
        return blend(
            [*_skull(young), *cheeks, ellipsoid((0.24, 0, -0.355), (0.10, 0.095, 0.085))],
            0.10,
        )
    jaw = 0.055 if person.face == "alarmed" else 0.0  # the mouth opens downwards
    return blend(
        [
            *_skull(young),
            limb((0.33, 0, 0.06 * small), (0.425, 0, -0.085 * small), 0.028, 0.05 * small),
            ellipsoid((0.27, 0, -0.38 - jaw), (0.10, chin, 0.09 + 0.3 * jaw)),
        ],
        0.09,
    )


def _on_face(face: Field, y: F64, z: F64) -> F64:
    """Return the points of the face's front over (y, z), `n x 3`."""
    low, high = np.zeros(len(y)), np.full(len(y), 0.7)
    for _ in range(24):
        middle = 0.5 * (low + high)
        inside = face.value(np.stack([middle, y, z], axis=1)) < 0.0
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return np.stack([0.5 * (low + high), y, z], axis=1)


def _spot(
    face: Field,
    middle: tuple[float, float],
    radii: tuple[float, float],
    lift: float,
    colour: Colour,
    material: Material = Material.GLOSSY,
    sides: int = 9,
) -> Mesh:
    """Return an oval that follows the face, `lift` above it: nothing stands out in profile."""
    angle = np.arange(sides) * (2 * np.pi / sides)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    flat = np.concatenate([np.zeros((1, 2)), 0.55 * ring, ring]) * radii + middle
    points = _on_face(face, flat[:, 0], flat[:, 1])
    normals = gradient(face, points)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    # The face's own triangles are chords: the rim dips below them, the rest lies above.
    height = np.where(np.arange(len(points)) <= sides, lift, 0.6 * lift)
    one = 1 + np.arange(sides)
    two = 1 + (np.arange(sides) + 1) % sides
    faces = np.concatenate(
        [
            np.stack([np.zeros(sides, dtype=np.int64), one, two], axis=1),
            np.stack([one, one + sides, two + sides], axis=1),
            np.stack([one, two + sides, two], axis=1),
        ]
    )
    built = Mesh.build(points + normals * height[:, None], faces, colour, material, 0.0)
    return Mesh(
        built.vertices,
        built.faces,
        built.colours,
        built.materials,
        normals[faces].astype(np.float32),
    )


def _line(
    face: Field,
    points: Sequence[tuple[float, float]],
    radius: float | Sequence[float],
    colour: Colour,
    material: Material = Material.MATTE,
) -> Mesh:
    """Return a brow, lid or mouth: a thin roll that follows the face through (y, z) points."""
    y, z = np.array(points, dtype=np.float64).T
    return sweep(_on_face(face, y, z), radius, colour, material, sides=5)


def _set_eye(person: Person, face: Field, y: float, z: float, size: Point) -> list[Mesh]:
    """Return an eye set into the face: white, iris, glint and lid.

    Args:
        person: Looks.
        face: The face.
        y: Middle of the eye, in head units, as all here.
        z: As y.
        size: Half width and half height of the white, radius of the iris.
    """
    wide, high, iris = size
    skin, s = person.skin, float(np.sign(y))
    lid: Colour = (skin[0] * 0.42, skin[1] * 0.36, skin[2] * 0.34)
    lashes = [(y + dy * wide, z + high * dz) for dy, dz in
              ((-1.02, 0.25), (-0.55, 0.86), (0.0, 1.06), (0.55, 0.86), (1.02, 0.25))]  # fmt: skip
    look = y - 0.10 * s * wide
    return [
        _spot(face, (y, z), (wide, high), 0.012, _EYE_WHITE),
        _spot(face, (look, z), (iris, iris * 1.06), 0.017, _IRIS),
        _spot(face, (look + 0.016, z + 0.022), (0.013, 0.013), 0.022, (1.0, 1.0, 1.0), sides=5),
        _line(face, lashes, (0.004, 0.011, 0.013, 0.011, 0.004), lid, Material.SKIN),
    ]


def _childs_features(person: Person) -> list[Mesh]:
    """Ears, big eyes low in the face, faint arched brows, a small mouth that smiles a little."""
    skin, hair, face = person.skin, person.hair, _face_field(person)
    dark: Colour = (skin[0] * 0.55, skin[1] * 0.50, skin[2] * 0.50)
    lip: Colour = (skin[0] * 0.86, skin[1] * 0.54, skin[2] * 0.54)
    brow: Colour = tuple((0.55 * h + 0.45 * s) * 0.8 for h, s in zip(hair, skin, strict=True))  # type: ignore[assignment]
    z, parts = -0.065, []
    for s in (1.0, -1.0):
        if person.hair_style != "long":
            parts.append(
                ball((0.07, 0.040, 0.110), (-0.04, s * 0.345, -0.07), skin, Material.SKIN, 8)
            )
        parts += _set_eye(person, face, s * 0.148, z, (0.080, 0.064, 0.054))
        # The inner ends lie higher than the outer ones: no frown.
        arch = [(s * y, z + up) for y, up in ((0.085, 0.138), (0.140, 0.158), (0.225, 0.118))]
        parts.append(_line(face, arch, (0.009, 0.013, 0.007), brow))
    parts.append(ball((0.052, 0.050, 0.042), (0.362, 0.0, -0.115), skin, Material.SKIN, 8))
    parts.append(_spot(face, (0.0, -0.258), (0.070, 0.030), 0.010, lip, Material.SKIN, 10))
    smile = [(-0.082, -0.232), (-0.045, -0.254), (0.0, -0.262), (0.045, -0.254), (0.082, -0.232)]
    parts.append(_line(face, smile, (0.006, 0.010, 0.012, 0.010, 0.006), dark, Material.SKIN))
    parts.append(ball((0.012, 0.026, 0.009), (0.402, 0.0, -0.142), dark, Material.SKIN, 6))
    return parts


def _alarmed_eyes(person: Person) -> list[Mesh]:
    """Return the wide eyes and raised brows of a grown-up, set into the face."""
    face, parts = _face_field(person), []
    brow: Colour = tuple(min(c * 0.75, 0.42) for c in person.hair)  # type: ignore[assignment]
    for s in (1.0, -1.0):
        parts += _set_eye(person, face, s * 0.135, 0.0, (0.070, 0.066, 0.034))
        arch = [(s * y, up) for y, up in ((0.055, 0.165), (0.130, 0.180), (0.215, 0.120))]
        parts.append(_line(face, arch, (0.010, 0.016, 0.008), brow))
    return parts


def _open_mouth(lips: Colour) -> list[Mesh]:
    """Return a mouth that cries out, with the upper teeth showing."""
    return [
        ball((0.045, 0.088, 0.112), (0.322, 0.0, -0.285), lips, Material.SKIN, 10),
        ball((0.045, 0.064, 0.086), (0.332, 0.0, -0.285), (0.16, 0.04, 0.04), Material.MATTE, 10),
        ball((0.030, 0.046, 0.020), (0.352, 0.0, -0.226), (0.93, 0.92, 0.88), Material.GLOSSY, 6),
    ]


def _features(person: Person) -> list[Mesh]:
    """Ears, eyes, brows, lips, nostrils, glasses, beard."""
    if round_faced(person):
        return _childs_features(person)
    alarmed = person.face == "alarmed"
    young, skin = youth(person), person.skin
    dark = (skin[0] * 0.55, skin[1] * 0.52, skin[2] * 0.52)
    z, eye = -0.04 * young, 0.052 + 0.022 * young
    covered = person.hat == "scarf" or person.hair_style == "long"
    brow = tuple(min(c * 0.75, 0.42) for c in person.hair)
    frames = (0.20, 0.15, 0.12)
    parts = []
    for y in (0.135, -0.135):
        side = np.sign(y)
        if not covered:
            ear = ball((0.07, 0.035, 0.115), (-0.03, side * 0.34, -0.02), skin, Material.SKIN, 8)
            parts.append(ear)
        if alarmed and person.close:
            continue
        white = ball((0.035, eye * 1.2, eye * 0.78), (0.338, y, z), _EYE_WHITE, Material.GLOSSY, 8)
        iris = ball((0.03, eye * 0.64, eye * 0.72), (0.356, y, z), _IRIS, Material.GLOSSY, 6)
        arch = ball((0.03, 0.085, 0.021), (0.352, y, z + 0.10), brow, Material.MATTE, 6)
        if alarmed:
            white = ball(
                (0.036, eye * 1.3, eye * 1.2), (0.334, y, z), _EYE_WHITE, Material.GLOSSY, 8
            )
            iris = ball((0.03, eye * 0.58, eye * 0.62), (0.352, y, z), _IRIS, Material.GLOSSY, 6)
            raised = [
                (0.375, y * 0.42, z + 0.185),
                (0.375, y, z + 0.190),
                (0.335, y * 1.62, z + 0.125),
            ]
            arch = sweep(raised, (0.014, 0.020, 0.011), brow, Material.MATTE, sides=5)
        parts += [white, iris, arch]
        if person.woman or young > 0.3:  # lashes
            lid = ball(
                (0.032, eye * 1.3, 0.012),
                (0.345, y, z + eye * (1.12 if alarmed else 0.72)),
                _IRIS,
                segments=6,
            )
            parts.append(lid)
        if person.glasses:
            rim = torus(0.092, 0.007, frames, segments=12, sides=3)
            parts.append(rim.transformed((0.405, y, z), yaw=np.pi / 2))
            temple = [(0.40, side * 0.22, z + 0.02), (0.02, side * 0.37, z + 0.03)]
            parts.append(sweep(temple, 0.008, frames, sides=3))
    if alarmed and person.close:
        parts += _alarmed_eyes(person)
    red = (0.86, 0.45, 0.46) if person.woman else (0.84, 0.56, 0.54)
    lips: Colour = (skin[0] * red[0], skin[1] * red[1], skin[2] * red[2])
    out = 0.035 if person.beard else 0.0
    if alarmed:
        parts += _open_mouth(lips)
    else:
        parts.append(ball((0.03, 0.10, 0.034), (0.342 + out, 0.0, -0.245), lips, Material.SKIN, 8))
        parts.append(ball((0.02, 0.085, 0.007), (0.360 + out, 0.0, -0.243), dark, Material.SKIN, 6))
    parts.append(ball((0.02, 0.036, 0.013), (0.412, 0.0, -0.128), dark, Material.SKIN, 6))
    if person.beard:
        beard = blend([*_skull(young, 0.03), ellipsoid((0.25, 0, -0.38), (0.13, 0.14, 0.12))], 0.09)
        beard = half_space(half_space(beard, (0.25, 0, 1), -0.075), (-1, 0, 0), -0.02)
        hair = surface(beard, 0.12, tuple(c * 0.9 for c in person.hair), Material.MATTE)
        parts.append(without_hidden(hair, _face_field(person), 0.02))
    return parts


def _stranded(mesh: Mesh, contrast: float) -> Mesh:
    """Shade strands from the crown down, so that hair is not a smooth cap."""
    middle = mesh.vertices[mesh.faces].mean(axis=1)
    around = np.arctan2(middle[:, 1], middle[:, 0] + 0.06)
    tone = 1 + contrast * np.sin(_STRANDS * around + 5.0 * middle[:, 2])
    return mesh.painted(np.clip(mesh.colours * tone[:, None], 0.0, 1.0).astype(np.float32))


def _hair_field(person: Person) -> Field | None:
    style = person.hair_style
    if style == "none" or person.hat == "scarf":
        return None
    young = youth(person)
    shell = _skull(young, 0.05)[0]
    back = ellipsoid((-0.16, 0.0, -0.08), (0.31, 0.35, 0.35))
    if style == "curly":
        mass = blend([ellipsoid((-0.10, 0, 0.20), (0.52, 0.47, 0.47)), back], 0.08)
        return half_space(_bumpy(mass), (0.80, 0.0, -0.60), 0.05)
    hairline = 0.05 if style == "short" else 0.08
    cap = half_space(blend([shell, back], 0.08), (0.80, 0.0, -0.60), hairline)
    if style == "short":
        quiff = [
            ellipsoid((0.16, 0.09, 0.49), (0.24, 0.19, 0.10)),
            ellipsoid((0.10, -0.12, 0.47), (0.22, 0.17, 0.10)),
        ]
        burns = [limb((0.03, s * 0.325, 0.12), (0.05, s * 0.315, -0.06), 0.05, 0.03)
                 for s in (1.0, -1.0)]  # fmt: skip
        return blend([cap, *quiff, *burns], 0.07)
    # Long hair is parted and frames the face.
    frame = [
        limb((0.20, s * 0.07, 0.47), (0.17, s * 0.30, 0.16), 0.085, 0.075) for s in (1.0, -1.0)
    ]
    cap = blend([cap, *frame], 0.06)
    if style == "long":
        falls = [limb((-0.18, 0, 0.0), (-0.26, 0, -0.88), 0.37, 0.31, (0.62, 1.0, 1.0))]
        for s in (1.0, -1.0):
            falls.append(limb((0.10, s * 0.33, 0.14), (0.06, s * 0.37, -0.66), 0.09, 0.11))
            falls.append(limb((-0.08, s * 0.34, 0.05), (-0.06, s * 0.36, -0.74), 0.12, 0.12))
        return blend([cap, *falls], 0.06)
    if style == "bun":
        return blend([cap, ellipsoid((-0.42, 0, 0.36), (0.20, 0.20, 0.19))], 0.05)
    if style == "bunches":
        bunches = []
        for s in (1.0, -1.0):
            knot, end = (-0.12, s * 0.46, 0.16), (-0.14, s * 0.66, -0.36)
            bunches += [ellipsoid(knot, (0.10, 0.12, 0.10)), limb(knot, end, 0.15, 0.08)]
        return blend([cap, *bunches], 0.05)
    return blend([cap, limb((-0.44, 0, 0.24), (-0.64, 0, -0.60), 0.15, 0.07)], 0.06)


def _bumpy(shape: Field) -> Field:
    """Curls: the surface rises and falls."""

    def value(p: F64) -> F64:
        waves = np.sin(15 * p[:, 0]) * np.sin(15 * p[:, 1] + 1) * np.sin(15 * p[:, 2])
        return np.asarray(shape.value(p) - 0.03 * waves)

    return Field(value, shape.low - 0.03, shape.high + 0.03, shape.creases)


def _hat_field(person: Person) -> Field | None:
    young = youth(person)
    if person.hat in ("beanie", "bobble"):
        shell = ellipsoid((-0.05, 0, 0.18), (0.51, 0.43, 0.44))
        return half_space(shell, (0.35, 0.0, -1.0), -0.02)
    if person.hat == "cap":
        shell = ellipsoid((-0.04, 0, 0.14), (0.49, 0.41, 0.44))
        return half_space(shell, (0.10, 0.0, -1.0), -0.18)
    if person.hat == "scarf":
        skull = [*_skull(young, 0.07), ellipsoid((-0.16, 0, -0.08), (0.33, 0.36, 0.36))]
        fall = [
            limb((-0.08, 0, -0.25), (-0.10, 0, -0.75), 0.34, 0.52, (0.8, 1.0, 1.0)),
            limb((0.16, 0, -0.47), (0.18, 0, -0.66), 0.20, 0.24),
        ]
        hood = blend([*skull, *fall], 0.12)
        opening = ellipsoid((0.46, 0, -0.05), (0.34, 0.245, 0.37))
        return Field(lambda p: np.maximum(hood.value(p), -opening.value(p)), hood.low, hood.high)
    return None


def _hat_trim(person: Person) -> list[Mesh]:
    if person.hat == "bobble":
        cuff = lathe(
            [(0.40, -0.06), (0.455, -0.04), (0.455, 0.07), (0.40, 0.09)],
            14,
            (0.95, 0.95, 0.95),
            Material.CLOTH,
        ).transformed((-0.03, 0, 0.19), scale=(1.12, 0.94, 1), pitch=-0.34)
        top = ball(0.17, (-0.08, 0, 0.70), (0.95, 0.95, 0.95), Material.CLOTH, 10)
        return [cuff, top]
    if person.hat == "cap":
        peak = ball((0.33, 0.33, 0.035), (0.40, 0, 0.21), person.hat_colour, Material.CLOTH, 10)
        return [peak.transformed(pitch=0.08)]
    return []
