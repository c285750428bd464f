"""The caps of a stored run: raised when it goes on, in its configuration and its command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from ..core import UsageError
from .store import RunStore

CAPS = ("max_requests", "max_total_tokens", "max_dollars")


def option(cap: str) -> str:
    """Return the command-line option of a cap, e.g. ``--max-requests``."""
    return "--" + cap.replace("_", "-")


def raised_caps(stored: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run's caps with those that are given (not None) in place of the stored ones.

    Raises:
        UsageError: For one that is below the stored one: a run that goes on by itself must not
            find less allowed than it was promised.
    """
    caps = {name: stored.get(name) for name in CAPS}
    for name in CAPS:
        value = given.get(name)
        if value is None:
            continue
        before = caps[name]
        if before is not None and not value >= before:
            raise UsageError(
                f"{option(name)} {value:g} is below this run's cap of {before:g}: a run's caps "
                "can only be raised"
            )
        caps[name] = value
    return caps


def store_caps(store: RunStore, caps: Mapping[str, Any], command: str | None = None) -> None:
    """Make these caps the run's own, if they are not.

    Args:
        store: The run, open for writing.
        caps: All three caps.
        command: The command line that set them; by default the run's own with these caps in it.
    """
    old = store.config
    if (old.get("caps") or {}) != caps:
        command = command or with_caps(old.get("command"), caps)
        store.replace_config({**old, "caps": dict(caps), "command": command})


def with_caps(command: str | None, caps: Mapping[str, Any]) -> str | None:
    """Return a command line with these caps in place of its own; None has no command line."""
    return with_options(command, {option(name): caps.get(name) for name in CAPS})


def with_options(command: str | None, options: Mapping[str, Any]) -> str | None:
    """Return a command line with other values of some options, each of which takes one.

    Args:
        command: The words as a shell reads them; None has none.
        options: The values by the options' names; None leaves an option out.
    """
    if command is None:
        return None
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    kept: list[str] = []
    value_follows = False
    for word in words:
        if value_follows:
            value_follows = False
        elif word in options:
            value_follows = True
        elif word.partition("=")[0] not in options:
            kept.append(word)
    for name, value in options.items():
        if value is not None:
            kept += [name, f"{value:.12g}" if isinstance(value, (int, float)) else str(value)]
    return shlex.join(kept)


def higher_cap(caps: Mapping[str, Any], reason: str) -> str:
    """Return the option, with a value, under which a capped run goes on; empty if none is named.

    Args:
        caps: The run's caps.
        reason: Why it stopped, in the ledger's words.
    """
    for name in CAPS:
        value = caps.get(name)
        if reason.startswith(name) and value is not None:
            return f"{option(name)} {2 * value or 1:.12g}"
    return ""
