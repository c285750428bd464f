from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from vlmfail.core import Truth
from vlmfail.envs.driving.domain import DrivingDomain
from vlmfail.envs.driving.scene import DrivingScene
from vlmfail.envs.driving.simulate import boxes, check, drive, sample_scenes
from vlmfail.envs.driving.truth import truth
from vlmfail.rendering.world import Camera

DOMAIN = DrivingDomain()
TABLE = DOMAIN.rules.expected_action
SCENES = 200


@pytest.fixture(scope="module")
def scenes() -> list[DrivingScene]:
    return [scene for _, scene in sample_scenes(DOMAIN, SCENES, seed=1)]


def sample(text: str, seed: int = 0) -> DrivingScene:
    return DOMAIN.sample_scene(DOMAIN.space.parse(text), np.random.default_rng(seed))


def test_simulation_agrees_with_every_truth(scenes: list[DrivingScene]) -> None:
    seen = set()
    for scene in scenes:
        expected = DOMAIN.truth(scene)
        assert check(scene, expected).disagreements == ()
        seen.add(expected.rule)
    assert seen == {"A1", "A2", "A3", "A4", "A5"}


@pytest.mark.parametrize(("first", "second"), [(0, 1), (0, 4), (1, 2), (2, 3), (2, 4), (3, 4)])
def test_swapped_rules_are_noticed(first: int, second: int) -> None:
    """Swap what two rows accept: some scene of the swapped rules must disagree."""
    table = list(TABLE)
    answers = {0: ("emergency_stop",), 1: ("slow_down",)}
    accepted = [answers.get(i, row.accepted) for i, row in enumerate(table)]
    for i, j in ((first, second), (second, first)):
        table[i] = TABLE[i].model_copy(update={"accepted": accepted[j]})
    texts = ["pedestrian", "cone far", "light_red", "intersection_ego weather_foggy", "light_green"]
    told = [
        bool(check(scene, truth(scene, table)).disagreements)
        for scene in (sample(texts[first]), sample(texts[second]))
    ]
    # Where the accepted actions overlap one side alone is wrong.
    assert any(told)


def test_swapped_priority_is_noticed() -> None:
    red_first = [TABLE[2], *TABLE[:2], *TABLE[3:]]
    scene = sample("cone far light_red")
    assert check(scene, truth(scene, TABLE)).disagreements == ()
    assert check(scene, truth(scene, red_first)).disagreements


@pytest.mark.parametrize(("text", "metres"), [("pedestrian", 12.0), ("debris_far", -3.0)])
def test_a_moved_object_is_noticed(text: str, metres: float) -> None:
    scene = sample(text)
    expected = DOMAIN.truth(scene)
    (placed,) = scene.objects
    moved = replace(scene, objects=(replace(placed, x=placed.x + metres),))
    assert check(scene, expected).disagreements == ()
    assert check(moved, expected).disagreements


def test_an_object_moved_out_of_the_lane_is_noticed() -> None:
    scene = sample("cone")
    (placed,) = scene.objects
    moved = replace(scene, objects=(replace(placed, y=placed.y + 5.0),))
    assert check(moved, DOMAIN.truth(scene)).disagreements


def test_a_lamp_of_the_other_colour_is_noticed() -> None:
    scene = sample("light_red")
    assert scene.signal is not None
    green = replace(scene, signal=replace(scene.signal, kind="traffic_light_green"))
    assert check(green, DOMAIN.truth(scene)).disagreements


def test_a_wrong_deciding_object_is_noticed() -> None:
    scene = sample("pedestrian debris_far")
    expected = DOMAIN.truth(scene)
    wrong = Truth(
        expected.expected, expected.accepted, expected.rule, expected.reason, ("debris_far",)
    )
    assert check(scene, wrong).disagreements


def test_simulated_boxes_are_the_recorded_ones() -> None:
    scene = sample("bus_stop cyclist debris_far")
    around = boxes(scene.world())
    for placed in scene.objects:
        simulated = around[placed.name] - np.array((scene.ego_x, 0.0))
        assert np.abs(simulated - np.array(placed.corners)).max() < 1e-3


@pytest.mark.parametrize(
    ("gap", "action", "speed"),
    [
        (20.0, "continue", 6.7),
        (5.7, "slow_down", 0.0),
        (5.0, "slow_down", (6.7**2 - 8.0 * 5.0) ** 0.5),
        (2.0, "emergency_stop", (6.7**2 - 16.0 * 2.0) ** 0.5),
        (2.9, "emergency_stop", 0.0),
    ],
)
def test_driving_at_a_wall(gap: float, action: str, speed: float) -> None:
    camera = Camera(x=100.0, y=0.1, z=1.4)
    face = 100.9 + gap
    wall = np.array([(face, -1.0), (face + 1, -1.0), (face + 1, 1.0), (face, 1.0)])
    outcome = drive({"wall": wall}, camera, action)
    assert outcome.impact_speed == pytest.approx(speed, abs=0.03)
    assert outcome.struck == (("wall",) if speed else ())


def test_driving_past_a_wall_and_over_a_red_line() -> None:
    camera = Camera(x=0.0, y=0.0, z=1.4)
    wall = np.array([(5.0, 1.0), (6.0, 1.0), (6.0, 2.0), (5.0, 2.0)])
    assert drive({"wall": wall}, camera, "continue").struck == ()
    assert drive({}, camera, "continue", stop_line=12.0).ran_red
    assert not drive({}, camera, "slow_down", stop_line=12.0).ran_red
    assert drive({}, camera, "slow_down").travelled == pytest.approx(5.61, abs=0.01)
