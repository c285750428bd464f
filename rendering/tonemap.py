"""From linear radiance to the 8-bit picture."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from .mesh import F32

_ENTRIES = 4096
_BRIGHTEST = 16.0
_SCALE = float((_ENTRIES - 1) / np.sqrt(_BRIGHTEST))


def srgb_to_linear(colours: npt.NDArray[np.floating]) -> F32:
    """Return the linear values of sRGB ones in [0, 1], any shape."""
    c = np.clip(np.asarray(colours, dtype=np.float64), 0.0, 1.0)
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    values: F32 = linear.astype(np.float32)
    return values


def filmic(radiance: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Ours: an exponential shoulder with a short toe, on exposure-scaled linear radiance.

    The toe is short on purpose: a long one (ACES) crushes the weak channels of dark colours, and
    leaves and bricks turn garish.
    """
    y = 1.0 - np.exp(-1.2 * radiance)
    return y * (y + 0.045) / (y + 0.085) * (1.085 / 1.045)


@cache
def _table() -> F32:
    # Indexed by the square root of the radiance: the shadows need the finer steps.
    radiance = (np.arange(_ENTRIES) / _SCALE) ** 2
    linear = filmic(radiance)
    display = np.where(
        linear <= 0.0031308, linear * 12.92, 1.055 * np.maximum(linear, 1e-12) ** (1 / 2.4) - 0.055
    )
    table: F32 = (display * 255.0).astype(np.float32)
    return table


def display(radiance: F32) -> F32:
    """Return display values in [0, 255] (sRGB, float32) of exposed linear radiance, `n x 3`."""
    from .kernels.display import looked_up

    values: F32 = looked_up(radiance, _table(), _SCALE)
    return values
