"""Physics engines by name, and what of a policy decides how one is made."""

from __future__ import annotations

from ....core import Policy, Registry, UsageError
from .world import World

WORLDS = Registry(
    "pick-up world",
    "vlmfail.pickup_worlds",
    {"mujoco": "vlmfail.envs.pickup.worlds.mujoco_world:MujocoWorld"},
    "An engine of your own: module_or_file:Class, called with picture_size=(width, height).",
)
"""The engines; other packages add theirs by an entry point in ``vlmfail.pickup_worlds``."""


def make_world(name: str, picture_size: tuple[int, int] | None) -> World:
    """Return an engine.

    Args:
        name: A registered name, or ``module_or_file:Class``.
        picture_size: Width and height of what a policy sees; None for one that does not look.

    Raises:
        UnknownNameError: There is none of that name.
        MissingDependencyError: Its package is not installed.
    """
    made = WORLDS.load(name)
    if not callable(made):
        raise UsageError(f"world {name!r}: expected a class, got {type(made).__name__}")
    world: World = made(picture_size=picture_size)
    return world


def looks(policy: Policy) -> bool:
    """Whether a policy uses pictures: one with privileged state does not, unless it ``looks``."""
    return bool(getattr(policy, "looks", not getattr(policy, "privileged", False)))
