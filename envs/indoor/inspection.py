"""Independent check of the right answers: measure the meshes that a scene shows.

Every question of the domain says what counts. Here each of those things is measured on the
triangles that the picture is drawn from, in the room's coordinates: is there liquid outside a
vessel, does the plate cover the holes, is the knife's middle past the edge, how near is the child
to the hot bowl. What a mesh is follows from its asset kind, the state that it is in from its
geometry alone; concepts, rules and the scene's match are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np

from ...rendering.mesh import Material
from .inspection_parts import F64, Item, distance, first_hit, long_axis, pieces, size
from .layout import BURNERS, CABINET_FRONT, COUNTER_FRONT, COUNTER_TOP, GRATE_TOP, Layout

ARM = 0.35
"""A child's arm's reach: largest distance of the nearest point of a child from what it can touch,
m. Ours: about the arm of a two-year-old.
"""

CLOSE = 0.20
"""Largest distance of a cloth from a gas flame that counts as close, m."""

EDGE = 0.01
"""How near the worktop's edge the foot of a mug stands on the edge, m."""

SWUNG = 30.0
"""Angle from which on a door stands open, degrees."""

APART = 20.0
"""Angle between scissors' blades from which on they are open, degrees."""

PLATE = 0.006
"""A cover plate stands out at least so far from the wall, m."""

COVERED = 0.97
"""Share of an outlet's opening that a plate covers at least."""

SHIELD = 0.004
"""What closes a hole lies at least so far before it, m."""

MOUTH = 0.010
"""A bottle's mouth is open when one sees so deep into it, m."""

FLOOR = 0.02
"""What reaches down to here lies on the floor, m."""

LOW = 0.25
"""What lies on the floor and does not reach above this is stumbled over, m."""

RAISED = 0.15
"""Feet above this do not stand on the floor, m."""

COLUMN = 0.60
"""A cloud taller than this is smoke: steam of food and mugs is not, m."""

NEAR = 0.60
"""Largest distance of a child from shards that counts as near, m."""

SHARDS = 5
"""Pieces of glass on the floor from which on a glass is broken."""

CHILDREN = frozenset(
    {
        "toddler_standing",
        "child_running",
        "toddler_playing",
        "child_on_stool",
        "child_reaching",
        "child_near_microwave",
        "child_near_pan",
        "barefoot_walking",
        "barefoot_standing",
    }
)
"""Kinds that are children."""

ADULTS = frozenset({"adult_reacting"})
TOWELS = frozenset({"towel_draped", "towel_burning"})
OUTLETS = frozenset({"outlet_covered", "outlet_exposed"})
DOORS = frozenset({"sink_doors_open", "sink_doors_closed"})
VESSELS = frozenset({"glass_upright", "mug", "pan"})
DOWN = np.array([0.0, 0.0, -1.0])
SOFT = (Material.LIQUID, Material.VAPOUR, Material.FLAME)

COUNTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "spill": ("liquid outside a vessel",),
        "shock": ("outlet open",),
        "cut": ("knife in the open", "scissors open"),
        "poisoning": ("doors open", "pill bottle open"),
        "fire": ("cloth at a flame", "flames outside the burners", "smoke"),
        "burn": ("child at the hot bowl", "child at the hot pan", "handle over the edge",
                 "hot mug at the edge"),
        "fall": ("child raised",),
        "trip": ("loose on the floor",),
        "broken_glass": ("shards on the floor",),
    }
)  # fmt: skip
"""What each family's question counts: names of measures, of which one that holds is a hazard."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One thing that was measured.

    Attributes:
        state: What was looked for; the names in `COUNTS`, and what scenes are said to show.
        kind: Asset kind of the thing that was measured.
        value: The measure.
        limit: From where on the state holds.
        above: Whether it holds from the limit upwards, else below.
        unit: Of both.
    """

    state: str
    kind: str
    value: float
    limit: float
    above: bool = True
    unit: str = "m"

    @property
    def holds(self) -> bool:
        """Whether the thing is in this state."""
        return self.value >= self.limit if self.above else self.value <= self.limit

    @property
    def margin(self) -> float:
        """How far the measure is from its limit; the truth must not hang on little."""
        return abs(self.value - self.limit)

    def __str__(self) -> str:
        sign = ("≥" if self.above else "≤") if self.holds else ("<" if self.above else ">")
        return f"{self.state}: {self.kind} {self.value:.3f} {sign} {self.limit:g} {self.unit}"


class Inspection:
    """Measures the meshes of a room.

    Attributes:
        items: What stands in it.
        plan: Its plan: where worktop, walls and floor are.
    """

    def __init__(self, items: Iterable[Item], plan: Layout) -> None:
        """Take meshes in the room and the room's plan."""
        self.items = tuple(items)
        self.plan = plan

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """Everything that the questions count, and what the scenes are said to show."""
        looks = (
            self._liquids,
            self._outlets,
            self._knives,
            self._scissors,
            self._doors,
            self._pills,
            self._towels,
            self._flames,
            self._smoke,
            self._bowls,
            self._pans,
            self._mugs,
            self._feet,
            self._hands,
            self._standing,
            self._loose,
            self._shards,
        )
        return tuple(measure for look in looks for measure in look())

    def answer(self, family: str) -> str:
        """Return ``"hazard"`` or ``"safe"`` to a family's question."""
        return "hazard" if self.counting(family) else "safe"

    def counting(self, family: str) -> tuple[Measure, ...]:
        """Return the measures that make it a hazard; empty = safe."""
        return tuple(m for m in self.measures if m.state in COUNTS[family] and m.holds)

    def closest(self, family: str) -> Measure | None:
        """Return the measure that the answer hangs on; None where nothing could count.

        Of a hazard that is the surest of the measures that make it one, of a safe answer the one
        that came nearest to making it a hazard.
        """
        holding = self.counting(family)
        if holding:
            return max(holding, key=lambda measure: measure.margin)
        others = [measure for measure in self.measures if measure.state in COUNTS[family]]
        return min(others, key=lambda measure: measure.margin, default=None)

    def found(self, state: str, kinds: Iterable[str], holds: bool = True) -> bool:
        """Return whether a thing of one of the kinds was found in a state (or not in it)."""
        wanted = frozenset(kinds)
        return any(
            m.state == state and m.kind in wanted and m.holds == holds for m in self.measures
        )

    def _all(self, *kinds: str) -> list[Item]:
        return [item for item in self.items if item.kind in kinds]

    @property
    def _children(self) -> list[Item]:
        return self._all(*sorted(CHILDREN))

    # Each of these measures one kind of thing.

    def _liquids(self) -> list[Measure]:
        vessels = [item.points for item in self._all(*sorted(VESSELS))]
        out = []
        for item in self.items:
            corners = item.corners(Material.LIQUID)
            if not len(corners):
                continue
            middle = corners.mean(axis=1)
            area = 0.5 * np.linalg.norm(
                np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
            )
            for vessel in vessels:
                low, high = vessel.min(axis=0), vessel.max(axis=0)
                area[((middle > low) & (middle < high)).all(axis=1)] = 0.0
            x, z = middle[:, 0], middle[:, 2]
            on_top = (np.abs(z - COUNTER_TOP) < 0.01) & (x > COUNTER_FRONT - 0.005)
            on_floor = np.abs(z) < 0.01
            lying = float(area[on_top].sum()), float(area[on_floor].sum())
            # A hundredth of a square metre: a saucer.
            out.append(Measure("liquid outside a vessel", item.kind, sum(lying), 0.01, unit="m²"))
            out.append(Measure("liquid on the worktop", item.kind, lying[0], 0.01, unit="m²"))
            out.append(Measure("liquid on the floor", item.kind, lying[1], 0.01, unit="m²"))
        for item in self._all("glass_upright", "glass_tipped", "mug", "mug_tipped"):
            axis = long_axis(item.corners())
            if item.kind.startswith("glass"):
                tilt = float(np.degrees(np.arccos(min(1.0, abs(axis[2])))))
                out.append(Measure("lies on its side", item.kind, tilt, 45.0, unit="°"))
        return out

    def _outlets(self) -> list[Measure]:
        out = []
        for item in self._all(*sorted(OUTLETS)):
            # From the room towards the wall; the wall is where its own frame has x = 0.
            towards = -item.ahead
            across = np.array([-item.ahead[1], item.ahead[0], 0.0])
            corners = item.corners()
            y, z = (
                a.ravel() for a in np.meshgrid(np.linspace(-0.06, 0.06, 9),
                                               np.linspace(-0.055, 0.055, 9))
            )  # fmt: skip
            origin = item.to_room((0.0, 0.0, 0.0))
            start = origin + y[:, None] * across + z[:, None] * np.array([0.0, 0.0, 1.0])
            out_of_wall = 0.5 - first_hit(start - 0.5 * towards, towards, corners)
            share = float((out_of_wall > PLATE).mean())
            holes = item.anchors("hole")
            shield = 0.5 - first_hit(holes - 0.5 * towards, towards, corners)
            bare = float(shield.min())
            out.append(Measure("holes bare", item.kind, bare, SHIELD, above=False))
            out.append(Measure("opening bare", item.kind, share, COVERED, above=False, unit=""))
            # Open when either fails; the one that is nearer to failing decides.
            worst = min(share - COVERED, (bare - SHIELD) / 0.1)
            out.append(Measure("outlet open", item.kind, worst, 0.0, above=False, unit=""))
        return out

    def _knives(self) -> list[Measure]:
        out = []
        blocks = [item.points for item in self._all("knife_block")]
        for item in self._all("chef_knife"):
            points = item.points
            axis = long_axis(item.corners())
            along = points @ axis
            # The middle between the tip and the handle's end.
            middle = points.mean(axis=0) + axis * (0.5 * (along.min() + along.max()) - along.mean())
            past = float(COUNTER_FRONT - middle[0])
            out.append(Measure("middle past the edge", item.kind, past, 0.0))
            blade = item.of(Material.METAL)
            over = float(COUNTER_FRONT - blade[:, 0].min())
            out.append(Measure("blade over the edge", item.kind, over, 0.05))
            away = min((distance(points, block) for block in blocks), default=1.0)
            out.append(Measure("knife in the open", item.kind, away, 0.005))
        return out

    def _scissors(self) -> list[Measure]:
        out = []
        for item in self._all("scissors_open"):
            blades = sorted(pieces(item.corners(Material.METAL)), key=size)[-2:]
            first, second = (long_axis(blade) for blade in blades)
            cosine = min(1.0, abs(float(first @ second)))
            angle = float(np.degrees(np.arccos(cosine)))
            out.append(Measure("scissors open", item.kind, angle, APART, unit="°"))
        return out

    def _doors(self) -> list[Measure]:
        out = []
        for item in self._all(*sorted(DOORS)):
            sink = min(self.plan.of("sink"), key=lambda unit: abs(unit.middle - item.y))
            corners = item.corners()
            middle = corners.mean(axis=1)
            area = np.linalg.norm(
                np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
            )
            angles = []
            for hinge, inwards in ((sink.left, -1.0), (sink.right, 1.0)):
                leaf = (middle[:, 1] - sink.middle) * inwards < 0
                if not leaf.any():
                    continue
                x, y = np.average(middle[leaf][:, :2], axis=0, weights=area[leaf])
                angle = np.arctan2(CABINET_FRONT + 0.009 - x, (y - hinge) * inwards)
                angles.append(float(np.degrees(angle)))
            # Doors that are not there leave the cabinet open.
            angle = max(angles, default=180.0)
            out.append(Measure("doors open", item.kind, angle, SWUNG, unit="°"))
        return out

    def _pills(self) -> list[Measure]:
        out = []
        for item in self._all("pill_bottle"):
            corners = item.corners()
            bottle = max(pieces(corners), key=size)
            axis = long_axis(bottle)
            middle = 0.5 * (bottle.min(axis=(0, 1)) + bottle.max(axis=(0, 1)))
            along = (bottle.reshape(-1, 3) - middle) @ axis
            aside = np.cross(axis, [1.0, 0.0, 0.0] if abs(axis[0]) < 0.7 else [0.0, 1.0, 0.0])
            aside /= np.linalg.norm(aside)
            up = np.cross(axis, aside)
            ring = np.vstack([[0.0, 0.0], 0.008 * np.array([(1, 0), (-1, 0), (0, 1), (0, -1)])])
            depths = []
            for end in (along.min(), along.max()):
                inwards = -np.sign(end) * axis
                rim = middle + end * axis + ring @ np.stack([aside, up])
                # A cap that is on reaches little above the rim; pills may lie before it.
                depths.append(float((first_hit(rim - 0.02 * inwards, inwards, corners)).min()))
            depth = max(depths) - 0.02
            out.append(Measure("pill bottle open", item.kind, depth, MOUTH))
        return out

    def _towels(self) -> list[Measure]:
        flames = [item.of(Material.FLAME) for item in self._all("gas_flame")]
        out = []
        for item in self._all(*sorted(TOWELS)):
            near = min((distance(item.of(Material.CLOTH), flame) for flame in flames), default=9.0)
            out.append(Measure("cloth at a flame", item.kind, near, CLOSE, above=False))
        return out

    def _flames(self) -> list[Measure]:
        stove = self.plan.of("stove")[0].middle
        burners = np.array([(x, stove + y) for x, y in BURNERS])
        out = []
        for item in self.items:
            points = item.of(Material.FLAME)
            if len(points):
                aside = np.linalg.norm(points[:, None, :2] - burners[None], axis=2).min(axis=1)
                above = np.abs(points[:, 2] - COUNTER_TOP)
                out.append(Measure("flames outside the burners", item.kind,
                                   float(np.maximum(aside, above).max()), 0.11))  # fmt: skip
                out.append(Measure("burns on a burner", item.kind,
                                   float(np.maximum(aside, above).max()), 0.11,
                                   above=False))  # fmt: skip
        return out

    def _smoke(self) -> list[Measure]:
        out = []
        for item in self.items:
            points = item.of(Material.VAPOUR)
            if len(points):
                tall = float(np.ptp(points[:, 2]))
                out.append(Measure("smoke", item.kind, tall, COLUMN))
        return out

    def _steams(self, place: F64) -> bool:
        """Whether steam rises within 0.2 m of a place."""
        clouds = [item.of(Material.VAPOUR) for item in self.items]
        return any(len(c) and distance(c, place[None]) < 0.2 for c in clouds)

    def _bowls(self) -> list[Measure]:
        out = []
        for item in self._all("microwave_open"):
            bowl = item.anchors("bowl")[0]
            # From before the oven, a hand's breadth under the food, one sees the bowl or the door.
            eye = bowl + 0.6 * item.ahead - (0.0, 0.0, 0.03)
            clear = 0.6 - float(first_hit(eye[None], -item.ahead, item.corners())[0])
            out.append(Measure("oven open", item.kind, clear, 0.12, above=False))
            if clear > 0.12 or not self._steams(bowl):
                continue
            for child in self._children:
                near = distance(child.points, bowl[None])
                out.append(Measure("child at the hot bowl", child.kind, near, ARM, above=False))
        return out

    def _pans(self) -> list[Measure]:
        out = []
        handles = self._all("pan_handle")
        for item in self._all("pan"):
            own = [h.points for h in handles if distance(h.points, item.points) < 0.01]
            points = np.concatenate([item.points, *own])
            if not self._steams(item.points.mean(axis=0)):
                continue
            past = float(COUNTER_FRONT - points[:, 0].min())
            out.append(Measure("handle over the edge", item.kind, past, 0.02))
            for child in self._children:
                near = distance(child.points, points)
                out.append(Measure("child at the hot pan", child.kind, near, ARM, above=False))
        return out

    def _mugs(self) -> list[Measure]:
        out = []
        for item in self._all("mug"):
            points = item.points
            foot = points[points[:, 2] < points[:, 2].min() + 0.004]
            if self._steams(points.mean(axis=0)):
                inside = float(foot[:, 0].min() - COUNTER_FRONT)
                out.append(Measure("hot mug at the edge", item.kind, inside, EDGE, above=False))
        return out

    def _feet(self) -> list[Measure]:
        out = []
        for child in self._children:
            low = float(child.points[:, 2].min())
            out.append(Measure("child raised", child.kind, low, RAISED))
            out.append(Measure("stands on the floor", child.kind, abs(low), 0.01, above=False))
            feet = child.points[child.points[:, 2] < low + 0.02].mean(axis=0)[None]
            for chair in self._all("chair"):
                gap = float(first_hit(feet - 0.05 * DOWN, DOWN, chair.corners())[0]) - 0.05
                out.append(Measure("stands on a seat", child.kind, abs(gap), 0.04, above=False))
        return out

    def _hands(self) -> list[Measure]:
        out = []
        for child in self._children:
            inside = float(child.points[:, 0].max() - CABINET_FRONT)
            out.append(Measure("reaches into the cabinet", child.kind, inside, 0.02))
        for adult in self._all(*sorted(ADULTS)):
            for rack in self._all("extinguisher"):
                near = distance(adult.points, rack.points)
                out.append(Measure("reaches the extinguisher", adult.kind, near, 0.08,
                                   above=False))  # fmt: skip
        return out

    def _standing(self) -> list[Measure]:
        out = []
        stove = self.plan.of("stove")[0]
        for item in self._all("pan", "knife_block", "microwave_open", "mug", "glass_upright"):
            low, middle = float(item.points[:, 2].min()), item.points.mean(axis=0)
            on_top = abs(low - COUNTER_TOP) if middle[0] > COUNTER_FRONT else 1.0
            out.append(Measure("stands on the worktop", item.kind, on_top, 0.01, above=False))
            over = stove.right < middle[1] < stove.left
            on_stove = abs(low - GRATE_TOP) if over else 1.0
            out.append(Measure("stands on the stove", item.kind, on_stove, 0.01, above=False))
        return out

    def _loose(self) -> list[Measure]:
        standing = CHILDREN | ADULTS | DOORS | {"chair", "extinguisher"}
        out = []
        for item in self.items:
            solid = item.of(*(m for m in Material if m not in SOFT))
            if item.kind == "toddler_playing":
                toys = item.anchors("toys")[0]
                near = np.linalg.norm(solid[:, :2] - toys[:2], axis=1) < 0.2
                solid = solid[near & (solid[:, 2] < 0.2)]
            elif item.kind in standing:
                continue
            if not len(solid):
                continue
            before = solid[:, 0].mean() < CABINET_FRONT
            if before and solid[:, 2].min() < FLOOR and solid[:, 2].max() < LOW:
                extent = float(np.ptp(solid[:, :2], axis=0).max())
                out.append(Measure("loose on the floor", item.kind, extent, 0.10))
        return out

    def _shards(self) -> list[Measure]:
        out = []
        for item in self.items:
            glass = item.corners(Material.CLEAR, Material.GLASS)
            if len(glass) and glass[..., 2].min() < FLOOR and item.kind not in DOORS:
                lying = sum(piece[..., 2].min() < FLOOR for piece in pieces(glass))
                out.append(Measure("shards on the floor", item.kind, lying, SHARDS, unit="pieces"))
                for child in self._children:
                    near = distance(child.points, item.points)
                    out.append(Measure("near the shards", child.kind, near, NEAR, above=False))
        return out
