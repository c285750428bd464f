"""How kitchens are laid out: units along the back wall, in plan.

Room coordinates, m: x into the picture with the back wall at 0 and the room before it (x < 0),
y left, z up from the floor. All sizes are ours, those of ordinary fitted kitchens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

UnitKind = Literal["sink", "drawers", "base", "stove", "wall", "fridge"]

COUNTER_TOP = 0.90
"""Height of the worktop's upper face."""

COUNTER_THICKNESS = 0.04
COUNTER_FRONT = -0.64
"""x of the worktop's front edge."""

CABINET_FRONT = -0.60
"""x of the doors' outer face."""

PLINTH_HEIGHT, PLINTH_FRONT = 0.10, -0.54
GRATE_TOP = 0.935
"""Height of the cooktop's grates: pans stand on them."""

BURNERS = ((-0.45, 0.145), (-0.45, -0.145), (-0.19, 0.145), (-0.19, -0.145))
"""(x, y from the stove's middle) of the four burners, the front two first."""

UPPER_BOTTOM, UPPER_TOP, UPPER_DEPTH = 1.45, 2.15, 0.34
"""Wall cabinets: over drawers and base units, none over sink (window) and stove (hood)."""

TILE_FRONT = -0.008
"""x of the splashback's tiles."""

CEILING = 2.5
ROOM_FRONT = -4.4
"""x of the wall behind the camera."""

WIDTHS: dict[UnitKind, float] = {
    "sink": 0.80,
    "drawers": 0.60,
    "base": 0.70,
    "stove": 0.60,
    "wall": 1.00,
    "fridge": 0.70,
}
"""Width of each kind of unit; ``wall`` is a stretch of bare wall down to the floor."""

RUNS: tuple[tuple[UnitKind, ...], ...] = (
    ("fridge", "sink", "drawers", "stove", "base", "wall"),
    ("fridge", "stove", "drawers", "sink", "base", "wall"),
    ("base", "stove", "base", "sink", "drawers", "wall"),
    ("drawers", "sink", "base", "stove", "drawers", "wall"),
)
"""The layouts, from left to right as the camera sees them; each also exists mirrored."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit of the run.

    Attributes:
        kind: What it is.
        right: y of its right end, m.
        left: y of its left end, m; above `right`.
    """

    kind: UnitKind
    right: float
    left: float

    @property
    def middle(self) -> float:
        """The y of its middle, m."""
        return 0.5 * (self.right + self.left)

    @property
    def has_top(self) -> bool:
        """Whether things can stand on its worktop."""
        return self.kind in ("drawers", "base")


@dataclass(frozen=True, slots=True)
class Layout:
    """A kitchen's plan.

    Attributes:
        number: Index into `RUNS`.
        mirrored: Whether the run goes from right to left.
        units: From left (largest y) to right; they touch, and the run is centred on y = 0.
    """

    number: int
    mirrored: bool
    units: tuple[Unit, ...]

    @property
    def key(self) -> str:
        """Name of the plan."""
        return f"{self.number}{'m' if self.mirrored else ''}"

    @property
    def side_walls(self) -> tuple[float, float]:
        """(right, left): y of the side walls, m."""
        return self.units[-1].right, self.units[0].left

    def of(self, *kinds: UnitKind) -> tuple[Unit, ...]:
        """Return the units of the given kinds, from left to right."""
        return tuple(unit for unit in self.units if unit.kind in kinds)


def layout(number: int, mirrored: bool = False) -> Layout:
    """Return the plan of `RUNS[number]`."""
    run = RUNS[number]
    if mirrored:
        run = run[::-1]
    left = 0.5 * sum(WIDTHS[kind] for kind in run)
    units = []
    for kind in run:
        units.append(Unit(kind, left - WIDTHS[kind], left))
        left -= WIDTHS[kind]
    return Layout(number, mirrored, tuple(units))
