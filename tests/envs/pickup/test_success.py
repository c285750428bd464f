from __future__ import annotations

import pytest

from vlmfail.envs.pickup.worlds.success import SuccessRule

ROBOT = frozenset({"robot"})
ON_TABLE = frozenset({"robot", "table"})


@pytest.mark.parametrize(
    ("grasped", "raised", "touching", "success"),
    [
        (True, 0.011, ROBOT, True),
        (True, 0.010, ROBOT, False),
        (False, 0.011, ROBOT, False),
        (True, 0.011, ON_TABLE, False),
        (True, 0.30, frozenset({"robot", "apple"}), False),
        (True, 0.30, frozenset(), True),
    ],
)
def test_a_single_step(grasped, raised, touching, success):
    rule = SuccessRule()
    assert rule.update(grasped=grasped, raised=raised, touching=touching) is success


def test_a_lasting_grasp_counts_whatever_it_touches():
    rule = SuccessRule()
    steps = [rule.update(grasped=True, raised=0.03, touching=ON_TABLE) for _ in range(6)]
    assert steps == [False] * 4 + [True] * 2


@pytest.mark.parametrize(
    "gap", [{"grasped": False, "raised": 0.03}, {"grasped": True, "raised": 0.02}]
)
def test_a_gap_is_no_success_and_does_not_begin_the_count_anew(gap):
    rule = SuccessRule()
    for _ in range(4):
        rule.update(grasped=True, raised=0.03, touching=ON_TABLE)
    assert not rule.update(**gap, touching=ON_TABLE)
    assert rule.update(grasped=True, raised=0.03, touching=ON_TABLE)
    assert not rule.update(**gap, touching=ON_TABLE), "what was up is not up for ever"


def test_success_ends_with_the_grasp():
    rule = SuccessRule()
    for _ in range(8):
        rule.update(grasped=True, raised=0.1, touching=ROBOT)
    assert not rule.update(grasped=False, raised=0.1, touching=frozenset())
