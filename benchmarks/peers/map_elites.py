"""MAP-Elites: the worst candidate of each kind, by pyribs."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ...core import MissingDependencyError, UnknownNameError
from ...searchers import _knobs
from ._numbers import F64, SceneVectors
from ._peer import Peer


class MapElites(Peer):
    """MAP-Elites (pyribs): mutates the worst candidate found of each kind.

    A grid archive keeps for each cell the candidate with the highest failure rate; a candidate is
    an elite of a random cell plus normal noise, and the unseen candidate nearest to that.

    *Concept sets*: cells are the set's size and the share of it that `group` holds. *Scene
    vectors*: cells are two dimensions in `cells` parts each (a space of one has one). The first
    `startup` candidates are random ones.
    """

    name: ClassVar[str] = "map-elites"

    #: Parts of a group's share.
    shares = 5

    def __init__(
        self, *, startup: int = 20, sigma: float = 0.3, cells: int = 10, group: str = ""
    ) -> None:
        """Set the knobs.

        Args:
            startup: Random candidates at first.
            sigma: Standard deviation of the noise; a concept's bit is 0 or 1, a dimension [0, 1].
            cells: Parts of a dimension of scene vectors.
            group: Names of concepts, or of two dimensions, separated by commas; by default the
                first half of the catalogue, and the first two dimensions.

        Raises:
            UsageError: When a knob is out of range.
        """
        self.startup = _knobs.whole("startup", startup, 1)
        self.sigma = _knobs.real("sigma", sigma, 0.0)
        self.cells = _knobs.whole("cells", cells, 1)
        self.group = str(group)

    def config(self) -> dict[str, Any]:
        """Return the knobs."""
        return {
            "startup": self.startup,
            "sigma": self.sigma,
            "cells": self.cells,
            "group": self.group,
        }

    def _start(self) -> None:
        try:
            from ribs.archives import GridArchive
            from ribs.emitters import GaussianEmitter
        except ImportError as error:
            raise MissingDependencyError("ribs", "ribs", f"searcher {self.name}") from error
        space: Any = self.space
        width = self._numbers.width
        self._vectors = isinstance(self._numbers, SceneVectors)
        names = list(space.names if self._vectors else space.concepts)
        wanted = [word.strip() for word in self.group.split(",") if word.strip()]
        for word in wanted:
            if word not in names:
                what = "dimension" if self._vectors else "concept"
                raise UnknownNameError(f"{what} in group of {self.name}", word, names)
        usual = names[:2] if self._vectors else names[: max(1, len(names) // 2)]
        self._group = np.array([names.index(name) for name in wanted or usual])
        if self._vectors:
            self._group = self._group[:2]
            dims, ranges = [self.cells] * len(self._group), [(0.0, 1.0)] * len(self._group)
        else:
            dims = [space.max_size, self.shares]
            ranges = [(0.5, space.max_size + 0.5), (0.0, 1.0)]
        seeds = self.rng.integers(2**31, size=2)
        self._archive = GridArchive(
            solution_dim=width, dims=dims, ranges=ranges, seed=int(seeds[0])
        )
        self._emitter = GaussianEmitter(
            self._archive,
            sigma=self.sigma,
            x0=np.full(width, 0.5),
            bounds=[(0.0, 1.0)] * width if self._vectors else None,
            batch_size=1,
            seed=int(seeds[1]),
        )

    def _propose(self) -> Any | None:
        if self._proposed < self.startup or self._archive.empty:
            return self._numbers.drawn()
        (target,) = self._emitter.ask()
        return self._numbers.nearest(target)

    def _learn(self, candidate: Any, rate: float | None) -> None:
        if rate is not None:
            numbers = self._numbers.of(candidate)
            self._archive.add_single(numbers, rate, self._measures(numbers))

    def _measures(self, numbers: F64) -> F64:
        if self._vectors:
            return np.asarray(numbers[self._group])
        size = numbers.sum()
        return np.array([size, numbers[self._group].sum() / size])
