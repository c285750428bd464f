"""The space of scene vectors: a number in [0, 1] for each of a few named dimensions."""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Sequence
from functools import cached_property
from itertools import product
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from ..core import InvalidCandidateError, UnknownNameError, UsageError, Violation
from ..core.text import tamed
from .vector_dimensions import DIGITS, Dimension, Value

__all__ = ["DIGITS", "Dimension", "Value", "Vector", "VectorSpace"]

Vector = npt.NDArray[np.float64]
UNUSED = 0.5
"""What a canonical candidate holds where a dimension means nothing."""

ENUMERATION_LIMIT = 20_000
"""Combinations of choices up to which a space counts its candidates."""


class VectorSpace:
    """Scene vectors of `d` named dimensions (core.CandidateSpace).

    A candidate is a read-only float64 array of `d` numbers in [0, 1]. Candidates that mean the
    same scene have the same canonical form and so the same key: numbers are rounded to 1e-6, a
    choice sits in the middle of its bin, a dimension that means nothing (`Dimension.only_if`) is
    0.5. An action is the vector as float32.

    Features: a choice is one-hot, a real scaled, a flag 0 or 1, an angle (sin + 1) / 2 and
    (cos + 1) / 2, both 0.5 where it means nothing; any other dimension keeps 0.5 there too, a
    choice zeros. Ours: raw metres beside a one-hot would drown the position.

    Attributes:
        dimensions: The dimensions, in the order of a candidate's numbers.
        names: Their names.
        features: Names of the features.
        conditions: By dimension, (index of the deciding one, its bins in which this one means
            something), or None: always.
    """

    kind = "vector"

    def __init__(self, dimensions: Sequence[Dimension]) -> None:
        """Build the space.

        Raises:
            UsageError: For no dimensions, names twice, or an `only_if` that names no earlier
                choice or flag, or no value of it.
        """
        self.dimensions = tuple(dimensions)
        self.names = tuple(one.name for one in self.dimensions)
        self.features = tuple(name for one in self.dimensions for name in one.features)
        if not self.names or len(set(self.names)) != len(self.names):
            raise UsageError(f"dimensions: names must exist and differ, got {self.names!r}")
        self.conditions = tuple(self._condition(i) for i in range(len(self.dimensions)))
        self._plan = tuple(
            (len(one.choices), one.turns, condition)
            for one, condition in zip(self.dimensions, self.conditions, strict=True)
        )

    def _condition(self, index: int) -> tuple[int, frozenset[int]] | None:
        """Return (index of the deciding dimension, its bins in which this one means something)."""
        one = self.dimensions[index]
        if one.only_if is None:
            return None
        name, wanted = one.only_if
        allowed = frozenset(wanted if isinstance(wanted, tuple) else (wanted,))
        if name in self.names[:index]:
            decides = self.dimensions[self.names.index(name)]
            known: tuple[Value, ...] = decides.choices
            if decides.kind == "flag":
                known = (False, True)
            if decides.kind in ("choice", "flag") and allowed and allowed <= set(known):
                bins = (i for i, value in enumerate(known) if value in allowed)
                return self.names.index(name), frozenset(bins)
        raise UsageError(
            f"{one.name}: only_if {one.only_if!r} must name an earlier choice or flag and its value"
        )

    # -- candidates ---------------------------------------------------------------------------

    def validate(self, candidate: Any) -> Violation | None:
        """Return what is wrong with a candidate, or None."""
        vector = _numbers(candidate)
        if vector is None:
            return Violation("SHAPE", f"a candidate is {self._shape}, got {_shown(candidate)}")
        if vector.shape != (len(self.names),):
            return Violation("SHAPE", f"a candidate is {self._shape}, got shape {vector.shape}")
        for name, number in zip(self.names, vector.tolist(), strict=True):
            if math.isnan(number):
                return Violation("NUMBER", f"{name} is not a number")
            if not 0.0 <= number <= 1.0:
                return Violation("BOX", f"{name} is {number:g}, outside [0, 1]")
        return None

    @property
    def _shape(self) -> str:
        return f"{len(self.names)} numbers in [0, 1] ({', '.join(self.names)})"

    def check(self, candidate: Any) -> Vector:
        """Return the canonical form, or raise `InvalidCandidateError` with what is wrong."""
        violation = self.validate(candidate)
        if violation is not None:
            raise InvalidCandidateError(_text(candidate), violation.rule, violation.text)
        return self.canonical(candidate)

    def canonical(self, candidate: Any) -> Vector:
        """Return the form that all valid candidates of the same scene share."""
        return _frozen(self.resolve(candidate)[0])

    def resolve(self, candidate: Any) -> tuple[list[float], list[bool], list[int]]:
        """Return the canonical numbers, whether each means something, and the bins.

        A bin is the index of a choice, or 0 and 1 of a flag; -1 of other kinds, and where the
        dimension means nothing. One pass in plain Python: searchers resolve many candidates for
        each that they propose.
        """
        numbers: list[float] = []
        meaning: list[bool] = []
        bins: list[int] = []
        raw = np.asarray(candidate, dtype=np.float64).tolist()
        for (count, turns, condition), number in zip(self._plan, raw, strict=True):
            place = -1
            means = condition is None or bins[condition[0]] in condition[1]
            if not means:
                number = UNUSED
            elif count:
                place = min(int(number * count), count - 1)
                number = round((place + 0.5) / count, DIGITS)
            else:
                number = round(number, DIGITS) + 0.0  # -0.0 is the same place as 0.0
                if turns and number == 1.0:
                    number = 0.0
            numbers.append(number)
            meaning.append(means)
            bins.append(place)
        return numbers, meaning, bins

    def meaningful(self, candidate: Any) -> dict[str, bool]:
        """Return by dimension whether it means something in this candidate."""
        return dict(zip(self.names, self.resolve(candidate)[1], strict=True))

    def values(self, candidate: Any) -> dict[str, Value]:
        """Return a valid candidate's values in units; where one means nothing, its middle."""
        numbers = self.resolve(candidate)[0]
        return {d.name: d.value(n) for d, n in zip(self.dimensions, numbers, strict=True)}

    def candidate(self, **values: Any) -> Vector:
        """Return the candidate with these values in units; the inverse of `values`.

        Raises:
            UnknownNameError: For a dimension or a choice that does not exist.
            UsageError: For a value out of range, or one that is missing and means something.
        """
        for name in values:
            if name not in self.names:
                raise UnknownNameError("dimension", name, self.names)
        numbers = [
            one.number(values[one.name]) if one.name in values else UNUSED
            for one in self.dimensions
        ]
        meaning = self.meaningful(numbers)
        missing = [name for name in self.names if meaning[name] and name not in values]
        if missing:
            raise UsageError(f"a candidate needs {', '.join(missing)} too")
        return self.canonical(numbers)

    def parse(self, text: str) -> Vector:
        """Return the candidate that a user wrote: ``"object=spoon, x=-0.3, standing=no"``.

        A list of numbers in [0, 1] (``"[0.1, 0.5, 0.5, 0.2, 0.5]"``) is taken as it is.

        Raises:
            UsageError: For what is neither.
        """
        if text.lstrip().startswith("["):
            try:
                return self.from_json(json.loads(text))
            except (ValueError, RecursionError) as error:
                raise UsageError(f"a candidate is a list of {self._shape}: {error}") from error
        values: dict[str, Any] = {}
        for part in filter(None, (part.strip() for part in text.split(","))):
            name, equals, word = (piece.strip() for piece in part.partition("="))
            if not equals:
                raise UsageError(f"{part!r}: write NAME=VALUE, NAME one of {', '.join(self.names)}")
            if name not in self.names:
                raise UnknownNameError("dimension", name, self.names)
            values[name] = self.dimensions[self.names.index(name)].read(word)
        return self.candidate(**values)

    def describe(self, candidate: Any) -> str:
        """Return a valid candidate in words, without what means nothing."""
        meaning = self.meaningful(candidate)
        values = self.values(candidate)
        return ", ".join(
            one.describe(values[one.name]) for one in self.dimensions if meaning[one.name]
        )

    def key(self, candidate: Any) -> str:
        """Return ``NAME=NUMBER`` or ``NAME=CHOICE`` of the canonical form, joined by commas."""
        if self.validate(candidate) is not None:
            return "invalid " + _text(candidate)
        numbers, meaning, bins = self.resolve(candidate)
        words: list[str] = []
        for one, number, means, place in zip(self.dimensions, numbers, meaning, bins, strict=True):
            if not means:
                continue
            word = f"{number:.{DIGITS}f}"
            if place >= 0:
                word = one.choices[place] if one.kind == "choice" else ("no", "yes")[place]
            words.append(f"{one.name}={word}")
        return ",".join(words)

    def to_json(self, candidate: Any) -> list[float | None]:
        """Return the canonical numbers; of an invalid candidate its own, null for no number."""
        if self.validate(candidate) is None:
            return [float(number) for number in self.canonical(candidate)]
        raw = _readable(candidate).reshape(-1).tolist()
        return [number if math.isfinite(number) else None for number in raw]

    def from_json(self, value: Any) -> Vector:
        """Return the candidate of a list of numbers.

        Raises:
            UsageError: When it is no list of numbers.
        """
        vector = _numbers(value) if isinstance(value, (list, tuple, np.ndarray)) else None
        if vector is None:
            raise UsageError(f"a candidate is a list of {self._shape}, got {_shown(value)}")
        return _frozen(vector)

    # -- features and actions -----------------------------------------------------------------

    def featurise(self, candidate: Any) -> npt.NDArray[np.float32]:
        """Return the feature vector of a valid candidate, entries in [0, 1]."""
        numbers, meaning, bins = self.resolve(candidate)
        out: list[float] = []
        for one, number, means, place in zip(self.dimensions, numbers, meaning, bins, strict=True):
            if one.kind == "choice":
                hot = [0.0] * len(one.choices)
                if means:
                    hot[place] = 1.0
                out += hot
            elif one.kind == "angle":
                angle = float(one.value(number))
                sin_cos = (math.sin(angle), math.cos(angle)) if means else (0.0, 0.0)
                out += [(part + 1.0) / 2.0 for part in sin_cos]
            else:
                out.append(float(place) if place >= 0 else number)
        return np.array(out, dtype=np.float32)

    def encode(self, candidate: Any) -> npt.NDArray[np.float32]:
        """Return the candidate as float32."""
        # Canonical first: rounding to float32 could move a number across the edge of its bin.
        valid = self.validate(candidate) is None
        numbers = self.canonical(candidate) if valid else _readable(candidate)
        with np.errstate(over="ignore"):  # what is too large is outside the box either way
            return np.array(numbers, dtype=np.float32)

    def decode(self, action: npt.NDArray[Any]) -> Vector:
        """Return the candidate that an action stands for; an empty one if it holds no numbers."""
        return _frozen(_readable(action))

    def action_space(self, num_envs: int | None = None) -> gym.Space[Any]:
        """Return the flat (or batched) Box of actions; all of it is valid."""
        d = len(self.names)
        return gym.spaces.Box(0.0, 1.0, (d,) if num_envs is None else (num_envs, d), np.float32)

    @cached_property
    def size(self) -> int | None:
        """Number of different candidates; None where a real or an angle leaves no end of them."""
        bins = [len(one.choices) for one in self.dimensions]
        if not all(bins) or math.prod(bins) > ENUMERATION_LIMIT:
            return None
        grid = ([(i + 0.5) / count for i in range(count)] for count in bins)
        return len({self.canonical(numbers).tobytes() for numbers in product(*grid)})

    # -- draws --------------------------------------------------------------------------------

    def sample(self, rng: np.random.Generator) -> Vector:
        """Draw a candidate, uniform in [0, 1]^d, in canonical form."""
        return self.canonical(rng.random(len(self.names)))

    def perturb(self, candidate: Any, rng: np.random.Generator, scale: float = 0.1) -> Vector:
        """Draw a candidate near another, in canonical form.

        Ours. Reals and angles move by a normal step of `scale` times their range, reflected at
        the bounds (an angle that goes round is not reflected); a choice or flag is drawn anew with
        probability `scale`; a dimension that comes to mean something is drawn afresh.

        Args:
            candidate: A valid candidate.
            rng: The generator.
            scale: Size of the steps, in (0, 1].
        """
        d = len(self.names)
        steps, fresh, redrawn = rng.normal(0.0, scale, d), rng.random(d), rng.random(d) < scale
        old, meant, _ = self.resolve(candidate)
        new: list[float] = []
        for i, one in enumerate(self.dimensions):
            if one.kind in ("choice", "flag"):
                new.append(fresh[i] if redrawn[i] or not meant[i] else old[i])
            elif not meant[i]:
                new.append(fresh[i])
            else:
                moved = old[i] + steps[i]
                new.append(moved % 1.0 if one.turns else _reflected(moved))
        return self.canonical(new)


def _numbers(given: Any) -> Vector | None:
    """Return what somebody gave as numbers, None for no number; None where it is something else.

    Text, complex numbers and dates are no numbers, though numpy would make some of them.
    """
    try:
        raw = np.asarray(given)
        if raw.dtype == object:
            plain = (int, float, np.number, np.bool_)
            if not all(one is None or isinstance(one, plain) for one in raw.flat):
                return None
        elif raw.dtype.kind not in "biuf":
            return None
        return np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None


def _readable(given: Any) -> Vector:
    numbers = _numbers(given)
    return np.empty(0) if numbers is None else numbers


def _shown(given: Any) -> str:
    return tamed(reprlib.repr(given), 60)


def _frozen(numbers: Any) -> Vector:
    vector = np.array(numbers, dtype=np.float64)
    vector.setflags(write=False)
    return vector


def _reflected(number: float) -> float:
    number = abs(number) % 2.0
    return 2.0 - number if number > 1.0 else number


def _text(candidate: Any) -> str:
    numbers = _numbers(candidate)
    if numbers is None:
        return _shown(candidate)
    return ",".join(f"{n:g}" for n in numbers.reshape(-1)[:12].tolist())[:120]
