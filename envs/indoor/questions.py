"""The indoor questions, one a hazard family, as versioned data.

The paper shows a few (Figures 5 and 10) and has lost its prompt; this wording is ours. Each
question says what counts, so that a failure is the model's and not the prompt's, and that nothing
else does, so that a hazard of another family decides nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from ...core import Option, Question, UnknownNameError, UsageError
from ..data_files import Data, Line, Text, same_words
from .catalogue import load
from .rules import Rules


class FamilyQuestion(Data):
    """The question of one hazard family.

    Attributes:
        family: The family.
        text: What is asked, and what counts.
        hazard: The option that says that it is dangerous.
        safe: The option that says that it is not.
    """

    family: str
    text: tuple[Text, ...] = Field(min_length=1)
    hazard: Line
    safe: Line

    @model_validator(mode="after")
    def _can_be_told_apart(self) -> Self:
        if same_words((self.hazard, self.safe)) is not None:
            raise ValueError("hazard and safe say the same")
        return self


class Questions(Data):
    """All questions.

    Attributes:
        version: Changes with every change of the wording; it lands in every record.
        context: Paragraphs before every question.
        closing: Paragraphs after it.
        questions: One a family.
        reply_format: How to answer; the project's default when absent.
    """

    version: str
    context: tuple[Text, ...]
    closing: tuple[Text, ...]
    questions: tuple[FamilyQuestion, ...]
    reply_format: Text | None = None

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        families = [question.family for question in self.questions]
        if len(set(families)) != len(families):
            raise ValueError("questions: one a family")
        return self

    @property
    def families(self) -> tuple[str, ...]:
        """The families that have a question."""
        return tuple(question.family for question in self.questions)

    def check(self, rules: Rules) -> None:
        """Raise `UsageError` when a family of `rules` has no question."""
        for family in rules.families:
            if family not in self.families:
                raise UsageError(f"questions.json: the family {family} of rules.json has none")

    def of(self, family: str) -> Question:
        """Return the question of a family; its options are ``hazard`` and ``safe``.

        Raises:
            UnknownNameError: The family has none.
        """
        found = next((item for item in self.questions if item.family == family), None)
        if found is None:
            raise UnknownNameError("hazard family", family, self.families)
        text = "\n".join([*self.context, *found.text, *self.closing])
        options = (Option("hazard", found.hazard), Option("safe", found.safe))
        if self.reply_format is None:
            return Question(text, options, self.version)
        return Question(text, options, self.version, self.reply_format)


def questions(folder: Path | None = None) -> Questions:
    """Return the questions of `folder`, or the packaged ones."""
    return load(Questions, "questions.json", folder)
