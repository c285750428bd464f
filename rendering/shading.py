"""From hits to radiance."""

from __future__ import annotations

import math
from copy import copy

import numpy as np
import numpy.typing as npt

from .kernels.light import glaze, shade, veil, water
from .kernels.surface import contact_rays, sun_rays, surfaces, take_contact
from .mesh import F32
from .noise import textures
from .sky import Light
from .tracer import Hits, Tracer
from .world import Atmosphere

# Contact shadows: rays of this length towards these directions, over ground near objects.
_REACH, _STRENGTH = 0.9, 2.1
_TILTS = np.array(
    [
        (math.cos(a) * math.cos(e), math.sin(a) * math.cos(e), math.sin(e))
        for a, e in ((0.4, 0.45), (1.97, 0.8), (3.54, 0.45), (5.11, 0.8))
    ]
)[None]


class Shader:
    """Shades rays of one frame.

    Attributes:
        tracer: Answers the ray queries.
        light: Light and weather.
    """

    def __init__(self, tracer: Tracer, atmosphere: Atmosphere, pixel_angle: float) -> None:
        """Prepare for a frame.

        Args:
            tracer: Answers the ray queries.
            atmosphere: Light and weather.
            pixel_angle: Width of a pixel at 1 m, m.
        """
        self.tracer = tracer
        self.light = Light.of(atmosphere, pixel_angle)

    def over(self, tracer: Tracer) -> Shader:
        """Return the same light and weather over another tracer."""
        twin = copy(self)
        twin.tracer = tracer
        return twin

    def unknown(self, count: int) -> F32:
        """Return what is known of the occlusion at `count` new hits: nothing, `k x count` NaN."""
        return np.full((1, count), np.nan, dtype=np.float32)

    def radiance(
        self,
        origins: F32,
        directions: F32,
        hits: Hits,
        known: F32 | None = None,
        *,
        width: int = 1,
        burning: F32 | None = None,
    ) -> F32:
        """Return the exposed radiance `n x 3` that comes back along rays.

        Args:
            origins: `1 x 3`, m: the camera.
            directions: `n x 3`, unit length.
            hits: What they hit.
            known: Shares of light that close objects and others leave, `k x n`, as from
                `unknown`; NaN where they are not known yet; filled in.
            width: Of the picture when the rays are all of its pixels, row by row; else 1.
            burning: Out: how much flame is seen, `n`; stays as it is where there can be none.
        """
        if known is None:
            known = self.unknown(len(directions))
        out = self._radiance(origins, directions, hits, known, width)
        flame = self._look_through(out, origins, directions, hits)
        if burning is not None and flame is not None:
            burning[:] = flame
        out *= np.float32(self.light.exposure)
        return out

    def _radiance(
        self, origins: F32, directions: F32, hits: Hits, known: F32 | None, width: int = 1
    ) -> F32:
        """Return radiance, `n x 3`; with `known` that of the picture, without of a mirror."""
        n, light, noise = len(directions), self.light, textures()
        table, tracer = self.tracer.table, self.tracer
        points, normals, flats, albedo, out = np.empty((5, n, 3), dtype=np.float32)
        openness, soaked = np.empty((2, n), dtype=np.float32)
        primary = known is not None
        surfaces(
            origins, directions, hits.distance, hits.face, hits.u, hits.v, table, light, noise,
            primary, points, normals, flats, albedo, openness, soaked, out,
        )  # fmt: skip
        if known is not None:
            self._occlude(known, points, normals, flats, hits, width)
            openness *= np.where(np.isnan(known[0]), np.float32(1.0), known[0])
        sunny = np.ones(n, dtype=np.uint8)
        if light.sunny and primary:
            lit, starts = sun_rays(points, normals, flats, hits.distance, hits.face, light)
            towards = np.empty_like(starts)
            towards[:] = light.towards_sun
            sunny[lit[tracer.occluded(starts, towards)]] = 0
        shade(
            directions, hits.face, table, light, points, normals, flats, albedo, openness, sunny,
            out,
        )  # fmt: skip
        self._add_lamps(out, directions, hits.face, points, normals, albedo, known)
        wet = np.empty(0, dtype=np.int64)
        shares, mirrored = np.empty(0, dtype=np.float32), np.empty((0, 3), dtype=np.float32)
        if light.wetness > 0.0 and primary:
            wet, shares, starts, rays = water(
                directions, hits.distance, hits.face, points, soaked, light, noise
            )
            mirrored = self._radiance(starts, rays, tracer.nearest(starts, rays), None)
        veil(
            hits.distance, hits.face, table, light, points, albedo, wet, shares, mirrored, out,
        )  # fmt: skip
        return out

    def _occlude(
        self, known: F32, points: F32, normals: F32, flats: F32, hits: Hits, width: int
    ) -> None:
        """Fill in what close objects leave of the ambient light."""
        at, starts, rays = contact_rays(
            points, flats, hits.face, known[0], self.tracer.boxes, _REACH, _TILTS, 1
        )
        if len(at):
            close = self.tracer.closeness(starts, rays, _REACH)
            take_contact(at, close, hits.face, self.tracer.table.owner, known[0], _STRENGTH)

    def _add_lamps(
        self,
        out: F32,
        directions: F32,
        face: npt.NDArray[np.int32],
        points: F32,
        normals: F32,
        albedo: F32,
        known: F32 | None,
    ) -> None:
        """Add the light of lamps: there are none under the open sky."""

    def _look_through(self, out: F32, origins: F32, directions: F32, hits: Hits) -> F32 | None:
        """Lay the panes over what is behind them; return how much flame is seen, if any."""
        if not self.tracer.glazed:
            return None
        left, added = np.ones_like(out), np.zeros_like(out)
        for at, pane in self.tracer.panes(origins, directions, hits.distance):
            glaze(
                directions, at, pane.distance, pane.face, self.tracer.table, self.light, left, added
            )
        out *= left
        out += added
        return None
