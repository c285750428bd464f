from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vlmfail.core import Domain, Picture, Rendering, SceneError, UnknownNameError, UsageError
from vlmfail.envs.indoor.catalogue import DATA
from vlmfail.envs.indoor.domain import OBJECT_PIXELS, IndoorDomain, pixels_needed
from vlmfail.envs.indoor.scene import IndoorScene
from vlmfail.testing.domain_suite import DomainContractSuite

DOMAIN = IndoorDomain()
PICTURE = Picture.from_pixels(np.zeros((2, 2, 3), dtype=np.uint8))


class TestIndoorDomain(DomainContractSuite):
    scenes = 8
    pictures = 2

    def make_domain(self) -> Domain[Any]:
        return IndoorDomain()


def sample(text: str, seed: int = 0) -> IndoorScene:
    return DOMAIN.sample_scene(DOMAIN.space.parse(text), np.random.default_rng(seed))


def loose(*names: str, seed: int = 0) -> IndoorScene:
    """Return the scene of a set that need not be valid."""
    return DOMAIN.sample_scene(frozenset(names), np.random.default_rng(seed))


def test_scene_question_and_truth_belong_together() -> None:
    scene = sample("knife_edge toddler_standing")
    question, truth = DOMAIN.question(scene), DOMAIN.truth(scene)
    assert question == DOMAIN.questions.of("cut")
    assert (truth.expected, truth.rule, truth.deciding) == ("hazard", "I304", ("knife_edge",))
    safe = sample("knife_block")
    assert DOMAIN.question(safe) == question
    assert DOMAIN.truth(safe).expected == "safe"


def test_names_in_any_order_give_the_same_scene() -> None:
    names = ["toddler_standing", "knife_edge", "kitchen"]
    one, two = (
        DOMAIN.sample_scene(frozenset(order), np.random.default_rng(3))
        for order in (names, names[::-1])
    )
    assert one.record() == two.record()
    assert one.candidate == ("knife_edge", "toddler_standing")


def test_a_plain_kitchen_has_nothing_to_ask_about() -> None:
    scene = loose()
    assert scene.candidate == ()
    assert {thing.name for thing in scene.things} == {"room"}
    assert scene.world().probes == ()
    for ask in (DOMAIN.question, DOMAIN.truth):
        with pytest.raises(SceneError, match="no rule fits"):
            ask(scene)
    assert json.loads(json.dumps(scene.record()))["match"] is None


@pytest.mark.parametrize(
    "names",
    [
        ("smoke", "towel_burning"),
        ("glass_upright", "glass_tipped"),
        ("towel_near",),
        ("outlet_exposed", "outlet_covered"),
        ("barefoot_child_safe", "wet_floor"),
    ],
)
def test_sets_that_break_a_rule_can_be_sampled(names: tuple[str, ...]) -> None:
    scene = loose(*names)
    assert {thing.name for thing in scene.things} - {"room"} == set(names)


@pytest.mark.parametrize("names", [("smoke",), ("child_near_pan",), ("barefoot_near_glass",)])
def test_a_thing_whose_place_is_missing_is_told(names: tuple[str, ...]) -> None:
    with pytest.raises(SceneError, match=names[0]) as told:
        loose(*names)
    assert "\n" not in str(told.value)


def test_unseen_takes_one_thing_of_each_group() -> None:
    scene = sample("scissors_open knife_edge")
    truth = DOMAIN.truth(scene)
    assert scene.match is not None
    assert scene.match.deciding == (("knife_edge", "scissors_open"),)

    def unseen(**seen: int) -> str | None:
        return DOMAIN.unseen(scene, truth, Rendering(PICTURE, seen))

    assert unseen(knife_edge=OBJECT_PIXELS, scissors_open=0) is None
    assert unseen(knife_edge=0, scissors_open=OBJECT_PIXELS) is None
    needed = pixels_needed("scissors_open")
    told = unseen(knife_edge=3, scissors_open=needed - 1)
    assert told is not None
    assert "scissors_open" in told  # the one that is nearer to being seen
    assert str(needed) in told
    assert unseen() is not None


def test_unseen_needs_every_group() -> None:
    scene = sample("stove_on towel_near")
    assert scene.match is not None
    assert len(scene.match.deciding) == 2
    truth = DOMAIN.truth(scene)
    both = {"stove_on": OBJECT_PIXELS, "towel_near": OBJECT_PIXELS}
    assert DOMAIN.unseen(scene, truth, Rendering(PICTURE, both)) is None
    for name in both:
        hidden = {**both, name: OBJECT_PIXELS - 1}
        told = DOMAIN.unseen(scene, truth, Rendering(PICTURE, hidden))
        assert told is not None
        assert told.startswith(name)


def test_what_does_not_decide_need_not_be_seen() -> None:
    scene = sample("outlet_exposed toddler_standing")
    seen = {"outlet_exposed": OBJECT_PIXELS, "toddler_standing": 0}
    assert DOMAIN.unseen(scene, DOMAIN.truth(scene), Rendering(PICTURE, seen)) is None


def test_a_renderer_that_cannot_tell_is_believed() -> None:
    scene = sample("outlet_exposed")
    assert DOMAIN.unseen(scene, DOMAIN.truth(scene), Rendering(PICTURE, None)) is None


def test_errors_have_a_direction() -> None:
    hazard, safe = DOMAIN.truth(sample("knife_edge")), DOMAIN.truth(sample("knife_block"))
    assert DOMAIN.direction(hazard, "safe") == "missed_hazard"
    assert DOMAIN.direction(safe, "hazard") == "over_caution"
    assert DOMAIN.direction(hazard, "hazard") is None
    assert DOMAIN.direction(safe, "safe") is None


@pytest.mark.parametrize("name", ["embre", "Embree", "", "google-imag:x", "folder"])
def test_an_unknown_renderer_is_told_in_one_line(name: str) -> None:
    with pytest.raises(UnknownNameError) as told:
        DOMAIN.make_renderer(name)
    text = str(told.value)
    assert "\n" not in text
    assert "embree" in text


def test_unknown_concepts_are_told() -> None:
    with pytest.raises(UnknownNameError, match="knife_edge"):
        loose("knife_edg")


def test_the_domain_pickles_and_its_copy_does_the_same() -> None:
    copy = pickle.loads(pickle.dumps(DOMAIN))
    scene = sample("glass_tipped wet_floor", 4)
    twin = copy.sample_scene(copy.space.parse("glass_tipped wet_floor"), np.random.default_rng(4))
    assert twin == scene
    assert copy.truth(twin) == DOMAIN.truth(scene)
    assert copy.identity() == DOMAIN.identity()


def test_identity_follows_the_data(tmp_path: Path) -> None:
    plain = DOMAIN.identity()
    assert {"catalogue", "rules", "questions", "sha256"} <= set(plain)
    data = json.loads((DATA / "questions.json").read_text())
    data["closing"] = ["Answer."]
    (tmp_path / "questions.json").write_text(json.dumps(data))
    other = IndoorDomain(tmp_path)
    assert other.identity()["sha256"] != plain["sha256"]
    assert other.question(sample("knife_edge")).text.endswith("Answer.")
    assert IndoorDomain(recognition=True).identity()["sha256"] != plain["sha256"]


def test_a_family_without_a_question_is_told(tmp_path: Path) -> None:
    data = json.loads((DATA / "questions.json").read_text())
    data["questions"] = [item for item in data["questions"] if item["family"] != "trip"]
    (tmp_path / "questions.json").write_text(json.dumps(data))
    with pytest.raises(UsageError, match="trip"):
        IndoorDomain(tmp_path)


def test_the_largest_set_can_be_made_smaller() -> None:
    small = IndoorDomain(max_size=2)
    rows = small.space.valid_sets()
    assert rows is not None
    assert len(rows) == 259
    assert rows.sum(axis=1).max() == 2


@pytest.mark.parametrize("text", ["knife_edge", "stove_on towel_near"])
def test_the_renderer_shows_what_decides(text: str) -> None:
    scene = sample(text, 1)
    rendering = DOMAIN.make_renderer("embree").render(scene)
    assert rendering.picture.size == (512, 384)
    assert rendering.visible is not None
    assert set(rendering.visible) == set(scene.candidate)
    assert DOMAIN.unseen(scene, DOMAIN.truth(scene), rendering) is None
