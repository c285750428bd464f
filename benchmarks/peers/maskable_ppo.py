"""Proximal policy optimisation with action masks, by sb3-contrib."""

from __future__ import annotations

from typing import ClassVar

from ...searchers._kinds import wrong_kind
from .ppo import PPOSearch


class MaskablePPOSearch(PPOSearch):
    """MaskablePPO (sb3-contrib): PPO over concept sets that never picks what is in no valid set.

    As `ppo`; scene vectors have nothing to mask and are refused.
    """

    name: ClassVar[str] = "maskable-ppo"

    @staticmethod
    def _algorithm() -> str:
        return "MaskablePPO"

    def setup(self) -> None:
        """Start afresh.

        Raises:
            UsageError: When the space holds no concept sets.
        """
        if getattr(self.space, "kind", None) != "concept_set":
            raise wrong_kind(self.space, self.name, "concept_set")
        super().setup()
