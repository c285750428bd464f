"""Whether a picture shows what it should: any model says true or false of each concept.

Where a stray thing would change the right answer, it is asked about too and must not be seen.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core import VLM, CapReachedError, ModelFault, Picture, UnaskedError
from ...core.text import tamed
from ..answers import parse_statements
from ..replies import checked_reply, fault
from ..reply_cache import ReplyCache
from ..spending import Ledger, current_ledger
from .prompts import wording
from .sources import DescribedCatalogue, UndrawnPictureError

LONGEST = 1800.0
"""Seconds that a check may take, after which a vanished process's claim ends."""

LONGEST_ANSWER = 1_000_000
"""Characters of the checking model's words that are read."""

LONGEST_REPLY = 4000
"""Characters of them that a record keeps."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a model sees in a picture.

    Attributes:
        marks: By concept: seen, not seen, or None when the model did not say.
        reply: The model's words, bounded.
        cached: Whether they were kept from an earlier check.
        absent: Those of the concepts that must not be seen.
    """

    marks: Mapping[str, bool | None]
    reply: str = ""
    cached: bool = False
    absent: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """The concepts that should be there and that the model does not see."""
        return tuple(
            name for name, mark in self.marks.items() if mark is False and name not in self.absent
        )

    @property
    def stray(self) -> tuple[str, ...]:
        """The concepts that must not be there and that the model sees."""
        return tuple(name for name in self.absent if self.marks[name])

    @property
    def unsaid(self) -> tuple[str, ...]:
        """The concepts of which it did not say."""
        return tuple(name for name, mark in self.marks.items() if mark is None)

    @property
    def problem(self) -> str | None:
        """Why the picture does not pass, or None when it does."""
        if self.missing:
            return f"the checking model does not see {', '.join(self.missing)}"
        if self.stray:
            return (
                f"the checking model sees {', '.join(self.stray)}, which the right answer rules out"
            )
        if self.unsaid:
            return f"the checking model does not say whether it sees {', '.join(self.unsaid)}"
        return None

    def record(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "version": wording().check.version,
            "marks": dict(self.marks),
            "missing": list(self.missing),
            "stray": list(self.stray),
            "reply": self.reply,
            "cached": self.cached,
        }


class PictureCheck:
    """Asks a model about the concepts of a picture; keeps what it said beside the picture."""

    def __init__(self, model: VLM, catalogue: DescribedCatalogue, replies: ReplyCache) -> None:
        """Ask `model`; verdicts are kept in `replies`."""
        from ..registry import identity

        self.model = model
        self.replies = replies
        self._identity = identity
        self._described = {concept.id: concept.description for concept in catalogue.concepts}

    @property
    def metered(self) -> bool:
        """Whether the model sends requests."""
        return bool(getattr(self.model, "metered", False))

    @property
    def priced(self) -> bool:
        """Whether what it costs is known."""
        return bool(getattr(self.model, "priced", False))

    def identity(self) -> dict[str, Any]:
        """Return what a run's config keeps of it."""
        return {**self._identity(self.model), "wording": wording().check.version}

    def prompt(self, concepts: Sequence[str]) -> str:
        """Return the question about `concepts`, numbered from 1 in their order."""
        words = wording().check
        statements = [
            f"{number}. {words.statement.format(description=self._described[name].strip())}"
            for number, name in enumerate(concepts, 1)
        ]
        return "\n".join([words.intro, "", *statements, "", words.reply_format])

    def verdict(
        self, picture: Picture, concepts: Sequence[str], absent: Sequence[str] = ()
    ) -> Verdict:
        """Return which of the concepts the model sees.

        Args:
            picture: The picture.
            concepts: What it should show.
            absent: What it must not show.

        Raises:
            UndrawnPictureError: The model gave no reply that says anything.
            ModelFault: It cannot be asked at all.
            CapReachedError: A cap forbids the request.
        """
        unwanted = tuple(name for name in absent if name not in concepts)
        asked = (*concepts, *unwanted)
        prompt = self.prompt(asked)
        text = json.dumps(["check", self.identity(), prompt, picture.sha256], sort_keys=True)
        key = hashlib.sha256(text.encode()).hexdigest()
        hit = self.replies.wait_or_claim(key, LONGEST)
        kept = {} if hit is None else hit.raw
        # Of a reply without its reason nobody knows whether it was cut: it is asked for again.
        if isinstance(kept.get("said"), str) and isinstance(kept.get("finish_reason"), str):
            return self._read(kept["said"], kept["finish_reason"], asked, unwanted, cached=True)
        try:
            said, reason = self._ask(picture, prompt)
            verdict = self._read(said, reason, asked, unwanted)
            if not verdict.unsaid:
                self.replies.put(key, {"said": said, "finish_reason": reason})
            return verdict
        finally:
            self.replies.release(key)

    def _ask(self, picture: Picture, prompt: str) -> tuple[str, str]:
        """Return (words, finish reason); of a model that counts no requests, one is counted."""
        ledger = current_ledger() or Ledger()
        if not self.metered and not ledger.reserve(wait=True):
            raise CapReachedError(ledger.exhausted or "a cap is reached")
        try:
            reply = checked_reply(self.model.answer([Picture(picture.png)], prompt, seed=0))
        except (KeyboardInterrupt, ModelFault, UnaskedError):
            if not self.metered:
                ledger.release()
            raise
        except BaseException as error:
            if not self.metered:
                ledger.release()
            raise UndrawnPictureError(
                f"the picture could not be checked: {tamed(fault(error), 300)}"
            ) from error
        if not self.metered:
            ledger.add(reply.usage, reserved=1)
        if reply.finish_reason in ("error", "timeout", "refusal", "content_filter"):
            raise UndrawnPictureError(
                f"the picture could not be checked ({reply.finish_reason}): "
                f"{tamed(reply.text, 300)}"
            )
        return reply.text[:LONGEST_ANSWER], reply.finish_reason

    @staticmethod
    def _read(
        said: str,
        reason: str,
        asked: Sequence[str],
        unwanted: tuple[str, ...],
        *,
        cached: bool = False,
    ) -> Verdict:
        parsed = parse_statements(said, len(asked), reason)
        marks = dict(zip(asked, parsed.marks, strict=True))
        return Verdict(marks, said[:LONGEST_REPLY], cached, unwanted)
