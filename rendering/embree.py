"""The built-in renderer: Embree for the rays, compiled kernels for the light."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ..core import Picture, Rendering
from . import camera as cameras
from .accelerator import FAR
from .bodies import backdrop_body
from .glow import add_glow
from .kernels.tracing import borrow, differing, edges
from .mesh import F32, Material
from .rain import streaks
from .rooms import RoomShader
from .shading import Shader
from .tonemap import display
from .tracer import Hits, Tracer
from .world import World

NOTICEABLE = 12.0
"""Least difference (of 255, largest channel) that counts as visible: about three times the
just-noticeable step on a display, so that neither grain nor rounding makes an object visible."""

COUNTED = 3000
"""Of an object that shows more pixels than this, every second, third, ... is looked at."""

ROOM_REACH = 0.6
"""Reach of a room's ambient occlusion where its world does not say, m: under wall cabinets, within
open ones."""

# Neighbours that differ by more than this (of 255) get extra samples: the silhouettes of objects,
# the edges of faces, and whatever lies within a face (shadows; grain is meant to be uneven).
_EDGES = (7.0, 26.0, 50.0)
_GRID = np.array(((-0.30, -0.32), (0.32, 0.30)))  # besides the middle of the pixel
_SAME_PLACE = 0.03  # of the distance: a sample this near its pixel's has its contact shadow
_COVERED = 0.05  # least share that panes take of what is behind them where they count as there
_BURNING, _FLAME_GLOW = 0.45, 0.35  # how much flame glows, and how strongly beside a lamp


class EmbreeRenderer:
    """Draws a `World` on one CPU core; the same world gives the same bytes in any process."""

    name = "embree"

    def render(self, scene: Any) -> Rendering:
        """Render a scene (anything with ``world() -> World``) or a `World`."""
        return self.render_world(scene if isinstance(scene, World) else scene.world())

    def render_world(self, world: World) -> Rendering:
        """Render a world; the index pass, visibility and extent of its probes come along."""
        return _Frame(world).rendering()

    def pixels(self, world: World) -> npt.NDArray[np.uint8]:
        """Return the pixels of a world, `height x width x 3`, and nothing else: no PNG, no passes.

        They are those of `render_world`. For whoever looks at many small pictures in a row.
        """
        return _Frame(world).pixels()


class _Frame:
    """One picture in the making."""

    def __init__(self, world: World) -> None:
        self._world = world
        view = world.camera
        self._width, self._height = view.width, view.height
        reach = world.occlusion_reach
        if reach is None and world.atmosphere.lamps:
            reach = ROOM_REACH
        body = backdrop_body(world.backdrop_key, world.backdrop, reach)
        self._tracer = Tracer(body, world.objects)
        # What a street has no use for would cost it time, and a change of its pictures.
        self._room = bool(world.atmosphere.lamps) or self._tracer.soft
        kind = RoomShader if self._room else Shader
        self._shader = kind(self._tracer, world.atmosphere, 1.0 / cameras.focal(view))
        self._origin = np.array([[view.x, view.y, view.z]], dtype=np.float32)

    def rendering(self) -> Rendering:
        """Trace, shade, smooth, overlay, measure."""
        directions, hits, index, base, veil, pixels = self._drawn()
        return Rendering(
            Picture.from_pixels(pixels),
            visible=self._visible(base, directions, index, hits, veil),
            index=self._shown(directions, index, hits).reshape(self._height, self._width),
            extent=self._extent(directions, index),
        )

    def pixels(self) -> npt.NDArray[np.uint8]:
        """Trace, shade, smooth, overlay."""
        return self._drawn()[-1]

    def _drawn(
        self,
    ) -> tuple[F32, Hits, npt.NDArray[np.int16], F32, F32 | None, npt.NDArray[np.uint8]]:
        """Return rays, what they hit, whose it is, its colours, the rain, and the pixels."""
        height, width = self._height, self._width
        table = self._tracer.table
        directions = cameras.pixel_directions(self._world.camera)
        hits = self._tracer.nearest(self._origin, directions)
        solid = hits.face >= 0
        index = np.where(solid, table.owner.take(hits.face, mode="clip"), np.int16(-1))
        known = self._shader.unknown(len(directions))
        burning = np.zeros(len(directions), dtype=np.float32)
        base = display(
            self._shader.radiance(
                self._origin, directions, hits, known, width=width, burning=burning
            )
        )

        picture = base.copy()
        self._antialias(picture, directions, index, hits, known)
        picture = picture.reshape(height, width, 3)
        lamps = solid & (table.materials.take(hits.face, mode="clip") == Material.EMISSIVE)
        spread = min(1.0, 12.0 * self._shader.light.extinction)
        add_glow(picture, lamps.reshape(height, width), spread)
        if self._room:
            add_glow(picture, burning.reshape(height, width) > _BURNING, spread, _FLAME_GLOW)
        veil = self._rain()
        if veil is not None:
            picture += veil[..., None] * (self._rain_colour() - picture)
        np.clip(picture, 0.0, 255.0, out=picture)
        pixels = (picture + np.float32(0.5)).astype(np.uint8)
        return directions, hits, index, base, veil, pixels

    def _rain(self) -> F32 | None:
        atmosphere = self._world.atmosphere
        if atmosphere.rain <= 0.0:
            return None
        return streaks(self._width, self._height, atmosphere.rain, atmosphere.seed)

    def _rain_colour(self) -> F32:
        lit = np.array([self._shader.light.horizon], dtype=np.float32)
        atmosphere = self._world.atmosphere
        bright = (1.15 + 0.45 * atmosphere.rain) * atmosphere.exposure
        colour: F32 = display(lit * np.float32(bright))[0]
        return colour

    def _antialias(
        self,
        picture: F32,
        rays: F32,
        index: npt.NDArray[np.int16],
        hits: Hits,
        known: F32,
    ) -> None:
        """Average extra samples into the pixels of `picture`, `n x 3`, that lie on an edge."""
        height, width = self._height, self._width
        table = self._tracer.table
        image, owner = picture.reshape(height, width, 3), index.reshape(height, width)
        looks = self._looks(rays, hits).reshape(height, width)
        at, within = edges(image, owner, looks, _EDGES)
        if len(at) == 0:
            return
        rows, columns = np.divmod(at, width)
        # Sample-major order would scatter the rays: the samples of a pixel stay together.
        across = (columns[:, None] + 0.5 + _GRID[:, 0]).ravel()
        down = (rows[:, None] + 0.5 + _GRID[:, 1]).ravel()
        directions = cameras.directions(self._world.camera, across, down)
        extra = self._tracer.nearest(self._origin, directions)
        sample_owner = np.where(extra.face >= 0, table.owner.take(extra.face, mode="clip"), -1)
        shown = np.empty((len(directions), 3), dtype=np.float32)
        rest = borrow(
            at, within, owner, looks, image, sample_owner.astype(np.int16, copy=False),
            self._looks(directions, extra), _GRID, shown,
        )  # fmt: skip
        extra, directions = extra.take(rest), directions[rest]
        middle = at[rest // len(_GRID)]
        here = hits.distance[middle]
        same = sample_owner[rest] == index[middle]
        same &= np.abs(extra.distance - here) < np.float32(_SAME_PLACE) * here
        near = np.where(same, known[:, middle], np.float32(np.nan))
        shown[rest] = display(self._shader.radiance(self._origin, directions, extra, near))
        total = picture[at] + shown.reshape(len(at), len(_GRID), 3).sum(axis=1)
        picture[at] = total * np.float32(1.0 / (1 + len(_GRID)))

    def _visible(
        self,
        base: F32,
        directions: F32,
        index: npt.NDArray[np.int16],
        hits: Hits,
        veil: F32 | None,
    ) -> dict[str, int]:
        """Count, for each probe, its pixels that would look different without it."""
        counts: dict[str, int] = {}
        for name in self._world.probes:
            owners = self._owners(name)
            own = np.isin(index, owners)
            if self._room and self._tracer.has_panes(owners):
                own = self._tracer.met(owners, self._origin, directions, own, behind=hits.distance)
            at = np.flatnonzero(own)
            step = -(-len(at) // COUNTED) or 1
            seen = self._differing(owners, at[::step], base, directions, veil) if len(at) else 0
            counts[name] = min(seen * step, len(at))
        return counts

    def _extent(self, directions: F32, index: npt.NDArray[np.int16]) -> dict[str, int]:
        """Count, for each probe, the pixels that it would cover with nothing before it."""
        counts: dict[str, int] = {}
        for name in self._world.probes:
            owners = self._owners(name)
            covered = np.isin(index, owners)
            alone = self._tracer.met(owners, self._origin, directions, covered)
            count = int(np.count_nonzero(alone))
            if self._room and self._tracer.has_panes(owners):
                far = np.full(len(directions), FAR, dtype=np.float32)
                glass = self._tracer.met(owners, self._origin, directions, alone, behind=far)
                at = np.flatnonzero(glass & ~alone)
                step = -(-len(at) // COUNTED) or 1
                shader = cast(RoomShader, self._shader.over(self._tracer.only(owners)))
                share = shader.covered(self._origin, directions[at[::step]])
                count += min(step * int(np.count_nonzero(share >= _COVERED)), len(at))
            counts[name] = count
        return counts

    def _shown(
        self, directions: F32, index: npt.NDArray[np.int16], hits: Hits
    ) -> npt.NDArray[np.int16]:
        """Return the index pass: objects of nothing but panes lie over what is behind them."""
        bare = self._tracer.bare() if self._room else []
        if not bare:
            return index
        at, first = cast(RoomShader, self._shader).layer(self._origin, directions, hits.distance)
        owners = self._tracer.table.owner[first.face]
        alone = np.isin(owners, bare)
        index = index.copy()
        index[at[alone]] = owners[alone]
        return index

    def _looks(self, directions: F32, hits: Hits) -> npt.NDArray[np.int32]:
        """Return the looks at hits `n`, -1 where nothing is hit; glass before it changes them."""
        table = self._tracer.table
        looks = np.where(hits.face >= 0, table.looks.take(hits.face, mode="clip"), np.int32(-1))
        looks = looks.astype(np.int32, copy=False)
        if self._room:
            shader = cast(RoomShader, self._shader)
            at, first = shader.layer(self._origin, directions, hits.distance)
            sharp = np.isin(table.materials[first.face], (Material.CLEAR, Material.LIQUID))
            looks[at[sharp]] ^= table.looks[first.face[sharp]] * np.int32(31) + np.int32(7)
        return looks

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
        rays = np.ascontiguousarray(directions[at])
        hits = tracer.nearest(self._origin, rays)
        behind = display(self._shader.over(tracer).radiance(self._origin, rays, hits))
        # The rain lies over both alike.
        rain = np.zeros(len(at), dtype=np.float32) if veil is None else veil.ravel()[at]
        return int(differing(behind, base[at], rain, NOTICEABLE))
