from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from vlmfail.core import Truth
from vlmfail.envs.driving import truth as truths
from vlmfail.envs.driving.domain import DrivingDomain
from vlmfail.envs.driving.rules import rules
from vlmfail.envs.driving.scene import DrivingScene
from vlmfail.envs.driving.weather import WEATHERS, atmosphere

DOMAIN = DrivingDomain()


def sample(text: str, seed: int = 0) -> DrivingScene:
    return DOMAIN.sample_scene(DOMAIN.space.parse(text), np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("text", "rule", "accepted", "deciding"),
    [
        ("pedestrian", "A1", {"emergency_stop"}, ("pedestrian",)),
        ("cone near", "A1", {"emergency_stop"}, ("cone",)),
        ("debris_near light_green", "A1", {"emergency_stop"}, ("debris_near",)),
        ("obstruction_near light_red", "A1", {"emergency_stop"}, ("obstruction_near",)),
        ("cyclist obstruction_far", "A1", {"emergency_stop"}, ("cyclist",)),
        ("debris_near debris_far", "A1", {"emergency_stop"}, ("debris_near",)),
        ("cyclist far", "A2", {"slow_down"}, ("cyclist",)),
        ("debris_far light_red", "A2", {"slow_down"}, ("debris_far",)),
        ("chain_barrier_far weather_foggy", "A2", {"slow_down"}, ("chain_barrier_far",)),
        ("pedestrian on_sidewalk debris_far", "A2", {"slow_down"}, ("debris_far",)),
        ("light_red", "A3", {"slow_down", "emergency_stop"}, ("light_red",)),
        ("light_red weather_foggy", "A3", {"slow_down", "emergency_stop"}, ("light_red",)),
        ("light_red cone near on_sidewalk", "A3", {"slow_down", "emergency_stop"}, ("light_red",)),
        ("intersection_ego weather_foggy", "A4", {"slow_down"}, ()),
        ("light_green weather_hard_rain", "A4", {"slow_down"}, ()),
        ("pedestrian on_sidewalk weather_foggy", "A4", {"slow_down"}, ()),
        ("light_green", "A5", {"continue"}, ("light_green",)),
        ("intersection_ego weather_wet", "A5", {"continue"}, ()),
        ("child_pedestrian on_sidewalk near", "A5", {"continue"}, ()),
        ("bus_stop on_sidewalk weather_soft_rain", "A5", {"continue"}, ()),
    ],
)
def test_expected_action(
    text: str, rule: str, accepted: set[str], deciding: tuple[str, ...]
) -> None:
    for seed in range(3):
        truth = DOMAIN.truth(sample(text, seed))
        assert truth.rule == rule
        assert truth.accepted == accepted
        assert truth.deciding == deciding
        assert truth.expected in accepted


def test_red_lights_prefer_the_milder_braking() -> None:
    assert DOMAIN.truth(sample("light_red")).expected == "slow_down"


def test_stopping_distances_are_the_papers() -> None:
    assert truths.stopping_distance("emergency_stop") == pytest.approx(2.8, abs=0.01)
    assert truths.stopping_distance("slow_down") == pytest.approx(5.6, abs=0.015)
    assert math.isinf(truths.stopping_distance("continue"))


@pytest.mark.parametrize(
    ("gap", "action"),
    [
        (2.0, "emergency_stop"),  # contact whatever one does: the lowest impact speed
        (2.9, "emergency_stop"),
        (5.0, "emergency_stop"),
        (5.7, "slow_down"),
        (25.0, "slow_down"),
        (math.inf, "continue"),
    ],
)
def test_least_intrusive_action_that_avoids_contact(gap: float, action: str) -> None:
    assert truths.best_action(gap) == action


def test_impact_speed() -> None:
    assert truths.impact_speed("continue", 20.0) == pytest.approx(6.7)
    assert truths.impact_speed("emergency_stop", 2.0) == pytest.approx(math.sqrt(6.7**2 - 32.0))
    assert truths.impact_speed("emergency_stop", 3.0) == 0.0


def test_truth_follows_geometry_not_names() -> None:
    scene = sample("pedestrian")
    (placed,) = scene.objects
    away = tuple((x, y + 6.0) for x, y in placed.corners)
    beside = replace(scene, objects=(replace(placed, corners=away),))
    assert DOMAIN.truth(beside).accepted == {"continue"}
    ahead = tuple((x + 12.0, y) for x, y in placed.corners)
    further = replace(scene, objects=(replace(placed, corners=ahead),))
    assert DOMAIN.truth(further).accepted == {"slow_down"}


def test_reason_states_the_numbers() -> None:
    scene = sample("cone far")
    reason = DOMAIN.truth(scene).reason
    assert f"{scene.in_lane[0][0]:.1f} m ahead" in reason
    assert "5.6 m" in reason
    assert "2.8 m" in reason


def test_poor_sight_is_heavy_rain_and_fog_alone() -> None:
    rng = np.random.default_rng(0)
    for name in (None, *WEATHERS):
        found = {truths.poor_sight(atmosphere(name, rng)) for _ in range(30)}
        expected = {"weather_hard_rain": "heavy rain", "weather_foggy": "fog"}.get(str(name))
        assert found == {expected}, name


A1 = Truth("emergency_stop", frozenset({"emergency_stop"}), "A1", "")
A2 = Truth("slow_down", frozenset({"slow_down"}), "A2", "")
A3 = Truth("slow_down", frozenset({"slow_down", "emergency_stop"}), "A3", "")
A5 = Truth("continue", frozenset({"continue"}), "A5", "")


@pytest.mark.parametrize(
    ("truth", "answer", "expected"),
    [
        (A1, "emergency_stop", None),
        (A1, "slow_down", "insufficient_reaction"),
        (A1, "continue", "under_reaction"),
        (A2, "emergency_stop", "over_reaction"),
        (A2, "slow_down", None),
        (A2, "continue", "under_reaction"),
        (A3, "emergency_stop", None),
        (A3, "slow_down", None),
        (A3, "continue", "under_reaction"),
        (A5, "emergency_stop", "over_reaction"),
        (A5, "slow_down", "over_reaction"),
        (A5, "continue", None),
        (A5, "honk", None),
    ],
)
def test_error_direction(truth: Truth, answer: str, expected: str | None) -> None:
    assert DOMAIN.direction(truth, answer) == expected


def test_first_matching_row_decides() -> None:
    table = rules().expected_action
    scene = sample("cone far light_red")
    assert truths.truth(scene, table).rule == "A2"
    red_first = [table[2], *table[:2], *table[3:]]
    assert truths.truth(scene, red_first).rule == "A3"
