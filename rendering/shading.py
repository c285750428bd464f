"""From hits to radiance."""

from __future__ import annotations

from copy import copy

import numpy as np
import numpy.typing as npt

from . import wet
from .columns import dot, gather, normalise, outer, scatter
from .grain import BENDING, GRAIN, MIRRORED, Surface
from .mesh import F32, Material
from .polish import polish
from .sky import Sky, smoothstep
from .tracer import Hits, Tracer
from .world import Atmosphere

_CHUNK = 16384  # keeps the temporaries of a chunk in the cache
_SUN_SCALE = np.float32(0.72)
EMISSIVE_GAIN = np.float32(3.2)
"""How much brighter than its colour an emissive face is."""

_LAMP_EXTINCTION = np.float32(0.3)  # a lamp outshines fog: it fades at this share of the rate

# Contact shadows: rays of this length towards these directions, over ground near objects.
_REACH = 0.9
_TILTS = tuple(
    (np.cos(a) * np.cos(e), np.sin(a) * np.cos(e), np.sin(e))
    for a, e in ((0.4, 0.45), (1.65, 0.8), (2.9, 0.45), (4.15, 0.8), (5.4, 0.45))
)


class Shader:
    """Shades rays of one frame.

    Attributes:
        sky: The frame's sky.
    """

    def __init__(self, tracer: Tracer, atmosphere: Atmosphere, pixel_angle: float) -> None:
        """Prepare for a frame.

        Args:
            tracer: Answers the ray queries.
            atmosphere: Light and weather.
            pixel_angle: Width of a pixel at 1 m, m.
        """
        self.tracer = tracer
        self.sky = Sky(atmosphere)
        self._exposure = np.float32(atmosphere.exposure)
        self._pixel_angle = np.float32(pixel_angle)
        self._sunny = max(atmosphere.sun) > 0.0
        self._wetness, self._rain = float(atmosphere.wetness), float(atmosphere.rain)

    def over(self, tracer: Tracer) -> Shader:
        """Return the same light and weather over another tracer."""
        twin = copy(self)
        twin.tracer = tracer
        return twin

    def radiance(self, origins: F32, directions: F32, hits: Hits) -> F32:
        """Return the exposed radiance `3 x n` that comes back along rays `n x 3`."""
        n = len(directions)
        out = np.empty((3, n), dtype=np.float32)
        for start in range(0, n, _CHUNK):
            part = slice(start, min(start + _CHUNK, n))
            out[:, part] = self._chunk(
                np.ascontiguousarray(origins[part].T),
                np.ascontiguousarray(directions[part].T),
                hits.distance[part],
                hits.face[part],
                hits.u[part],
                hits.v[part],
                primary=True,
            )
        out *= self._exposure
        return out

    def _chunk(
        self,
        origins: F32,
        directions: F32,
        distance: F32,
        face: npt.NDArray[np.int32],
        u: F32,
        v: F32,
        *,
        primary: bool,
    ) -> F32:
        solid = face >= 0
        if solid.all():
            return self._surface(origins, directions, distance, face, u, v, primary)
        away = np.flatnonzero(~solid)
        sky = self.sky.radiance(gather(directions, away))
        if len(away) == len(face):
            return sky
        at = np.flatnonzero(solid)
        lit = self._surface(
            gather(origins, at),
            gather(directions, at),
            distance[at],
            face[at],
            u[at],
            v[at],
            primary,
        )
        out = np.empty_like(directions)
        scatter(out, away, sky)
        scatter(out, at, lit)
        return out

    def _surface(
        self,
        origins: F32,
        d: F32,
        t: F32,
        face: npt.NDArray[np.int32],
        u: F32,
        v: F32,
        primary: bool,
    ) -> F32:
        table = self.tracer.table
        points = d * t
        points += origins
        normals = self._normals(face, u, v, d)
        geometric = normals.copy()
        albedo = gather(table.colours, face)
        materials = table.materials[face]
        present = np.flatnonzero(np.bincount(materials, minlength=len(Material)))
        footprint = t * self._pixel_angle
        for value in present:
            material = Material(int(value))
            grain = GRAIN.get(material)
            if grain is None or not (primary or material in MIRRORED):
                continue
            if len(present) == 1:
                grain(Surface(points, normals, albedo, footprint))
                continue
            at = np.flatnonzero(materials == value)
            surface = Surface(
                gather(points, at), gather(normals, at), gather(albedo, at), footprint[at]
            )
            grain(surface)
            scatter(albedo, at, surface.colours)
            if material in BENDING:
                scatter(normals, at, surface.normals)
        np.clip(albedo, 0.0, 1.0, out=albedo)

        mirror = None
        if primary and self._wetness > 0.0:
            soaked = wet.soaking(materials, points[2], geometric[2], self._wetness)
            mirror = np.flatnonzero(soaked > 0.0)
            soaked = soaked[mirror]
            scatter(albedo, mirror, gather(albedo, mirror) * (1.0 - 0.5 * soaked))

        openness = self._baked(face, u, v)
        if primary:
            self._close(openness, points, geometric, table.owner[face])
        light = self._ambient(normals, points, openness)
        shine = self._sunlight(points, geometric, normals, t, light, primary)
        out = albedo * light
        self._materials(out, albedo, materials, present, normals, d, shine)
        if mirror is not None and len(mirror):
            self._mirror(out, points, d, t, soaked, mirror)
        return self._veil(out, albedo, d, t, materials)

    def _normals(self, face: npt.NDArray[np.int32], u: F32, v: F32, d: F32) -> F32:
        table = self.tracer.table
        n = gather(table.normals[:3], face)
        curved = np.flatnonzero(table.curved.take(face))
        if len(curved):
            at, second, third = face[curved], u[curved], v[curved]
            bent = gather(table.normals[:3], at) * (1.0 - second - third)
            bent += gather(table.normals[3:6], at) * second
            bent += gather(table.normals[6:], at) * third
            scatter(n, curved, bent)
        facing = dot(n, d)
        # Seen from behind: turn round. Only just averted (an interpolated normal at a
        # silhouette): bend until it is seen edge on.
        n *= np.where(facing > 0.35, np.float32(-1.0), np.float32(1.0))
        bend = np.where((facing > 0.0) & (facing <= 0.35), facing, np.float32(0.0))
        n -= bend * d
        normalise(n)
        return n

    def _ambient(self, normals: F32, points: F32, openness: F32) -> F32:
        sky = self.sky
        share = 0.5 + 0.5 * normals[2]
        light: F32 = (
            sky.ambient_down[:, None] + (sky.ambient_up - sky.ambient_down)[:, None] * share
        )
        # Walls see less sky at their foot.
        foot = 0.72 + 0.28 * smoothstep(0.0, 1.6, points[2])
        steep = 1.0 - np.abs(normals[2])
        light *= 1.0 - steep * (1.0 - foot)
        light *= openness
        return light

    def _baked(self, face: npt.NDArray[np.int32], u: F32, v: F32) -> F32:
        """Return the share of ambient light that the backdrop leaves, `n`."""
        first, second, third = self.tracer.table.openness
        share: F32 = (1.0 - u - v) * first.take(face)
        share += u * second.take(face)
        share += v * third.take(face)
        return share

    def _close(
        self, openness: F32, points: F32, normals: F32, owner: npt.NDArray[np.int16]
    ) -> None:
        """Take from `openness` what objects keep off beside and below them."""
        near = np.zeros(points.shape[1], dtype=np.bool_)
        for low, high in self.tracer.boxes:
            inside = points[2] < high[2] + _REACH
            for k in range(3):
                inside &= points[k] > low[k] - _REACH
                if k < 2:
                    inside &= points[k] < high[k] + _REACH
            near |= inside
        at = np.flatnonzero(near)
        if len(at) == 0:
            return
        n = gather(normals, at)
        start = np.ascontiguousarray((gather(points, at) + n * np.float32(0.006)).T)
        closed = np.zeros(len(at), dtype=np.float32)
        ray = np.empty_like(start)
        for tilt in _TILTS:
            # Between the fixed direction and the normal: always above the surface.
            lean = n + np.float32(0.95) * np.array(tilt, dtype=np.float32)[:, None]
            normalise(lean)
            ray[...] = lean.T
            closed += self.tracer.closeness(start, ray, _REACH)
        # Few rays draw bands: on the objects themselves they must stay faint, on the ground they
        # are what makes an object stand on it.
        share = np.where(owner[at] > 0, np.float32(0.75), np.float32(2.1))
        closed *= share * np.float32(1.0 / len(_TILTS))
        openness[at] *= 1.0 - 0.8 * np.minimum(closed, 1.0)

    def _sunlight(
        self, points: F32, geometric: F32, normals: F32, t: F32, light: F32, primary: bool
    ) -> F32 | None:
        """Add the sun to `light`; return the share of the sun that arrives, `n`."""
        if not self._sunny:
            return None
        s = self.sky.sun_direction
        cosine = normals[0] * s[0] + normals[1] * s[1] + normals[2] * s[2]
        facing = geometric[0] * s[0] + geometric[1] * s[1] + geometric[2] * s[2]
        np.clip(cosine, 0.0, 1.0, out=cosine)
        cosine *= facing > 0.0
        arrives: F32 = (cosine > 0.0).astype(np.float32)
        if primary:
            lit = np.flatnonzero(cosine > 0.0)
            lift = 0.003 + 0.0004 * t[lit]
            start = np.ascontiguousarray((gather(points, lit) + gather(geometric, lit) * lift).T)
            towards = np.empty_like(start)
            towards[:] = s
            arrives[lit[self.tracer.occluded(start, towards)]] = 0.0
        cosine *= arrives
        light += outer(self.sky.sun * _SUN_SCALE, cosine)
        return arrives

    def _materials(
        self,
        out: F32,
        albedo: F32,
        materials: npt.NDArray[np.uint8],
        present: npt.NDArray[np.intp],
        normals: F32,
        d: F32,
        shine: F32 | None,
    ) -> None:
        for value in present:
            material = Material(int(value))
            if material == Material.EMISSIVE:
                at = np.flatnonzero(materials == value)
                scatter(out, at, gather(albedo, at) * EMISSIVE_GAIN)
            elif material == Material.RETRO:
                at = np.flatnonzero(materials == value)
                scatter(out, at, gather(out, at) * 1.25 + gather(albedo, at) * 0.1)
            elif material in (Material.GLOSSY, Material.METAL, Material.GLASS):
                at = np.flatnonzero(materials == value)
                polish(out, albedo, at, material, normals, d, shine, self.sky)

    def _mirror(
        self,
        out: F32,
        points: F32,
        d: F32,
        t: F32,
        soaked: F32,
        at: npt.NDArray[np.intp],
    ) -> None:
        x, y = points[0][at], points[1][at]
        view = gather(d, at)
        standing = wet.puddles(x, y, soaked)
        calm = np.minimum(6.0 / (t[at] + 2.0), 1.0)
        lean_x, lean_y = wet.ripples(
            x, y, (0.16 - 0.14 * standing + 0.05 * standing * self._rain) * calm
        )
        share = wet.fresnel(-view[2]) * (0.36 * soaked + 0.6 * standing)
        share = np.minimum(share + 0.05 * standing, 1.0)
        chosen = np.flatnonzero(share > 0.015)
        if len(chosen) == 0:
            return
        n = gather(np.stack([lean_x, lean_y, np.ones_like(lean_x)]), chosen)
        normalise(n)
        view = gather(view, chosen)
        mirrored = view - 2.0 * dot(view, n) * n
        mirrored[2] = np.maximum(mirrored[2], 0.004)
        normalise(mirrored)
        index = at[chosen]
        start = gather(points, index)
        start[2] += 0.004
        rays = np.ascontiguousarray(mirrored.T)
        hits = self.tracer.nearest(np.ascontiguousarray(start.T), rays)
        seen = self._chunk(start, mirrored, hits.distance, hits.face, hits.u, hits.v, primary=False)
        weight = share[chosen]
        under = gather(out, index)
        scatter(out, index, under + weight * (seen - under))

    def _veil(self, out: F32, albedo: F32, d: F32, t: F32, materials: npt.NDArray[np.uint8]) -> F32:
        """Fade everything towards the colour of the fog."""
        left = np.exp(t * np.float32(-self.sky.extinction))
        fog = self.sky.horizon[:, None]
        out -= fog
        out *= left
        out += fog
        lamps = np.flatnonzero(materials == Material.EMISSIVE)
        if len(lamps):
            own = np.exp(t[lamps] * np.float32(-self.sky.extinction * _LAMP_EXTINCTION))
            bright = gather(albedo, lamps) * EMISSIVE_GAIN * own
            scatter(out, lamps, bright + fog * (1.0 - own) * 0.6)
        return out
