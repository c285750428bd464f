"""Policies by name: built-in ones, plug-ins, and a user's ``module_or_file:Name``."""

from __future__ import annotations

import inspect
from typing import Any

from ...core import Policy, Registry, UsageError, VLMFailError
from ...core.text import tamed
from ..replies import fault
from ..specs import LONGEST_SPEC

POLICIES = Registry(
    "policy",
    "vlmfail.policies",
    {"scripted": "vlmfail.models.policies.scripted:Scripted"},
    "See `vlmfail list`.",
)
"""The policies under test; other packages add theirs by an entry point in ``vlmfail.policies``."""

POLICY_PREFIXES = Registry(
    "policy prefix",
    "vlmfail.policy_prefixes",
    {"vla-eval": "vlmfail.models.policies.vla_eval:vla_eval"},
    "See `vlmfail list`.",
)
"""Prefixes of spec strings ``prefix:REST``, each with a function from REST to a policy; other
packages add theirs by an entry point in ``vlmfail.policy_prefixes``."""

LONGEST_TEXT = 300
"""Characters kept of what a policy's own code says."""

EXPECTED = (
    "expected a class (called without arguments) or an object with reset(instruction) and "
    "act(observation) -> k x 7 actions"
)


def is_policy(thing: Any) -> bool:
    """Whether a spec or an object names or is a policy, and no vision-language model."""
    if isinstance(thing, str):
        prefix, colon, _ = thing.partition(":")
        return thing in POLICIES.names() or bool(colon and prefix in POLICY_PREFIXES.names())
    acts = callable(getattr(thing, "act", None)) and callable(getattr(thing, "reset", None))
    return acts and not callable(getattr(thing, "answer", None))


def make_policy(spec: str | Policy) -> Policy:
    """Return the policy that `spec` stands for.

    Args:
        spec: A registered name, ``prefix:REST`` with a registered prefix, ``module_or_file:Name``
            of a class or an instance, or such a thing itself.

    Raises:
        UnknownNameError: For a name that nothing is registered under.
        UsageError: For an object that is no policy, a vision-language model for one; the text says
            what there is.
    """
    if not isinstance(spec, str):
        return _as_policy(spec, getattr(spec, "__name__", type(spec).__name__))
    prefix, colon, rest = spec.partition(":")
    if colon and prefix in POLICY_PREFIXES.names():
        return _as_policy(POLICY_PREFIXES.load(prefix)(rest), spec)
    if spec not in POLICIES.names() and _is_vlm(spec):
        raise UsageError(f"{spec!r} answers questions and does not act: {what_there_is()}")
    return _as_policy(POLICIES.load(spec), spec)


def _is_name(name: object) -> bool:
    return isinstance(name, str) and 0 < len(name) <= LONGEST_SPEC and name.isprintable()


def what_there_is() -> str:
    """Return the policies that can be named, in words."""
    names = [*POLICIES.names(), *(f"{name}:..." for name in POLICY_PREFIXES.names())]
    return (
        f"policies are {', '.join(names)}, or module_or_file:Name of an object with "
        "reset(instruction) and act(observation)"
    )


def _is_vlm(spec: str) -> bool:
    from ..registry import MODELS, PREFIXES

    prefix, colon, _ = spec.partition(":")
    return spec in MODELS.names() or bool(colon and prefix in PREFIXES.names())


def _as_policy(found: Any, spec: str) -> Policy:
    try:
        return _made(found, spec)
    except (VLMFailError, KeyboardInterrupt):
        raise
    except BaseException as error:  # whatever a class of somebody's does, sys.exit() too
        said = tamed(fault(error), LONGEST_TEXT)
        raise UsageError(f"policy {spec!r}: making it failed: {said}") from error


def _made(found: Any, spec: str) -> Policy:
    acts = callable(getattr(found, "act", None)) and callable(getattr(found, "reset", None))
    if not acts and callable(getattr(found, "answer", None)):
        raise UsageError(f"{spec!r} answers questions and does not act: {what_there_is()}")
    if not acts:
        kind = "class" if inspect.isclass(found) else type(found).__name__
        raise UsageError(f"policy {spec!r}: the {kind} lacks `reset` or `act`; {EXPECTED}")
    if inspect.isclass(found):
        try:
            inspect.signature(found).bind()
        except TypeError as error:
            raise UsageError(
                f"policy {spec!r}: the class cannot be called without arguments ({error}). "
                "Make an instance at module level and name that instead."
            ) from error
        except ValueError:
            pass  # a class whose signature Python does not know: calling it will tell
        found = found()
    if not _is_name(getattr(found, "name", None)):
        try:
            found.name = spec
        except (AttributeError, TypeError) as error:
            raise UsageError(
                f"policy {spec!r}: it has no `name` of one short line and none can be set"
            ) from error
    policy: Policy = found
    return policy
