"""Options that every environment takes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from ..core import VLM, Outcome, Policy, UnknownNameError, UsageError

VECTOR_CONCURRENCY = 32
"""Requests in flight in the vector form at most, unless the user says how many."""


def _whole(name: str, value: object, low: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise UsageError(f"{name}: expected a whole number of at least {low}, got {value!r}")
    return value


@dataclass(frozen=True, slots=True)
class EnvOptions:
    """Options of a search environment.

    Attributes:
        model: Model spec (``"tiny-vlm"``, ``"file.py:Name"``) or an object with `answer`; where
            trials are episodes a policy, with `reset` and `act`.
        trials: Trials a candidate and step, m.
        budget: Trials that one search may charge.
        renderer: Renderer name.
        count_as_fail: Outcomes that the user wants counted as failures.
        workers: Processes that sample and render, or play episodes; changes speed only.
        concurrency: Requests to the model in flight. None is 1; in the vector form, for a model
            behind an API, all trials of a step up to `VECTOR_CONCURRENCY`.
        max_requests: Cap on requests that reach the wire.
        max_total_tokens: Cap on tokens.
        max_dollars: Cap on money.
        lifetime_budget: Trials that all searches of this environment together may charge; it
            survives `reset` (for learning libraries, which reset at every episode's end).
        render_mode: None or ``"rgb_array"``.
    """

    model: str | VLM | Policy = "tiny-vlm"
    trials: int = 5
    budget: int = 1000
    renderer: str = "embree"
    count_as_fail: Sequence[str | Outcome] = ()
    workers: int = 1
    concurrency: int | None = None
    max_requests: int | None = None
    max_total_tokens: int | None = None
    max_dollars: float | None = None
    lifetime_budget: int | None = None
    render_mode: str | None = None
    failing: frozenset[Outcome] = field(init=False, default=frozenset())

    def __post_init__(self) -> None:
        """Check every value, so that a mistake is told before anything is rendered or paid."""
        for name in ("trials", "budget", "workers"):
            _whole(name, getattr(self, name))
        for name in ("concurrency", "max_requests", "max_total_tokens", "lifetime_budget"):
            if getattr(self, name) is not None:
                _whole(name, getattr(self, name))
        dollars = self.max_dollars
        if dollars is not None and (
            isinstance(dollars, bool) or not isinstance(dollars, (int, float)) or not dollars > 0
        ):
            raise UsageError(f"max_dollars: expected an amount above 0, got {dollars!r}")
        if not isinstance(self.renderer, str):
            raise UsageError(f"renderer: expected a name, e.g. 'embree', got {self.renderer!r}")
        if self.render_mode not in (None, "rgb_array"):
            raise UsageError(f"render_mode: expected None or 'rgb_array', got {self.render_mode!r}")
        names = self.count_as_fail
        if isinstance(names, str):
            names = [names]
        if not isinstance(names, Collection):
            raise UsageError(f"count_as_fail: expected names of outcomes, got {names!r}")
        allowed = [str(o) for o in Outcome if o not in (Outcome.PASS, Outcome.INVALID_SCENE)]
        for name in names:
            if str(name) not in allowed:
                raise UnknownNameError("outcome in count_as_fail", str(name), allowed)
        object.__setattr__(self, "failing", frozenset(Outcome(str(n)) for n in names))

    @classmethod
    def names(cls) -> list[str]:
        """Return the option names."""
        return [f.name for f in fields(cls) if f.init]

    @classmethod
    def split(
        cls,
        given: Mapping[str, Any],
        domain_options: Sequence[str],
        defaults: Mapping[str, Any] | None = None,
    ) -> tuple[EnvOptions, dict[str, Any]]:
        """Return (environment options, domain options), or raise for an unknown name.

        Args:
            given: All options.
            domain_options: Names of the domain's.
            defaults: Values of environment options that the domain has in place of the general
                ones.
        """
        own = {k: v for k, v in given.items() if k in cls.names()}
        rest = {k: v for k, v in given.items() if k not in own}
        for name in rest:
            if name not in domain_options:
                raise UnknownNameError("env option", name, [*domain_options, *cls.names()])
        return cls(**{**(defaults or {}), **own}), rest
