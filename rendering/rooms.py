"""From hits to radiance in a room: lamps with soft shadows, glasses, steam, flames, puddles."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from .kernels.lamps import lamp_rays, lamplight, smoothed, take_closeness, take_seen
from .kernels.panes import mirror_rays, overlay
from .kernels.surface import contact_rays
from .mesh import F32
from .noise import textures
from .shading import Shader
from .sky import lamp_table
from .tracer import Hits, Tracer
from .world import Atmosphere

LAYERS = 20
"""Panes that a ray meets at most: a column of ten puffs of smoke, each with a front and a back."""

_STEP = 1e-4  # m: two puffs that meet are as close as one likes

# Contact shadows reach less far than on a street: so do the things that cast them.
_REACH = 0.25


def _tilts(azimuths: npt.ArrayLike, elevations: npt.ArrayLike) -> npt.NDArray[np.float64]:
    a, e = np.asarray(azimuths, dtype=np.float64), np.asarray(elevations, dtype=np.float64)
    return np.stack([np.cos(a) * np.cos(e), np.sin(a) * np.cos(e), np.sin(e)], axis=-1)


# Every second pixel of a square of 4 x 4 looks elsewhere, and all are given the average: their
# order, of 8, by row and column (the others' is never used).
_ORDER = np.array([0, 0, 4, 0, 0, 6, 0, 2, 5, 0, 1, 0, 0, 3, 0, 7])
_TURNS = 2.0 * math.pi * (_ORDER + 0.5) / 8.0
_TILED_TILTS = _tilts(
    np.stack([_TURNS, _TURNS + 2.4, _TURNS + 4.8], axis=1),
    np.broadcast_to((0.35, 0.65, 0.95), (16, 3)),
)
_LONE_TILTS = _tilts((0.4, 1.97, 3.54, 5.11), (0.45, 0.8, 0.45, 0.8))[None]


def _spots(turns: npt.ArrayLike, radii: npt.ArrayLike) -> npt.NDArray[np.float64]:
    t, r = np.asarray(turns, dtype=np.float64), np.asarray(radii, dtype=np.float64)
    return np.stack([r * np.cos(t), r * np.sin(t)], axis=-1)


# A spiral over the disc, by the same order.
_TILED_SPOTS = _spots(2.399963 * _ORDER, np.sqrt((_ORDER + 0.5) / 8.0))[:, None, :]
_LONE_SPOTS = np.broadcast_to(
    _spots((0.5, 2.07, 3.64, 5.21), (0.35, 0.85, 0.5, 0.9)), (16, 4, 2)
).copy()


class RoomShader(Shader):
    """Shades rays of one frame of a world with lamps."""

    def __init__(self, tracer: Tracer, atmosphere: Atmosphere, pixel_angle: float) -> None:
        """Prepare for a frame; the arguments are those of `Shader`."""
        super().__init__(tracer, atmosphere, pixel_angle)
        self._lamps = lamp_table(atmosphere)
        self._kept: tuple[Tracer, F32, tuple[npt.NDArray[np.int64], Hits]] | None = None

    def unknown(self, count: int) -> F32:
        """Return `(1 + lamps) x count` NaN: contact, then the share of each lamp that is seen."""
        return np.full((1 + len(self._lamps), count), np.nan, dtype=np.float32)

    def layer(
        self, origins: F32, directions: F32, behind: F32
    ) -> tuple[npt.NDArray[np.int64], Hits]:
        """Return the rays whose first pane lies before `behind`, and their hits there."""
        kept = self._kept
        if kept is not None and kept[0] is self.tracer and kept[1] is behind:
            return kept[2]
        layer = np.zeros(0, dtype=np.int64), Hits.none(0)
        for at, first in self.tracer.panes(
            origins, directions, behind, 1, backdrop=True, step=_STEP
        ):
            layer = at, first
        self._kept = self.tracer, behind, layer
        return layer

    def covered(self, origins: F32, directions: F32) -> F32:
        """Return how much of what is behind them the panes take away or outshine, `n`."""
        far = Hits.none(len(directions))
        left, added, _ = self._panes(origins, directions, far.distance, mirrors=False)
        added *= np.float32(self.light.exposure)
        share: F32 = np.minimum(np.maximum(1.0 - left, added).max(axis=1), np.float32(1.0))
        return share

    def _occlude(
        self, known: F32, points: F32, normals: F32, flats: F32, hits: Hits, width: int
    ) -> None:
        if width > 1:
            found = known.copy()
            self._look_round(found, points, normals, flats, hits, width)
            smoothed(found, points, flats, hits.distance, hits.face, width, known)
        # Whatever has no pixel of its surface beside it has rays of its own.
        self._look_round(known, points, normals, flats, hits, 1)
        known[0, np.isnan(known[0])] = 1.0

    def _look_round(
        self, known: F32, points: F32, normals: F32, flats: F32, hits: Hits, width: int
    ) -> None:
        """Send rays to what is close and to the lamps from hits for which `known` is NaN."""
        tiled, tracer = width > 1, self.tracer
        at, starts, rays = contact_rays(
            points, flats, hits.face, known[0], tracer.solid_boxes, _REACH,
            _TILED_TILTS if tiled else _LONE_TILTS, width,
        )  # fmt: skip
        if len(at):
            close = tracer.closeness(starts, rays, _REACH)
            take_closeness(at, close, flats, hits.face, tracer.table.owner, known[0])
        for lamp, seen in zip(self._lamps, known[1:], strict=True):
            lit, starts, rays, lengths = lamp_rays(
                points, normals, flats, hits.distance, hits.face, seen, lamp,
                _TILED_SPOTS if tiled else _LONE_SPOTS, width,
            )  # fmt: skip
            if len(lit):
                take_seen(lit, tracer.occluded(starts, rays, lengths), seen)

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
        # In a mirror no lamp is hidden: who would look for the shadows there?
        seen = np.ones((len(self._lamps), len(face)), np.float32) if known is None else known[1:]
        lamplight(
            directions, face, self.tracer.table, points, normals, albedo, self._lamps, seen, out
        )

    def _look_through(self, out: F32, origins: F32, directions: F32, hits: Hits) -> F32 | None:
        left, added, burning = self._panes(origins, directions, hits.distance, mirrors=True)
        out *= left
        out += added
        return burning

    def _panes(
        self, origins: F32, directions: F32, behind: F32, *, mirrors: bool
    ) -> tuple[F32, F32, F32]:
        """Return what the panes leave of the light behind and add, `n x 3`, and flame, `n`."""
        left, added = np.ones_like(directions), np.zeros_like(directions)
        burning = np.zeros(len(directions), dtype=np.float32)
        table, noise, tracer = self.tracer.table, textures(), self.tracer
        first = self.layer(origins, directions, behind)
        for at, pane in tracer.panes(
            origins, directions, behind, LAYERS, backdrop=True, step=_STEP, first=first
        ):
            mirrored = np.full((len(at), 3), np.nan, dtype=np.float32)
            if mirrors:
                index, starts, rays = mirror_rays(
                    origins, directions, at, pane.distance, pane.face, pane.u, pane.v, table, noise
                )
                if len(index):
                    mirrored[index] = self._radiance(
                        starts, rays, tracer.nearest(starts, rays), None
                    )
            overlay(
                origins, directions, at, pane.distance, pane.face, pane.u, pane.v, behind, table,
                self.light, self._lamps, noise, mirrored, left, added, burning,
            )  # fmt: skip
        return left, added, burning
