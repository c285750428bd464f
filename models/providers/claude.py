"""What Claude models take, at Anthropic and at Bedrock: thinking by generation, and its limits.

Source: Anthropic's documentation of extended thinking, adaptive thinking and effort. Up to 4.5 a
model thinks within a budget of tokens; from 4.6 it decides itself, steered by an effort; from 4.7
it takes no budget any more. The budgets of the levels are ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...core import UsageError
from ..specs import ModelSpec

DEFAULT_MAX_TOKENS = 4096
"""Tokens of a reply beside its thinking when the spec says nothing: the API demands a number."""

LEAST_BUDGET = 1024

BUDGETS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384}

EFFORTS = {"minimal": "low", "low": "low", "medium": "medium", "high": "high"}

FIRST_THINKING = (3, 7)
FIRST_ADAPTIVE = (4, 6)
LAST_BUDGET = (4, 6)
FIRST_UNASKED = (5, 0)
"""From here on models think when nothing is said: their replies need room for it."""

NAMES = ("max_tokens", "temperature", "top_p", "thinking", "output_config", "effort")
"""What an error may be about; ``effort`` is the only part of ``output_config`` that is sent."""

_VERSION = re.compile(r"claude-(?:[a-z]+-)?(\d+)(?:[-.](\d{1,2})(?!\d))?")
_LIMIT = re.compile(r"(?<!\d)(\d{1,9}) > (\d{1,9}), which is the maximum")


def claude_version(model: str) -> tuple[int, int] | None:
    """Return a Claude model's generation, e.g. (4, 5); None for a name that does not tell."""
    found = _VERSION.search(model.lower())
    if found:
        return int(found[1]), int(found[2] or 0)
    return (4, 7) if "mythos-preview" in model.lower() else None


def claude_parameters(spec: ModelSpec) -> dict[str, Any]:
    """Return ``max_tokens`` and what else the spec asks for, under the names of the Messages API.

    Thinking counts as tokens of the reply. Where the spec gives no ``max_tokens`` there is room
    for the answer behind the thinking; where it gives no more than the budget, it is raised by
    the budget.

    Raises:
        UsageError: For thinking that the model certainly cannot do.
    """
    version = claude_version(spec.model)
    fields, room = _thinking(spec, version)
    limit = spec.max_tokens
    if limit is None:
        limit = DEFAULT_MAX_TOKENS + room
    elif "budget_tokens" in fields.get("thinking", {}) and limit <= room:
        limit += room
    sampling = {"temperature": spec.temperature, "top_p": spec.top_p}
    given = {name: value for name, value in sampling.items() if value is not None}
    return {"max_tokens": limit, **given, **fields}


def _thinking(spec: ModelSpec, version: tuple[int, int] | None) -> tuple[dict[str, Any], int]:
    """Return (fields, tokens that the thinking may take)."""
    wanted = spec.thinking
    if version is not None and version < FIRST_THINKING:
        if wanted not in (None, "none"):
            raise UsageError(f"model {spec.shown}: {spec.model} cannot think: leave out thinking")
        return {}, 0
    if wanted is None:
        return {}, BUDGETS["high"] if version is not None and version >= FIRST_UNASKED else 0
    if wanted == "none":
        return {"thinking": {"type": "disabled"}}, 0
    if isinstance(wanted, int):
        if wanted < LEAST_BUDGET:
            raise UsageError(
                f"model {spec.shown}: thinking takes at least {LEAST_BUDGET} tokens, got {wanted}"
            )
        if version is not None and version > LAST_BUDGET:
            raise UsageError(
                f"model {spec.shown}: {spec.model} takes no number of thinking tokens; give a "
                "level: none, minimal, low, medium or high"
            )
        return {"thinking": {"type": "enabled", "budget_tokens": wanted}}, wanted
    if version is None or version >= FIRST_ADAPTIVE:
        return _adaptive(EFFORTS[wanted]), BUDGETS[wanted]
    return {"thinking": {"type": "enabled", "budget_tokens": BUDGETS[wanted]}}, BUDGETS[wanted]


def _adaptive(effort: str) -> dict[str, Any]:
    return {"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}}


def claude_adapted(
    parameters: Mapping[str, Any], name: str | None, text: str
) -> dict[str, Any] | None:
    """Return `parameters` changed so that a refusal of `name` is met; None if they cannot be.

    Thinking that is refused in one form is asked for in the other before it is left out.
    """
    name = "output_config" if name == "effort" else name
    if name is None or name not in parameters:
        return None
    rest = {key: value for key, value in parameters.items() if key != name}
    if name == "max_tokens":
        found = _LIMIT.search(text)
        if found is None or int(found[1]) != parameters[name] or int(found[2]) < 1:
            return None
        limit = int(found[2])
        budget = _budget(parameters)
        return {"max_tokens": limit, **rest} if budget is None or budget < limit else None
    if name != "thinking":
        return rest
    kind = parameters[name].get("type") if isinstance(parameters[name], Mapping) else None
    without = {key: value for key, value in rest.items() if key != "output_config"}
    speaks_of_adaptive = "adaptive" in text.lower() or "effort" in text.lower()
    if kind == "adaptive":
        budget = BUDGETS.get(str((rest.get("output_config") or {}).get("effort")), LEAST_BUDGET)
        limit = int(rest.get("max_tokens") or DEFAULT_MAX_TOKENS)
        without["max_tokens"] = limit if limit > budget else limit + budget
        return {**without, "thinking": {"type": "enabled", "budget_tokens": budget}}
    if kind == "enabled" and speaks_of_adaptive:
        budget = _budget(parameters) or 0
        effort = next((level for level in ("low", "medium") if budget <= BUDGETS[level]), "high")
        return {**without, **_adaptive(effort)}
    if kind == "disabled" and speaks_of_adaptive:
        return {**without, **_adaptive("low")}
    return without


def _budget(parameters: Mapping[str, Any]) -> int | None:
    thinking = parameters.get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, Mapping) else None
    return budget if isinstance(budget, int) else None
