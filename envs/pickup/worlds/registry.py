"""Physics engines by name, and what of a policy decides how one is made."""

from __future__ import annotations

from typing import Any, cast

from ....core import Policy, Registry, UsageError, VLMFailError
from ....core.text import tamed
from ....models.replies import fault
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


_PARTS = ("name", "deterministic", "start", "observe", "step", "picture", "close")


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
        UsageError: It is no class, or not one of an engine, or making it fails; or the interpreter
            is missing or is given to another engine.
        MissingDependencyError: Its package is not installed.
    """
    made = WORLDS.load(name)
    if not callable(made):
        raise UsageError(f"world {name!r}: expected a class, got {type(made).__name__}")
    options: dict[str, Any] = {"picture_size": picture_size}
    if name == SIMPLER:
        options["simpler_python"] = simpler_python
    elif simpler_python is not None:
        raise UsageError(f"simpler_python: world {name!r} does not run SimplerEnv")
    try:
        world = made(**options)
    except VLMFailError:
        raise
    except Exception as error:
        said = tamed(fault(error), 300)
        raise UsageError(f"world {name!r}: making it failed: {said}") from error
    lacking = [part for part in _PARTS if not hasattr(world, part)]
    if lacking:
        raise UsageError(
            f"world {name!r}: it lacks {', '.join(lacking)}; see vlmfail.envs.pickup.worlds.world"
        )
    return cast(World, world)


def looks(policy: Policy) -> bool:
    """Whether a policy uses pictures: one with privileged state does not, unless it ``looks``."""
    return bool(getattr(policy, "looks", not getattr(policy, "privileged", False)))
