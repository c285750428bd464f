"""The one question of the driving domain, as versioned data.

The paper's prompt text is lost; this wording is ours. It states speed, braking and policy, so that
a failure is the model's and not the prompt's, and it is the same for every scene.
"""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from ...core import Option, Question
from ..data_files import Data, Line, Text, same_words
from .catalogue import load
from .rules import Action


class OptionText(Data):
    """One answer option: the action's id and what the model reads."""

    id: Action
    text: Line


class Prompt(Data):
    """The wording.

    Attributes:
        version: Changes with every change of the wording; it lands in every record.
        text: Paragraphs.
        options: The three actions in canonical order.
        reply_format: How to answer; the project's default when absent.
    """

    version: str
    text: tuple[Text, ...] = Field(min_length=1)
    options: tuple[OptionText, ...]
    reply_format: Text | None = None

    @model_validator(mode="after")
    def _all_actions(self) -> Self:
        ids = sorted(option.id for option in self.options)
        if ids != ["continue", "emergency_stop", "slow_down"]:
            raise ValueError("options: expected emergency_stop, slow_down and continue, each once")
        if same_words(option.text for option in self.options) is not None:
            raise ValueError("options: two of them say the same")
        return self

    def question(self) -> Question:
        """Return the question with its options in canonical order."""
        text = "\n".join(self.text)
        options = tuple(Option(option.id, option.text) for option in self.options)
        if self.reply_format is None:
            return Question(text, options, self.version)
        return Question(text, options, self.version, self.reply_format)


def prompt(folder: Path | None = None) -> Prompt:
    """Return the wording of `folder`, or the packaged one."""
    return load(Prompt, "prompt.json", folder)
