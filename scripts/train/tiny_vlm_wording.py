"""Questions about a driving picture: the real one, in other words too, and true/false statements.

Statements are read off the scene: they teach the network what things look like and that the words
of a question matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vlmfail.core import Question
from vlmfail.envs.driving.catalogue import Catalogue
from vlmfail.envs.driving.domain import LAMP_PIXELS, OBJECT_PIXELS
from vlmfail.envs.driving.truth import stopping_distance

ACTIONS = {
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
}

ASKS = (
    "What should the driver do now?",
    "You drive the car with this front camera. What do you do?",
    "Which action is right in this scene?",
    "Choose the best action of the car.",
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

YES = (
    "There is {} in the picture.",
    "Is there {} in the picture?",
    "{} is visible.",
    "{} is ahead of the car.",
    "{} is directly ahead of ego.",
)
NO = ("There is no {} in the picture.", "No {} is visible.", "No {} is directly ahead of ego.")
ANSWERS = (("True", "False"), ("Yes", "No"), ("true: it is so", "false: it is not so"))


@dataclass(frozen=True)
class Asked:
    """A question put to the network: its text, its options and which of them are right."""

    question: str
    options: tuple[str, ...]
    right: tuple[bool, ...]


def action_question(record: Mapping[str, Any], real: Question, rng: np.random.Generator) -> Asked:
    """Return the real question most of the time, else other words for question and actions."""
    right = tuple(option.id in record["accepted"] for option in real.options)
    question, options = real.text, tuple(option.text for option in real.options)
    if rng.random() < 0.25:
        question = ASKS[int(rng.integers(len(ASKS)))]
    if rng.random() < 0.25:
        options = tuple(
            ACTIONS[option.id][int(rng.integers(len(ACTIONS[option.id])))]
            for option in real.options
        )
    return Asked(question, options, right)


def statements(record: Mapping[str, Any], catalogue: Catalogue) -> list[tuple[str, bool, bool]]:
    """Return (statement, whether it holds, whether it is a thing's bare name) about a scene.

    Things that stand in the scene but are hidden are neither stated nor denied.
    """
    seen: dict[str, bool] = {}
    descriptions: list[tuple[str, bool, bool]] = []
    for concept in catalogue.concepts:
        if concept.role in ("obstacle", "movable", "light"):
            kind = str(concept.kind).removeprefix("traffic_")
            pixels = record["visible"].get(concept.id, 0)
            present = concept.id in record["objects"] or concept.id in record["visible"]
            enough = LAMP_PIXELS if concept.role == "light" else OBJECT_PIXELS
            if present and pixels < enough:
                seen[kind] = seen.get(kind, False)
                seen[f"hidden {kind}"] = True
                continue
            seen[kind] = seen.get(kind, False) or present
            if concept.role != "movable":
                descriptions.append((concept.description, present, False))
        elif concept.role == "weather" and record["weather"] is not None:
            descriptions.append((concept.description, record["weather"] == concept.id, False))
    seen["intersection"] = bool(record["junction"])
    things = [
        (THINGS[kind], present, True)
        for kind, present in seen.items()
        if kind in THINGS and (present or f"hidden {kind}" not in seen)
    ]
    nearest = record["in_lane"][0][0] if record["in_lane"] else None
    half = stopping_distance("slow_down")
    lane = [
        ("Something stands or lies in the lane.", nearest is not None, False),
        ("The lane ahead is free.", nearest is None, False),
        (
            f"Something in the lane is nearer than {half:.1f} m.",
            nearest is not None and nearest < half,
            False,
        ),
        ("Something stands on the sidewalk.", bool(record["sidewalk"]), False),
    ]
    return things + descriptions + lane


def statement_question(
    record: Mapping[str, Any], catalogue: Catalogue, rng: np.random.Generator
) -> Asked:
    """Return one statement with the options true and false; both are about equally often right."""
    known = statements(record, catalogue)
    wanted = rng.random() < 0.5
    fitting = [item for item in known if item[1] == wanted] or known
    text, holds, is_thing = fitting[int(rng.integers(len(fitting)))]
    if is_thing:
        if rng.random() < 0.3:
            text, holds = NO[int(rng.integers(len(NO)))].format(text), not holds
        else:
            article = "an" if text[0] in "aei" else "a"
            text = YES[int(rng.integers(len(YES)))].format(f"{article} {text}")
    yes, no = ANSWERS[int(rng.integers(len(ANSWERS)))]
    return Asked(text, (yes, no), (holds, not holds))
