"""The built-in renderer: Embree for the rays, numpy for the light."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core import Picture, Rendering
from . import camera as cameras
from .columns import gather, scatter
from .glow import add_glow
from .mesh import F32, Material
from .rain import streaks
from .shading import Shader
from .tonemap import display
from .tracer import BackdropCache, Tracer
from .world import World

NOTICEABLE = 12.0
"""Least difference (of 255, largest channel) that counts as visible: about three times the
just-noticeable step on a display, so that neither grain nor rounding makes an object visible."""

# Neighbours that differ by more than this (of 255) get extra samples: the silhouettes of objects,
# the edges of faces, and whatever lies within a face (shadows; grain is meant to be uneven).
_EDGE_OBJECT, _EDGE_FACE, _EDGE_WITHIN = 5.0, 18.0, 42.0
_GRID = ((-0.05, -0.38), (-0.32, 0.24), (0.36, 0.16))  # besides the middle of the pixel
_BACKDROPS = BackdropCache()


class EmbreeRenderer:
    """Draws a `World` on one CPU core; the same world gives the same bytes in any process."""

    name = "embree"

    def render(self, scene: Any) -> Rendering:
        """Render a scene (anything with ``world() -> World``) or a `World`."""
        return self.render_world(scene if isinstance(scene, World) else scene.world())

    def render_world(self, world: World) -> Rendering:
        """Render a world; the index pass, visibility and extent of its probes come along."""
        return _Frame(world).rendering()


class _Frame:
    """One picture in the making."""

    def __init__(self, world: World) -> None:
        self._world = world
        view = world.camera
        self._width, self._height = view.width, view.height
        backdrop = _BACKDROPS.get(world.backdrop_key, world.backdrop)
        self._tracer = Tracer(backdrop, world.objects)
        self._shader = Shader(self._tracer, world.atmosphere, 1.0 / cameras.focal(view))
        self._origin = np.array([view.x, view.y, view.z], dtype=np.float32)

    def rendering(self) -> Rendering:
        """Trace, shade, smooth, overlay, measure."""
        height, width = self._height, self._width
        tracer = self._tracer
        rows, columns = np.divmod(np.arange(height * width), width)
        directions = cameras.directions(self._world.camera, columns + 0.5, rows + 0.5)
        origins = self._origins(len(directions))
        hits = tracer.nearest(origins, directions, self._candidates(columns, rows))
        solid = hits.face >= 0
        index = np.full(height * width, -1, dtype=np.int16)
        index[solid] = tracer.table.owner[hits.face[solid]]
        base = display(self._shader.radiance(origins, directions, hits))

        smooth = base.copy()
        self._antialias(smooth, index, hits.face)
        picture = smooth.reshape(3, height, width)
        lamps = np.zeros(height * width, dtype=np.bool_)
        lamps[solid] = tracer.table.materials[hits.face[solid]] == Material.EMISSIVE
        spread = min(1.0, 12.0 * self._shader.sky.extinction)
        add_glow(picture, lamps.reshape(height, width), spread)
        veil = self._rain()
        if veil is not None:
            picture += veil * (self._rain_colour()[:, None, None] - picture)
        np.clip(picture, 0.0, 255.0, out=picture)
        pixels = np.empty((height, width, 3), dtype=np.uint8)
        pixels[...] = (picture + 0.5).astype(np.uint8).transpose(1, 2, 0)
        return Rendering(
            Picture.from_pixels(pixels),
            visible=self._visible(base, directions, index, veil),
            index=index.reshape(height, width),
            extent=self._extent(columns, rows, directions, index),
        )

    def _candidates(
        self,
        columns: npt.NDArray[np.integer],
        rows: npt.NDArray[np.integer],
        boxes: F32 | None = None,
    ) -> npt.NDArray[np.intp] | None:
        """Return which of the pixels lie in an object's frame; None when that cannot be told."""
        view = self._world.camera
        near = np.zeros(len(columns), dtype=np.bool_)
        for low, high in self._tracer.boxes if boxes is None else boxes:
            corners = np.stack(np.meshgrid(*zip(low, high, strict=True)), axis=-1).reshape(-1, 3)
            at, depth = cameras.project(view, corners)
            if depth.min() < 0.05:  # beside or behind the camera
                return None
            (left, top), (right, bottom) = np.floor(at.min(axis=0)) - 1, np.ceil(at.max(axis=0)) + 1
            near |= (columns >= left) & (columns <= right) & (rows >= top) & (rows <= bottom)
        return np.flatnonzero(near)

    def _origins(self, count: int) -> F32:
        origins = np.empty((count, 3), dtype=np.float32)
        origins[:] = self._origin
        return origins

    def _rain(self) -> F32 | None:
        atmosphere = self._world.atmosphere
        if atmosphere.rain <= 0.0:
            return None
        return streaks(self._width, self._height, atmosphere.rain, atmosphere.seed)

    def _rain_colour(self) -> F32:
        lit = self._shader.sky.horizon * np.float32(1.15 * self._world.atmosphere.exposure)
        return display(lit)

    def _antialias(
        self, picture: F32, index: npt.NDArray[np.int16], face: npt.NDArray[np.int32]
    ) -> None:
        """Average extra samples into the pixels of `picture` (`3 x n`) that lie on an edge."""
        height, width = self._height, self._width
        looks = self._tracer.table.looks.take(face, mode="clip")
        looks[face < 0] = -1
        image = picture.reshape(3, height, width)
        owner, looks = index.reshape(height, width), looks.reshape(height, width)
        edge = np.zeros((height, width), dtype=np.bool_)
        before, after = np.s_[:-1], np.s_[1:]
        every = np.s_[:]
        for one, other in (((every, before), (every, after)), ((before, every), (after, every))):
            step = _largest(image[:, *other] - image[:, *one])
            found = step > _EDGE_WITHIN
            found |= (step > _EDGE_OBJECT) & (owner[one] != owner[other])
            found |= (step > _EDGE_FACE) & (looks[one] != looks[other])
            edge[one] |= found
            edge[other] |= found
        at = np.flatnonzero(edge)
        if len(at) == 0:
            return
        rows, columns = np.divmod(at, width)
        # Sample-major order would scatter the rays: the samples of a pixel stay together.
        across_at = (columns[:, None] + 0.5 + np.array([a for a, _ in _GRID])).ravel()
        down_at = (rows[:, None] + 0.5 + np.array([b for _, b in _GRID])).ravel()
        directions = cameras.directions(self._world.camera, across_at, down_at)
        origins = self._origins(len(directions))
        candidates = self._candidates(np.repeat(columns, len(_GRID)), np.repeat(rows, len(_GRID)))
        hits = self._tracer.nearest(origins, directions, candidates)
        extra = display(self._shader.radiance(origins, directions, hits))
        extra = extra.reshape(3, len(at), len(_GRID))
        total = gather(picture, at)
        for k in range(len(_GRID)):
            total += extra[:, :, k]
        scatter(picture, at, total * np.float32(1.0 / (1 + len(_GRID))))

    def _visible(
        self,
        base: F32,
        directions: F32,
        index: npt.NDArray[np.int16],
        veil: F32 | None,
    ) -> dict[str, int]:
        """Count, for each probe, its pixels that would look different without it."""
        counts: dict[str, int] = {}
        for name in self._world.probes:
            owners = self._owners(name)
            at = np.flatnonzero(np.isin(index, owners))
            counts[name] = self._differing(owners, at, base, directions, veil) if len(at) else 0
        return counts

    def _extent(
        self,
        columns: npt.NDArray[np.integer],
        rows: npt.NDArray[np.integer],
        directions: F32,
        index: npt.NDArray[np.int16],
    ) -> dict[str, int]:
        """Count, for each probe, the pixels that it would cover with nothing before it."""
        counts: dict[str, int] = {}
        for name in self._world.probes:
            owners = self._owners(name)
            covered = np.isin(index, owners)
            # Only the pixels in its frame that show something else need a ray.
            boxes = self._tracer.boxes_of(owners)
            framed = self._candidates(columns, rows, boxes)
            rest = np.flatnonzero(~covered) if framed is None else framed[~covered[framed]]
            rays = np.ascontiguousarray(directions[rest])
            alone = self._tracer.met(owners, self._origins(len(rest)), rays)
            counts[name] = int(np.count_nonzero(covered) + np.count_nonzero(alone))
        return counts

    def _owners(self, name: str) -> list[int]:
        """Return the numbers (from 1) of the objects with a name."""
        return [k for k, item in enumerate(self._world.objects, start=1) if item.name == name]

    def _differing(
        self,
        owners: Sequence[int],
        at: npt.NDArray[np.intp],
        base: F32,
        directions: F32,
        veil: F32 | None,
    ) -> int:
        tracer = self._tracer.without(owners)
        shader = self._shader.over(tracer)
        rays = np.ascontiguousarray(directions[at])
        origins = self._origins(len(at))
        behind = display(shader.radiance(origins, rays, tracer.nearest(origins, rays)))
        difference = _largest(behind - gather(base, at))
        if veil is not None:  # the rain lies over both alike
            difference *= 1.0 - veil.ravel()[at]
        return int(np.count_nonzero(difference >= NOTICEABLE))


def _largest(difference: F32) -> F32:
    """Return the largest absolute channel of `3 x ...`."""
    np.abs(difference, out=difference)
    largest: F32 = np.maximum(difference[0], difference[1])
    np.maximum(largest, difference[2], out=largest)
    return largest
