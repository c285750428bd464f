"""Figures: limbs that reach a point, bare feet, prints on cloth; grown-ups stay as they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from vlmfail.envs.driving import assets as driving
from vlmfail.rendering.mesh import Material, Mesh
from vlmfail.rendering.shapes.feet import bare_feet
from vlmfail.rendering.shapes.figures import (
    Person,
    Pose,
    hand_length,
    infancy,
    reaching,
    skeleton,
)
from vlmfail.rendering.shapes.patterns import dot, patch, printed, star
from vlmfail.rendering.shapes.people import person_mesh, person_reaching
from vlmfail.rendering.shapes.primitives import box, ellipsoid, signed_volume

TODDLER = Person(height=0.9, heads=4.4, hair_style="none", feet="bare")

# Faces, area (m²), and area times the sum of the colour channels, over all variants of a kind.
DRIVING_PEOPLE = {
    "pedestrian": (31713, 23.88433, 26.79078),
    "child_pedestrian": (27026, 10.84215, 17.84553),
    "police_pedestrian": (20239, 14.67260, 14.63383),
    "wheelchair_pedestrian": (24516, 23.81259, 28.30616),
    "cyclist": (23754, 22.66534, 28.72027),
}


def areas(mesh: Mesh) -> npt.NDArray[np.float64]:
    a, b, c = (mesh.vertices[mesh.faces[:, k]].astype(np.float64) for k in range(3))
    return np.asarray(np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2)


@pytest.mark.parametrize("kind", DRIVING_PEOPLE)
def test_people_of_the_road_stay_as_they_were(kind: str) -> None:
    faces, area, colour = 0, 0.0, 0.0
    for variant in range(driving.VARIANTS[kind]):
        mesh = driving.build(kind, variant)
        faces += len(mesh.faces)
        area += float(areas(mesh).sum())
        colour += float((areas(mesh)[:, None] * mesh.colours).sum())
    assert faces == DRIVING_PEOPLE[kind][0]
    assert (area, colour) == pytest.approx(DRIVING_PEOPLE[kind][1:], rel=2e-5)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(
    "person", [TODDLER, Person(height=1.7, woman=True)], ids=["toddler", "adult"]
)
def test_the_hand_goes_on_along_the_forearm_to_the_point(person: Person, side: int) -> None:
    pose = replace(person.pose, grips=(0.1, 0.2))
    person = replace(person, pose=pose)
    bones = skeleton(person)
    y = 0.12 * (1 - 2 * side)
    point = bones.shoulders[side] + bones.unit * np.array([0.28, y, 0.1])
    moved = reaching(person, side, point)
    after = skeleton(moved)
    elbow, wrist = after.elbows[side], after.wrists[side]
    along = (wrist - elbow) / np.linalg.norm(wrist - elbow)
    length = hand_length(person, bones.head_height) * (1 - 0.52 * pose.grips[side])
    np.testing.assert_allclose(wrist + along * length, point, atol=1e-6)
    np.testing.assert_array_equal(after.wrists[1 - side], bones.wrists[1 - side])
    before = np.linalg.norm(bones.wrists[side] - bones.elbows[side])
    assert np.linalg.norm(wrist - elbow) == pytest.approx(before, rel=1e-6)


def test_a_point_out_of_reach_is_told() -> None:
    with pytest.raises(ValueError, match="the arm reaches"):
        reaching(TODDLER, 0, (2.0, 0.0, 0.5))


def test_who_reaches_stands_on_the_floor_and_fingers_are_at_the_point() -> None:
    point = np.array([0.25, -0.08, 0.72])
    mesh = person_reaching(TODDLER, [(1, point)])
    used = mesh.vertices[np.unique(mesh.faces)]
    assert abs(float(used[:, 2].min())) < 1e-3
    assert np.linalg.norm(used - point, axis=1).min() < 0.02


def test_only_the_very_young_have_the_shape_of_toddlers() -> None:
    assert infancy(TODDLER) == 1.0
    assert infancy(Person(heads=4.9)) == 0.0
    tall = replace(TODDLER, heads=4.9)
    for name in ("elbows", "knees"):
        own = getattr(skeleton(TODDLER), name)[0] / skeleton(TODDLER).unit
        assert not np.allclose(own, getattr(skeleton(tall), name)[0] / skeleton(tall).unit)
    arm = hand_length(TODDLER, 1.0) / hand_length(tall, 1.0)
    assert arm < 0.85


def test_a_raised_heel_leaves_the_toes_flat() -> None:
    for pitch in (0.0, 0.6):
        person = replace(TODDLER, pose=replace(Pose(), toes=(pitch, pitch)))
        left = bare_feet(person, skeleton(person))[0]
        rosy = left.colours[:, 1] < person.skin[1] * 0.95
        toes = left.vertices[np.unique(left.faces[rosy])]
        ball = left.vertices[:, 2].min()
        assert toes[:, 2].min() - ball < 0.012
        assert np.ptp(toes[:, 2]) < 0.03


def test_feet_mirror_each_other() -> None:
    left, right = bare_feet(TODDLER, skeleton(TODDLER))
    for one, two in ((left, right), (right, left)):
        big = one.vertices[one.vertices[:, 0].argmax()]
        other = two.vertices[two.vertices[:, 0].argmax()]
        assert big[1] == pytest.approx(-other[1], abs=0.006)
    # The big toe is the inner one.
    tip = left.vertices[left.vertices[:, 0].argmax()]
    assert tip[1] < left.vertices[:, 1].mean() + 0.01


def test_prints_lie_just_above_the_cloth_and_apart() -> None:
    egg = ellipsoid((0.2, 0.25, 0.4), segments=24)
    mesh = printed(egg, star(0.03), 0.12, (1.0, 1.0, 1.0))
    patches = mesh.vertices.reshape(-1, 11, 3)
    assert len(patches) > 15
    level = np.linalg.norm(patches / np.array([0.2, 0.25, 0.4]), axis=2)
    assert level.min() > 0.93  # chords of a coarse egg lie inside it
    assert level.max() < 1.02
    middle = patches[:, -1]
    away = np.linalg.norm(middle[:, None] - middle[None], axis=2)
    assert away[np.triu_indices(len(middle), 1)].min() > 0.11
    facing = np.einsum("fd,fd->f", mesh.normals[:, 0], mesh.vertices[mesh.faces].mean(axis=1))
    assert (facing > 0).all()


def test_a_patch_does_not_hang_over_an_edge() -> None:
    cube = box((1.0, 1.0, 1.0))
    assert patch(cube, (0.5, 0.0, 0.0), (1.0, 0.0, 0.0), dot(0.05), (1.0, 0.0, 0.0)) is not None
    assert patch(cube, (0.5, 0.48, 0.0), (1.0, 0.0, 0.0), dot(0.05), (1.0, 0.0, 0.0)) is None
    assert patch(cube, (0.5, 0.49, 0.0), (1.0, 0.6, 0.0), dot(0.1), (1.0, 0.0, 0.0)) is None


def test_alarm_opens_mouth_and_eyes() -> None:
    calm = person_mesh(Person(hair_style="none"))
    alarmed = person_mesh(Person(hair_style="none", face="alarmed"))

    def height(mesh: Mesh, colour: tuple[float, float, float]) -> float:
        faces = np.all(np.isclose(mesh.colours, colour, atol=1e-3), axis=1)
        return (
            float(np.ptp(mesh.vertices[np.unique(mesh.faces[faces])][:, 2])) if faces.any() else 0.0
        )

    assert height(calm, (0.16, 0.04, 0.04)) == 0.0
    assert height(alarmed, (0.16, 0.04, 0.04)) > 0.03
    assert height(alarmed, (0.92, 0.91, 0.90)) > 1.3 * height(calm, (0.92, 0.91, 0.90))


@pytest.mark.parametrize("pattern", ["stars", "dots", "stripes"])
def test_patterns_show_in_their_own_colour(pattern: str) -> None:
    worn = replace(TODDLER, top=(0.1, 0.2, 0.8), bottom=(0.1, 0.2, 0.8), inner=(1.0, 0.9, 0.2))
    plain = person_mesh(worn)
    mesh = person_mesh(replace(worn, pattern=pattern))
    shown = np.all(np.isclose(mesh.colours, worn.inner, atol=1e-3), axis=1)
    assert not np.any(np.all(np.isclose(plain.colours, worn.inner, atol=1e-3), axis=1))
    assert (
        0.02
        < areas(mesh)[shown].sum()
        < 0.6 * areas(plain)[plain.materials == Material.CLOTH].sum()
    )
    assert (mesh.materials[shown] == Material.CLOTH).all()


def test_a_bare_trunk_is_skin() -> None:
    mesh = person_mesh(replace(TODDLER, bare=True, legs="nappy", bottom=(0.95, 0.95, 0.95)))
    skin = mesh.materials == Material.SKIN
    assert areas(mesh)[skin].sum() > 2.5 * areas(mesh)[mesh.materials == Material.CLOTH].sum()
    assert signed_volume(mesh.vertices, mesh.faces) > 0.0
