"""People of the kitchen: each kind shows what its concept says, and hands are where they should."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from vlmfail.envs.indoor.assets import build
from vlmfail.envs.indoor.assets.people import ANCHORS, BUILDERS, FIGURES
from vlmfail.rendering.mesh import Material, Mesh
from vlmfail.rendering.shapes.heads import head
from vlmfail.rendering.shapes.people import Person, skeleton

ALL = [(kind, variant) for kind, (count, _) in BUILDERS.items() for variant in range(count)]
LEAST = {
    "toddler_standing": 3,
    "child_running": 4,
    "toddler_playing": 3,
    "child_on_stool": 3,
    "adult_reacting": 2,
    "child_reaching": 3,
    "child_near_microwave": 3,
    "child_near_pan": 3,
    "barefoot_walking": 3,
    "barefoot_standing": 3,
}
HAND_HEIGHTS = {
    "adult_reacting": 1.20,
    "child_reaching": 0.35,
    "child_near_microwave": 1.00,
    "child_near_pan": 0.99,
}
UPRIGHT = ("toddler_standing", "barefoot_walking", "barefoot_standing")
TODDLERS = (*UPRIGHT, "toddler_playing", "child_reaching", "child_near_microwave", "child_near_pan")
PYJAMAS = ("toddler_standing", "barefoot_standing")
BARE_FEET = (*TODDLERS, "child_on_stool")

Flags = npt.NDArray[np.bool_]


def person(kind: str, variant: int) -> Person:
    return FIGURES[kind][variant].person


def middles(mesh: Mesh) -> npt.NDArray[np.float32]:
    return mesh.vertices[mesh.faces].mean(axis=1)


def areas(mesh: Mesh) -> npt.NDArray[np.float64]:
    a, b, c = (mesh.vertices[mesh.faces[:, k]].astype(np.float64) for k in range(3))
    return np.asarray(np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2)


def coloured(mesh: Mesh, colour: tuple[float, float, float]) -> Flags:
    return np.asarray(np.all(np.isclose(mesh.colours, colour, atol=1e-3), axis=1))


def variants_of(*kinds: str) -> list[tuple[str, int]]:
    return [(kind, variant) for kind, variant in ALL if kind in kinds]


def test_every_kind_is_there_in_several_variants() -> None:
    assert {kind: count for kind, (count, _) in BUILDERS.items()} == LEAST


@pytest.mark.parametrize(("kind", "variant"), ALL)
def test_a_figure_is_cheap_to_draw_and_stands_on_the_floor(kind: str, variant: int) -> None:
    mesh = build(kind, variant)
    assert 2500 < len(mesh.faces) <= 5000
    assert np.isfinite(mesh.vertices).all()
    used = mesh.vertices[np.unique(mesh.faces)]
    assert abs(float(used[:, 2].min())) < 0.003
    # Something that bears weight is there, not one stray corner.
    assert (used[:, 2] < 0.012).sum() >= 8
    assert np.abs(used[:, :2].mean(axis=0)).max() < 0.2


@pytest.mark.parametrize(("kind", "variant"), variants_of(*UPRIGHT, "adult_reacting"))
def test_both_feet_are_on_the_floor(kind: str, variant: int) -> None:
    mesh = build(kind, variant)
    used = mesh.vertices[np.unique(mesh.faces)]
    for side in (1.0, -1.0):
        assert used[side * used[:, 1] > 0.02][:, 2].min() < 0.012


@pytest.mark.parametrize(("kind", "variant"), variants_of(*UPRIGHT))
def test_a_toddler_is_small_and_has_a_big_head(kind: str, variant: int) -> None:
    looks = person(kind, variant)
    assert 4.2 <= looks.heads <= 4.6
    low, high = build(kind, variant).bounds
    assert 0.80 <= high[2] - low[2] <= 1.0
    mesh = build(kind, variant)
    eyes = middles(mesh)[(mesh.materials == Material.GLOSSY) & (mesh.colours.max(axis=1) > 0.8)]
    # Eyes lie low in the head: half a head or a bit more below the crown.
    assert 0.8 < float(eyes[:, 2].mean()) / looks.height < 0.90


@pytest.mark.parametrize(("kind", "variant"), variants_of(*TODDLERS))
def test_only_toddlers_have_the_head_of_a_toddler(kind: str, variant: int) -> None:
    assert person(kind, variant).heads <= 4.6


@pytest.mark.parametrize("variant", range(LEAST["child_running"]))
def test_a_running_child_is_of_school_age_and_has_one_foot_high(variant: int) -> None:
    looks = person("child_running", variant)
    assert 1.10 <= looks.height <= 1.25
    assert 4.8 <= looks.heads <= 5.3
    mesh = build("child_running", variant)
    shoes = middles(mesh)[coloured(mesh, looks.shoes) & (mesh.materials == Material.GLOSSY)]
    left, right = shoes[shoes[:, 1] > 0.0], shoes[shoes[:, 1] < 0.0]
    heights = sorted((float(left[:, 2].min()), float(right[:, 2].min())))
    assert heights[0] < 0.02
    assert heights[1] > 0.10
    assert abs(float(left[:, 0].mean() - right[:, 0].mean())) > 0.35


@pytest.mark.parametrize(("kind", "variant"), [(k, v) for k, v in ALL if k in ANCHORS])
def test_the_hand_is_at_its_anchor(kind: str, variant: int) -> None:
    mesh, looks = build(kind, variant), person(kind, variant)
    hand = np.array(ANCHORS[kind](variant)["hand"])
    skin = coloured(mesh, looks.skin) & (mesh.materials == Material.SKIN)
    corners = mesh.vertices[np.unique(mesh.faces[skin])]
    away = np.linalg.norm(corners - hand, axis=1)
    assert away.min() < 0.03
    assert (away < 0.12).sum() > 30
    if kind == "toddler_playing":
        return  # the other hand is near
    # Fingertips end there: the hand lies behind the point, nothing of it far beyond.
    reach = hand * np.array([1.0, 1.0, 0.0])
    beyond = (corners - hand) @ (reach / np.linalg.norm(reach))
    assert beyond[away < 0.13].max() < 0.05


@pytest.mark.parametrize(("kind", "height"), HAND_HEIGHTS.items())
def test_hands_are_at_the_heights_that_kitchens_ask_for(kind: str, height: float) -> None:
    for variant in range(LEAST[kind]):
        assert ANCHORS[kind](variant)["hand"][2] == pytest.approx(height, abs=0.011)
        assert ANCHORS[kind](variant)["hand"][0] > 0.15


@pytest.mark.parametrize("variant", range(LEAST["child_on_stool"]))
def test_the_child_on_a_stool_leans_over_the_worktop_to_the_wall_cabinets(variant: int) -> None:
    mesh, looks = build("child_on_stool", variant), person("child_on_stool", variant)
    high, low = (np.array(place) for _, place in FIGURES["child_on_stool"][variant].reaches)
    assert 1.0 <= high[2] <= 1.1
    assert 0.38 <= high[0] <= 0.44
    # The other hand rests on the worktop, 0.45 m above the seat.
    assert 0.45 < low[2] < 0.49
    skin = coloured(mesh, looks.skin) & (mesh.materials == Material.SKIN)
    corners = mesh.vertices[np.unique(mesh.faces[skin])]
    resting = corners[np.linalg.norm(corners - low, axis=1) < 0.05]
    assert len(resting) > 20
    assert resting[:, 2].min() > 0.445


@pytest.mark.parametrize(
    ("kind", "variant"), variants_of("child_near_microwave", "child_near_pan", "child_on_stool")
)
def test_hands_that_reach_lie_level_with_the_palm_down(kind: str, variant: int) -> None:
    mesh, looks = build(kind, variant), person(kind, variant)
    hand = np.array(ANCHORS[kind](variant)["hand"])
    skin = coloured(mesh, looks.skin) & (mesh.materials == Material.SKIN)
    corners = mesh.vertices[np.unique(mesh.faces[skin])]
    near = corners[np.linalg.norm(corners - hand, axis=1) < 0.09]
    # Long ahead, wide across, flat: no palm is shown to the room.
    assert np.ptp(near[:, 0]) > 0.07
    assert np.ptp(near[:, 2]) < 0.062
    assert np.ptp(near[:, 1]) > np.ptp(near[:, 2])


@pytest.mark.parametrize(("kind", "variant"), variants_of(*TODDLERS, "child_running"))
def test_eyes_do_not_stand_out_of_the_face(kind: str, variant: int) -> None:
    looks = person(kind, variant)
    face = head(replace(looks, hair_style="none"), skeleton(looks))
    eyes = np.concatenate([m.vertices for m in face if (m.materials == Material.GLOSSY).all()])
    skin = face[0].vertices
    bones = skeleton(looks)
    ahead = bones.head_turn[:, 0]
    outward = (eyes - bones.head) @ ahead / bones.head_height
    profile = (skin - bones.head) @ ahead / bones.head_height
    assert len(eyes) > 40
    assert outward.max() < profile.max() + 0.02


@pytest.mark.parametrize(("kind", "variant"), variants_of(*BARE_FEET))
def test_feet_are_bare_skin_with_ten_toes(kind: str, variant: int) -> None:
    mesh, looks = build(kind, variant), person(kind, variant)
    assert looks.feet == "bare"
    assert not np.any(coloured(mesh, looks.shoes) & (middles(mesh)[:, 2] < 0.1))
    rosy = (min(looks.skin[0] * 1.01, 1.0), looks.skin[1] * 0.94, looks.skin[2] * 0.92)
    toes = middles(mesh)[coloured(mesh, rosy)]
    for side in (1.0, -1.0):
        foot = toes[side * toes[:, 1] > 0.0]
        spread = np.sort(foot[:, 1])
        assert 0.035 < np.ptp(spread) < 0.11
        assert foot[:, 2].max() < 0.16
    if kind in UPRIGHT:
        low = middles(mesh)[:, 2] < 0.03
        assert (mesh.materials[low] == Material.SKIN).all()


@pytest.mark.parametrize(("kind", "variant"), variants_of(*PYJAMAS))
def test_pyjamas_are_one_cloth_with_a_print_on_top_and_trousers(kind: str, variant: int) -> None:
    mesh, looks = build(kind, variant), person(kind, variant)
    assert looks.top == looks.bottom
    cloth, pattern = coloured(mesh, looks.top), coloured(mesh, looks.inner)
    area, height = areas(mesh), middles(mesh)[:, 2]
    assert area[cloth].sum() > 0.15
    waist = 0.40 * looks.height
    for part in (height > waist, height < waist):
        assert area[pattern & part].sum() > 0.06 * area[cloth & part].sum()
    red, _, blue = looks.top
    is_blue = blue > 1.5 * red
    assert is_blue == (kind == "toddler_standing")


def test_barefoot_standing_wears_three_colours() -> None:
    tops = np.array([figure.person.top for figure in FIGURES["barefoot_standing"]])
    apart = np.linalg.norm(tops[:, None] - tops[None], axis=2)
    assert apart[np.triu_indices(len(tops), 1)].min() > 0.3


@pytest.mark.parametrize("variant", range(LEAST["child_reaching"]))
def test_the_child_at_the_cabinet_wears_a_nappy_and_nothing_else(variant: int) -> None:
    mesh, looks = build("child_reaching", variant), person("child_reaching", variant)
    white = coloured(mesh, looks.bottom) & (mesh.materials == Material.CLOTH)
    assert min(looks.bottom) > 0.9
    cloth = areas(mesh)[mesh.materials == Material.CLOTH].sum()
    nappy = areas(mesh)[white].sum()
    assert nappy > 0.9 * cloth
    assert 0.02 < nappy < 0.5 * areas(mesh)[mesh.materials == Material.SKIN].sum()
    low, high = build("child_reaching", variant).bounds
    assert high[2] - low[2] < 0.78 * looks.height  # it kneels or squats


@pytest.mark.parametrize("variant", range(LEAST["toddler_playing"]))
def test_the_playing_toddler_sits_and_holds_a_block(variant: int) -> None:
    mesh, looks = build("toddler_playing", variant), person("toddler_playing", variant)
    assert mesh.bounds[1][2] < 0.75 * looks.height
    block = mesh.vertices[np.unique(mesh.faces[coloured(mesh, (0.90, 0.16, 0.14))])]
    hand = np.array(ANCHORS["toddler_playing"](variant)["hand"])
    assert np.linalg.norm(block - hand, axis=1).min() < 0.03
    assert ANCHORS["toddler_playing"](variant)["toys"][2] == 0.0


@pytest.mark.parametrize("variant", range(LEAST["adult_reacting"]))
def test_the_alarmed_woman_has_an_open_mouth_and_wide_eyes(variant: int) -> None:
    mesh, looks = build("adult_reacting", variant), person("adult_reacting", variant)
    assert looks.woman
    assert 1.55 <= looks.height <= 1.75
    # Her hair falls over the shoulders on both sides of the face.
    hair = coloured(mesh, looks.hair) | (mesh.materials == Material.MATTE)
    locks = middles(mesh)[hair]
    bones = skeleton(looks)
    across = (locks - bones.head) @ bones.head_turn[:, 1]
    below = locks[:, 2] < 0.86 * looks.height
    assert (across[below] > 0.05).any()
    assert (across[below] < -0.05).any()
    mouth = mesh.vertices[np.unique(mesh.faces[coloured(mesh, (0.16, 0.04, 0.04))])]
    assert np.ptp(mouth[:, 2]) > 0.03
    whites = mesh.vertices[np.unique(mesh.faces[coloured(mesh, (0.92, 0.91, 0.90))])]
    assert np.ptp(whites[:, 2]) > 0.02
    assert mouth[:, 2].max() < whites[:, 2].min()


@pytest.mark.parametrize("kind", BUILDERS)
def test_the_same_figure_is_built_each_time(kind: str) -> None:
    one, two = BUILDERS[kind][1](0), build(kind, 0)
    for name in ("vertices", "faces", "colours", "materials", "normals"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_figures_differ_in_skin_and_hair() -> None:
    for kind in TODDLERS:
        assert len({figure.person.skin for figure in FIGURES[kind]}) >= 2
        assert len({(f.person.hair_style, f.person.hair) for f in FIGURES[kind]}) >= 2
