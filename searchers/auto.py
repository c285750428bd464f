"""`auto`: the searcher that we recommend for an environment's candidates and a goal (ours)."""

from __future__ import annotations

from dataclasses import dataclass

from ..core import UnknownNameError, UsageError
from .registry import AUTO, MINIMISING

MODES, RATE = "modes", "rate"

GOALS = {
    MODES: "many different failure modes",
    RATE: "a high share of failing candidates, m trials each",
}
"""What may follow ``auto:``, in words; the first is what `auto` alone means."""

_ANY = ("random", "it works on candidates of every kind")

_RECOMMENDED: dict[tuple[str, str], tuple[str, str]] = {
    ("concept_set", MODES): (
        "level-set-adaptive",
        "it looks at the most sets, with as few trials as each needs",
    ),
    ("concept_set", RATE): (
        "level-set",
        "it proposes the sets that most likely fail at τ or more",
    ),
    ("vector", MODES): (
        "weighted-rf",
        "a forest leads it to failing scenes, boxes of which are modes",
    ),
    ("vector", RATE): (
        "weighted-rf",
        "a forest and the distance to earlier scenes lead it to those that fail",
    ),
}
"""By kind of candidates and goal: what is taken, and why."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What `auto` became.

    Attributes:
        asked: What was typed.
        spec: The searcher's name.
        why: Why this one.
    """

    asked: str
    spec: str
    why: str

    @property
    def line(self) -> str:
        """Which and why, in a line."""
        return f"searcher {self.spec}, chosen by {self.asked}: {self.why}"


def is_auto(spec: object) -> bool:
    """Whether a searcher's spec leaves the choice to us."""
    return isinstance(spec, str) and spec.removesuffix(MINIMISING).partition(":")[0] == AUTO


def choose(spec: str, space: object) -> Choice:
    """Return what `auto` or ``auto:GOAL`` stands for over a space.

    Raises:
        UnknownNameError: For a goal that does not exist.
        UsageError: For ``auto+min``.
    """
    if spec.endswith(MINIMISING):
        raise UsageError(
            f"{spec}: auto chooses whether to minimise, too; name the searcher before {MINIMISING}"
        )
    goal = spec.partition(":")[2] or next(iter(GOALS))
    if goal not in GOALS:
        raise UnknownNameError(f"goal of {AUTO}", goal, GOALS, f"Write {AUTO}:{RATE}, say.")
    kind = str(getattr(space, "kind", ""))
    name, why = _RECOMMENDED.get((kind, goal), _ANY)
    return Choice(spec, name, why)
