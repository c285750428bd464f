"""Repeats at temperature 0 that disagree: answers that vary although nothing was left to chance."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core import TrialRecord
from .modes import count

_SHOWN = 5  # examples


@dataclass(frozen=True, slots=True)
class RepeatedInput:
    """One input with different answers.

    Attributes:
        picture: SHA-256 of the picture.
        prompt: The text put to the model.
        answers: How often which option was chosen, the most frequent first.
        trials: Candidate key and trial index of each time it was asked.
    """

    picture: str
    prompt: str
    answers: tuple[tuple[str, int], ...]
    trials: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Repeats:
    """What asking again at temperature 0 brought.

    Attributes:
        repeated: Inputs that were asked and answered more than once.
        disagreeing: Those of them with different answers.
        examples: The first few that disagree, most asked first.
    """

    repeated: int = 0
    disagreeing: int = 0
    examples: tuple[RepeatedInput, ...] = ()

    @property
    def sentence(self) -> str | None:
        """What a reader of the report must know, or None when nothing disagrees."""
        if not self.disagreeing:
            return None
        inputs = "input" if self.repeated == 1 else "inputs"
        return (
            f"At temperature 0 the model gave different answers to the same picture and prompt on "
            f"{self.disagreeing} of {self.repeated} {inputs} that it was asked more than once: "
            "its answers vary by themselves."
        )


def find_repeats(records: Sequence[TrialRecord]) -> Repeats:
    """Return the inputs that were asked more than once at temperature 0, and what disagrees.

    An input is the picture's content, the prompt and everything that was sent along, as the
    records say under ``raw["sent"]``. Replies from the cache are no repeats, and neither are
    trials without a parsed answer or with another temperature or an unknown one. Source: ours.

    Args:
        records: Trials of one model, in any order.
    """
    asked: dict[tuple[str, str, str], list[TrialRecord]] = {}
    for record in records:
        sent = record.raw.get("sent")
        if (
            record.trial.picture is None
            or record.trial.answer is None
            or record.raw.get("cached")
            or not isinstance(sent, Mapping)
            or _temperature(sent.get("parameters")) != 0
        ):
            continue
        along = json.dumps(sent, sort_keys=True, default=str)
        asked.setdefault((record.trial.picture, record.prompt, along), []).append(record)
    groups = [(place, _in_order(group)) for place, group in asked.items()]
    repeated = [(place, group) for place, group in groups if len(group) > 1]
    disagreeing = [
        RepeatedInput(
            picture=picture,
            prompt=prompt,
            answers=tuple(count(record.trial.answer for record in group).items()),
            trials=tuple((record.trial.key, record.trial.index) for record in group),
        )
        for (picture, prompt, _), group in repeated
        if len({record.trial.answer for record in group}) > 1
    ]
    disagreeing.sort(key=lambda found: (-len(found.trials), found.trials))
    return Repeats(len(repeated), len(disagreeing), tuple(disagreeing[:_SHOWN]))


def _in_order(group: list[TrialRecord]) -> list[TrialRecord]:
    """Return each trial once, by key and index."""
    once = {(record.trial.key, record.trial.index): record for record in group}
    return [once[place] for place in sorted(once)]


def _temperature(parameters: Any) -> float | None:
    """Return the temperature that was sent, wherever a provider's format has it."""
    if not isinstance(parameters, Mapping):
        return None
    value = parameters.get("temperature")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    found = (_temperature(inner) for inner in parameters.values())
    return next((value for value in found if value is not None), None)
