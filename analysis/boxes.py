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

from ..core import Evaluation, UsageError, clopper_pearson_lower, derive_seed, wilson_interval
from ..envs.vector_space import Vector, VectorSpace
from ..runs.run import RunData
from .box_limits import Limit, implied, limit_of, limit_text

DEPTH = 6
"""Splits on the way to a leaf (ours): object, orientation and two edges; leaving objects out takes
one each."""

LEAF = 4
"""Scenes that a leaf of the tree must hold (ours): four that all pass are clearly below τ = 0.6."""

LEAST_SCENES = 6
"""Scenes that must bear witness to a box (ours): of six that all fail the bound is 69 %."""

SLICE = 3
"""Scenes from which a part of a box may speak against it (ours)."""

DRAWS = 2000
"""Random scenes that tell how much of the space a part of the tree is."""

F64 = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_Told = tuple[Any, int, int]  # candidate, failures, passes and failures


@dataclass(frozen=True, slots=True)
class Box:
    """A region of a vector space and what its scenes did.

    Attributes:
        space: The space.
        limits: One a dimension.
        threshold: Failure rate τ from which a region is a failure mode.
        failures: Failures of the search's trials in it that bear witness (`find_boxes`).
        n: Passes and failures of these.
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
        """Failure rate of the witnesses: the tree did not see them, but the searcher chose them."""
        return self.failures / self.n if self.n else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson 95 % interval of `failure_rate`, counting scenes: trials of one are not new."""
        return _interval(self.failure_rate, self.scenes)

    @property
    def lower(self) -> float:
        """One-sided 95 % lower bound of `failure_rate` (Wilson), counting scenes."""
        return _interval(self.failure_rate, self.scenes, 0.90)[0]

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

    Ours. Half of the scenes (by their keys) suggest boxes: a regression tree over numbers in
    [0, 1], choices one-hot, splits them by failure rate. Its largest nodes are suggested whose
    rate reaches τ, and in whose leaves, values and halves it does too as far as is known. The rate
    is that of the leaves by their volumes: searchers gather where scenes fail, and a plain mean
    would hide the harmless part. A limit is dropped when scenes beyond it surely fail as well. The
    other half bears witness: a suggestion becomes a box when the one-sided 95 % lower bound
    (Wilson) of its rate there reaches τ. The tree's choice does not flatter this rate, the
    searcher's choice of scenes within the box still may: only scenes drawn afresh confirm it
    (`draw_in`, `Box.with_fresh`).

    Args:
        space: The space.
        evaluations: The search's, the last of each candidate; those without data are skipped.
        threshold: Failure rate τ.
        depth: Splits on the way to a leaf.
        least: Scenes that must bear witness to a box.
    """
    halves: tuple[list[_Told], list[_Told]] = ([], [])
    for one in evaluations:
        if one.total.n:
            told = one.candidate, one.total.failures, one.total.n
            halves[derive_seed(0, one.key) % 2].append(told)
    if len(halves[0]) < LEAF or len(halves[1]) < least:
        return []
    suggesting, bearing = (_Scenes(space, half, threshold) for half in halves)
    boxes = []
    for limits in suggesting.regions(depth):
        box = bearing.box(suggesting.widened(limits))
        if box.scenes >= least and box.lower >= threshold:
            boxes.append(box)
    return sorted(bearing.distinct(boxes), key=lambda box: (-box.lower, -box.scenes, box.text))


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
    """Evaluated scenes as arrays: what the tree sees, and what a box holds of them."""

    def __init__(self, space: VectorSpace, told: Sequence[_Told], threshold: float) -> None:
        self._space = space
        self._threshold = threshold
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

    def _columns(self, numbers: F64, bins: npt.NDArray[np.int_]) -> F64:
        columns = []
        for i, one in enumerate(self._space.dimensions):
            if one.kind == "choice":
                columns += [bins[:, i] == place for place in range(len(one.choices))]
            else:
                columns.append(numbers[:, i])
        return np.stack(columns, axis=1).astype(np.float64)

    def regions(self, depth: int) -> list[tuple[Limit, ...]]:
        """Return the limits of the largest failing nodes of a tree without a leaf that is not."""
        from sklearn.tree import DecisionTreeRegressor

        # Ordered by value, so that the log's order does not decide between equal splits.
        columns, rates = self._columns(self._numbers, self._bins), self._failures / self._n
        order = np.lexsort((rates, *columns.T))
        model = DecisionTreeRegressor(max_depth=depth, min_samples_leaf=LEAF, random_state=0)
        tree = model.fit(columns[order], rates[order]).tree_
        volumes = self._volumes(tree)
        width = len(self._owner)

        def found(node: int, low: F64, high: F64) -> tuple[list[tuple[Limit, ...]], bool, float]:
            """Return a node's regions, whether no leaf is surely below τ, and volume x rate."""
            here = self._limits(low, high)
            if tree.children_left[node] < 0:
                box = self.box(here)
                parts, alike = [], box.interval[1] >= self._threshold
                failing = volumes[node] * box.failure_rate
            else:
                column, edge = tree.feature[node], tree.threshold[node]
                left_high, right_low = high.copy(), low.copy()
                left_high[column] = right_low[column] = edge
                left, left_alike, left_failing = found(tree.children_left[node], low, left_high)
                right, right_alike, right_failing = found(
                    tree.children_right[node], right_low, high
                )
                parts, alike = left + right, left_alike and right_alike
                failing = left_failing + right_failing
            fails = failing >= self._threshold * volumes[node] > 0.0
            whole = alike and fails and self._even(here)
            return ([here] if whole else parts), alike, failing

        return found(0, np.full(width, -math.inf), np.full(width, math.inf))[0]

    def _even(self, limits: tuple[Limit, ...]) -> bool:
        """Whether no value and no half of a dimension within a box fails less often than τ."""
        inside = self._inside(limits)
        for i, limit in enumerate(limits):
            for part in limit.parts():
                slice_ = inside & part.holds_all(self._numbers[:, i], self._bins[:, i])
                told = self._box(limits, slice_)
                if told.scenes >= SLICE and told.failure_rate < self._threshold:
                    return False
        return True

    def _volumes(self, tree: Any) -> F64:
        """Return the share of all scenes that lies in each node of a tree, from draws."""
        rng = np.random.default_rng(0)
        resolved = [self._space.resolve(self._space.sample(rng)) for _ in range(DRAWS)]
        numbers, _, bins = (np.array(part) for part in zip(*resolved, strict=True))
        columns = self._columns(numbers, bins).astype(np.float32)
        shares: F64 = np.asarray(tree.decision_path(columns).mean(axis=0)).ravel()
        return shares

    def _limits(self, low: F64, high: F64) -> tuple[Limit, ...]:
        """Return the limits that bounds on the tree's columns amount to."""
        limits = []
        for i, one in enumerate(self._space.dimensions):
            own = [c for c, owner in enumerate(self._owner) if owner == i]
            limits.append(limit_of(one, self._space.conditions[i] is not None, low[own], high[own]))
        return implied(self._space, limits)

    def _inside(self, limits: Sequence[Limit]) -> Flags:
        inside = np.ones(len(self._n), dtype=bool)
        for i, limit in enumerate(limits):
            inside &= limit.holds_all(self._numbers[:, i], self._bins[:, i])
        return inside

    def box(self, limits: tuple[Limit, ...]) -> Box:
        """Return the box of these limits with what its scenes did."""
        return self._box(limits, self._inside(limits))

    def _box(self, limits: tuple[Limit, ...], inside: Flags) -> Box:
        failures, n = (int(numbers[inside].sum()) for numbers in (self._failures, self._n))
        return Box(self._space, limits, self._threshold, failures, n, int(inside.sum()))

    def widened(self, limits: tuple[Limit, ...]) -> tuple[Limit, ...]:
        """Drop limits beyond which the scenes surely fail as well, one at a time."""
        for i, one in enumerate(self._space.dimensions):
            if not limits[i].limits(one):
                continue
            everything = Limit.all_of(one, self._space.conditions[i] is not None)
            wider = (*limits[:i], everything, *limits[i + 1 :])
            beyond = self._inside(wider) & ~self._inside(limits)
            sure = self._box(wider, beyond).interval[0] >= self._threshold
            if sure and self._even(wider):
                limits = wider
        return limits

    def distinct(self, boxes: Sequence[Box]) -> list[Box]:
        """Return the boxes whose scenes do not all lie in a larger one."""
        kept: list[tuple[Box, Flags]] = []
        for box in sorted(boxes, key=lambda box: -box.scenes):
            inside = self._inside(box.limits)
            if not any(np.all(larger[inside]) for _, larger in kept):
                kept.append((box, inside))
        return [box for box, _ in kept]


def _interval(rate: float, scenes: int, confidence: float = 0.95) -> tuple[float, float]:
    # Rounded down: a fraction of a failing scene is no evidence.
    return wilson_interval(math.floor(rate * scenes + 1e-9), scenes, confidence)
