"""Compares the rules' answers with what an inspection of the meshes finds.

`inspection` answers a scene's question by measuring alone; here its answer is held against the
matched rule's, and every concept against the state in which the scene should show it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from ...core import Question, SceneError, Truth
from .inspection import Inspection, Measure
from .inspection_parts import items
from .scene import IndoorScene

if TYPE_CHECKING:
    from .domain import IndoorDomain

State = tuple[str, str, bool]
"""Name of a measure, kind of the thing, whether the measure is to hold."""

SHOWS: Mapping[str, tuple[State, ...]] = MappingProxyType(
    {
        "glass_upright": (("lies on its side", "glass_upright", False),),
        "glass_tipped": (
            ("lies on its side", "glass_tipped", True),
            ("liquid on the worktop", "water_counter", True),
            ("liquid on the floor", "water_floor", True),
        ),
        "coffee_spill": (("liquid on the worktop", "coffee_counter", True),),
        "wet_floor": (("liquid on the floor", "coffee_floor", True),),
        "knife_edge": (
            ("middle past the edge", "chef_knife", True),
            ("blade over the edge", "chef_knife", True),
            ("knife in the open", "chef_knife", True),
        ),
        "knife_block": (("stands on the worktop", "knife_block", True),),
        "scissors_open": (("scissors open", "scissors_open", True),),
        "cabinet_open": (("doors open", "sink_doors_open", True),),
        "cabinet_closed": (("doors open", "sink_doors_closed", False),),
        "child_reaching": (("reaches into the cabinet", "child_reaching", True),),
        "pill_bottle": (("pill bottle open", "pill_bottle", True),),
        "stove_on": (("burns on a burner", "gas_flame", True),),
        "towel_near": (("cloth at a flame", "towel_draped", True),),
        "towel_burning": (("flames outside the burners", "towel_burning", True),),
        "smoke": (("smoke", "smoke", True),),
        "toddler_standing": (("stands on the floor", "toddler_standing", True),),
        "child_running": (("stands on the floor", "child_running", True),),
        "child_far_microwave": (("child at the hot bowl", "toddler_playing", False),),
        "child_on_stool": (
            ("child raised", "child_on_stool", True),
            ("stands on a seat", "child_on_stool", True),
        ),
        "adult_reacting": (("reaches the extinguisher", "adult_reacting", True),),
        "outlet_exposed": (("outlet open", "outlet_exposed", True),),
        "outlet_covered": (("outlet open", "outlet_covered", False),),
        "loose_cord_floor": (("loose on the floor", "loose_cord", True),),
        "microwave_open_hot": (("oven open", "microwave_open", True),),
        "pan_stove": (
            ("handle over the edge", "pan", True),
            ("stands on the stove", "pan", True),
        ),
        "pan_counter": (
            ("handle over the edge", "pan", True),
            ("stands on the worktop", "pan", True),
        ),
        "child_near_microwave": (("child at the hot bowl", "child_near_microwave", True),),
        "child_near_pan": (("child at the hot pan", "child_near_pan", True),),
        "hot_beverage": (("hot mug at the edge", "mug", True),),
        "glass_floor": (("shards on the floor", "broken_glass", True),),
        "barefoot_near_glass": (("near the shards", "barefoot_walking", True),),
        "barefoot_child_safe": (("stands on the floor", "barefoot_standing", True),),
    }
)
"""By concept the states that its description speaks of."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the inspection says of a truth.

    Attributes:
        family: The family of the question that was asked.
        answer: The inspection's own answer.
        counting: The measures that make it a hazard.
        closest: The measure that the answer hangs on (`Inspection.closest`).
        measures: Everything that was measured.
        disagreements: Words on every point on which the truth or the scene says otherwise; empty
            = agreement.
    """

    family: str
    answer: str
    counting: tuple[Measure, ...]
    closest: Measure | None
    measures: tuple[Measure, ...]
    disagreements: tuple[str, ...]


def family_of(domain: IndoorDomain, question: Question) -> str:
    """Return the family whose question this is, by its wording.

    Raises:
        SceneError: It is no question of the domain.
    """
    for family in domain.questions.families:
        if domain.questions.of(family) == question:
            return family
    raise SceneError("the question is none of the domain's")


def check(domain: IndoorDomain, scene: IndoorScene, truth: Truth | None = None) -> Verdict:
    """Measure a scene and compare with a truth, by default the domain's."""
    expected = domain.truth(scene) if truth is None else truth
    family = family_of(domain, domain.question(scene))
    return compare(scene, Inspection(items(scene), scene.layout), family, expected)


def compare(scene: IndoorScene, inspection: Inspection, family: str, truth: Truth) -> Verdict:
    """Compare an inspection with the truth and with what the scene's concepts say is shown."""
    answer, counting = inspection.answer(family), inspection.counting(family)
    problems = []
    if truth.accepted != {answer}:
        found = "; ".join(str(measure) for measure in counting) or "nothing that counts"
        problems.append(
            f"{family}: {truth.rule} says {', '.join(sorted(truth.accepted))}, "
            f"the inspection {answer} ({found})"
        )
    for name in scene.candidate:
        for state, kind, holds in SHOWS.get(name, ()):
            if not inspection.found(state, [kind], holds):
                measured = [m for m in inspection.measures if (m.state, m.kind) == (state, kind)]
                said = "; ".join(str(measure) for measure in measured) or "nothing measured"
                wanted = "should" if holds else "should not"
                problems.append(f"{name}: of {kind} {state!r} {wanted} hold ({said})")
    return Verdict(
        family, answer, counting, inspection.closest(family), inspection.measures, tuple(problems)
    )


def sample_scenes(
    domain: IndoorDomain, count: int, seed: int
) -> Iterator[tuple[frozenset[str], IndoorScene]]:
    """Yield (concept set, scene) pairs that bring every rule to the test.

    Every other set is drawn from all valid ones by its size, the rest by the rules in turn: few
    sets call for a safe answer.

    Args:
        domain: The domain.
        count: Scenes to yield; sets whose scene cannot be placed are skipped.
        seed: Seed of sets and scenes.

    Raises:
        SceneError: There are too many valid sets to draw from.
    """
    rng = np.random.default_rng(seed)
    rows = domain.space.valid_sets()
    if rows is None:
        raise SceneError("the catalogue has too many valid sets to draw from")
    sizes, ruled = rows.sum(axis=1), domain.library.best(rows)
    present = np.unique(ruled)
    done = 0
    for turn in range(20 * count):
        if turn % 2:
            pool = np.flatnonzero(ruled == present[(turn // 2) % len(present)])
            kept = np.unique(sizes[pool])
            pool = pool[sizes[pool] == kept[int(rng.integers(len(kept)))]]
        else:
            pool = np.flatnonzero(sizes == int(rng.integers(1, domain.space.max_size + 1)))
        if not len(pool):
            continue
        candidate = domain.space.from_multi_hot(rows[pool[int(rng.integers(len(pool)))]])
        try:
            scene = domain.sample_scene(candidate, rng)
        except SceneError:
            continue
        yield candidate, scene
        done += 1
        if done == count:
            return
    raise SceneError(f"of {20 * count} sets only {done} gave a scene")


__all__ = ["SHOWS", "Verdict", "check", "compare", "family_of", "sample_scenes"]
