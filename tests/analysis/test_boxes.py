from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from vlmfail.analysis.boxes import Box, boxes_of, draw_in, find_boxes
from vlmfail.core import Evaluation, Outcome, Tally, Trial, UsageError
from vlmfail.envs.vector_space import Dimension, VectorSpace
from vlmfail.searchers import make_searcher
from vlmfail.testing.simulated import Drive, SimulatedTrials

SPACE = VectorSpace(
    [
        Dimension("object", "choice", choices=("can", "apple", "spoon", "sponge")),
        Dimension("x", "real", low=-0.5, high=-0.05, unit="m"),
        Dimension("standing", "flag", choices=("lying", "standing")),
        Dimension("yaw", "angle", only_if=("standing", False)),
    ]
)


def spoon_far_off(candidate: Any) -> float:
    values = SPACE.values(candidate)
    return 0.97 if values["object"] == "spoon" and values["x"] < -0.25 else 0.05


def sideways(candidate: Any) -> float:
    values = SPACE.values(candidate)
    return 0.97 if not values["standing"] and 0 < float(values["yaw"]) < 2.4 else 0.03


def search(
    rate: Any, name: str = "random", scenes: int = 200, seed: int = 0, trials: int = 1
) -> list[Evaluation[Any]]:
    evaluate = SimulatedTrials(SPACE, rate, seed=seed)
    args = {"trees": 15} if name.endswith("rf") else {}
    agent = make_searcher(name, **args)
    run = Drive(agent, SPACE, evaluate, seed=seed, trials=trials, budget=scenes * trials)
    return run.evaluations


def boxes(rate: Any, threshold: float = 0.6, **settings: Any) -> list[Box]:
    return find_boxes(SPACE, search(rate, **settings), threshold)


def true_rate(box: Box, rate: Any) -> float:
    rng = np.random.default_rng(8)
    return float(np.mean([rate(draw_in(box, rng)) for _ in range(300)]))


@pytest.mark.parametrize("name", ["random", "weighted-rf"])
def test_the_failing_region_is_named(name: str) -> None:
    (box,) = boxes(spoon_far_off, name=name, scenes=250)
    assert box.text.startswith("object = spoon, x -0.50..-0.2")
    assert box.text.endswith(" m")
    assert true_rate(box, spoon_far_off) > 0.85
    low, high = box.interval
    assert low < box.lower <= box.failure_rate <= high
    assert box.lower >= 0.6


def test_a_condition_is_part_of_the_box() -> None:
    (box,) = boxes(sideways)
    assert "lying" in box.text
    assert "standing" not in box.text
    assert "°" in box.text
    assert true_rate(box, sideways) > 0.85


def test_several_objects_are_one_set() -> None:
    def two(candidate: Any) -> float:
        return 0.95 if SPACE.values(candidate)["object"] in ("can", "sponge") else 0.05

    found = boxes(two)
    assert {box.text for box in found} in (
        {"object = can or sponge"},
        {"object = can", "object = sponge"},
    )


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.3])
def test_no_region_rather_than_a_doubtful_one(rate: float) -> None:
    found = [boxes(lambda candidate: rate, seed=seed, scenes=120) for seed in range(12)]
    assert sum(map(len, found)) <= (rate > 0.2)


def test_where_everything_fails_the_box_is_anywhere() -> None:
    (box,) = boxes(lambda candidate: 0.97, scenes=60)
    assert box.text == "anywhere"
    assert box.to_json()["limits"] == {}


def test_too_little_data_gives_no_box() -> None:
    assert boxes(lambda candidate: 1.0, scenes=7) == []
    assert find_boxes(SPACE, [], 0.6) == []
    assert boxes(lambda candidate: 1.0, scenes=40, threshold=0.95) == []
    nothing = SimulatedTrials(SPACE, outcome=lambda key, index: Outcome.ERROR)
    run = Drive(make_searcher("random"), SPACE, nothing, trials=1, budget=30)
    assert find_boxes(SPACE, run.evaluations, 0.6) == []


def test_trials_of_a_scene_are_no_more_scenes() -> None:
    told = search(lambda candidate: 1.0, scenes=24, trials=5)
    (box,) = find_boxes(SPACE, told, 0.6)
    assert box.failures == box.n == 5 * box.scenes
    n = box.scenes
    assert 6 <= n < 20
    assert box.lower == pytest.approx(n / (n + 1.645**2), abs=0.001)
    assert find_boxes(SPACE, told, 0.9) == []


def test_fresh_scenes_confirm() -> None:
    (box,) = boxes(spoon_far_off, scenes=250)
    assert box.confirmed is None
    assert box.fresh_rate is None
    assert box.to_json()["fresh"] is None
    # Lower bounds: 18 of 20 gives 0.717, 15 of 20 gives 0.544.
    assert box.with_fresh(18, 20).confirmed is True
    assert box.with_fresh(15, 20).confirmed is False
    both = box.with_fresh(10, 10).with_fresh(5, 10)
    assert (both.fresh_failures, both.fresh_n, both.confirmed) == (15, 20, False)
    assert both.failure_rate == box.failure_rate
    with pytest.raises(UsageError, match="failures: expected 0 to 3, got 4"):
        box.with_fresh(4, 3)


def test_draws_fill_the_box() -> None:
    (box,) = boxes(spoon_far_off, scenes=250)
    rng = np.random.default_rng(0)
    drawn = [draw_in(box, rng) for _ in range(400)]
    assert all(box.contains(one) and SPACE.validate(one) is None for one in drawn)
    assert len({SPACE.key(one) for one in drawn}) == 400
    values = [SPACE.values(one) for one in drawn]
    assert 0.4 < np.mean([bool(v["standing"]) for v in values]) < 0.6
    xs = [float(v["x"]) for v in values]
    assert max(xs) - min(xs) > 0.2
    again = np.random.default_rng(0)
    assert all(np.array_equal(draw_in(box, again), one) for one in drawn[:20])


def test_draws_are_uniform_where_a_condition_is_free() -> None:
    """Of yaw below 0.25 or standing, four fifths stand: half against a quarter of a half."""
    limits = [
        (frozenset({0, 1, 2, 3}), 0, 0), (None, -1, 1), (frozenset({0, 1}), 0, 0), (None, -1, 0.6),
    ]  # fmt: skip
    from vlmfail.analysis.box_limits import Limit

    box = Box(SPACE, tuple(Limit(b, low, high) for b, low, high in limits), 0.6, 8, 8, 8)
    rng = np.random.default_rng(0)
    standing = [bool(SPACE.values(draw_in(box, rng))["standing"]) for _ in range(2000)]
    assert np.mean(standing) == pytest.approx(0.5 / (0.5 + 0.5 * 0.6), abs=0.03)
    assert box.text == "yaw -180..36° if lying"


def test_boxes_are_json() -> None:
    for rate in (spoon_far_off, sideways):
        for box in boxes(rate, scenes=250):
            value = json.loads(json.dumps(box.with_fresh(9, 9).to_json(), allow_nan=False))
            assert value["box"] == box.text
            assert value["fresh"]["n"] == 9
            assert value["limits"]
    (box,) = boxes(spoon_far_off, scenes=250)
    limits = box.to_json()["limits"]
    assert limits["object"] == ["spoon"]
    assert limits["x"][0] == -0.5


def test_those_who_bear_witness_were_not_seen_by_the_tree() -> None:
    """Where a coin is tossed the tree finds lucky corners; their witnesses know of no luck."""
    assert sum(len(boxes(lambda candidate: 0.5, seed=seed)) for seed in range(8)) <= 1


def test_the_order_of_the_log_does_not_matter() -> None:
    told = search(spoon_far_off, scenes=250)
    assert find_boxes(SPACE, told, 0.6) == find_boxes(SPACE, told[::-1], 0.6)


def test_runs_are_read() -> None:
    class Stored:
        threshold = 0.6

        def __init__(self, told: list[Evaluation[Any]]) -> None:
            # As a run keeps them: candidates as tuples of numbers.
            self.candidates = {
                e.key: Evaluation(tuple(SPACE.to_json(e.candidate)), e.key, e.new, e.total)
                for e in told
            }

    told = search(spoon_far_off, scenes=250)
    assert boxes_of(Stored(told), SPACE) == find_boxes(SPACE, told, 0.6)  # type: ignore[arg-type]
    assert boxes_of(Stored(told), SPACE, 0.99) == []  # type: ignore[arg-type]


def test_other_outcomes_may_count_as_failures() -> None:
    told = []
    for evaluation in search(lambda candidate: 0.0, scenes=20):
        trial = Trial(evaluation.key, 0, Outcome.TIMEOUT)
        tally = Tally((trial,), frozenset({Outcome.TIMEOUT}))
        told.append(Evaluation(evaluation.candidate, evaluation.key, tally, tally))
    assert [box.text for box in find_boxes(SPACE, told, 0.6)] == ["anywhere"]
