"""Kitchen pictures for the built-in models, with what can be asked about them.

Each picture is asked the question of its own rule and those of the other hazard families whose
answer is known: hazard where a hazard rule of the family matches and its things are seen, safe
where nothing is there that a safe rule of the family forbids. Nothing is left out, shrunk or
mislabelled on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from tiny_vlm_wording import Fact, Wording

from vlmfail.core import Picture, Renderer, Rendering, SceneError
from vlmfail.envs.indoor.domain import (
    OBJECT_PIXELS,
    THIN_PIXELS,
    IndoorDomain,
    pixels_needed,
)
from vlmfail.envs.indoor.scene import IndoorScene

WORDING = Wording(
    asks=(),
    options={
        "hazard": (
            "Yes",
            "Yes, there is such a hazard",
            "Yes, it is dangerous",
            "There is a danger",
            "A risk of this kind is there",
        ),
        "safe": (
            "No",
            "No, there is no such hazard",
            "No, it is safe",
            "There is no danger",
            "Nothing of this kind is there",
        ),
    },
    present=(),
    absent=(),
    expected="Right answer",
)

ASKS: Mapping[str, tuple[str, ...]] = {
    "spill": ("Is any liquid spilling?", "Is there spilt liquid on the worktop or the floor?"),
    "shock": ("Is there a shock risk?", "Does an outlet lack its cover plate?"),
    "cut": ("Is there a cut risk?", "Does a knife or a pair of open scissors lie about?"),
    "poisoning": (
        "Is there a poisoning risk?",
        "Can a child get at cleaning products or medicine?",
    ),
    "fire": ("Is there a fire risk?", "Does something burn, or is cloth close to the flame?"),
    "burn": ("Is there a burn risk?", "Can somebody be burnt by something hot?"),
    "fall": ("Is there a fall risk?", "Does a child stand on furniture?"),
    "trip": ("Is there a trip hazard?", "Does something lie on the floor to trip over?"),
    "broken_glass": ("Is there broken glass?", "Can somebody step on broken glass?"),
}
"""Other words for the question of each family."""


class IndoorPictures:
    """Draws pictures and records of the indoor domain."""

    wording = WORDING

    def __init__(self) -> None:
        self.domain = IndoorDomain(recognition=True)
        library = self.domain.library.rules
        self._hazards = {
            family: [r for r in library if r.family == family and r.accepted == "hazard"]
            for family in self.domain.rules.families
        }
        self._forbidden = {
            family: frozenset[str]().union(
                *(r.forbids for r in library if r.family == family and r.accepted == "safe"),
            )
            for family in self.domain.rules.families
        }

    @cached_property
    def renderer(self) -> Renderer:
        return self.domain.make_renderer("embree")

    def prompt(self) -> str:
        """Return a whole prompt, to measure the speed with."""
        return self.domain.questions.of(self.domain.rules.families[0]).prompt

    def card(self) -> dict[str, Any]:
        """Return what the model card says of the domain, as JSON values."""
        rules = {rule.id: rule.text for rule in self.domain.library.rules}
        return {"pixels": {"thing": OBJECT_PIXELS, "thin": THIN_PIXELS}, "rules": rules}

    def identity(self) -> dict[str, Any]:
        """Return which data the pictures come from."""
        return dict(self.domain.identity())

    @cached_property
    def valid_by_size(self) -> dict[int, np.ndarray]:
        """Valid sets as multi-hot rows, by number of concepts."""
        rows = self.domain.space.valid_sets()
        if rows is None:
            raise SystemExit("there are too many valid sets to draw from")
        sizes = rows.sum(axis=1)
        return {int(size): rows[sizes == size] for size in np.unique(sizes)}

    @cached_property
    def rows_by_rule(self) -> dict[int, list[list[np.ndarray]]]:
        """Valid sets by number of concepts, kind of question and rule."""
        rules = self.domain.library.rules
        out = {}
        for size, rows in self.valid_by_size.items():
            best = self.domain.library.best(rows)
            kinds: dict[tuple[str, str], list[np.ndarray]] = {}
            for number in np.unique(best):
                rule = rules[number]
                kinds.setdefault((rule.family, rule.accepted), []).append(rows[best == number])
            out[size] = [kinds[key] for key in sorted(kinds)]
        return out

    def candidates(
        self, sizes: Mapping[int, float], rng: np.random.Generator, even: bool = False
    ) -> Iterator[frozenset[str]]:
        """Yield concept sets of one drawn size for ever: valid ones, uniform within the size, or
        as `even` of a set of pictures says.

        Size 0 is an ordinary kitchen with nothing named in it; no valid set shows one.
        """
        known = sorted(sizes)
        size = known[int(rng.choice(len(known), p=[sizes[n] for n in known]))]
        while True:
            if size:
                rows = self.valid_by_size[size]
                if even:
                    kinds = self.rows_by_rule[size]
                    rules = kinds[int(rng.integers(len(kinds)))]
                    rows = rules[int(rng.integers(len(rules)))]
                yield self.domain.space.from_multi_hot(rows[int(rng.integers(len(rows)))])
            else:
                yield frozenset()

    def draw(
        self, sizes: Mapping[int, float], rng: np.random.Generator, even: bool = False
    ) -> tuple[Picture, dict[str, Any]]:
        """Return a full picture and its record.

        A scene whose things find no place or whose deciding thing cannot be seen is drawn again,
        as in a search; after the domain's number of attempts another set is drawn.
        """
        domain = self.domain
        for candidate in self.candidates(sizes, rng, even):
            for _attempt in range(domain.attempts):
                try:
                    scene = domain.sample_scene(candidate, rng)
                except SceneError:
                    continue
                rendering = self.renderer.render(scene)
                if scene.match is not None:
                    truth = domain.truth(scene)
                    if domain.unseen(scene, truth, rendering) is not None:
                        continue
                return rendering.picture, self.record(scene, rendering, rng)
        raise AssertionError("candidates never end")

    def record(
        self, scene: IndoorScene, rendering: Rendering, rng: np.random.Generator
    ) -> dict[str, Any]:
        """Return what is known of a picture; its first question is the one a search would ask."""
        visible = dict(rendering.visible or {})
        small = {name for name, shown in visible.items() if shown < pixels_needed(name)}
        # A thing whose part is too small (a pan's handle) is not seen for what it is.
        unseen = {name.partition(":")[0] for name in small}
        seen = {name for name in scene.names if name in visible} - unseen
        known = self.answers(set(scene.candidate), seen)
        if scene.match is None:
            # An ordinary kitchen has no question of its own: one is drawn.
            family = sorted(known)[int(rng.integers(len(known)))]
            rule = "none"
        else:
            family, rule = scene.match.rule.family, scene.match.rule.id
            known[family] = scene.match.rule.accepted
        own = self.asked(family, known[family])
        concepts = list(scene.candidate)
        return {
            "concepts": concepts,
            **own,
            "others": [self.asked(f, known[f]) for f in sorted(known) if f != family],
            "facts": self.statements(scene, seen),
            "groups": groups(scene, concepts, family, rule, own["expected"]),
            "scene": {"layout": scene.layout.key, "palette": scene.palette, "visible": visible},
        }

    def answers(self, present: set[str], seen: set[str]) -> dict[str, str]:
        """Return the right answer of every family whose answer the picture shows."""
        known = {}
        for family, rules in self._hazards.items():
            matching = [
                rule
                for rule in rules
                if all(present & set(group) for group in rule.requires)
                and not present & set(rule.forbids)
            ]
            if any(all(seen & set(g) for g in rule.deciding) for rule in matching):
                known[family] = "hazard"
            elif not matching and not present & self._forbidden[family]:
                known[family] = "safe"
        return known

    def asked(self, family: str, answer: str) -> dict[str, Any]:
        """Return a family's question with its right answer, as JSON values."""
        question = self.domain.questions.of(family)
        return {
            "family": family,
            "question": question.text,
            "asks": list(ASKS[family]),
            "options": [[option.id, option.text] for option in question.options],
            "accepted": [answer],
            "expected": answer,
        }

    def statements(self, scene: IndoorScene, seen: set[str]) -> list[Fact]:
        """Return (statement, whether it holds, False) about a scene.

        Things that are there but hidden are neither stated nor denied; nor is what the sentence of
        an absent concept would deny of a thing that is there (two kinds of puddle, two pans).
        """
        sheet = self.domain.recognition
        assert sheet is not None
        present = set(scene.candidate)
        facts: list[Fact] = []
        for name in self.domain.catalogue.ids:
            if name in self.domain.catalogue.implied or (name in present and name not in seen):
                continue
            if name == "cabinet_closed" and name not in present:
                continue  # doors that nobody names are closed, too
            if name not in present and present & ALIKE.get(name, frozenset()):
                continue
            for statement in sheet.of([name]).statements:
                facts.append((statement.text, statement.holds == (name in present), False))
        return facts


ALIKE: Mapping[str, frozenset[str]] = {
    "wet_floor": frozenset({"glass_tipped", "coffee_spill"}),
    "coffee_spill": frozenset({"wet_floor"}),
    "barefoot_child_safe": frozenset({"toddler_standing", "barefoot_near_glass"}),
    "toddler_standing": frozenset({"barefoot_child_safe"}),
    "smoke": frozenset({"towel_burning", "pan_stove", "pan_counter", "hot_beverage"}),
    "towel_near": frozenset({"towel_burning"}),
    "child_near_microwave": frozenset({"child_near_pan"}),
    "child_near_pan": frozenset({"child_near_microwave"}),
}
"""Concepts beside which another one is not denied: a person might well see it in them."""


def groups(
    scene: IndoorScene, concepts: list[str], family: str, rule: str, expected: str
) -> dict[str, list[str]]:
    """Return the groups of scenes that this one belongs to, by table of the model card."""
    ordinary = scene.match is None
    plural = "" if len(concepts) == 1 else "s"
    return {
        "Hazard family": [family],
        "Family and right answer": [f"{family}, {expected}"],
        "Deciding rule": [rule],
        "Scene": ["ordinary kitchen" if ordinary else f"{len(concepts)} concept{plural}"],
        "Concept in the set": concepts,
    }
