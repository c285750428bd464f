"""Spec strings of a served policy: ``vla-eval:ws://HOST:PORT[/PATH][?option=value&...]``."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from ...core import UnknownNameError, UsageError
from ..spec_addresses import address_fault
from ..specs import LONGEST_SPEC, shown
from .vla_eval_conventions import GRIPPERS, POSITIONS, ROTATIONS, STATES

PREFIX = "vla-eval"

SCHEMES = ("ws://", "wss://")


@dataclass(frozen=True, slots=True)
class VlaEvalSpec:
    """Where a policy is served, and how we and its server understand each other.

    Conventions that are None are read from what the server announces.

    Attributes:
        text: The spec as the user wrote it; the policy's name in records.
        url: Address of the server, ``ws://`` or ``wss://``.
        timeout: Seconds that the server may take for one reply.
        attempts: How often a lost server is looked for before the run ends, with growing pauses.
        camera: Key of the picture in ``observation["images"]``.
        size: Width and height to which the picture is scaled, pixels; None leaves it.
        chunk: Actions of a reply that are carried out, at most; None: all.
        scale: Metres of one unit of its position.
        turn_scale: Radians of one unit of its rotation.
        position: ``"delta_xyz"``.
        rotation: One of `ROTATIONS`.
        gripper: One of `GRIPPERS`.
        state: One of `STATES`, or ``"none"`` to send none.
        wrist: ``"omit"`` to send one picture to a server that asks for a wrist camera's too.
    """

    text: str
    url: str
    timeout: float = 120.0
    attempts: int = 4
    camera: str | None = None
    size: tuple[int, int] | None = None
    chunk: int | None = None
    scale: float = 1.0
    turn_scale: float = 1.0
    position: str | None = None
    rotation: str | None = None
    gripper: str | None = None
    state: str | None = None
    wrist: str | None = None


def parse_vla_eval(rest: str) -> VlaEvalSpec:
    """Return the parts of what follows ``vla-eval:``.

    Raises:
        UsageError: For an address that is none or holds a password, an unknown option or a value
            that it cannot have. The text never repeats an address that is refused.
    """
    url, mark, query = rest.partition("?")
    if len(rest) > LONGEST_SPEC:
        raise UsageError(f"model {PREFIX}: a spec has at most {LONGEST_SPEC} characters")
    if not rest.isprintable():
        raise UsageError(f"model {PREFIX}: it holds characters that cannot be printed")
    if not url.lower().startswith(SCHEMES):
        raise UsageError(
            f"model {PREFIX}: expected the address of a running model server, for example "
            f"{PREFIX}:ws://127.0.0.1:8000"
        )
    if "@" in url:
        raise UsageError(
            f"model {PREFIX}: the address must hold no user or password, since specs are "
            "recorded; forward the server's port instead: ssh -L 8000:127.0.0.1:8000 HOST"
        )
    fault = address_fault(url)
    if fault is not None:
        raise UsageError(f"model {PREFIX}: {fault}; expected ws://HOST:PORT")
    values = _options(query)
    if mark and not values:
        raise UsageError(f"model {PREFIX}: after '?' options are expected, such as ?size=224")
    return VlaEvalSpec(f"{PREFIX}:{rest}", url.rstrip("/"), **values)


def _options(query: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in _READERS:
            raise UnknownNameError(f"option of model {PREFIX}", name[:60], _READERS)
        if name in values:
            raise UsageError(f"model {PREFIX}: option {name} is given twice")
        read, expected = _READERS[name]
        try:
            values[name] = read(value)
        except (ValueError, OverflowError):
            raise UsageError(
                f"model {PREFIX}: {name}: expected {expected}, got {shown(value)}"
            ) from None
    return values


def _number(low: float, high: float, whole: bool = False) -> tuple[Callable[[str], Any], str]:
    def read(text: str) -> float | int:
        if not text.isascii() or "_" in text:
            raise ValueError
        value = int(text) if whole else float(text)
        if not math.isfinite(value) or not low <= value <= high:
            raise ValueError
        return value

    return read, f"a {'whole ' if whole else ''}number from {low:g} to {high:g}"


def _choice(*names: str) -> tuple[Callable[[str], Any], str]:
    def read(text: str) -> str:
        if text not in names:
            raise ValueError
        return text

    return read, "one of " + ", ".join(names)


def _size(text: str) -> tuple[int, int]:
    sides = [int(side) for side in text.lower().split("x")]
    width, height = sides * 2 if len(sides) == 1 else sides
    if not (16 <= width <= 2048 and 16 <= height <= 2048):
        raise ValueError
    return width, height


def _camera(text: str) -> str:
    if not 1 <= len(text) <= 64:
        raise ValueError
    return text


_READERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "timeout": _number(0.1, 3600),
    "attempts": _number(1, 20, whole=True),
    "camera": (_camera, "the key of a picture, of at most 64 characters"),
    "size": (_size, "a side or WIDTHxHEIGHT from 16 to 2048 pixels"),
    "chunk": _number(1, 1000, whole=True),
    "scale": _number(1e-6, 1e3),
    "turn_scale": _number(1e-6, 1e3),
    "position": _choice(*POSITIONS),
    "rotation": _choice(*ROTATIONS),
    "gripper": _choice(*GRIPPERS),
    "state": _choice(*STATES, "none"),
    "wrist": _choice("omit"),
}
