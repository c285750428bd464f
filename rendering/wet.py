"""Water on the road: where it stands, how it darkens and how much it mirrors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from . import noise
from .mesh import F32, Material
from .sky import smoothstep

_SOAKING = np.zeros(256, dtype=np.float32)
_SOAKING[[Material.ASPHALT, Material.CONCRETE, Material.MATTE]] = (1.0, 0.5, 0.8)


def soaking(materials: npt.NDArray[np.uint8], heights: F32, up: F32, wetness: float) -> F32:
    """Return how wet each hit is, 0...1.

    Only level ground gets wet to see: faces near the ground that look up.

    Args:
        materials: `n` materials.
        heights: `n`, m above the ground.
        up: `n`, z of the normal.
        wetness: Of the atmosphere.
    """
    level = (up > 0.95) & (np.abs(heights) < 0.35)
    values: F32 = _SOAKING[materials] * level * np.float32(wetness)
    return values


def puddles(x: F32, y: F32, wet: F32) -> F32:
    """Return the share of standing water, 0...1, at ground points, m."""
    pattern = noise.bilinear(noise.cloud_noise(), x * 11.0 + 91.0, y * 30.0 + 17.0)
    return smoothstep(0.74, 0.92, pattern + 0.1 * wet) * wet


def ripples(x: F32, y: F32, strength: F32) -> tuple[F32, F32]:
    """Return how far the water's normal leans in x and y at ground points, m."""
    grain = noise.cloud_noise()
    a = noise.bilinear(grain, x * 60.0, y * 60.0) - 0.5
    b = noise.bilinear(grain, x * 60.0 + 171.0, y * 60.0 + 57.0) - 0.5
    return a * strength, b * strength


def fresnel(cosine: F32) -> F32:
    """Return water's mirror share by Schlick's formula at incidence cosines `n`."""
    rest = np.clip(1.0 - cosine, 0.0, 1.0)
    squared = rest * rest
    values: F32 = 0.02 + 0.98 * squared * squared * rest
    return values
