"""Each picture is one observation: none is put to the model twice for the same candidate."""

from __future__ import annotations

from dataclasses import replace

from ..core import TrialRecord
from .trials import PreparedTrial

GENERATED = "generated"
"""Entry of a record's scene that says how a picture came about."""

USED_UP = "used_up"
"""Entry there: no further trial of the candidate can have a picture."""

REPEATS = "repeats"
"""Entry there: index of the trial that had the same picture."""


class ShownPictures:
    """Knows the pictures that a search has shown, by candidate.

    Attributes:
        used_up: Keys of the candidates that have no further picture.
    """

    def __init__(self) -> None:
        """Know none."""
        self.used_up: set[str] = set()
        self._first: dict[tuple[str, str], int] = {}

    def note(self, record: TrialRecord) -> None:
        """Take note of a trial that is done."""
        trial = record.trial
        if trial.picture is not None:
            self._first.setdefault((trial.key, trial.picture), trial.index)
        if is_used_up(record):
            self.used_up.add(trial.key)

    def once(self, prepared: PreparedTrial) -> PreparedTrial | None:
        """Return a trial for the model; of a picture that it has seen, an invalid scene.

        None when the candidate's pictures are used up and an earlier trial says so: one record of
        it is enough. Trials of a candidate come in the order of their indices.
        """
        key = prepared.key
        if prepared.picture is None:
            if not prepared.scene.get(GENERATED, {}).get(USED_UP):
                return prepared
            known = key in self.used_up
            self.used_up.add(key)
            return None if known else prepared
        first = self._first.setdefault((key, prepared.picture.sha256), prepared.index)
        if first == prepared.index:
            return prepared
        generated = {**prepared.scene.get(GENERATED, {}), REPEATS: first}
        return replace(
            prepared,
            picture=None,
            question=None,
            truth=None,
            scene={**prepared.scene, GENERATED: generated},
            note=f"the picture is that of trial {first} again, which would be no new observation",
        )


def is_used_up(record: TrialRecord) -> bool:
    """Whether a trial was not made since its candidate has no further picture."""
    generated = record.scene.get(GENERATED)
    return isinstance(generated, dict) and generated.get(USED_UP) is True


def lacks_picture(record: TrialRecord) -> bool:
    """Whether a trial was not made since no picture was left that the model had not seen."""
    generated = record.scene.get(GENERATED)
    return is_used_up(record) or (isinstance(generated, dict) and REPEATS in generated)
