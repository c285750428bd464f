"""The right answer to a driving scene, from where things stand (rules A1-A5).

Revelio App. C.1: the ego cruises at 6.7 m/s (15 mph), slow down brakes at half intensity, emergency
stop fully; of the actions the least intrusive one that avoids contact is right, else the one with
the lowest impact speed. The full deceleration of 8 m/s² and the corridor are ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from ...core import Truth

if TYPE_CHECKING:
    from ...rendering.world import Atmosphere
    from .rules import ActionRule, Condition
    from .scene import DrivingScene

CRUISE_SPEED = 6.7
"""Speed of the ego, m/s."""

FULL_BRAKING = 8.0
"""Deceleration of full braking, m/s²."""

BRAKE_INTENSITY: Mapping[str, float] = MappingProxyType(
    {"continue": 0.0, "slow_down": 0.5, "emergency_stop": 1.0}
)
"""Share of full braking by action, least intrusive first."""

HEAVY_RAIN = 0.6
"""Rain of an atmosphere from which on rule A4 holds. Ours: between light and heavy rain."""

FOG = 0.02
"""Extinction from which on rule A4 holds, 1/m. Ours: a sight distance of 200 m (3.9 / extinction);
the haze of clouds and rain is several times thinner, fog thicker.
"""


def stopping_distance(action: str) -> float:
    """Return v² / (2 a b), m; infinite without braking."""
    deceleration = FULL_BRAKING * BRAKE_INTENSITY[action]
    return CRUISE_SPEED**2 / (2.0 * deceleration) if deceleration else math.inf


def impact_speed(action: str, gap: float) -> float:
    """Return the speed at which the ego reaches something `gap` m ahead, 0 = stops before, m/s."""
    deceleration = FULL_BRAKING * BRAKE_INTENSITY[action]
    return math.sqrt(max(0.0, CRUISE_SPEED**2 - 2.0 * deceleration * gap))


def best_action(gap: float) -> str:
    """Return the least intrusive action without contact, else the lowest impact speed."""
    # `min` keeps the first of equals, and actions are ordered from least intrusive on.
    return min(BRAKE_INTENSITY, key=lambda action: impact_speed(action, gap))


@dataclass(frozen=True, slots=True)
class Finding:
    """Why a condition holds: words with numbers, and what must be seen to know it."""

    text: str
    deciding: tuple[str, ...] = ()


def _in_lane(scene: DrivingScene) -> Finding | None:
    if not scene.in_lane:
        return None
    gap, nearest = scene.in_lane[0]
    return Finding(
        f"{nearest.name} is in the lane, {gap:.1f} m ahead; full braking needs "
        f"{stopping_distance('emergency_stop'):.1f} m, half braking "
        f"{stopping_distance('slow_down'):.1f} m",
        (nearest.name,),
    )


def _within_half_braking(scene: DrivingScene) -> Finding | None:
    if scene.in_lane and scene.in_lane[0][0] < stopping_distance("slow_down"):
        return _in_lane(scene)
    return None


def _red_light(scene: DrivingScene) -> Finding | None:
    if scene.signal is None or scene.signal.colour != "red" or scene.junction_gap is None:
        return None
    return Finding(
        f"the light is red and its stop line {scene.junction_gap:.1f} m ahead; half braking needs "
        f"{stopping_distance('slow_down'):.1f} m",
        (scene.signal.name,),
    )


def poor_sight(atmosphere: Atmosphere) -> str | None:
    """Return ``"heavy rain"`` or ``"fog"`` where rule A4 speaks of it, else None."""
    if atmosphere.rain >= HEAVY_RAIN:
        return "heavy rain"
    return "fog" if atmosphere.fog >= FOG else None


def _poor_sight(scene: DrivingScene) -> Finding | None:
    cause = poor_sight(scene.atmosphere)
    return Finding(f"the lane is free, but there is {cause}") if cause else None


def _always(scene: DrivingScene) -> Finding | None:
    if scene.signal is not None and scene.signal.colour == "green":
        return Finding("the lane is free and the light is green", (scene.signal.name,))
    return Finding("the lane is free and nothing calls for braking")


CONDITIONS: Mapping[Condition, Callable[[DrivingScene], Finding | None]] = MappingProxyType(
    {
        "in_lane_within_half_braking": _within_half_braking,
        "in_lane": _in_lane,
        "red_light": _red_light,
        "poor_sight": _poor_sight,
        "always": _always,
    }
)
"""The conditions that rows of the expected-action table may name."""


def truth(scene: DrivingScene, table: Sequence[ActionRule]) -> Truth:
    """Return the right answer: the first row of `table` whose condition holds decides.

    Args:
        scene: The scene.
        table: The expected-action table, its last row holds always.
    """
    for row in table:
        finding = CONDITIONS[row.when](scene)
        if finding is None:
            continue
        if row.accepted == "kinematics":
            # A row of this kind may be put above rows without an object to brake for.
            gap = scene.in_lane[0][0] if scene.in_lane else math.inf
            accepted: tuple[str, ...] = (best_action(gap),)
        else:
            accepted = row.accepted
        reason = f"{row.text}: {finding.text}"
        return Truth(accepted[0], frozenset(accepted), row.id, reason, finding.deciding)
    raise ValueError("the expected-action table has no row that holds always")


def direction(truth: Truth, answer: str) -> str | None:
    """Return the direction of an answer's error (Revelio App. C.1), None when it is right.

    | answer against the accepted ones | direction |
    |---|---|
    | brakes harder than every accepted one | ``over_reaction`` |
    | continues where braking is called for | ``under_reaction`` |
    | brakes, but less than every accepted one | ``insufficient_reaction`` |

    An answer outside the three actions has no direction. Between accepted ones, which the
    packaged rules never leave open, the expected action decides.
    """
    strength = BRAKE_INTENSITY
    if answer in truth.accepted or answer not in strength:
        return None
    if strength[answer] > strength[truth.expected]:
        return "over_reaction"
    return "under_reaction" if strength[answer] == 0.0 else "insufficient_reaction"
