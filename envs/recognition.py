"""Recognition statements (Revelio App. G): does the model see the concepts of a scene?

For each concept of the scene one true and one false sentence are asked before the question and
marked in the same reply. Marks are recorded and decide nothing: the outcome is the question's.
The paper prints one pair of sentences; the others are ours, as data with a version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Self

from pydantic import model_validator

from ..core import Recognition, Reply, Statement, TrialRecord, UnknownNameError, UsageError
from .catalogues import BaseCatalogue
from .data_files import Data

FILE = "recognition.json"

RECORD = "recognition"
"""Key of the marks in `TrialRecord.scene`."""


class StatementPair(Data):
    """The two sentences of one concept.

    ``{entity}`` stands for the thing that a modifier moves, ``{least}`` and ``{greatest}`` for the
    bounds of its distance.

    Attributes:
        concept: The concept's id.
        positive: A sentence that is true of every scene with the concept.
        negative: One that is false of every such scene.
        entity: What the concept's thing is called in a modifier's sentences.
        about: Of a modifier: what it may move (``role:NAME`` is fine). It moves the last of these
            in catalogue order.
        thing: Whether there is a thing of the concept's name that must be seen; weather has none.
    """

    concept: str
    positive: str
    negative: str
    entity: str | None = None
    about: tuple[str, ...] = ()
    thing: bool = True


class RecognitionSheet(Data):
    """All sentences of a domain and how to mark them.

    Attributes:
        version: Changes with every change of the wording; it lands in every record.
        intro: The sentence above the list.
        reply_format: The sentence that says how to mark.
        statements: One pair a concept.
    """

    version: str
    intro: str
    reply_format: str
    statements: tuple[StatementPair, ...]

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        ids = [pair.concept for pair in self.statements]
        if len(set(ids)) != len(ids):
            raise ValueError("statements: one pair a concept")
        for pair in self.statements:
            if pair.positive == pair.negative:
                raise ValueError(f"{pair.concept}: the two sentences must differ")
        return self


class RecognitionStatements:
    """The sentences of a domain, bound to its catalogue."""

    def __init__(
        self,
        sheet: RecognitionSheet,
        catalogue: BaseCatalogue[Any],
        bounds: Mapping[str, tuple[float, float]] = MappingProxyType({}),
    ) -> None:
        """Bind and check the sentences.

        Args:
            sheet: The sentences.
            catalogue: The domain's concepts.
            bounds: Concept → (least, greatest) distance that its sentences speak of, m.

        Raises:
            UnknownNameError: For a concept outside the catalogue.
            UsageError: When a concept has no sentences.
        """
        self.sheet = sheet
        self._ids = catalogue.ids
        self._implied = frozenset(catalogue.implied)
        self._bounds = dict(bounds)
        self._pairs = {pair.concept: pair for pair in sheet.statements}
        self._about = {pair.concept: catalogue.expand(pair.about) for pair in sheet.statements}
        for name in [*self._pairs, *(name for about in self._about.values() for name in about)]:
            if name not in self._ids:
                raise UnknownNameError(f"concept in {FILE}", name, self._ids)
        for name in self._ids:
            if name not in self._pairs:
                raise UsageError(f"{FILE}: {name} has no statements")

    def of(self, candidate: Iterable[str]) -> Recognition:
        """Return two statements for each concept of a set, in catalogue order.

        Nothing is asked about what every scene shows (the kitchen), and a modifier that has
        nothing to move, as invalid sets may have it, is left out.
        """
        present = set(candidate) - self._implied
        chosen = [name for name in self._ids if name in present]
        statements = [each for name in chosen for each in self._pair(name, chosen)]
        sheet = self.sheet
        return Recognition(tuple(statements), sheet.version, sheet.intro, sheet.reply_format)

    def _pair(self, name: str, chosen: list[str]) -> tuple[Statement, ...]:
        pair, about = self._pairs[name], self._about[name]
        words: dict[str, str] = {}
        thing = name if pair.thing else None
        if about:
            moved = [other for other in chosen if other in about]
            if not moved:
                return ()
            thing = moved[-1]
            words["entity"] = self._pairs[thing].entity or thing.replace("_", " ")
        if name in self._bounds:
            words["least"], words["greatest"] = (f"{value:g}" for value in self._bounds[name])
        return (
            Statement(name, _filled(pair.positive, words), True, thing),
            Statement(name, _filled(pair.negative, words), False, thing),
        )


def switch(value: object) -> bool:
    """Return the option ``recognition`` of a domain.

    Raises:
        UsageError: It is neither True nor False.
    """
    if not isinstance(value, bool):
        raise UsageError(f"recognition: expected true or false, got {value!r}")
    return value


def _filled(sentence: str, words: Mapping[str, str]) -> str:
    for name, word in words.items():
        sentence = sentence.replace(f"{{{name}}}", word)
    return sentence[:1].upper() + sentence[1:]


@dataclass(frozen=True, slots=True)
class ConceptMarks:
    """How one reply marked the two statements of one concept.

    Attributes:
        concept: The concept.
        positive: Whether the true statement was marked true; None when it was not marked.
        negative: Whether the false statement was marked false; None when it was not marked.
        thing: The scene object that must be seen to judge them, None for what has none.
        visible_share: Share of the thing that is seen; None when there is none, or when the
            renderer cannot tell.
        visible_pixels: Its visible pixels; None likewise.
    """

    concept: str
    positive: bool | None
    negative: bool | None
    thing: str | None = None
    visible_share: float | None = None
    visible_pixels: int | None = None


def marks_record(
    recognition: Recognition, reply: Reply | None, scene: Mapping[str, Any]
) -> dict[str, Any]:
    """Return how a reply marks the statements, as JSON values for the trial's record.

    Args:
        recognition: The statements in the order shown.
        reply: The reply; None for one that says nothing (refused, failed): nothing is marked.
        scene: The trial's scene as JSON values, with its visible shares and pixels.
    """
    from ..models.answers import parse_statements

    statements = recognition.statements
    text, reason = (reply.text, reply.finish_reason) if reply else ("", "stop")
    parsed = parse_statements(text, len(statements), reason)
    concepts: dict[str, dict[str, Any]] = {}
    for statement, mark in zip(statements, parsed.marks, strict=True):
        side = "positive" if statement.holds else "negative"
        marks = concepts.setdefault(statement.concept, {"positive": None, "negative": None})
        marks[side] = None if mark is None else mark == statement.holds
        marks["thing"] = statement.thing
        marks["visible_share"] = _seen(scene.get("visible_share"), statement.thing)
        marks["visible_pixels"] = _seen(scene.get("visible_pixels"), statement.thing)
    return {
        "version": recognition.version,
        "order": [[statement.concept, statement.holds] for statement in statements],
        "marks": list(parsed.marks),
        "concepts": concepts,
        "note": parsed.note,
    }


def marks_of(record: TrialRecord) -> tuple[ConceptMarks, ...]:
    """Return the marks of a trial, by concept; none when no statements were asked."""
    concepts = record.scene.get(RECORD, {}).get("concepts", {})
    return tuple(ConceptMarks(name, **marks) for name, marks in sorted(concepts.items()))


def _seen(values: Any, thing: str | None) -> Any:
    return None if values is None or thing is None else values.get(thing)
