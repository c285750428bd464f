"""Scripted models for tests: no weights, no network, no randomness."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..core import Picture, Reply, UsageError

Answerer = Callable[[Sequence[Picture], str, int], "str | Reply"]


class ScriptedVLM:
    """A model whose answers come from a list or a function (inspect-ai's ``mockllm`` idea).

    From a list, the answer depends on the trial's seed alone (``answers[seed % len(answers)]``),
    not on how often or by which thread the model was asked; so runs with it are reproducible.

    Example:
        >>> model = ScriptedVLM(["ANSWER: A", "hmm"])
        >>> model.answer([], "What now?", seed=1).text
        'hmm'
    """

    def __init__(
        self, answers: Sequence[str | Reply] | Answerer = ("ANSWER: A",), name: str = "scripted"
    ) -> None:
        """Build a double.

        Args:
            answers: Replies to draw from by seed, or a function ``(images, prompt, seed)`` that
                returns text or a `Reply`, or raises.
            name: Name that the run records.
        """
        self.name = name
        if isinstance(answers, str):
            answers = [answers]
        if not callable(answers) and len(answers) == 0:
            raise UsageError("answers: expected at least one answer")
        self.answers = answers

    def answer(self, images: Sequence[Picture], prompt: str, *, seed: int) -> Reply:
        """Return the scripted reply."""
        if callable(self.answers):
            said = self.answers(images, prompt, seed)
        else:
            said = self.answers[seed % len(self.answers)]
        return said if isinstance(said, Reply) else Reply(said)

    def identity(self) -> Mapping[str, Any]:
        """Return what the run's config keeps of this model."""
        if callable(self.answers):
            script: Any = getattr(self.answers, "__qualname__", type(self.answers).__qualname__)
        else:
            script = [item if isinstance(item, str) else item.text for item in self.answers]
        return {"answers": script}
