"""Question, truth and reply: what passes between a domain and a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Option:
    """One answer option.

    Attributes:
        id: Stable id, e.g. ``"slow_down"``; truth and records use it, never the letter.
        text: What the model reads.
        last: Stays last when the order is shuffled ("none of the above").
    """

    id: str
    text: str
    last: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    """One true/false statement about a picture (Revelio App. G).

    Attributes:
        concept: Id of the concept that it is about.
        text: What the model reads.
        holds: Whether it is true of the scene.
        thing: Name of the scene object that must be seen to judge it, None for what has none.
    """

    concept: str
    text: str
    holds: bool
    thing: str | None = None


@dataclass(frozen=True, slots=True)
class Recognition:
    """The statements asked before the question, in the order in which they are shown.

    Attributes:
        statements: Statements 1 to n.
        version: Version of the wording; it lands in every record.
        intro: The sentence above the list.
        reply_format: The sentence that says how to mark.
    """

    statements: tuple[Statement, ...]
    version: str
    intro: str
    reply_format: str

    def shuffled(self, rng: np.random.Generator) -> Recognition:
        """Return the list in a random order."""
        order = rng.permutation(len(self.statements))
        return replace(self, statements=tuple(self.statements[i] for i in order))


@dataclass(frozen=True, slots=True)
class Question:
    """A multiple-choice question in the order in which it is shown.

    Attributes:
        text: The question and its context.
        options: The options as lettered, A first.
        version: Version of the wording; it lands in every record.
        reply_format: The sentence that says how to answer.
        recognition: True/false statements to be marked in the same reply, if any.
    """

    text: str
    options: tuple[Option, ...]
    version: str
    reply_format: str = (
        'Reply with a short reason and then, on the last line, "ANSWER: X", '
        "where X is the letter of one option."
    )
    recognition: Recognition | None = None

    def shuffled(self, rng: np.random.Generator) -> Question:
        """Return the question with its options in a random order (`Option.last` stay last).

        Statements are shuffled after the options: asking them leaves the options' order alone.
        """
        movable = [option for option in self.options if not option.last]
        fixed = [option for option in self.options if option.last]
        order = rng.permutation(len(movable))
        options = (*(movable[i] for i in order), *fixed)
        if self.recognition is None:
            return replace(self, options=options)
        return replace(self, options=options, recognition=self.recognition.shuffled(rng))

    @property
    def prompt(self) -> str:
        """The whole text put to the model."""
        lines = [f"{letter}) {option.text}" for letter, option in self.lettered()]
        asked = [self.text, "", "Options:", *lines, ""]
        if self.recognition is None:
            return "\n".join([*asked, self.reply_format])
        statements = self.recognition.statements
        numbered = [f"S{i}. {statement.text}" for i, statement in enumerate(statements, 1)]
        before = [self.recognition.intro, *numbered, ""]
        return "\n".join([*before, *asked, self.recognition.reply_format, self.reply_format])

    def lettered(self) -> list[tuple[str, Option]]:
        """Return (letter, option) pairs in the shown order."""
        return list(zip(LETTERS, self.options, strict=False))

    def by_letter(self, letter: str) -> Option | None:
        """Return the option that `letter` stands for, if any."""
        index = LETTERS.find(letter.upper()) if len(letter) == 1 else -1
        return self.options[index] if 0 <= index < len(self.options) else None


@dataclass(frozen=True, slots=True)
class Truth:
    """The right answer to one scene.

    Attributes:
        expected: Option id of the preferred answer.
        accepted: Option ids that count as right; contains `expected`.
        rule: Id of the rule that decided, e.g. ``"A1"``.
        reason: The rule's finding on this scene in words.
        deciding: Names of the scene objects that must be visible for the answer to be fair.
    """

    expected: str
    accepted: frozenset[str]
    rule: str
    reason: str
    deciding: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """What one reply cost. ``None`` means that the provider did not say, which is not zero.

    Attributes:
        requests: Requests that reached the wire, retries included; 0 for a local model.
        input_tokens: Prompt tokens, cached ones included.
        output_tokens: Generated tokens, reasoning included.
        dollars: Price by the price table, if the model is priced.
    """

    requests: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    dollars: float | None = None


@dataclass(frozen=True, slots=True)
class CutOff:
    """What trials without a record cost: cut off by a cap, an interruption, a kill.

    Attributes:
        requests: Requests that reached the wire.
        tokens: Tokens, as far as they are known.
        dollars: Money, as far as it is known.
        unknown: Requests or trials of unknown cost among them.
    """

    requests: int = 0
    tokens: int = 0
    dollars: float = 0.0
    unknown: int = 0

    def with_trial(self, usage: Usage, unsure: int = 0) -> CutOff:
        """Return this with another trial's cost, and `unsure` requests that may be billed."""
        silent = usage.requests > 0 and None in (usage.input_tokens, usage.output_tokens)
        lost = unsure or int(silent)
        return CutOff(
            self.requests + usage.requests,
            self.tokens + (usage.input_tokens or 0) + (usage.output_tokens or 0),
            self.dollars + (usage.dollars or 0.0),
            self.unknown + lost,
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply.

    Attributes:
        text: What the model said, unchanged.
        finish_reason: ``"stop"``, ``"length"``, ``"refusal"``, ``"content_filter"``, ``"error"``,
            ``"timeout"`` or a provider's own word.
        usage: Tokens, requests and money.
        raw: The provider's reply as JSON values, for the record.
    """

    text: str
    finish_reason: str = "stop"
    usage: Usage = field(default_factory=Usage)
    raw: Mapping[str, Any] = field(default_factory=dict)
