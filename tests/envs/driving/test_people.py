"""People of the driving domain: what tells each kind from the others is there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from vlmfail.envs.driving.assets import VARIANTS, build, cycles, pedestrians, police
from vlmfail.rendering.mesh import Material, Mesh
from vlmfail.rendering.shapes.people import Person, skeleton, trunk_field

PEOPLE = ("pedestrian", "child_pedestrian", "police_pedestrian", "wheelchair_pedestrian", "cyclist")
ALL = [(kind, variant) for kind in PEOPLE for variant in range(VARIANTS[kind])]
Flags = npt.NDArray[np.bool_]


def coloured(mesh: Mesh, colour: tuple[float, float, float]) -> Flags:
    return np.asarray(np.all(np.isclose(mesh.colours, colour, atol=1e-3), axis=1))


def corners(mesh: Mesh, faces: Flags) -> npt.NDArray[np.float32]:
    return mesh.vertices[np.unique(mesh.faces[faces])]


@pytest.mark.parametrize(("kind", "least"), [*zip(PEOPLE, (6, 6, 4, 4, 4), strict=True)])
def test_there_are_several_of_each_kind(kind: str, least: int) -> None:
    assert VARIANTS[kind] >= least


@pytest.mark.parametrize(("kind", "variant"), ALL)
def test_a_figure_is_cheap_to_draw(kind: str, variant: int) -> None:
    limit = 5500 if kind.endswith("pedestrian") and kind != "wheelchair_pedestrian" else 7000
    assert len(build(kind, variant).faces) <= limit


@pytest.mark.parametrize(
    "looks", [pedestrians.ADULTS, pedestrians.CHILDREN, police.OFFICERS, cycles.SITTERS,
              cycles.RIDERS], ids=PEOPLE,
)  # fmt: skip
def test_each_kind_has_both_sexes_and_several_skins(looks: tuple[Person, ...]) -> None:
    assert {person.woman for person in looks} == {True, False}
    assert len({person.skin for person in looks}) >= 3


@pytest.mark.parametrize("variant", range(VARIANTS["pedestrian"]))
def test_civilians_wear_nothing_that_shines_back(variant: int) -> None:
    mesh = build("pedestrian", variant)
    assert not np.any(mesh.materials == Material.RETRO)


@pytest.mark.parametrize("variant", range(VARIANTS["child_pedestrian"]))
def test_a_child_is_bright_and_has_the_head_of_a_child(variant: int) -> None:
    person = pedestrians.CHILDREN[variant]
    assert person.heads <= 5.5
    cloth = build("child_pedestrian", variant)
    colours = cloth.colours[np.isin(cloth.materials, (Material.CLOTH, Material.GLOSSY))]
    vivid = (colours.max(axis=1) > 0.7) & (np.ptp(colours, axis=1) > 0.4)
    assert vivid.sum() > 500


@pytest.mark.parametrize("variant", range(VARIANTS["police_pedestrian"]))
class TestPolice:
    def test_the_word_lies_outside_the_vest_on_chest_and_back(self, variant: int) -> None:
        mesh = build("police_pedestrian", variant)
        person = police.OFFICERS[variant]
        bones = skeleton(person)
        vest = trunk_field(replace(person, hem=0.04), bones, 0.013 * bones.unit)
        letters = coloured(mesh, (0.95, 0.95, 0.95)) & (mesh.materials == Material.MATTE)
        points = corners(mesh, letters).astype(np.float64)
        # The mesh was put onto its soles: find the shift from the panel's known height.
        points = points[points[:, 2] < 0.8 * person.height]
        sole = float(skeleton(person).ankles[0][2]) - 0.052 * bones.unit
        points[:, 2] += sole
        for side in (1.0, -1.0):
            word = points[side * points[:, 0] > 0.0]
            assert len(word) > 100
            assert vest.value(word).min() > 0.0
            assert np.ptp(word[:, 1]) > 0.2

    def test_a_white_glove_is_held_up(self, variant: int) -> None:
        mesh = build("police_pedestrian", variant)
        gloves = coloured(mesh, (0.95, 0.95, 0.95)) & (mesh.materials == Material.CLOTH)
        hands = corners(mesh, gloves)
        assert hands[:, 2].max() > 0.9 * police.OFFICERS[variant].height
        assert hands[:, 1].min() < -0.2
        assert hands[:, 1].max() > 0.2

    def test_the_cap_has_checks(self, variant: int) -> None:
        mesh = build("police_pedestrian", variant)
        high = mesh.vertices[mesh.faces].mean(axis=1)[:, 2] > 0.88 * police.OFFICERS[variant].height
        band = high & (mesh.materials == Material.MATTE)
        dark, light = band & coloured(mesh, (0.03, 0.04, 0.08)), coloured(mesh, (0.95,) * 3) & band
        assert dark.sum() >= 16
        assert light.sum() >= 16


@pytest.mark.parametrize("variant", range(VARIANTS["wheelchair_pedestrian"]))
def test_wheels_lean_and_show_pale_rims_from_ahead(variant: int) -> None:
    mesh = build("wheelchair_pedestrian", variant)
    rims = corners(mesh, coloured(mesh, (0.94, 0.95, 0.96)))
    for side in (1.0, -1.0):
        rim = rims[side * rims[:, 1] > 0.0]
        assert np.ptp(rim[:, 2]) > 0.45
        top, bottom = rim[rim[:, 2] > 0.5], rim[rim[:, 2] < 0.12]
        assert np.abs(bottom[:, 1]).mean() > np.abs(top[:, 1]).mean() + 0.02


@pytest.mark.parametrize("variant", range(VARIANTS["cyclist"]))
def test_a_bicycle_is_broad_enough_to_be_seen_from_ahead_and_behind(variant: int) -> None:
    mesh = build("cyclist", variant)
    shining = mesh.vertices[mesh.faces].mean(axis=1)[mesh.materials == Material.EMISSIVE]
    assert shining[:, 0].max() > 0.35
    assert shining[:, 0].min() < -0.3
    guards = corners(mesh, mesh.materials == Material.GLOSSY)
    for end in (guards[guards[:, 0] > 0.6], guards[guards[:, 0] < -0.6]):
        assert np.ptp(end[:, 1]) > 0.08
        assert np.ptp(end[:, 2]) > 0.2
