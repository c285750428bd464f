"""The soft glow round lamps."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .mesh import F32

# (standard deviation in pixels at height 384, strength)
_HALOS = ((1.8, 0.7), (6.0, 0.9))


def add_glow(
    display: F32, lamps: npt.NDArray[np.bool_], spread: float, strength: float = 1.0
) -> None:
    """Lay a glow round the lamp pixels over a picture, in place.

    Args:
        display: `height x width x 3`, display values in [0, 255].
        lamps: `height x width`, where a lamp is seen.
        spread: 0 in clear air ... 1 in fog or rain: widens the halo.
        strength: Factor of the halo.
    """
    rows = np.flatnonzero(lamps.any(axis=1))
    if len(rows) == 0:
        return
    from scipy.ndimage import gaussian_filter

    columns = np.flatnonzero(lamps.any(axis=0))
    height, width = lamps.shape
    scale = height / 384.0
    widest = max(sigma for sigma, _ in _HALOS) * scale * (1.0 + spread)
    margin = int(3.0 * widest) + 1
    rows_at = slice(max(rows[0] - margin, 0), min(rows[-1] + margin + 1, height))
    columns_at = slice(max(columns[0] - margin, 0), min(columns[-1] + margin + 1, width))
    mask = lamps[rows_at, columns_at]
    for k in range(3):
        part = display[rows_at, columns_at, k]
        source = np.where(mask, part, np.float32(0.0))
        halo = np.zeros_like(part)
        for sigma, share in _HALOS:
            blurred = gaussian_filter(
                source, sigma * scale * (1.0 + spread), mode="constant", truncate=3.0
            )
            halo += np.float32(share * (1.0 + 0.6 * spread)) * blurred
        if strength != 1.0:
            halo *= np.float32(strength)
        np.minimum(halo, 255.0, out=halo)
        # Screen: bright over bright does not overflow.
        part += halo * (1.0 - part * np.float32(1.0 / 255.0)) * ~mask
