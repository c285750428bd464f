"""Who touches whom, and what the fingers hold, out of MuJoCo's contacts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arm import arm
from .turns import F64

GRASP_FORCE = 0.2
"""Each finger must press with at least this force, N."""

GRASP_COSINE = float(np.cos(np.radians(80.0)))
"""A finger that presses more than 80 degrees off its closing direction does not grasp (SimplerEnv's
``check_grasp``)."""


class ContactReader:
    """Reads contacts by name: object ids, ``"table"``, ``"floor"``, ``"robot"``.

    Attributes:
        objects: Ids of the objects in the model.
    """

    def __init__(self, mujoco: Any, model: Any, names: list[str]) -> None:
        """Remember which name each geom of a model has."""
        self._mujoco, self._model = mujoco, model
        self.objects = names
        links = {link.name for link in arm().links}
        bodies = [model.body(int(number)).name for number in model.geom_bodyid]
        self._names = ["robot" if name in links else name for name in bodies]
        self._fingers = [name if name in _FINGERS else "" for name in bodies]
        self._force = np.zeros(6)

    def pairs(self, data: Any) -> Iterator[tuple[str, str, float]]:
        """Yield the two names and the depth (m) of each contact."""
        for (one, other), distance in zip(
            data.contact.geom.tolist(), data.contact.dist.tolist(), strict=True
        ):
            yield self._names[one], self._names[other], -distance

    def touching(self, data: Any, name: str) -> frozenset[str]:
        """Return the names of what an object touches."""
        found = set()
        for one, other in data.contact.geom.tolist():
            if self._names[one] == name:
                found.add(self._names[other])
            elif self._names[other] == name:
                found.add(self._names[one])
        return frozenset(found)

    def held(self, data: Any, closing: F64) -> list[str]:
        """Return the ids of the objects that both fingers press on, in the model's order.

        Args:
            data: ``MjData``.
            closing: The hand's closing direction in the scene's frame, unit vector.
        """
        pressed: dict[str, set[str]] = {}
        for number, (one, other) in enumerate(data.contact.geom.tolist()):
            finger = self._fingers[one] or self._fingers[other]
            name = self._names[other] if self._fingers[one] else self._names[one]
            if not finger or name not in self.objects:
                continue
            self._mujoco.mj_contactForce(self._model, data, number, self._force)
            normal = data.contact.frame[number, :3]
            if self._force[0] >= GRASP_FORCE and abs(float(normal @ closing)) >= GRASP_COSINE:
                pressed.setdefault(name, set()).add(finger)
        return [name for name in self.objects if len(pressed.get(name, ())) == len(_FINGERS)]


_FINGERS = frozenset(link.name for link in arm().fingers)
