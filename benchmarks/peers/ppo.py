"""Proximal policy optimisation, by Stable-Baselines3."""

from __future__ import annotations

from typing import Any, ClassVar

from ...agents.sb3 import SB3Agent
from ...searchers import _knobs


class PPOSearch(SB3Agent):
    """PPO (Stable-Baselines3): a policy learns from each batch which candidates fail.

    See `vlmfail.agents.sb3.SB3Agent` for what it sees and does. The library's defaults learn once
    in 2048 steps, and a search of 1000 trials has 200: so it learns after `rollout` candidates,
    and, since an outcome does not hang on the candidates before it, nothing is discounted into
    it: γ = 0 (ours).
    """

    name: ClassVar[str] = "ppo"

    def __init__(
        self,
        *,
        rollout: int = 32,
        epochs: int = 10,
        learning_rate: float = 1e-3,
        entropy: float = 0.01,
        parallel: int = 8,
    ) -> None:
        """Set the knobs.

        Args:
            rollout: Candidates between two updates, about.
            epochs: Passes over them in an update.
            learning_rate: Of the network.
            entropy: Weight of the policy's entropy in the loss.
            parallel: Candidates of a step at most.

        Raises:
            UsageError: When a knob is out of range.
        """
        super().__init__(self._algorithm(), parallel=parallel)
        self.rollout = _knobs.whole("rollout", rollout, 2)
        self.epochs = _knobs.whole("epochs", epochs, 1)
        self.learning_rate = _knobs.real("learning_rate", learning_rate, 0.0)
        self.entropy = _knobs.real("entropy", entropy, 0.0)

    @staticmethod
    def _algorithm() -> str:
        return "PPO"

    def config(self) -> dict[str, Any]:
        """Return the knobs."""
        return {
            "rollout": self.rollout,
            "epochs": self.epochs,
            "learning_rate": self.learning_rate,
            "entropy": self.entropy,
            "parallel": self.parallel,
        }

    def make_options(self, envs: int) -> dict[str, Any]:
        """Return PPO's arguments; the whole rollout is one minibatch."""
        steps = max(1 if envs > 1 else 2, round(self.rollout / envs))
        return {
            "n_steps": steps,
            "batch_size": steps * envs,
            "n_epochs": self.epochs,
            "learning_rate": self.learning_rate,
            "ent_coef": self.entropy,
            "gamma": 0.0,
        }
