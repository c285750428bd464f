"""Failure families: the few concepts that failure modes of a model share, and their pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from ...core import Picture, clopper_pearson_lower
from ...rendering.contact_sheet import contact_sheet
from .comparison import Arm
from .figures import ModeFigures

CORE_SIZE = 3
"""Most concepts that name a family."""


@dataclass(frozen=True, slots=True)
class Family:
    """Failure modes that share a few concepts.

    Attributes:
        core: The shared concepts.
        modes: Number of distinct failure modes with them that no earlier family has.
        sets: Number of distinct evaluated sets with them.
        failing: How many of these sets are failure modes.
        example: The surest of the modes.
    """

    core: tuple[str, ...]
    modes: int
    sets: int
    failing: int
    example: ModeFigures

    @property
    def caption(self) -> str:
        """What stands below its picture."""
        one = self.example
        fresh = f"{one.fresh_failures}/{one.fresh_n} fresh, " if one.fresh_n else ""
        lines = [
            f"{' + '.join(self.core)} ({self.failing} of {self.sets} sets fail)",
            f"set: {' + '.join(one.mode.candidate)}",
        ]
        # Of the trial in the picture: in a mixed set the right answer hangs on the scene.
        if one.shown is not None:
            lines.append(f"right: {one.shown.expected}; answered: {one.shown.answer}")
        lines.append(f"failed: {fresh}{one.mode.failures}/{one.mode.n} in the search")
        return "\n".join(lines)


def families(arms: Sequence[Arm], most: int = 12) -> list[Family]:
    """Return the families of one model's failure modes, the commonest first.

    Greedy: of all groups of up to three concepts, the one with the largest product of the failure
    modes that it explains and the share of its evaluated sets that fail; then the same for the
    modes that are left. The share keeps "far" from explaining everything. Ours.

    Args:
        arms: The arms of one model.
        most: How many families.
    """
    evaluated: dict[str, tuple[str, ...]] = {}
    failing: set[str] = set()
    best: dict[str, ModeFigures] = {}
    for arm in arms:
        for one in arm.modes:
            key = one.mode.key
            evaluated[key] = tuple(one.mode.candidate)
            if key not in best or _sureness(one) > _sureness(best[key]):
                best[key] = one
        for each in arm.sets:
            evaluated.setdefault(each.key, each.concepts)
            if each.is_mode:
                failing.add(each.key)
    members: dict[tuple[str, ...], list[str]] = {}
    for key, concepts in evaluated.items():
        for core in _cores(concepts):
            members.setdefault(core, []).append(key)
    shares = {
        core: (sum(key in failing for key in keys), len(keys)) for core, keys in members.items()
    }
    cores = [core for core, (k, _) in shares.items() if k]
    left = set(best)
    found: list[Family] = []
    while left and len(found) < most:
        explained = {core: sum(key in left for key in members[core]) for core in cores}

        def score(
            core: tuple[str, ...], explained: dict[tuple[str, ...], int] = explained
        ) -> float:
            k, n = shares[core]
            return explained[core] * k / n

        core = min(cores, key=lambda core: (-score(core), len(core), core))
        mine = [key for key in members[core] if key in left]
        if not mine:
            break
        example = max((best[key] for key in sorted(mine)), key=_sureness)
        k, n = shares[core]
        found.append(Family(core, len(mine), n, k, example))
        left.difference_update(mine)
    return found


def _cores(concepts: Sequence[str]) -> list[tuple[str, ...]]:
    return [
        core for size in range(1, CORE_SIZE + 1) for core in combinations(sorted(concepts), size)
    ]


def _sureness(one: ModeFigures) -> tuple[float, float]:
    return clopper_pearson_lower(one.fresh_failures, one.fresh_n), one.mode.interval[0]


def failure_sheet(found: Sequence[Family], columns: int = 3) -> Picture | None:
    """Return a failing picture of each family with its caption; None when there is none."""
    shown = []
    for family in found:
        path = family.example.picture
        if path is not None and path.is_file():
            shown.append((Picture(path.read_bytes()), family.caption))
    if not shown:
        return None
    return contact_sheet([p for p, _ in shown], [c for _, c in shown], columns=columns)
