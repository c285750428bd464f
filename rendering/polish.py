"""Paint, metal and glass: the sky in them and the sun's glint."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .columns import dot, gather, outer, scatter
from .mesh import F32, Material
from .sky import Sky, smoothstep

# Mirror share seen head-on, exponent and strength of the sun's glint.
_POLISH = {
    Material.GLOSSY: (0.04, 120.0, 1.2),
    Material.METAL: (0.45, 60.0, 1.6),
    Material.GLASS: (0.14, 700.0, 6.0),
}


def polish(
    out: F32,
    albedo: F32,
    at: npt.NDArray[np.intp],
    material: Material,
    normals: F32,
    d: F32,
    shine: F32 | None,
    sky: Sky,
) -> None:
    """Lay the mirrored surroundings and the sun's glint over polished hits, in place.

    Args:
        out: Radiance `3 x n`.
        albedo: `3 x n`.
        at: The hits of `material` among the `n`.
        material: GLOSSY, METAL or GLASS.
        normals: `3 x n`.
        d: Ray directions `3 x n`.
        shine: Share of the sun that arrives, `n`; None without a sun.
        sky: What is mirrored.
    """
    n, view = gather(normals, at), gather(d, at)
    cosine = dot(n, view)
    mirrored = view - 2.0 * cosine * n
    rest = 1.0 + np.minimum(cosine, 0.0)
    grazing = rest * rest
    grazing = grazing * grazing * rest
    world = sky.gradient(mirrored[2])
    # Houses and trees stand round about: the mirrored horizon is dark and uneven.
    skyline = 0.10 + 0.07 * np.sin(9.0 * mirrored[0]) + 0.05 * np.sin(23.0 * mirrored[1])
    above = smoothstep(-0.05, 0.05, mirrored[2] - skyline)
    low = (0.45 * sky.ambient_down + 0.1 * sky.horizon)[:, None]
    world = low + above * (world - low)
    base, hard, bright = _POLISH[material]
    share = np.float32(base) + np.float32(1.0 - base) * grazing
    if material == Material.METAL:
        world = world * (0.2 + 0.8 * gather(albedo, at))
    result = gather(out, at) * (1.0 - share) + world * share
    if shine is not None:
        s = sky.sun_direction
        towards = mirrored[0] * s[0] + mirrored[1] * s[1] + mirrored[2] * s[2]
        # The power is slow and vanishes away from the mirrored sun.
        near = np.flatnonzero(towards > 0.8)
        glint = towards[near] ** np.float32(hard)
        glint *= shine[at[near]] * np.float32(bright)
        scatter(result, near, gather(result, near) + outer(sky.sun, glint))
    scatter(out, at, result)
