"""Vectors as the columns of `3 x n` arrays: the operations that shading is made of.

Fancy indexing of the second axis (`a[:, at]`) is ten times slower than these.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .mesh import F32


def gather(columns: F32, at: npt.NDArray[np.integer]) -> F32:
    """Return the columns `at` (`k x m`) of `columns` (`k x n`)."""
    values: F32 = columns.take(at, axis=1)
    return values


def scatter(columns: F32, at: npt.NDArray[np.integer], values: F32) -> None:
    """Write `values` (`k x m`) into the columns `at` of `columns` (`k x n`)."""
    for row, value in zip(columns, values, strict=True):
        row[at] = value


def dot(a: F32, b: F32) -> F32:
    """Return the products `n` of vectors `3 x n`, column by column."""
    out: F32 = a[0] * b[0]
    out += a[1] * b[1]
    out += a[2] * b[2]
    return out


def normalise(a: F32) -> None:
    """Give the vectors `3 x n` unit length, in place."""
    a *= 1.0 / np.sqrt(np.maximum(dot(a, a), np.float32(1e-12)))


def outer(colour: F32, weights: F32) -> F32:
    """Return one colour `3` by weights `n`, as `3 x n`."""
    return np.multiply(colour[:, None], weights)
