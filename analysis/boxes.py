"""Failure modes of vector spaces: boxes of scenes that fail consistently, found by a shallow tree.

A single scene vector is no failure mode: it never comes again. A region of them is, once scenes
drawn afresh in it fail as often as those that suggested it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core import Evaluation, UsageError, clopper_pearson_lower, wilson_interval
from ..envs.vector_space import Vector, VectorSpace
from ..runs.run import RunData
from .box_limits import Limit, implied, limit_of, limit_text

DEPTH = 4
"""Splits on the way to a leaf (ours): object, orientation and two edges still read as one line."""

LEAST_SCENES = 8
"""Scenes that a box must hold (ours): of eight that all fail, the lower bound is 68 %."""

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Box:
    """A region of a vector space and what its scenes did.

    Attributes:
        space: The space.
        limits: One a dimension.
        threshold: Failure rate τ from which a region is a failure mode.
        failures: Failures of the search's trials in it.
        n: Passes and failures of the search's trials in it.
        scenes: Scenes that they are of.
        fresh_failures: Failures of scenes drawn in it after it was found.
        fresh_n: Passes and failures of these.
    """

    space: VectorSpace = field(repr=False, compare=False)
    limits: tuple[Limit, ...]
    threshold: float
    failures: int
    n: int
    scenes: int
    fresh_failures: int = 0
    fresh_n: int = 0

    @property
    def failure_rate(self) -> float:
        """Failure rate of the search's trials; flattered, since the box was chosen for it."""
        return self.failures / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson 95 % interval of `failure_rate`, counting scenes: trials of one are not new."""
        return _interval(self.failure_rate, self.scenes)

    @property
    def fresh_rate(self) -> float | None:
        """Failure rate of the fresh scenes, free of selection; None without any."""
        return self.fresh_failures / self.fresh_n if self.fresh_n else None

    @property
    def confirmed(self) -> bool | None:
        """Whether the one-sided 95 % Clopper-Pearson bound of the fresh rate reaches τ, or None."""
        if not self.fresh_n:
            return None
        return clopper_pearson_lower(self.fresh_failures, self.fresh_n) >= self.threshold

    @property
    def text(self) -> str:
        """The box in words: ``"object = spoon, x -0.50..-0.31 m, lying"``."""
        parts = [limit_text(self.space, self.limits, i) for i in range(len(self.limits))]
        return ", ".join(part for part in parts if part) or "anywhere"

    def contains(self, candidate: Any) -> bool:
        """Whether a valid candidate lies in the box."""
        numbers, _, bins = self.space.resolve(candidate)
        return all(
            limit.holds(number, place)
            for limit, number, place in zip(self.limits, numbers, bins, strict=True)
        )

    def with_fresh(self, failures: int, n: int) -> Box:
        """Return the box with `n` more passes and failures of scenes that `draw_in` drew.

        One trial a scene: several of one scene are not several scenes.
        """
        if not 0 <= failures <= n:
            raise UsageError(f"failures: expected 0 to {n}, got {failures}")
        return replace(
            self, fresh_failures=self.fresh_failures + failures, fresh_n=self.fresh_n + n
        )

    def to_json(self) -> dict[str, Any]:
        """Return the box as JSON values."""
        fresh = None
        if self.fresh_n:
            fresh = {
                "failure_rate": self.fresh_rate,
                "failures": self.fresh_failures,
                "n": self.fresh_n,
                "interval": list(wilson_interval(self.fresh_failures, self.fresh_n)),
            }
        return {
            "box": self.text,
            "limits": {
                one.name: limit.to_json(one)
                for one, limit in zip(self.space.dimensions, self.limits, strict=True)
                if limit.limits(one)
            },
            "failure_rate": self.failure_rate,
            "failures": self.failures,
            "n": self.n,
            "scenes": self.scenes,
            "interval": list(self.interval),
            "confirmed": self.confirmed,
            "fresh": fresh,
        }


def find_boxes(
    space: VectorSpace,
    evaluations: Iterable[Evaluation[Any]],
    threshold: float,
    *,
    depth: int = DEPTH,
    least: int = LEAST_SCENES,
) -> list[Box]:
    """Return the boxes whose failure rate surely reaches τ, the surest first; none rather than a
    doubtful one.

    Ours. A regression tree over the evaluated scenes (numbers in [0, 1], choices one-hot) splits
    them by failure rate. The largest nodes are boxes whose rate's Wilson 95 % lower bound reaches τ
    and none of whose leaves has its upper bound below τ: searchers gather where scenes fail, so
    that a node's rate alone hides its harmless part. A limit is dropped when the scenes beyond it
    are as sure. The tree chose the boxes for their rates, so that only fresh scenes can confirm
    them (`draw_in`, `Box.with_fresh`).

    Args:
        space: The space.
        evaluations: The search's, the last of each candidate; those without data are skipped.
        threshold: Failure rate τ.
        depth: Splits on the way to a leaf.
        least: Scenes that a box must hold.
    """
    told = [(e.candidate, e.total.failures, e.total.n) for e in evaluations if e.total.n]
    if len(told) < least:
        return []
    scenes = _Scenes(space, told, threshold, least)
    boxes = [scenes.box(scenes.widened(limits)) for limits in scenes.regions(depth)]
    return sorted(
        scenes.distinct([box for box in boxes if box is not None]),
        key=lambda box: (-box.interval[0], -box.scenes, box.text),
    )


def boxes_of(run: RunData, space: VectorSpace, threshold: float | None = None) -> list[Box]:
    """Return the boxes of a run; see `find_boxes`.

    Args:
        run: The run.
        space: Its domain's space.
        threshold: Failure rate τ; the run's own by default.
    """
    tau = run.threshold if threshold is None else threshold
    return find_boxes(space, run.candidates.values(), tau)


def draw_in(box: Box, rng: np.random.Generator) -> Vector:
    """Draw a candidate that is uniform in the box, in canonical form.

    Raises:
        UsageError: When the box is empty.
    """
    for _ in range(10_000):
        numbers = [
            limit.draw(one, condition is not None, rng)
            for one, limit, condition in zip(
                box.space.dimensions, box.limits, box.space.conditions, strict=True
            )
        ]
        candidate = box.space.canonical(numbers)
        if box.contains(candidate):
            return candidate
    raise UsageError(f"no scene lies in the box {box.text}")


class _Scenes:
    """The evaluated scenes as the tree sees them."""

    def __init__(
        self,
        space: VectorSpace,
        told: Sequence[tuple[Any, int, int]],
        threshold: float,
        least: int,
    ) -> None:
        self._space = space
        self._threshold = threshold
        self._least = least
        resolved = [space.resolve(candidate) for candidate, _, _ in told]
        self._numbers = np.array([numbers for numbers, _, _ in resolved])
        self._bins = np.array([bins for _, _, bins in resolved])
        self._failures = np.array([failures for _, failures, _ in told])
        self._n = np.array([n for _, _, n in told])
        self._owner = [
            i
            for i, one in enumerate(space.dimensions)
            for _ in (one.choices if one.kind == "choice" else (one.name,))
        ]

    def _columns(self) -> F64:
        columns = []
        for i, one in enumerate(self._space.dimensions):
            if one.kind == "choice":
                columns += [self._bins[:, i] == place for place in range(len(one.choices))]
            else:
                columns.append(self._numbers[:, i])
        return np.stack(columns, axis=1).astype(np.float64)

    def regions(self, depth: int) -> list[tuple[Limit, ...]]:
        """Return the limits of the largest sure nodes of the tree without a clearly other leaf."""
        from sklearn.tree import DecisionTreeRegressor

        model = DecisionTreeRegressor(max_depth=depth, min_samples_leaf=self._least, random_state=0)
        tree = model.fit(self._columns(), self._failures / self._n).tree_
        width = len(self._owner)

        def found(node: int, low: F64, high: F64) -> tuple[list[tuple[Limit, ...]], bool]:
            """Return the regions of a node, and whether all its leaves may fail as often as τ."""
            here = self._limits(low, high)
            if tree.children_left[node] < 0:
                parts, alike = [], self._bounds(self._inside(here))[1] >= self._threshold
            else:
                column, edge = tree.feature[node], tree.threshold[node]
                left_high, right_low = high.copy(), low.copy()
                left_high[column] = right_low[column] = edge
                left, left_alike = found(tree.children_left[node], low, left_high)
                right, right_alike = found(tree.children_right[node], right_low, high)
                parts, alike = left + right, left_alike and right_alike
            return ([here] if alike and self.box(here) else parts), alike

        return found(0, np.full(width, -math.inf), np.full(width, math.inf))[0]

    def _limits(self, low: F64, high: F64) -> tuple[Limit, ...]:
        """Return the limits that bounds on the tree's columns amount to."""
        limits = []
        for i, one in enumerate(self._space.dimensions):
            own = [c for c, owner in enumerate(self._owner) if owner == i]
            limits.append(limit_of(one, self._space.conditions[i] is not None, low[own], high[own]))
        return implied(self._space, limits)

    def _inside(self, limits: Sequence[Limit]) -> npt.NDArray[np.bool_]:
        inside = np.ones(len(self._n), dtype=bool)
        for i, limit in enumerate(limits):
            inside &= limit.holds_all(self._numbers[:, i], self._bins[:, i])
        return inside

    def _bounds(self, inside: npt.NDArray[np.bool_]) -> tuple[float, float]:
        """Return the interval of the failure rate of some scenes."""
        if not inside.any():
            return 0.0, 1.0
        rate = float(self._failures[inside].sum() / self._n[inside].sum())
        return _interval(rate, int(inside.sum()))

    def _sure(self, inside: npt.NDArray[np.bool_]) -> bool:
        return int(inside.sum()) >= self._least and self._bounds(inside)[0] >= self._threshold

    def box(self, limits: tuple[Limit, ...]) -> Box | None:
        """Return the box, or None when its failure rate is not sure to reach τ."""
        inside = self._inside(limits)
        if not self._sure(inside):
            return None
        return Box(
            self._space,
            limits,
            self._threshold,
            int(self._failures[inside].sum()),
            int(self._n[inside].sum()),
            int(inside.sum()),
        )

    def widened(self, limits: tuple[Limit, ...]) -> tuple[Limit, ...]:
        """Drop limits beyond which the scenes surely fail as well, one at a time."""
        for i, one in enumerate(self._space.dimensions):
            if not limits[i].limits(one):
                continue
            everything = Limit.all_of(one, self._space.conditions[i] is not None)
            wider = (*limits[:i], everything, *limits[i + 1 :])
            if self._sure(self._inside(wider) & ~self._inside(limits)):
                limits = wider
        return limits

    def distinct(self, boxes: Sequence[Box]) -> list[Box]:
        """Return the boxes whose scenes do not all lie in a larger one."""
        kept: list[tuple[Box, npt.NDArray[np.bool_]]] = []
        for box in sorted(boxes, key=lambda box: -box.scenes):
            inside = self._inside(box.limits)
            if not any(np.all(larger[inside]) for _, larger in kept):
                kept.append((box, inside))
        return [box for box, _ in kept]


def _interval(rate: float, scenes: int) -> tuple[float, float]:
    # Rounded down: a fraction of a failing scene is no evidence.
    return wilson_interval(math.floor(rate * scenes + 1e-9), scenes)
