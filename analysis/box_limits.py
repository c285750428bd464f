"""What a box demands of one dimension, in numbers and in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..envs.vector_space import Dimension, VectorSpace

NOWHERE = -1
"""Bin of a choice or flag that means nothing, see `VectorSpace.resolve`."""


@dataclass(frozen=True, slots=True)
class Limit:
    """Which numbers of a dimension lie in a box.

    A conditional dimension that means nothing is the number .5, or no bin: it lies in the box
    where that does.

    Attributes:
        bins: Of a choice or flag: the bins, -1 for none; None for other kinds.
        low: Of other kinds: numbers above this ...
        high: ... up to this.
    """

    bins: frozenset[int] | None = None
    low: float = -math.inf
    high: float = math.inf

    @classmethod
    def all_of(cls, one: Dimension, conditional: bool) -> Limit:
        """Return the limit that limits nothing."""
        if not one.choices:
            return cls()
        return cls(frozenset(range(NOWHERE if conditional else 0, len(one.choices))))

    def limits(self, one: Dimension) -> bool:
        """Whether it leaves anything of a dimension out, but for where it means nothing."""
        if self.bins is not None:
            return not self.bins >= frozenset(range(len(one.choices)))
        return self.low > 0.0 or self.high < 1.0

    def holds(self, number: float, place: int) -> bool:
        """Whether a number with its bin lies in the box."""
        return place in self.bins if self.bins is not None else self.low < number <= self.high

    def holds_all(
        self, numbers: npt.NDArray[np.float64], places: npt.NDArray[np.int_]
    ) -> npt.NDArray[np.bool_]:
        """Return `holds` of many, `n`."""
        if self.bins is not None:
            return np.isin(places, list(self.bins))
        inside: npt.NDArray[np.bool_] = (self.low < numbers) & (numbers <= self.high)
        return inside

    @property
    def holds_unused(self) -> bool:
        """Whether a conditional dimension that means nothing lies in the box."""
        return self.holds(0.5, NOWHERE)

    def parts(self) -> list[Limit]:
        """Return its values, or its lower and upper half."""
        if self.bins is not None:
            return [Limit(frozenset({place})) for place in sorted(self.bins)]
        middle = (max(self.low, 0.0) + min(self.high, 1.0)) / 2.0
        return [Limit(None, self.low, middle), Limit(None, middle, self.high)]

    def draw(self, one: Dimension, conditional: bool, rng: np.random.Generator) -> float:
        """Draw a number in [0, 1], of all where the box holds scenes without meaning."""
        free = conditional and self.holds_unused
        if self.bins is None:
            low, high = (0.0, 1.0) if free else (max(self.low, 0.0), min(self.high, 1.0))
            return float(rng.uniform(low, high))
        bins = range(len(one.choices)) if free else sorted(self.bins - {NOWHERE})
        place = bins[int(rng.integers(len(bins)))]
        return (place + 0.5) / len(one.choices)

    def to_json(self, one: Dimension) -> list[Any]:
        """Return the values in units: names, or [from, to]."""
        if self.bins is not None:
            names = one.choices if one.kind == "choice" else (False, True)
            return [names[place] for place in sorted(self.bins - {NOWHERE})]
        return [one.value(max(self.low, 0.0)), one.value(min(self.high, 1.0))]


def limit_of(
    one: Dimension,
    conditional: bool,
    low: npt.NDArray[np.float64],
    high: npt.NDArray[np.float64],
) -> Limit:
    """Return the limit that bounds on a dimension's columns amount to.

    Args:
        one: The dimension.
        conditional: Whether it may mean nothing.
        low: One bound a column (a choice has one a name, others have one); values lie above.
        high: One bound a column; values lie at or below.
    """
    if not one.choices:
        return Limit(None, float(low[0]), float(high[0]))
    count = len(one.choices)
    bins = set()
    for place in Limit.all_of(one, conditional).bins or ():
        if one.kind == "choice":
            columns = np.arange(count) == place
        else:
            columns = np.array([0.5 if place == NOWHERE else (place + 0.5) / count])
        if np.all((low < columns) & (columns <= high)):
            bins.add(place)
    return Limit(frozenset(bins))


def implied(space: VectorSpace, limits: Sequence[Limit]) -> tuple[Limit, ...]:
    """Return limits of which each says what it means.

    A limit that no scene without meaning passes demands that the dimension mean something; one on
    a dimension that means nothing anywhere in the box is dropped.
    """
    limits = list(limits)
    for i in reversed(range(len(limits))):
        condition = space.conditions[i]
        if condition is None:
            continue
        decider, bins = condition
        allowed = limits[decider].bins or frozenset()
        if not allowed & bins:
            limits[i] = Limit.all_of(space.dimensions[i], True)
        elif not limits[i].holds_unused:
            limits[decider] = Limit(allowed & bins)
    return tuple(limits)


def limit_text(space: VectorSpace, limits: Sequence[Limit], index: int) -> str:
    """Return a limit in words: ``"x -0.50..-0.31 m"``; empty when it limits nothing."""
    one, limit = space.dimensions[index], limits[index]
    if not limit.limits(one):
        return ""
    text = _words(one, limit)
    condition = space.conditions[index]
    if condition is None:
        return text
    decider, bins = condition
    allowed = limits[decider].bins or frozenset()
    if allowed <= bins:
        return text
    return f"{text} if {_words(space.dimensions[decider], Limit(bins))}"


def _words(one: Dimension, limit: Limit) -> str:
    if limit.bins is None:
        low, high = (float(v) for v in limit.to_json(one))
        return f"{one.name} {one.amount(low, unit=False)}..{one.amount(high)}"
    names = [one.choices[place] for place in sorted(limit.bins - {NOWHERE})]
    if one.kind == "flag":
        return " or ".join(names)
    others = [name for name in one.choices if name not in names]
    if len(others) < len(names):
        return f"{one.name} not {' or '.join(others)}"
    return f"{one.name} = {' or '.join(names)}"
