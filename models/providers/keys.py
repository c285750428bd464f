"""Keys of providers: read from the environment when a client is made, and kept nowhere."""

from __future__ import annotations

import os
from collections.abc import Sequence
from urllib.parse import urlsplit

from ...core import ModelFault
from ..specs import ModelSpec

NO_KEY = "none"
"""What an address that is not the provider's is sent in place of the provider's key."""


def key_names(spec: ModelSpec, own: Sequence[str], home: str) -> tuple[str, ...]:
    """Return the environment variables that may hold the key; none when no key is sent.

    Args:
        spec: The model's spec; its ``key_env`` beats everything.
        own: The provider's own variables, in order.
        home: The provider's own address: another host is never sent its key.
    """
    if spec.key_env:
        return (spec.key_env,)
    if spec.base_url is not None:
        there = urlsplit(spec.base_url)
        if there.scheme != "https" or there.hostname != urlsplit(home).hostname:
            return ()
    return tuple(own)


def present_keys(names: Sequence[str]) -> tuple[str, ...]:
    """Return the values of those variables that are set."""
    values = [os.environ.get(name, "").strip() for name in names]
    return tuple(value for value in values if value)


def need_key(spec: ModelSpec, own: Sequence[str], home: str) -> str:
    """Return the key to send, `NO_KEY` where none is.

    Raises:
        ModelFault: When no variable holds one, or one holds what no key can be.
    """
    names = key_names(spec, own, home)
    if not names:
        return NO_KEY
    keys = present_keys(names)
    if not keys:
        unset = f"{names[0]} is not set" if len(names) == 1 else " and ".join(names) + " are unset"
        raise ModelFault(f"the model {spec.shown} needs a key, and {unset}: export {names[0]}=...")
    if not keys[0].isascii() or not keys[0].isprintable() or " " in keys[0]:
        raise ModelFault(
            f"the model {spec.shown}: what {' or '.join(names)} holds is no key (blanks, line "
            f"breaks or other characters inside): export {names[0]}=..."
        )
    return keys[0]
