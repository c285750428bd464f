"""Physics engines by name, and what of a policy decides how one is made."""

from __future__ import annotations

from typing import cast

from ....core import Policy, Registry, UsageError
from .world import World

SIMPLER = "simpler"
"""The engine that runs in an interpreter of its own."""

WORLDS = Registry(
    "pick-up world",
    "vlmfail.pickup_worlds",
    {
        "mujoco": "vlmfail.envs.pickup.worlds.mujoco_world:MujocoWorld",
        "maniskill": "vlmfail.envs.pickup.worlds.maniskill:ManiSkillWorld",
        SIMPLER: "vlmfail.envs.pickup.worlds.simpler:SimplerWorld",
    },
    "An engine of your own: module_or_file:Class, called with picture_size=(width, height).",
)
"""The engines; other packages add theirs by an entry point in ``vlmfail.pickup_worlds``."""


def make_world(
    name: str, picture_size: tuple[int, int] | None, simpler_python: str | None = None
) -> World:
    """Return an engine.

    Args:
        name: A registered name, or ``module_or_file:Class``.
        picture_size: Width and height of what a policy sees; None for one that does not look.
        simpler_python: Interpreter that has SimplerEnv, for the engine that needs one.

    Raises:
        UnknownNameError: There is none of that name.
        UsageError: It is no class, or the interpreter is missing or is given to another engine.
        MissingDependencyError: Its package is not installed.
    """
    made = WORLDS.load(name)
    if not callable(made):
        raise UsageError(f"world {name!r}: expected a class, got {type(made).__name__}")
    if name == SIMPLER:
        return cast(World, made(picture_size=picture_size, simpler_python=simpler_python))
    if simpler_python is not None:
        raise UsageError(f"simpler_python: world {name!r} does not run SimplerEnv")
    return cast(World, made(picture_size=picture_size))


def looks(policy: Policy) -> bool:
    """Whether a policy uses pictures: one with privileged state does not, unless it ``looks``."""
    return bool(getattr(policy, "looks", not getattr(policy, "privileged", False)))
