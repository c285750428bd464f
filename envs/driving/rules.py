"""The driving rules as data: which sets are valid (D1-D8), which answer is right (A1-A5).

*Stated* rules are Revelio's (§4, App. B.1, C.1), *ours* are this project's decisions where the
paper is silent; every entry of ``rules.json`` says which it is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import model_validator

from ..concept_sets import ConceptSetSpace
from ..data_files import Data
from ..validity import Source, ValidityRule
from .catalogue import Catalogue, load

Condition = Literal["in_lane_within_half_braking", "in_lane", "red_light", "poor_sight", "always"]
Action = Literal["emergency_stop", "slow_down", "continue"]

MAX_SET_SIZE = 5
"""Largest concept set D (Revelio §4)."""


class Reading(Data):
    """How a set is read where the validity rules leave it open (D6-D8).

    Readings are documented here and implemented in `placement` (D8's verdict in
    `DrivingDomain.unseen`): they are no switches, an entry that is changed changes no scene.
    """

    id: str
    source: Source
    text: str


class ActionRule(Data):
    """One row of the expected-action table; the first whose condition holds decides.

    Attributes:
        id: E.g. ``"A1"``.
        source: Whether the paper states it.
        when: The condition, a name that `truth` knows.
        accepted: Accepted actions, the preferred one first, or ``"kinematics"``: the least
            intrusive action that avoids contact, else the one with the lowest impact speed.
        text: The finding in words.
    """

    id: str
    source: Source
    when: Condition
    accepted: Literal["kinematics"] | tuple[Action, ...]
    text: str


class Rules(Data):
    """All rules."""

    version: str
    validity: tuple[ValidityRule, ...]
    readings: tuple[Reading, ...]
    expected_action: tuple[ActionRule, ...]

    @model_validator(mode="after")
    def _decides(self) -> Self:
        if not self.expected_action or self.expected_action[-1].when != "always":
            raise ValueError("the last expected_action row must hold always")
        if not all(rule.accepted for rule in self.expected_action):
            raise ValueError("every expected_action row needs an accepted action")
        return self

    def space(self, catalogue: Catalogue, max_size: int = MAX_SET_SIZE) -> ConceptSetSpace:
        """Return the space of concept sets that these rules leave."""
        rules = [rule.build(catalogue) for rule in self.validity]
        return ConceptSetSpace(catalogue.ids, rules, max_size)


def rules(folder: Path | None = None) -> Rules:
    """Return the rules of `folder`, or the packaged ones."""
    return load(Rules, "rules.json", folder)
