from __future__ import annotations

import math

import numpy as np
import pytest

from vlmfail.envs.driving.domain import DrivingDomain
from vlmfail.envs.driving.footprint import Corners
from vlmfail.envs.driving.scene import Signal
from vlmfail.envs.driving.sight import Eye, Thing, hidden_shares

EYE = Eye(-1.0, 0.0, 1.5, 0.0, math.radians(30.0))


def box(x: float, y: float, deep: float = 1.0, wide: float = 1.0) -> Corners:
    left, right = y + wide / 2, y - wide / 2
    return ((x, right), (x + deep, right), (x + deep, left), (x, left))


def shares(*things: Thing, eye: Eye = EYE) -> list[float]:
    corners = np.array([thing.corners for thing in things])[None]
    return [float(share) for share in hidden_shares(corners, things, eye)[0][0]]


def test_what_stands_alone_or_beside_is_seen() -> None:
    assert shares(Thing(box(5, 0), 0, 2)) == [0.0]
    assert shares(Thing(box(5, 1.2), 0, 2), Thing(box(9, -1.2), 0, 2)) == [0.0, 0.0]


def test_a_wall_hides_what_is_behind_it_and_not_the_other_way_round() -> None:
    wall, man = Thing(box(4, 0, 1, 3), 0, 3), Thing(box(9, 0), 0, 1.8)
    assert shares(wall, man) == [0.0, 1.0]
    assert shares(man, wall) == [1.0, 0.0]


def test_half_a_wall_hides_half() -> None:
    wall = Thing(box(4, -2.0, 0.1, 4.0), 0, 3)
    assert shares(wall, Thing(box(9, 0, 0.1), 0, 1.8))[1] == pytest.approx(0.5)


def test_a_low_thing_hides_the_feet_alone() -> None:
    low, man = Thing(box(4, 0, 0.1, 3), 0, 0.5), Thing(box(9, 0, 0.1), 0, 1.8)
    hidden = shares(low, man)[1]
    # The line over 0.5 m at 5 m meets 10 m at -0.5 m: below the ground, all of the man is above.
    assert hidden == 0.0
    closer = Thing(box(8, 0, 0.1, 3), 0, 0.5)
    # Over 0.5 m at 9 m it meets 10 m at 0.39 m of 1.8 m.
    assert shares(closer, man)[1] == pytest.approx(0.39 / 1.8, abs=0.01)


def test_what_can_be_seen_through_hides_nothing() -> None:
    fence = Thing(box(4, 0, 0.1, 3), 0, 3, solid=False)
    assert shares(fence, Thing(box(9, 0), 0, 1.8)) == [0.0, 0.0]


def test_the_frame_cuts() -> None:
    # At 5 m from the eye, 30 degrees are 2.887 m to the side.
    edge = 5.0 * math.tan(math.radians(30.0))
    assert shares(Thing(box(4, edge, 0.01), 0, 2))[0] == pytest.approx(0.5, abs=0.1)
    assert shares(Thing(box(4, edge + 2), 0, 2)) == [1.0]
    turned = Eye(-1.0, 0.0, 1.5, math.radians(25.0), math.radians(30.0))
    assert shares(Thing(box(4, edge), 0, 2), eye=turned) == [0.0]


def test_arrangements_are_looked_at_each_on_its_own() -> None:
    wall, man = Thing(box(4, 0, 1, 3), 0, 3), Thing(box(9, 0), 0, 1.8)
    corners = np.array([[wall.corners, man.corners], [box(4, 4), man.corners]])
    hidden, widths = hidden_shares(corners, (wall, man), EYE)
    assert hidden.shape == widths.shape == (2, 2)
    assert widths[0, 0] == pytest.approx(2 * math.atan(1.5 / 5))
    assert list(hidden[:, 1]) == [1.0, 0.0]


@pytest.mark.parametrize("colour", ["red", "green"])
def test_lamps_hang_on_the_mast_and_over_the_lane(colour: str) -> None:
    kind = f"traffic_light_{colour}"
    signal = Signal(f"light_{colour}", kind, "red" if colour == "red" else "green", 0, 20.0)
    heads = signal.heads
    assert len(heads) == 2
    sides = sorted(float(np.mean([y for _, y in head.corners])) for head in heads)
    assert sides[0] == pytest.approx(signal.y, abs=0.2)
    assert abs(sides[1]) < 1.0
    assert all(2.0 < head.base < head.top < 5.0 for head in heads)


def test_a_container_leaves_a_lamp_in_sight() -> None:
    domain = DrivingDomain()
    renderer = domain.make_renderer("embree")
    candidate = domain.space.parse("obstruction_near light_red")
    for seed in range(2):
        scene = domain.sample_scene(candidate, np.random.default_rng(seed))
        visible = renderer.render(scene).visible
        assert visible is not None
        assert visible["light_red"] >= 12
