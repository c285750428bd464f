"""What is asked about a picture: the real question, in other words too, and true/false statements.

Statements are read off the scene: they teach the network what things look like and that the words
of a question matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Fact = tuple[str, bool, bool]
"""(Statement, whether it holds, whether it is a thing's bare name rather than a sentence.)"""

ANSWERS = (("True", "False"), ("Yes", "No"), ("true: it is so", "false: it is not so"))


@dataclass(frozen=True)
class Wording:
    """Other words for a domain's question.

    Attributes:
        asks: For the question's text; a record may bring its own.
        options: For the text of an option, by its id.
        present: Sentences with a gap for a thing that can be seen.
        absent: The same for one that cannot.
        expected: What the right option is called in the model card.
    """

    asks: Sequence[str]
    options: Mapping[str, Sequence[str]]
    present: Sequence[str]
    absent: Sequence[str]
    expected: str = "Expected action"


@dataclass(frozen=True)
class Asked:
    """A question put to the network: its text, its options and which of them are right."""

    question: str
    options: tuple[str, ...]
    right: tuple[bool, ...]


Kind = tuple[str, str]
"""(Hazard family, or "" where there are none; expected answer) of a question."""


def kind(question: Mapping[str, Any]) -> Kind:
    """Return the kind of a question, within which all count alike."""
    return question.get("family", ""), question["expected"]


def real_question(record: Mapping[str, Any]) -> Asked:
    """Return the question of a picture's record."""
    return Asked(
        record["question"],
        tuple(text for _, text in record["options"]),
        tuple(option in record["accepted"] for option, _ in record["options"]),
    )


def chosen_question(record: Mapping[str, Any], rng: np.random.Generator) -> Mapping[str, Any]:
    """Return what is asked of a record: its own question or, half the time, one of the others
    whose answer its picture shows, where there are any.
    """
    others = record.get("others")
    return _one(others, rng) if others and rng.random() < 0.5 else record


def action_question(record: Mapping[str, Any], wording: Wording, rng: np.random.Generator) -> Asked:
    """Return the question as it is most of the time, else other words for it and its options."""
    real = real_question(record)
    question, options = real.question, real.options
    if rng.random() < 0.25:
        question = _one(record.get("asks") or wording.asks, rng)
    if rng.random() < 0.25:
        options = tuple(_one(wording.options[option], rng) for option, _ in record["options"])
    return Asked(question, options, real.right)


def statement_question(
    record: Mapping[str, Any], wording: Wording, rng: np.random.Generator
) -> Asked:
    """Return one statement with the options true and false; both are about equally often right."""
    known = record["facts"]
    wanted = rng.random() < 0.5
    text, holds, is_thing = _one([item for item in known if item[1] == wanted] or known, rng)
    if is_thing:
        if rng.random() < 0.3:
            text, holds = _one(wording.absent, rng).format(text), not holds
        else:
            article = "an" if text[0] in "aei" else "a"
            text = _one(wording.present, rng).format(f"{article} {text}")
    yes, no = _one(ANSWERS, rng)
    return Asked(text, (yes, no), (holds, not holds))


def _one(of: Sequence[Any], rng: np.random.Generator) -> Any:
    return of[int(rng.integers(len(of)))]
