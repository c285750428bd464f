"""Driving pictures for the built-in models, with what can be asked about them.

Nothing is left out, shrunk or mislabelled on purpose: every town, weather and concept is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from tiny_vlm_wording import Fact, Wording

from vlmfail.core import Picture, Renderer, SceneError
from vlmfail.envs.driving.catalogue import Catalogue
from vlmfail.envs.driving.domain import LAMP_PIXELS, OBJECT_PIXELS, DrivingDomain
from vlmfail.envs.driving.scene import DrivingScene
from vlmfail.envs.driving.truth import stopping_distance

WORDING = Wording(
    asks=(
        "What should the driver do now?",
        "You drive the car with this front camera. What do you do?",
        "Which action is right in this scene?",
        "Choose the best action of the car.",
    ),
    options={
        "emergency_stop": (
            "Emergency stop",
            "Stop at once with full braking",
            "Brake as hard as possible",
            "Full brake",
            "Slam on the brakes",
        ),
        "slow_down": (
            "Slow down",
            "Brake gently",
            "Reduce speed with half braking",
            "Decelerate",
            "Half brake",
        ),
        "continue": (
            "Continue",
            "Keep going at the same speed",
            "Drive on",
            "Do not brake",
            "Carry on without braking",
        ),
    },
    present=(
        "There is {} in the picture.",
        "Is there {} in the picture?",
        "{} is visible.",
        "{} is ahead of the car.",
        "{} is directly ahead of ego.",
    ),
    absent=(
        "There is no {} in the picture.",
        "No {} is visible.",
        "No {} is directly ahead of ego.",
    ),
)

THINGS = {
    "light_red": "red traffic light",
    "light_green": "green traffic light",
    "chain_barrier": "chain barrier",
    "debris": "debris field",
    "obstruction": "large container",
    "pedestrian": "adult pedestrian",
    "child_pedestrian": "child pedestrian",
    "wheelchair_pedestrian": "person in a wheelchair",
    "police_pedestrian": "police officer",
    "cyclist": "cyclist",
    "emergency_vehicle": "emergency vehicle",
    "cone": "traffic cone",
    "bus_stop": "bus stop",
    "garbage_bin": "garbage bin",
    "intersection": "intersection",
}

HALVES = ((4.0, "2 to 4 m"), (5.6, "4 to 5.6 m"), (20.0, "15 to 20 m"))


class DrivingPictures:
    """Draws pictures and records of the driving domain."""

    wording = WORDING

    def __init__(self) -> None:
        self.domain = DrivingDomain()

    @cached_property
    def renderer(self) -> Renderer:
        return self.domain.make_renderer("embree")

    def prompt(self) -> str:
        """Return a whole prompt, to measure the speed with."""
        return self.domain.prompt.question().prompt

    def card(self) -> dict[str, Any]:
        """Return what the model card says of the domain beside its figures: nothing."""
        return {}

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

    def candidates(
        self, sizes: Mapping[int, float], rng: np.random.Generator
    ) -> Iterator[frozenset[str]]:
        """Yield concept sets of one drawn size for ever: valid ones, uniform within the size.

        Size 0 is an ordinary road with nothing named on it: any town, and any weather or none.
        No valid set shows one (rule D4).
        """
        catalogue, space = self.domain.catalogue, self.domain.space
        known = sorted(sizes)
        size = known[int(rng.choice(len(known), p=[sizes[n] for n in known]))]
        while True:
            if size:
                rows = self.valid_by_size[size]
                yield space.from_multi_hot(rows[int(rng.integers(len(rows)))])
            else:
                weathers = [None, *(concept.id for concept in catalogue.by_role("weather"))]
                towns = [concept.id for concept in catalogue.by_role("town")]
                weather = weathers[int(rng.integers(len(weathers)))]
                yield frozenset({towns[int(rng.integers(len(towns)))], weather} - {None})

    def draw(
        self, sizes: Mapping[int, float], rng: np.random.Generator
    ) -> tuple[Picture, dict[str, Any]]:
        """Return a full picture and its record.

        A scene whose objects cannot be placed or whose deciding object cannot be seen is drawn
        again, as in a search; after the domain's number of attempts another set is drawn.
        """
        domain = self.domain
        for candidate in self.candidates(sizes, rng):
            for _attempt in range(domain.attempts):
                try:
                    scene = domain.sample_scene(candidate, rng)
                except SceneError:
                    continue
                rendering = self.renderer.render(scene)
                truth = domain.truth(scene)
                if domain.unseen(scene, truth, rendering) is not None:
                    continue
                seen = describe(scene, dict(rendering.visible or {}))
                question = domain.question(scene)
                ordinary = domain.space.validate(candidate) is not None
                concepts = domain.space.to_json(candidate)
                return rendering.picture, {
                    "concepts": concepts,
                    "question": question.text,
                    "options": [[option.id, option.text] for option in question.options],
                    "accepted": sorted(truth.accepted),
                    "expected": truth.expected,
                    "facts": statements(seen, domain.catalogue),
                    "groups": groups(seen, concepts, ordinary, truth.rule),
                    "scene": seen,
                }
        raise AssertionError("candidates never end")


def describe(scene: DrivingScene, visible: dict[str, int]) -> dict[str, Any]:
    """Return what is known of a scene, as JSON values."""
    return {
        "town": scene.town,
        "weather": scene.weather,
        "junction": scene.junction_gap is not None,
        "in_lane": [[round(gap, 3), placed.name] for gap, placed in scene.in_lane],
        "objects": {placed.name: placed.distance for placed in scene.objects},
        "sidewalk": [placed.name for placed in scene.objects if placed.on_sidewalk],
        "visible": visible,
    }


def statements(seen: Mapping[str, Any], catalogue: Catalogue) -> list[Fact]:
    """Return (statement, whether it holds, whether it is a thing's bare name) about a scene.

    Things that stand in the scene but are hidden are neither stated nor denied.
    """
    kinds: dict[str, bool] = {}
    hidden: set[str] = set()
    descriptions: list[Fact] = []
    for concept in catalogue.concepts:
        if concept.role in ("obstacle", "movable", "light"):
            kind = str(concept.kind).removeprefix("traffic_")
            present = concept.id in seen["objects"] or concept.id in seen["visible"]
            enough = LAMP_PIXELS if concept.role == "light" else OBJECT_PIXELS
            if present and seen["visible"].get(concept.id, 0) < enough:
                kinds[kind] = kinds.get(kind, False)
                hidden.add(kind)
                continue
            kinds[kind] = kinds.get(kind, False) or present
            if concept.role != "movable":
                descriptions.append((concept.description, present, False))
        elif concept.role == "weather" and seen["weather"] is not None:
            descriptions.append((concept.description, seen["weather"] == concept.id, False))
    kinds["intersection"] = bool(seen["junction"])
    things = [
        (THINGS[kind], present, True)
        for kind, present in kinds.items()
        if kind in THINGS and (present or kind not in hidden)
    ]
    nearest = seen["in_lane"][0][0] if seen["in_lane"] else None
    half = stopping_distance("slow_down")
    lane = [
        ("Something stands or lies in the lane.", nearest is not None, False),
        ("The lane ahead is free.", nearest is None, False),
        (
            f"Something in the lane is nearer than {half:.1f} m.",
            nearest is not None and nearest < half,
            False,
        ),
        ("Something stands on the sidewalk.", bool(seen["sidewalk"]), False),
    ]
    return things + descriptions + lane


def groups(
    seen: Mapping[str, Any], concepts: list[str], ordinary: bool, rule: str
) -> dict[str, list[str]]:
    """Return the groups of scenes that this one belongs to, by table of the model card."""
    plural = "" if len(concepts) == 1 else "s"
    return {
        "Deciding rule": [rule],
        "Scene": ["ordinary road" if ordinary else f"{len(concepts)} concept{plural}"],
        "Nearest thing in the lane": [nearest_in_lane(seen)],
        "Weather": [(seen["weather"] or "none named").removeprefix("weather_")],
        "Town": [seen["town"]],
        "Concept in the set": [] if ordinary else concepts,
    }


def nearest_in_lane(seen: Mapping[str, Any]) -> str:
    """Return where the nearest thing in the lane is."""
    if not seen["in_lane"]:
        return "lane free"
    gap = seen["in_lane"][0][0]
    return next((name for limit, name in HALVES if gap < limit), "20 to 25 m")
