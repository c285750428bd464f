"""The pinhole camera: pixels to rays and points to pixels."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from .mesh import F32
from .world import Camera


def axes(camera: Camera) -> tuple[F32, F32, F32]:
    """Return the unit vectors (forward, left, up) of a camera in world coordinates."""
    cy, sy, cp, sp = (fn(angle) for angle in (camera.yaw, camera.pitch) for fn in (np.cos, np.sin))
    forward = np.array([cy * cp, sy * cp, sp], dtype=np.float32)
    left = np.array([-sy, cy, 0.0], dtype=np.float32)
    up = np.array([-cy * sp, -sy * sp, cp], dtype=np.float32)
    if camera.roll:
        cr, sr = np.float32(np.cos(camera.roll)), np.float32(np.sin(camera.roll))
        left, up = cr * left + sr * up, cr * up - sr * left
    return forward, left, up


def focal(camera: Camera) -> float:
    """Return the focal length in pixels."""
    return 0.5 * camera.width / float(np.tan(0.5 * camera.hfov))


def directions(
    camera: Camera, columns: npt.NDArray[np.floating], rows: npt.NDArray[np.floating]
) -> F32:
    """Return unit ray directions `n x 3` through picture positions.

    Args:
        camera: The camera.
        columns: `n` positions from the left edge, pixels; the middle of pixel i is i + 0.5.
        rows: `n` positions from the top edge, pixels.
    """
    forward, left, up = axes(camera)
    f = focal(camera)
    a = ((0.5 * camera.width - columns) / f).astype(np.float32)
    b = ((0.5 * camera.height - rows) / f).astype(np.float32)
    inverse = 1.0 / np.sqrt(1.0 + a * a + b * b)
    out = np.empty((len(a), 3), dtype=np.float32)
    for k in range(3):
        out[:, k] = (forward[k] + a * left[k] + b * up[k]) * inverse
    return out


@lru_cache(maxsize=4)
def _pixels(width: int, height: int, hfov: float) -> F32:
    """Return unit rays through the pixels' middles of a camera that looks along +x."""
    view = Camera(0.0, 0.0, 0.0, hfov=hfov, width=width, height=height)
    rows, columns = np.divmod(np.arange(height * width), width)
    rays = directions(view, columns + 0.5, rows + 0.5)
    rays.flags.writeable = False
    return rays


def pixel_directions(camera: Camera) -> F32:
    """Return unit ray directions `n x 3` through the middles of all pixels, row by row."""
    rays = _pixels(camera.width, camera.height, camera.hfov)
    return rays @ np.stack(axes(camera))


def project(
    camera: Camera, points: npt.ArrayLike
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Project world points into the picture.

    Args:
        camera: The camera.
        points: `n x 3`, m.

    Returns:
        Positions `n x 2` (column, row), pixels from the top left corner, and depths `n`, m along
        the viewing direction; positions mean nothing where the depth is not above 0.
    """
    forward, left, up = (axis.astype(np.float64) for axis in axes(camera))
    relative = np.asarray(points, dtype=np.float64).reshape(-1, 3) - (camera.x, camera.y, camera.z)
    depth = relative @ forward
    scale = focal(camera) / np.where(np.abs(depth) < 1e-9, 1e-9, depth)
    column = 0.5 * camera.width - (relative @ left) * scale
    row = 0.5 * camera.height - (relative @ up) * scale
    return np.stack([column, row], axis=1), depth
