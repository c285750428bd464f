"""One dimension of a scene vector: what a number in [0, 1] means."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..core import UnknownNameError, UsageError

Value = float | str | bool
Kind = Literal["choice", "real", "flag", "angle"]

KINDS: tuple[Kind, ...] = ("choice", "real", "flag", "angle")

DIGITS = 6
"""Decimals of a canonical number (ours): of a position on a 1 m table, a thousandth of a
millimetre. A float32 action keeps them."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """One entry of a scene vector.

    Attributes:
        name: E.g. ``"x"``.
        kind: ``"choice"`` of names in equal bins; ``"real"``; ``"flag"``, true from .5 on;
            ``"angle"`` in radians.
        choices: The names of a choice; of a flag, how it reads when false and when true.
        low: Value at 0; left out: 0, of an angle -π.
        high: Value at 1; left out: 1, of an angle π.
        unit: Of `low` and `high`, e.g. ``"m"``.
        only_if: (dimension, value or tuple of values): it means something only where that earlier
            choice or flag has the value; None: always.
    """

    name: str
    kind: Kind
    choices: tuple[str, ...] = ()
    low: float = math.nan
    high: float = math.nan
    unit: str = ""
    only_if: tuple[str, Value | tuple[Value, ...]] | None = None

    def __post_init__(self) -> None:
        """Fill in what was left out.

        Raises:
            UsageError: For a kind, choices or bounds that cannot be.
        """
        if self.kind not in KINDS:
            raise UsageError(f"{self.name}: kind is one of {', '.join(KINDS)}, got {self.kind!r}")
        names = tuple(self.choices)
        if self.kind == "flag":
            names = names or (f"not {self.name}", self.name)
        wanted = {"choice": len(names) >= 1, "flag": len(names) == 2}.get(self.kind, not names)
        if not wanted or len(set(names)) != len(names):
            raise UsageError(f"{self.name}: a {self.kind} cannot have the choices {names!r}")
        object.__setattr__(self, "choices", names)
        turn = self.kind == "angle"
        for bound, default in (
            ("low", -math.pi if turn else 0.0),
            ("high", math.pi if turn else 1),
        ):
            if math.isnan(getattr(self, bound)):
                object.__setattr__(self, bound, float(default))
        if not self.low < self.high or not math.isfinite(self.high - self.low):
            raise UsageError(f"{self.name}: low {self.low:g} must lie below high {self.high:g}")

    @property
    def turns(self) -> bool:
        """Whether it is an angle whose ends are the same direction."""
        return self.kind == "angle" and math.isclose(self.high - self.low, 2 * math.pi)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of its features."""
        if self.kind == "choice":
            return tuple(f"{self.name}={choice}" for choice in self.choices)
        return (f"{self.name}.sin", f"{self.name}.cos") if self.kind == "angle" else (self.name,)

    def bin(self, number: float) -> int:
        """Return the index of the choice (or 0 and 1 of a flag) that `number` in [0, 1] means."""
        count = len(self.choices)
        return min(int(number * count), count - 1)

    def value(self, number: float) -> Value:
        """Return what `number` in [0, 1] means, in units."""
        if self.kind == "choice":
            return self.choices[self.bin(number)]
        if self.kind == "flag":
            return bool(self.bin(number))
        return self.low + number * (self.high - self.low)

    def number(self, value: object) -> float:
        """Return the number in [0, 1] that stands for `value` in units; `value`'s inverse.

        Raises:
            UnknownNameError: For a choice that is none.
            UsageError: For a value outside the bounds or of a wrong type.
        """
        if self.kind == "choice":
            if not isinstance(value, str) or value not in self.choices:
                raise UnknownNameError(self.name, f"{value!s:.200}", self.choices)
            return (self.choices.index(value) + 0.5) / len(self.choices)
        if self.kind == "flag":
            if isinstance(value, (bool, np.bool_)):
                return 0.75 if value else 0.25
            raise UsageError(f"{self.name}: expected true or false, got {value!r:.60}")
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
            unit = f" in {self.unit}" if self.unit else ""
            raise UsageError(f"{self.name}: expected a number{unit}, got {value!r:.60}")
        try:
            given = float(value)
        except OverflowError:  # a whole number of hundreds of digits
            given = math.inf if value > 0 else -math.inf
        number = (given - self.low) / (self.high - self.low)
        if self.turns and math.isfinite(number):
            number %= 1.0
        # A bound itself may miss by the rounding of the division.
        if not -1e-9 <= number <= 1 + 1e-9:
            raise UsageError(
                f"{self.name} = {given:g}{self._of_unit} is outside {self.low:g} to {self.high:g}"
            )
        return min(max(number, 0.0), 1.0)

    def describe(self, value: Value) -> str:
        """Return a value in words: ``"object = spoon"``, ``"x = -0.31 m"``, ``"lying"``."""
        if self.kind == "flag":
            return self.choices[int(bool(value))]
        if self.kind == "choice":
            return f"{self.name} = {value}"
        return f"{self.name} = {self.amount(float(value))}"

    def amount(self, value: float, unit: bool = True) -> str:
        """Return a number in words, to about a hundredth of the range; angles in degrees."""
        if self.kind == "angle":
            return f"{math.degrees(value):.0f}" + ("°" if unit else "")
        digits = max(0, 2 - math.ceil(math.log10(self.high - self.low) - 1e-9))
        # The addend turns "-0.00" into "0.00".
        return f"{round(value, digits) + 0.0:.{digits}f}" + (self._of_unit if unit else "")

    @property
    def _of_unit(self) -> str:
        return f" {self.unit}" if self.unit else ""

    def read(self, word: str) -> Value:
        """Return the value that a user wrote.

        Raises:
            UsageError: When it is none.
        """
        if self.kind == "choice":
            return word
        if self.kind == "flag":
            known: Mapping[str, bool] = {
                "no": False, "false": False, "0": False, self.choices[0]: False,
                "yes": True, "true": True, "1": True, self.choices[1]: True,
            }  # fmt: skip
            if word not in known:
                raise UsageError(f"{self.name}: expected yes or no, got {word!r:.60}")
            return known[word]
        try:
            return float(word)
        except ValueError:
            raise UsageError(f"{self.name}: expected a number, got {word!r:.60}") from None
