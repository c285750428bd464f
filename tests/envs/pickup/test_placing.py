from __future__ import annotations

import math

import numpy as np
import pytest

from vlmfail.envs.pickup.objects import objects
from vlmfail.envs.pickup.scene import TABLE_TOP, Pose
from vlmfail.envs.pickup.worlds.placing import (
    CLEARANCE,
    LEAN,
    is_over_table,
    put_down,
    put_down_turn,
    reach_below,
)
from vlmfail.envs.pickup.worlds.turns import about, from_vector, inverse, matrix, product, upright


def lying(name: str, yaw: float) -> Pose:
    return Pose(name, -0.2, 0.1, False, yaw)


@pytest.mark.parametrize("yaw", [0.0, 1.0, -2.5])
def test_a_lying_thing_points_along_its_yaw_narrow_side_up(yaw):
    axes = matrix(put_down_turn(lying("sponge", yaw)))
    assert axes[:, 2] == pytest.approx([math.cos(yaw), math.sin(yaw), 0], abs=1e-12)
    assert axes[:, 1] == pytest.approx([0, 0, 1], abs=1e-12)


def test_a_standing_thing_leans_a_little_over_its_narrow_side():
    axes = matrix(put_down_turn(Pose("sponge", 0, 0, True, 0.0)))
    assert axes[:, 2] == pytest.approx([0, -math.sin(LEAN), math.cos(LEAN)], abs=1e-12)


@pytest.mark.parametrize("thing", objects().objects, ids=lambda one: one.id)
def test_lying_and_standing_heights_are_those_of_the_object(thing):
    position, _turn = put_down(thing, lying(thing.id, 0.3))
    assert position[2] - TABLE_TOP - CLEARANCE == pytest.approx(thing.thickness)
    upside = np.array([1.0, 0, 0, 0])
    assert reach_below(thing, upside) == pytest.approx(-thing.bottom)
    assert reach_below(thing, about((1, 0, 0), math.pi)) == pytest.approx(thing.top)


@pytest.mark.parametrize("thing", objects().objects, ids=lambda one: one.id)
def test_reach_below_is_that_of_the_surface(thing):
    rng = np.random.default_rng(3)
    turn = upright(rng.normal(size=4))
    directions = rng.normal(size=(4000, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    lowest = 0.0
    for part in thing.parts:
        half = np.array(part.half_extents)
        if part.shape == "ellipsoid":
            points = directions * half
        elif part.shape == "box":
            points = np.sign(directions) * half
        elif part.shape == "capsule":
            points = directions * part.radius
            points[:, 2] += np.sign(directions[:, 2]) * part.half_length
        else:
            points = directions * [part.radius, part.radius, 0]
            points[:, :2] *= (part.radius / np.hypot(points[:, 0], points[:, 1]))[:, None]
            points[:, 2] = np.sign(directions[:, 2]) * part.half_length
        points[:, 2] += part.z
        lowest = min(lowest, float((points @ matrix(turn).T)[:, 2].min()))
    assert reach_below(thing, turn) == pytest.approx(-lowest, abs=3e-4)


def test_turns_compose_and_undo():
    rng = np.random.default_rng(0)
    one, other = (upright(rng.normal(size=4)) for _ in range(2))
    assert matrix(product(one, other)) == pytest.approx(matrix(one) @ matrix(other))
    assert product(one, inverse(one)) == pytest.approx([1, 0, 0, 0])
    assert from_vector(np.array([0, 0, 0.4])) == pytest.approx(about((0, 0, 1), 0.4))
    assert from_vector(np.zeros(3)) == pytest.approx([1, 0, 0, 0])


def test_the_edge_is_not_on_the_table():
    assert is_over_table(-0.2, 0.2)
    assert not is_over_table(0.149, 0.2)
    assert not is_over_table(-0.2, -0.31)
