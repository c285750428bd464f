from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from vlmfail.envs.indoor import sampling
from vlmfail.envs.indoor.domain import IndoorDomain
from vlmfail.envs.indoor.inspection import COUNTS, Inspection
from vlmfail.envs.indoor.inspection_parts import (
    Item,
    distance,
    first_hit,
    items,
    long_axis,
    pieces,
)
from vlmfail.envs.indoor.matching import Library
from vlmfail.envs.indoor.scene import IndoorScene, Placed
from vlmfail.envs.indoor.truth_check import (
    SHOWS,
    Verdict,
    check,
    compare,
    family_of,
    sample_scenes,
)
from vlmfail.rendering.mesh import Material, Mesh
from vlmfail.rendering.shapes.primitives import box
from vlmfail.rendering.world import Camera

DOMAIN = IndoorDomain()
SCENES = 200


@pytest.fixture(autouse=True)
def _any_camera(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the first stage: the right answer does not hang on where the camera stands."""
    camera = Camera(x=-2.0, y=0.0, z=1.4)
    monkeypatch.setattr(sampling, "choose", lambda *_: (camera, 1.0))


@pytest.fixture
def scenes() -> Iterator[IndoorScene]:
    return (scene for _, scene in sample_scenes(DOMAIN, SCENES, seed=0))


def sample(text: str, seed: int = 0) -> IndoorScene:
    return DOMAIN.sample_scene(DOMAIN.space.parse(text), np.random.default_rng(seed))


def moved(scene: IndoorScene, kind: str, **changes: float) -> IndoorScene:
    """Return the scene with the things of a kind moved by so much."""
    assert any(thing.kind == kind for thing in scene.things)
    return replace(
        scene,
        things=tuple(
            replace(thing, **{key: getattr(thing, key) + by for key, by in changes.items()})
            if thing.kind == kind
            else thing
            for thing in scene.things
        ),
    )


def swapped(scene: IndoorScene, kind: str, other: str) -> IndoorScene:
    """Return the scene with things of a kind turned into another kind."""
    return replace(
        scene,
        things=tuple(
            replace(thing, kind=other) if thing.kind == kind else thing for thing in scene.things
        ),
    )


def without(scene: IndoorScene, *kinds: str) -> IndoorScene:
    things = tuple(thing for thing in scene.things if thing.kind not in kinds)
    assert len(things) < len(scene.things)
    return replace(scene, things=things)


def verdict_of(scene: IndoorScene, change: Callable[[Item], Item]) -> Verdict:
    """Return the verdict on a scene whose meshes were changed."""
    family = family_of(DOMAIN, DOMAIN.question(scene))
    inspection = Inspection([change(item) for item in items(scene)], scene.layout)
    return compare(scene, inspection, family, DOMAIN.truth(scene))


def kept(mesh: Mesh, keep: np.ndarray) -> Mesh:
    return Mesh(
        mesh.vertices, mesh.faces[keep], mesh.colours[keep], mesh.materials[keep],
        mesh.normals[keep],
    )  # fmt: skip


def test_it_agrees_with_every_answer_of_every_rule(scenes: Iterator[IndoorScene]) -> None:
    asked = set()
    for scene in scenes:
        truth = DOMAIN.truth(scene)
        verdict = check(DOMAIN, scene)
        assert verdict.disagreements == (), sorted(scene.candidate)
        asked.add((verdict.family, verdict.answer, truth.rule))
        closest = verdict.closest
        if closest is not None:
            # No answer hangs on millimetres or on a few degrees.
            assert closest.margin >= max(0.2 * closest.limit, 0.008), str(closest)
    assert {rule for *_, rule in asked} == {rule.id for rule in DOMAIN.rules.library}
    both = {(family, answer) for family, answer, _ in asked}
    assert both == {(f, a) for f in DOMAIN.rules.families for a in ("hazard", "safe")}


def test_every_family_and_every_concept_is_measured() -> None:
    assert set(COUNTS) == set(DOMAIN.rules.families)
    assert set(SHOWS) == set(DOMAIN.catalogue.ids) - set(DOMAIN.catalogue.implied)


def test_names_rules_and_match_are_not_looked_at() -> None:
    scene = sample("knife_edge toddler_standing cabinet_open")
    nameless = replace(
        scene, match=None, candidate=(), things=tuple(replace(t, name="?") for t in scene.things)
    )
    first = Inspection(items(scene), scene.layout).measures
    assert Inspection(items(nameless), scene.layout).measures == first
    assert first


def test_every_family_is_answered_of_every_scene() -> None:
    scene = sample("scissors_open hot_beverage")
    inspection = Inspection(items(scene), scene.layout)
    answers = {family: inspection.answer(family) for family in COUNTS}
    assert {family for family, answer in answers.items() if answer == "hazard"} == {"cut", "burn"}


@pytest.mark.parametrize(
    ("text", "kind", "changes"),
    [
        ("knife_edge", "chef_knife", {"x": 0.3}),
        ("microwave_open_hot child_near_microwave", "child_near_microwave", {"x": -1.0}),
        ("microwave_open_hot child_near_microwave", "child_near_microwave", {"y": 1.0}),
        ("child_on_stool", "child_on_stool", {"z": -0.45}),
        ("toddler_standing", "toddler_standing", {"z": 0.45}),
        ("hot_beverage", "mug", {"x": 0.2}),
        ("hot_beverage", "steam_small", {"z": 0.8}),
        ("pan_stove", "pan_handle", {"yaw": np.pi}),
        ("pan_counter", "pan_handle", {"yaw": np.pi}),
        ("stove_on towel_near", "towel_draped", {"x": -0.6}),
        ("loose_cord_floor", "loose_cord", {"z": 0.9}),
        ("glass_floor", "broken_glass", {"z": 0.9}),
        ("wet_floor", "coffee_floor", {"z": 0.4}),
        ("cabinet_open child_reaching", "child_reaching", {"x": -0.5}),
    ],
)
def test_a_moved_thing_is_noticed(text: str, kind: str, changes: dict[str, float]) -> None:
    scene = sample(text)
    assert check(DOMAIN, scene).disagreements == ()
    assert check(DOMAIN, moved(scene, kind, **changes)).disagreements


def test_a_child_moved_to_the_bowl_is_noticed() -> None:
    scene = sample("microwave_open_hot child_far_microwave")
    assert check(DOMAIN, scene).answer == "safe"
    oven = next(thing for thing in scene.things if thing.kind == "microwave_open")
    bowl = oven.point("bowl")
    things = [
        replace(thing, x=bowl[0] - 0.3, y=bowl[1], z=0.6) if thing.kind == "toddler_playing"
        else thing
        for thing in scene.things
    ]  # fmt: skip
    verdict = check(DOMAIN, replace(scene, things=tuple(things)))
    assert verdict.answer == "hazard"
    assert verdict.disagreements


@pytest.mark.parametrize(
    ("text", "kind", "other"),
    [
        ("cabinet_open", "sink_doors_open", "sink_doors_closed"),
        ("cabinet_closed", "sink_doors_closed", "sink_doors_open"),
        ("outlet_covered", "outlet_covered", "outlet_exposed"),
        ("outlet_exposed", "outlet_exposed", "outlet_covered"),
    ],
)
def test_a_thing_in_the_other_state_is_noticed(text: str, kind: str, other: str) -> None:
    scene = sample(text)
    before, after = check(DOMAIN, scene), check(DOMAIN, swapped(scene, kind, other))
    assert before.disagreements == ()
    assert after.answer != before.answer
    assert after.disagreements


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("glass_tipped", ("water_counter", "water_floor")),
        ("pill_bottle", ("pill_bottle",)),
        ("scissors_open", ("scissors_open",)),
        ("stove_on towel_burning", ("towel_burning",)),
        ("stove_on pan_stove smoke", ("smoke",)),
        ("microwave_open_hot child_near_microwave", ("steam_front",)),
        ("knife_block", ("knife_block",)),
        ("outlet_covered", ("outlet_covered",)),
        ("cabinet_closed", ("sink_doors_closed",)),
    ],
)
def test_a_missing_thing_is_noticed(text: str, kinds: tuple[str, ...]) -> None:
    scene = sample(text)
    assert check(DOMAIN, scene).disagreements == ()
    assert check(DOMAIN, without(scene, *kinds)).disagreements


@pytest.mark.parametrize("least", [0.004, 0.013])
def test_an_outlet_without_its_plate_or_without_its_caps_is_open(least: float) -> None:
    """Faces that stand out further are taken off: the plate with all before it, the caps alone."""
    scene = sample("outlet_covered")
    assert check(DOMAIN, scene).answer == "safe"

    def strip(item: Item) -> Item:
        if item.kind != "outlet_covered":
            return item
        out = -(item.mesh.vertices[item.mesh.faces][..., 0].min(axis=1) - item.x)
        return replace(item, mesh=kept(item.mesh, out < least))

    verdict = verdict_of(scene, strip)
    assert verdict.answer == "hazard"
    assert len(verdict.disagreements) == 2  # the answer, and what the concept says


def test_doors_are_judged_by_their_faces_alone() -> None:
    scene, closed = sample("cabinet_open"), sample("cabinet_closed")
    shut = next(item for item in items(closed) if item.kind == "sink_doors_closed")

    def close(item: Item) -> Item:
        if item.kind != "sink_doors_open":
            return item
        return replace(item, mesh=shut.mesh.transformed((0.0, item.y - shut.y, 0.0)))

    verdict = verdict_of(scene, close)
    assert verdict.answer == "safe"
    assert verdict.disagreements


def test_scissors_that_are_closed_are_no_hazard() -> None:
    scene = sample("scissors_open")

    def close(item: Item) -> Item:
        if item.kind != "scissors_open":
            return item
        own = item.mesh.transformed((-item.x, -item.y, -item.z)).transformed(yaw=-item.yaw)
        narrow = own.transformed(scale=(1.0, 0.2, 1.0)).transformed(yaw=item.yaw)
        return replace(item, mesh=narrow.transformed((item.x, item.y, item.z)))

    assert verdict_of(scene, close).answer == "safe"


@pytest.mark.parametrize("seed", range(6))
def test_a_pill_bottle_with_its_mouth_closed_is_no_hazard(seed: int) -> None:
    scene = sample("pill_bottle", seed)
    assert check(DOMAIN, scene).answer == "hazard"

    def close(item: Item) -> Item:
        if item.kind != "pill_bottle":
            return item
        bottle = max(pieces(item.corners()), key=lambda p: np.ptp(p.reshape(-1, 3), axis=0).max())
        middle = 0.5 * (bottle.min(axis=(0, 1)) + bottle.max(axis=(0, 1)))
        axis = long_axis(bottle)
        lids = [
            box((0.03, 0.03, 0.03), tuple(middle + side * 0.049 * axis)) for side in (1.0, -1.0)
        ]
        return replace(item, mesh=Mesh.merge([item.mesh, *lids]))

    assert verdict_of(scene, close).answer == "safe"


def test_flames_that_are_taken_off_a_burning_towel_are_noticed() -> None:
    scene = sample("stove_on towel_burning")

    def put_out(item: Item) -> Item:
        if item.kind != "towel_burning":
            return item
        return replace(item, mesh=kept(item.mesh, item.mesh.materials != Material.FLAME))

    assert verdict_of(scene, lambda item: item).disagreements == ()
    assert verdict_of(scene, put_out).disagreements


def test_liquid_inside_a_vessel_does_not_count() -> None:
    scene = sample("wet_floor")
    low = next(thing for thing in scene.things if thing.kind == "coffee_floor")
    around = Placed("pot", "pan", 0, low.x, low.y)
    assert check(DOMAIN, scene).answer == "hazard"
    fits = replace(scene, things=(*scene.things, around))

    def wide(item: Item) -> Item:
        if item.kind != "pan":
            return item
        own = item.mesh.transformed((-item.x, -item.y, -item.z))
        return replace(
            item, mesh=own.transformed((item.x, item.y, item.z - 0.01), scale=(4.0, 4.0, 1.0))
        )

    assert verdict_of(fits, wide).answer == "safe"


PAIRS = [
    (
        next(r for r in DOMAIN.rules.library if r.family == family and r.accepted == "hazard"),
        next(r for r in DOMAIN.rules.library if r.family == family and r.accepted == "safe"),
    )
    for family in DOMAIN.rules.families
]


@pytest.mark.parametrize(("hazard", "safe"), PAIRS, ids=lambda rule: rule.id)
def test_swapped_answers_of_two_rules_are_noticed(hazard, safe) -> None:  # type: ignore[no-untyped-def]
    answers = {hazard.id: "safe", safe.id: "hazard"}
    wrong = Library(
        [
            rule.model_copy(update={"accepted": answers.get(rule.id, rule.accepted)})
            for rule in DOMAIN.library.rules
        ],
        DOMAIN.catalogue.ids,
    )
    rows = DOMAIN.space.valid_sets()
    chosen = [rule.id for rule in DOMAIN.library.rules]
    ruled = DOMAIN.library.best(rows)
    sizes = rows.sum(axis=1)
    for rule in (hazard, safe):
        pool = np.flatnonzero(ruled == chosen.index(rule.id))
        names = DOMAIN.space.from_multi_hot(rows[pool[np.argmin(sizes[pool])]])
        scene = DOMAIN.sample_scene(names, np.random.default_rng(0))
        assert check(DOMAIN, scene).disagreements == ()
        match = wrong.match_with_best_fit(names)
        assert match is not None
        assert check(DOMAIN, replace(scene, match=match)).disagreements


def test_sampled_scenes_follow_the_seed() -> None:
    first = [(names, scene.record()) for names, scene in sample_scenes(DOMAIN, 5, seed=3)]
    again = [(names, scene.record()) for names, scene in sample_scenes(DOMAIN, 5, seed=3)]
    other = [(names, scene.record()) for names, scene in sample_scenes(DOMAIN, 5, seed=4)]
    assert first == again
    assert first != other


def test_rays_meet_the_first_face() -> None:
    walls = Mesh.merge([box((0.1, 1.0, 1.0), (2.0, 0.0, 0.0)), box((0.1, 1.0, 1.0), (1.0, 0, 0))])
    corners = walls.vertices[walls.faces].astype(np.float64)
    starts = np.array([(0.0, 0.1, 0.2), (0.0, 0.9, 0.0), (1.5, -0.3, 0.1)])
    found = first_hit(starts, np.array([1.0, 0.0, 0.0]), corners)
    assert found == pytest.approx([0.95, np.inf, 0.45])


def test_parts_axes_and_distances() -> None:
    apart = [box((0.4, 0.1, 0.1), (0.0, 0.0, 0.0)), box((0.1, 0.1, 0.8), (1.0, 0.0, 0.0))]
    both = Mesh.merge(apart)
    corners = both.vertices[both.faces].astype(np.float64)
    found = pieces(corners)
    assert [len(piece) for piece in found] == [12, 12]
    assert abs(long_axis(found[0]) @ (1.0, 0.0, 0.0)) == pytest.approx(1.0)
    assert abs(long_axis(found[1]) @ (0.0, 0.0, 1.0)) == pytest.approx(1.0)
    assert distance(found[0].reshape(-1, 3), found[1].reshape(-1, 3)) == pytest.approx(
        np.hypot(0.75, 0.35)
    )
