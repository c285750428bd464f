"""Compiling a function once for a machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile a function of numbers and arrays, without Python's lock, kept on disk.

    No fast-math: a picture depends on the order of its operations.
    """
    try:
        compiled = njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:  # neither the package's nor the user's cache folder can be written
        compiled = njit(nogil=True, error_model="numpy")(function)
    return cast(F, compiled)
