"""What is asked about driving pictures: the thing on the road, the weather, the town."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from naming_tables import Item, KeyRow
from shown_trials import pixels_of

from vlmfail.core import UsageError
from vlmfail.envs.driving.catalogue import Catalogue, Concept
from vlmfail.envs.driving.domain import LAMP_PIXELS, OBJECT_PIXELS, DrivingDomain
from vlmfail.envs.trials import PreparedTrial

QUESTIONS = {
    "object": "What is the main thing on the road ahead?",
    "weather": "What is the weather like?",
    "town": "Which of the two towns is it?",
}
NAMED_WEATHER = 1 / 3
"""Share of the pictures of objects and towns that have a weather of the catalogue; the others show
unnamed daylight.
"""
TRIES = 20


def name_of(concept: Concept) -> str:
    """Return the name that a reader gives: how far away an obstacle stands is not asked."""
    return concept.kind if concept.role == "obstacle" and concept.kind else concept.id


def question_of(concept: Concept) -> str | None:
    """Return which question a concept answers, None for one that shows nothing of its own."""
    if concept.role == "modifier":
        return None
    return concept.role if concept.role in ("weather", "town") else "object"


def choices(catalogue: Catalogue) -> dict[str, dict[str, str]]:
    """Return, for each question, the names to choose from and what they mean."""
    out: dict[str, dict[str, str]] = {question: {} for question in QUESTIONS}
    for concept in catalogue.concepts:
        question = question_of(concept)
        if question:
            out[question].setdefault(name_of(concept), plain(concept.description))
    return out


def plain(description: str) -> str:
    """Return a description without distances and without what the scene has to do with it."""
    text = re.sub(r"\s*\([^)]*\d m[^)]*\)|\s*\d+–\d+ m", "", description)
    text = re.sub(r"( directly)? ahead of ego\b", "", text)
    text = re.sub(r"^Place ego approaching an", "The street runs up to an", text)
    return re.sub(r"^Render the scene in (.*) \((.*)\)\.$", r"\1: \2.", text)


def items(
    catalogue: Catalogue, count: int, rng: np.random.Generator, only: Iterable[str] = ()
) -> list[Item]:
    """Return the pictures to draw, `count` of each name and each range."""
    weathers = [concept.id for concept in catalogue.by_role("weather")]
    wanted = set(only)
    known = [name for names in choices(catalogue).values() for name in names]
    for name in sorted(wanted - set(known)):
        raise UsageError(f"--only: there is no {name}; there are: {', '.join(known)}")
    out = []
    for concept in catalogue.concepts:
        question, name = question_of(concept), name_of(concept)
        if question is None or (wanted and name not in wanted):
            continue
        for group, modifiers in _views(concept, count):
            drawn = str(rng.choice(weathers)) if rng.random() < NAMED_WEATHER else None
            sky = (drawn,) if drawn and question != "weather" else ()
            shown = (concept.id, *modifiers, *sky)
            out.append(Item(question, name, group, shown, concept.id))
    return out


def _views(concept: Concept, count: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the group and the modifiers of each picture of a concept."""
    for k in range(count):
        if concept.role == "movable":
            yield "near", ("near",) if k % 2 == 0 else ()
            yield "far", ("far",)
        elif concept.role == "obstacle":
            yield ("far" if concept.distance == "far" else "near"), ()
        elif concept.role in ("light", "intersection"):
            yield "junction", ()
        else:
            yield concept.role, ()


def instructions(catalogue: Catalogue, rows: Sequence[KeyRow]) -> str:
    """Return what the reader is told."""
    lines = [
        "# What do you see?",
        "",
        "Each picture is what a camera behind a car's windscreen sees. Look at `001.png`, "
        "`002.png`, … one at a time (the sheets show the same pictures, same size, with their "
        "numbers), and write one name of the right list into the column `answer` of `answers.csv`. "
        "Answer every picture; guess when you are not sure. Each name may occur any number of "
        "times. Houses, trees, parked cars and street furniture beyond the kerb are scenery.",
    ]
    for question, names in choices(catalogue).items():
        numbers = [row.number for row in rows if row.question == question]
        if not numbers:
            continue
        lines += ["", f"## Pictures {numbers[0]} to {numbers[-1]}: {question}", ""]
        lines.append(f"{QUESTIONS[question]} Choose one:")
        if question == "object":
            lines.append(
                "(If a thing of the list stands there, or a traffic light is lit, name that; "
                "`intersection_ego` is for an intersection with nothing else.)"
            )
        lines += ["", *(f"- `{name}`: {text}" for name, text in names.items())]
    return "\n".join(lines) + "\n"


class DrivingNaming:
    """The naming test of the driving domain."""

    row = KeyRow
    tries = TRIES
    questions = tuple(QUESTIONS)

    def __init__(self) -> None:
        self.domain = DrivingDomain()
        self.catalogue = self.domain.catalogue
        self.choices = choices(self.catalogue)
        self.aliases = {concept.id: name_of(concept) for concept in self.catalogue.concepts}

    def items(self, count: int, rng: np.random.Generator, only: Iterable[str] = ()) -> list[Item]:
        """Return the pictures to draw."""
        return items(self.catalogue, count, rng, only)

    def needed(self, name: str) -> int:
        """Return how many pixels of a concept must be seen."""
        lamp = name in {concept.id for concept in self.catalogue.by_role("light")}
        return LAMP_PIXELS if lamp else OBJECT_PIXELS

    def key_row(self, number: int, item: Item, prepared: PreparedTrial, seed: int) -> KeyRow:
        """Return a line of the key."""
        return KeyRow(
            number,
            item.question,
            item.truth,
            item.group,
            prepared.scene["weather"] or "daylight",
            prepared.scene["town"],
            self.domain.space.key(frozenset(item.concepts)),
            seed,
            prepared.index,
            pixels_of(prepared, item.named) or 0,
        )

    def form(self, rows: Sequence[KeyRow]) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """Return the head and the lines of the form to fill in."""
        return ("number", "question", "answer"), [(row.number, row.question, "") for row in rows]

    def instructions(self, rows: Sequence[KeyRow]) -> str:
        """Return what the reader is told."""
        return instructions(self.catalogue, rows)
