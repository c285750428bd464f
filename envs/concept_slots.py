"""ConceptSlots: concept sets as D slots, for agents that learn with discrete actions."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from ..core import UsageError
from .concept_sets import ConceptSetSpace
from .pictured_sets import PicturedSets

SlotAction = npt.NDArray[np.int64]


class ConceptSlots(gym.ActionWrapper[Any, SlotAction, npt.NDArray[Any]]):
    """Action `MultiDiscrete([n + 1] * D)`: slot value k < n names concept k, n leaves it empty.

    Slots are read in order. A value that is empty, repeated, or after which no valid set could
    be reached any more, is skipped; and if the set that results is still incomplete (a modifier
    without an object), its incomplete concepts are dropped; where pictures cannot be drawn at will
    and none shows what is left, the smallest set that holds it is taken. So an agent learns over
    valid sets instead of spending its steps on rules. If nothing valid is left, the step is
    invalid and costs nothing.

    `action_masks()` (sb3-contrib's MaskablePPO) allows every concept in every slot but those
    that are in no valid set, and forbids an empty first slot.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        """Wrap a concept-set environment.

        Raises:
            UsageError: When the environment has another candidate space.
        """
        super().__init__(env)
        space = getattr(env.unwrapped, "candidates", None)
        if not isinstance(space, ConceptSetSpace):
            raise UsageError("ConceptSlots: expected an environment over concept sets")
        self._space = space
        n, slots = len(space.concepts), space.max_size
        self.action_space = gym.spaces.MultiDiscrete(np.full(slots, n + 1))
        rows = space.valid_sets()
        possible = np.ones(n, dtype=bool) if rows is None else rows.any(axis=0)
        mask = np.tile(np.r_[possible, True], (slots, 1))
        mask[0, n] = False
        self._mask = mask.reshape(-1)

    def action(self, action: SlotAction) -> npt.NDArray[Any]:
        """Return the multi-hot action of a slot action."""
        return self._space.encode(self.candidate(action))

    def candidate(self, action: SlotAction) -> frozenset[str]:
        """Return the set that a slot action stands for, after skipping."""
        space = self._space
        slots: list[int] = self._slots(action)
        chosen: frozenset[str] = frozenset()
        for value in slots:
            if value == len(space.concepts):
                continue
            grown = chosen | {space.concepts[value]}
            if not space.conflict(grown):
                chosen = grown
        if chosen and space.validate(chosen) is not None:
            # Dropping is tried in catalogue order, so one action always names one set.
            for concept in space.to_json(chosen):
                smaller = chosen - {concept}
                if smaller and space.validate(smaller) is None:
                    return smaller
            if isinstance(space, PicturedSets):
                return space.completed(chosen)
        return chosen

    def _slots(self, action: SlotAction) -> list[int]:
        """Return an action as whole numbers in range: a negative one would name another concept."""
        expected = f"expected {self._space.max_size} numbers from 0 to {len(self._space.concepts)}"
        try:
            slots = np.asarray(action)
        except ValueError as error:
            raise UsageError(f"action: {expected}, got {action!r:.80}") from error
        if (
            slots.shape != (self._space.max_size,)
            or slots.dtype.kind not in "iu"
            or not ((slots >= 0) & (slots <= len(self._space.concepts))).all()
        ):
            raise UsageError(f"action: {expected}, got {action!r:.80}")
        return [int(value) for value in slots]

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return the mask, `D * (n + 1)`."""
        return self._mask.copy()
