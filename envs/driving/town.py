"""The towns: streets with everything that stands still, built from a name and a number.

`town01` is a suburb of detached houses, gardens and big trees; `town02` a compact quarter of
terraces and shops at the sidewalk. Layouts, houses and colours are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from ...core import UnknownNameError, UsageError
from ...rendering.baking import baked
from ...rendering.mesh import Mesh
from ...rendering.shapes.builder import Builder
from . import assets
from .street import CROSSING_WIDTH, JUNCTION_SETBACK
from .town_ground import END, START
from .town_suburb import build_suburb
from .town_terraces import build_terraces

TOWNS = ("town01", "town02")
BACKDROPS = 6
"""Variants of each town."""

STREET_AHEAD = 140.0
"""Street that every ego position has in front of it, m."""

CLEAR_AHEAD = 70.0
"""Street without a junction in front of the ego of a no-junction scene, m."""

_FIRST_X = 4.0  # the camera, 0.9 m behind the bumper, needs street under and beside it
_PAST_JUNCTION = 6.0  # the far corner of a crossed street has left the picture


@dataclass(frozen=True, slots=True)
class Backdrop:
    """A town's street.

    Attributes:
        mesh: Everything static, in town coordinates (see `street`).
        key: Equal keys mean equal backdrops.
        junctions: x of the ego lane's stop lines, rising, m.
    """

    mesh: Mesh
    key: str
    junctions: tuple[float, ...]

    def ego_x(self, junction_gap: float | None, rng: np.random.Generator) -> float:
        """Draw where the ego's front bumper stands, m.

        Args:
            junction_gap: Distance from the bumper to the next stop line, m; None = no junction
                within `CLEAR_AHEAD`.
            rng: Source of the choice.

        Raises:
            UsageError: No junction can be that far ahead.
        """
        last = END - STREET_AHEAD
        if junction_gap is not None:
            fits = [
                x
                for i, x in enumerate(self.junctions)
                if self._earliest(i) <= x - junction_gap <= last
            ]
            if not fits or junction_gap < 0:
                raise UsageError(
                    f"no junction of {self.key} can lie {junction_gap:g} m ahead; "
                    f"junctions: {', '.join(f'{x:.1f}' for x in self.junctions)} m"
                )
            return fits[int(rng.integers(len(fits)))] - junction_gap
        free = []
        for i, end in enumerate((*(x - CLEAR_AHEAD for x in self.junctions), last)):
            low, high = self._earliest(i), min(end, last)
            if high > low:
                free.append((low, high))
        lengths = np.array([high - low for low, high in free])
        low, high = free[int(rng.choice(len(free), p=lengths / lengths.sum()))]
        return float(rng.uniform(low, high))

    def _earliest(self, i: int) -> float:
        """Return the first x before junction `i` where the one before it is out of sight."""
        if i == 0:
            return _FIRST_X
        return self.junctions[i - 1] + JUNCTION_SETBACK + CROSSING_WIDTH + _PAST_JUNCTION


@lru_cache(maxsize=len(TOWNS) * BACKDROPS)
def backdrop(town: str, variant: int) -> Backdrop:
    """Return variant `variant` of a town, the same in every process.

    Args:
        town: One of `TOWNS`.
        variant: 0 to `BACKDROPS` - 1.

    Raises:
        UnknownNameError: There is no such town.
        UsageError: There is no such variant.
    """
    if town not in TOWNS:
        raise UnknownNameError("town", town, TOWNS)
    if not 0 <= variant < BACKDROPS:
        raise UsageError(f"{town} has no variant {variant}: there are 0 to {BACKDROPS - 1}.")
    rng = np.random.default_rng([TOWNS.index(town), variant, 20])
    junctions = (
        float(np.round(38.0 + rng.uniform(0, 8), 2)),
        float(np.round(168.0 + rng.uniform(0, 12), 2)),
    )

    def build() -> Mesh:
        b = Builder()
        (build_suburb if town == "town01" else build_terraces)(b, junctions, rng)
        return b.mesh()

    key = f"{town}-{variant}"
    here = Path(__file__).parent
    sources = (*assets.SOURCES, *sorted(here.glob("town*.py")), here / "street.py")
    return Backdrop(baked(key, sources, build), key, junctions)


__all__ = ["BACKDROPS", "END", "START", "TOWNS", "Backdrop", "backdrop"]
