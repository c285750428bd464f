from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from vlmfail.models.policies.scripted import Scripted

DOWN = (0.0, 0.0, 1.0, 0.0)
"""Pointing down, closing along the scene's y."""


@dataclass
class Seen:
    """As much of a world's state as the expert reads."""

    object: tuple = (-0.3, 0.1, 0.90)
    turn: tuple = (0.5, 0.5, 0.5, 0.5)
    gripper: tuple = (0.0, 0.2, 1.16)
    turn_of_gripper: tuple = DOWN
    raised: float = 0.0
    grasped: bool = False


def acted(policy: Scripted, seen: Seen) -> np.ndarray:
    chunk = policy.act({"world": seen})
    assert chunk.dtype == np.float32
    assert chunk.ndim == 2
    assert chunk.shape[1] == 7
    assert 4 <= len(chunk) <= 8
    assert np.abs(chunk[:, :3]).max() <= 0.1 + 1e-6
    assert np.linalg.norm(chunk[:, 3:6], axis=1).max() <= 0.6
    return chunk


def test_it_goes_above_the_target_first_with_open_fingers():
    chunk = acted(Scripted(chunk=4), Seen())
    assert (chunk[:, 6] == 1).all()
    moved = chunk[:, :3].sum(axis=0) * [-1, -1, 1]
    assert moved == pytest.approx([-0.3, -0.1, -0.06], abs=2e-3)


def test_above_it_goes_down_closes_and_lifts():
    policy = Scripted()
    down = acted(policy, Seen(gripper=(-0.3, 0.1, 1.10)))
    assert down[:, 2].sum() == pytest.approx(-0.20, abs=2e-3)
    assert down[:, 6].tolist() == [1] * (len(down) - 2) + [-1, -1]
    up = acted(policy, Seen(gripper=(-0.3, 0.1, 0.90), grasped=True))
    assert up[:, 2].sum() == pytest.approx(0.15, abs=1e-3)
    assert (up[:, 6] == -1).all()
    still = acted(policy, Seen(gripper=(-0.3, 0.1, 1.05), grasped=True, raised=0.15))
    assert np.abs(still[:, :6]).max() == 0
    assert (still[:, 6] == -1).all()


@pytest.mark.parametrize("yaw", np.linspace(-math.pi, math.pi, 9))
def test_the_fingers_close_across_a_lying_thing(yaw):
    half = math.cos(yaw / 2), math.sin(yaw / 2)
    # A turn about z by yaw after the one that lays the long axis along x.
    a, b, c, d = 0.5, 0.5, 0.5, 0.5
    turn = (
        half[0] * a - half[1] * d,
        half[0] * b - half[1] * c,
        half[0] * c + half[1] * b,
        half[0] * d + half[1] * a,
    )
    chunk = acted(Scripted(chunk=8), Seen(turn=turn))
    turned = chunk[:, 3:6].sum(axis=0)
    assert turned[:2] == pytest.approx([0, 0], abs=1e-5)
    # Closing along y at first: after the turn across the long axis, by the shorter way.
    assert math.remainder(turned[2] - yaw, math.pi) == pytest.approx(0, abs=1e-2)
    assert abs(turned[2]) <= math.pi / 2 + 1e-3


def test_a_missed_grasp_is_tried_once_more():
    policy = Scripted()
    over, at = Seen(gripper=(-0.3, 0.1, 1.10)), Seen(gripper=(-0.3, 0.1, 0.90))
    acted(policy, over)
    again = acted(policy, at)
    assert (again[:, 6] == 1).all()
    assert again[:, 2].sum() > 0.15
    assert acted(policy, over)[-1, 6] == -1
    given_up = acted(policy, at)
    assert (given_up[:, 6] == -1).all()
    assert np.abs(given_up[:, :6]).max() == 0
    policy.reset("pick apple")
    assert (acted(policy, Seen())[:, 6] == 1).all()


def test_flat_things_are_met_at_the_table_and_tall_ones_high_up():
    flat = acted(Scripted(), Seen(object=(-0.3, 0.1, 0.873), gripper=(-0.3, 0.1, 1.10)))
    assert 1.10 + flat[:, 2].sum() == pytest.approx(0.876, abs=1e-3)
    tall = acted(
        Scripted(), Seen(object=(-0.3, 0.1, 0.97), turn=(1, 0, 0, 0), gripper=(-0.3, 0.1, 1.10))
    )
    assert 1.10 + tall[:, 2].sum() == pytest.approx(1.02, abs=1e-3)
