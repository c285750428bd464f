"""Registered environments. Importing this module registers their ids; nothing heavy is loaded."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import gymnasium as gym

from ..core import Domain, Registry, UnknownNameError, UsageError, load_object, plays_episodes

if TYPE_CHECKING:
    from .failure_env import FailureEnv


@dataclass(frozen=True, slots=True)
class EnvRow:
    """One registered environment.

    Attributes:
        id: Gymnasium id.
        title: What it asks, in a line.
        domain: ``module:Class`` of the domain.
        entry_point: ``module:Class`` of the environment.
        vector_entry_point: ``module:Class`` of its vector form.
        source: Where the domain comes from.
    """

    id: str
    title: str
    domain: str
    entry_point: str
    vector_entry_point: str
    source: str


ENVS: tuple[EnvRow, ...] = (
    EnvRow(
        "VLMFail-Driving-v0",
        "Stop, slow down or continue? Sets of up to 5 of 30 road concepts",
        "vlmfail.envs.driving.domain:DrivingDomain",
        "vlmfail.envs.driving.env:DrivingEnv",
        "vlmfail.envs.driving.env:DrivingVectorEnv",
        "Revelio",
    ),
    EnvRow(
        "VLMFail-Indoor-v0",
        "Is there a hazard of this kind? Sets of up to 5 of 32 concepts in a kitchen",
        "vlmfail.envs.indoor.domain:IndoorDomain",
        "vlmfail.envs.indoor.env:IndoorEnv",
        "vlmfail.envs.indoor.env:IndoorVectorEnv",
        "Revelio",
    ),
    EnvRow(
        "VLMFail-PickUp-v0",
        "Where does a policy fail to pick it up? Scene vectors: object, place, orientation",
        "vlmfail.envs.pickup.domain:PickUpDomain",
        "vlmfail.envs.pickup.env:PickUpEnv",
        "vlmfail.envs.pickup.env:PickUpVectorEnv",
        "FATE-VLA",
    ),
    EnvRow(
        "VLMFail-Planted-v0",
        "What does a searcher find? Sets of up to 5 of 30 concepts, their true failure rates known",
        "vlmfail.envs.planted.domain:PlantedDomain",
        "vlmfail.envs.planted.env:PlantedEnv",
        "vlmfail.envs.planted.env:PlantedVectorEnv",
        "ours",
    ),
)

DOMAIN_PARTS = (
    "name", "attempts", "space", "sample_scene", "question", "truth", "unseen", "direction",
    "make_renderer",
)  # fmt: skip

EPISODE_PARTS = ("name", "space", "check", "make_world", "run_episode", "preview")

DOMAINS = Registry("domain", "vlmfail.domains", {}, "See `vlmfail list`.")


def register_all() -> None:
    """Register every id with Gymnasium; registering twice changes nothing."""
    for row in ENVS:
        if row.id not in gym.registry:
            gym.register(
                id=row.id,
                entry_point=row.entry_point,
                vector_entry_point=row.vector_entry_point,
            )


def find(env: str) -> EnvRow | None:
    """Return the row of an id (``vlmfail:`` in front is fine), or None."""
    name = env.removeprefix("vlmfail:")
    return next((row for row in ENVS if row.id == name), None)


def domain_class(env: str) -> Any:
    """Return the domain class of an env id, a plugged-in domain's name, or `module_or_file:Name`.

    Raises:
        UnknownNameError: With close matches.
    """
    row = find(env)
    if row is not None:
        return load_object(row.domain)
    if ":" in env or env in DOMAINS.names():
        return DOMAINS.load(env)
    known = [*(row.id for row in ENVS), *DOMAINS.names()]
    raise UnknownNameError("env", env, known, "See `vlmfail list`.")


def domain_options(env: str) -> list[str]:
    """Return the names of the options that an env's domain takes."""
    parameters = inspect.signature(domain_class(env)).parameters.values()
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [p.name for p in parameters if p.kind in named]


def domain_defaults(env: str) -> dict[str, Any]:
    """Return the environment options for which an env's domain has defaults of its own."""
    from .episodes import defaults_of

    return dict(defaults_of(domain_class(env)))


def make_domain(env: str, **options: Any) -> Domain[Any]:
    """Return the domain of an env id or a plugged-in domain.

    Raises:
        UnknownNameError: For an unknown env or option.
        UsageError: When the options do not fit.
    """
    known = domain_options(env)
    for name in options:
        if name not in known:
            raise UnknownNameError("env option", name, known)
    made = domain_class(env)
    try:
        domain: Domain[Any] = made(**options)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{env}: {error}") from error
    parts = EPISODE_PARTS if plays_episodes(domain) else DOMAIN_PARTS
    missing = [name for name in parts if not hasattr(domain, name)]
    if missing:
        raise UsageError(f"{env} is no domain: it lacks {', '.join(missing)}")
    return domain


def make_env(env: str, **options: Any) -> FailureEnv:
    """Return an unwrapped environment; options of the env and of its domain may be mixed."""
    from .failure_env import FailureEnv
    from .options import EnvOptions

    own, rest = EnvOptions.split(options, domain_options(env), domain_defaults(env))
    return FailureEnv(make_domain(env, **rest), own)
