from __future__ import annotations

import pytest

from vlmfail.analysis.verdicts import FreshBounds, Verdict, least_to_confirm
from vlmfail.core import clopper_pearson_lower


@pytest.mark.parametrize(
    ("failures", "n", "verdict"),
    [
        (17, 20, Verdict.CONFIRMED),
        (16, 20, Verdict.UNDECIDED),
        (15, 20, Verdict.UNDECIDED),
        (8, 20, Verdict.UNDECIDED),
        (7, 20, Verdict.FELL_SHORT),
        (6, 6, Verdict.CONFIRMED),
        (5, 5, Verdict.TOO_FEW),
        (1, 3, Verdict.TOO_FEW),
        (0, 4, Verdict.FELL_SHORT),
        (0, 0, Verdict.NOT_RERUN),
    ],
)
def test_one_bound_decides(failures, n, verdict):
    bounds = FreshBounds(failures, n, 0.6)
    assert bounds.verdict() is verdict
    expected = None if n == 0 else verdict is Verdict.CONFIRMED
    assert bounds.confirmed is expected


def test_without_a_picture_nothing_can_be_tried():
    assert FreshBounds(0, 0, 0.6).verdict(used_up=True) is Verdict.NO_PICTURE
    assert FreshBounds(1, 3, 0.6).verdict(used_up=True) is Verdict.TOO_FEW


@pytest.mark.parametrize("tau", [0.05, 0.1, 0.5, 0.6, 0.8, 0.9, 0.99])
def test_the_least_number_that_can_confirm(tau):
    least = least_to_confirm(tau)
    assert clopper_pearson_lower(least, least) >= tau
    assert least == 1 or clopper_pearson_lower(least - 1, least - 1) < tau


def test_certainty_of_every_failure_cannot_be_confirmed():
    assert least_to_confirm(1.0) is None
    assert FreshBounds(20, 20, 1.0).verdict() is Verdict.TOO_FEW


def test_upper_and_lower_bounds_mirror_each_other():
    one, other = FreshBounds(3, 20, 0.6), FreshBounds(17, 20, 0.6)
    assert one.upper == pytest.approx(1 - other.lower)
    assert FreshBounds(20, 20, 0.6).upper == 1.0
