"""What is asked about kitchen pictures: the one thing besides those that the reader is told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from string import ascii_uppercase
from typing import Any

import numpy as np
from naming_tables import IndoorKeyRow, Item
from partners import Partners
from shown_trials import pixels_of

from vlmfail.core import UsageError
from vlmfail.envs.indoor.domain import IndoorDomain, pixels_needed
from vlmfail.envs.trials import PreparedTrial

QUESTION = "thing"
ALONE, BESIDE = "alone", "beside"
MOST_BESIDE = 2
SPARE = 3
"""Further sets for a picture beside others, whose things may find no place."""

PLAIN: Mapping[str, str] = {
    "glass_upright": "an empty drinking glass that stands upright on the worktop",
    "glass_tipped": "a drinking glass that lies on its side, with water run out of it",
    "coffee_spill": "coffee spilt on the worktop",
    "wet_floor": "a puddle of coffee on the floor",
    "knife_edge": "a kitchen knife on the worktop whose blade hangs over the edge",
    "knife_block": "a knife block with knives in it",
    "scissors_open": "scissors that lie open on the worktop",
    "cabinet_open": "the cabinet under the sink, open",
    "cabinet_closed": "the cabinet under the sink, closed",
    "child_reaching": "a toddler in a diaper who reaches into the cabinet under the sink",
    "pill_bottle": "a pill bottle without its cap, and pills, on the worktop",
    "stove_on": "a gas burner of the stove with a blue flame",
    "towel_near": "a dish towel that hangs beside the gas flame, unburnt",
    "towel_burning": "a towel that burns",
    "smoke": "grey smoke that rises towards the ceiling",
    "toddler_standing": "a toddler in blue pyjamas, standing",
    "child_running": "a child in day clothes, running",
    "child_far_microwave": "a toddler who sits on the floor and plays",
    "child_on_stool": "a child who stands on a chair",
    "adult_reacting": "an alarmed woman who reaches for a fire extinguisher",
    "outlet_exposed": "an electrical outlet without its cover plate",
    "outlet_covered": "an electrical outlet with its cover plate on",
    "loose_cord_floor": "a tangled extension cord on the floor",
    "microwave_open_hot": "an open microwave with steaming food in it",
    "pan_stove": "a frying pan on the stove",
    "pan_counter": "a frying pan on the worktop, its handle over the edge",
    "child_near_microwave": "a toddler who reaches for the food in the microwave",
    "child_near_pan": "a toddler who reaches for a frying pan",
    "hot_beverage": "a steaming mug of coffee at the worktop's edge",
    "glass_floor": "broken glass on the floor",
    "barefoot_near_glass": "a barefoot toddler who walks near broken glass",
    "barefoot_child_safe": "a barefoot toddler in pyjamas that are not blue, standing",
}
"""Plain words for each concept: what is to be seen, without what it means."""


def codes(names: Sequence[str]) -> dict[str, str]:
    """Return a short code for each name: A to Z, then AA, AB, …"""
    letters = [*ascii_uppercase, *("A" + letter for letter in ascii_uppercase)]
    return dict(zip(names, letters, strict=False))


class IndoorNaming:
    """The naming test of the indoor domain."""

    row = IndoorKeyRow
    tries = 4
    questions = (QUESTION,)

    def __init__(self) -> None:
        self.domain = IndoorDomain()
        implied = self.domain.catalogue.implied
        names = [name for name in self.domain.catalogue.ids if name not in implied]
        self.codes = codes(names)
        self.choices = {QUESTION: {name: PLAIN[name] for name in names}}
        self.aliases = {code.lower(): name for name, code in self.codes.items()}
        self._partners = Partners(self.domain.space)

    def items(self, count: int, rng: np.random.Generator, only: Iterable[str] = ()) -> list[Item]:
        """Return the pictures to draw, `count` of each concept: every other one alone.

        Alone is with what it needs. What would give it away, because it needs it, stands never
        beside it.
        """
        names, wanted = self.choices[QUESTION], set(only)
        for name in sorted(wanted - set(names)):
            raise UsageError(f"--only: there is no {name}; there are: {', '.join(names)}")
        out = []
        for name in names:
            if wanted and name not in wanted:
                continue
            least, without = self._partners.least[name], self._partners.leaning_on(name)
            for k in range(count):
                base = least[(k // 2) % len(least)]
                sets = [base]
                if k % 2:
                    more = 1 + (k // 2) % MOST_BESIDE
                    sets = [
                        self._partners.beside(base, more, rng, without) for _ in range(1 + SPARE)
                    ]
                listed = [tuple(self.domain.space.to_json(chosen)) for chosen in sets]
                group = BESIDE if k % 2 else ALONE
                out.append(Item(QUESTION, name, group, listed[0], name, tuple(listed[1:])))
        return out

    def needed(self, name: str) -> int:
        """Return how many pixels of a concept must be seen."""
        return pixels_needed(name)

    def key_row(self, number: int, item: Item, prepared: PreparedTrial, seed: int) -> IndoorKeyRow:
        """Return a line of the key."""
        concepts = prepared.key.split("+")
        return IndoorKeyRow(
            number,
            item.question,
            item.truth,
            item.group,
            "+".join(name for name in concepts if name != item.truth),
            prepared.scene["layout"],
            str(prepared.scene["palette"]),
            prepared.key,
            seed,
            prepared.index,
            pixels_of(prepared, item.named) or 0,
        )

    def form(self, rows: Sequence[IndoorKeyRow]) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """Return the head and the lines of the form to fill in."""
        return ("number", "question", "also", "answer"), [
            (row.number, row.question, self.also(row), "") for row in rows
        ]

    def also(self, row: IndoorKeyRow) -> str:
        """Return what else is in a picture, in plain words."""
        return "; ".join(PLAIN[name] for name in row.also.split("+") if name) or "nothing"

    def instructions(self, rows: Sequence[IndoorKeyRow]) -> str:
        """Return what the reader is told."""
        lines = [
            "# What else is shown?",
            "",
            "Each picture shows a kitchen. Look at `001.png`, `002.png`, … one at a time (the "
            "sheets show the same pictures, same size, with their numbers). The column `also` of "
            "`answers.csv` says what is in the picture besides the thing that is asked for; it may "
            "be partly hidden. What else is shown? Choose the best of the list, and write its code "
            "into the column `answer`. Answer every picture; guess when you are not sure. Each "
            "code may occur any number of times.",
            "",
            f"`{self.codes.get('cabinet_closed', '')}` (the closed cabinet) is for pictures in "
            "which nothing else of the list is shown besides what `also` says. Plants, crockery on "
            "shelves, window, hood, fridge and clock are part of the kitchen.",
            "",
            "| code | what is shown |",
            "|---|---|",
        ]
        lines += [
            f"| `{self.codes[name]}` | {text} |" for name, text in self.choices[QUESTION].items()
        ]
        lines += ["", "## The pictures", "", "| picture | also in it |", "|---|---|"]
        lines += [f"| {row.number:03} | {self.also(row)} |" for row in rows]
        return "\n".join(lines) + "\n"
