"""What works on this machine: packages, renderer, built-in model, folders, keys."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ..core.errors import EnvironmentFault, VLMFailError
from ..core.files import cache_folder
from ..models.probe import ProbeQuestion

EXTRAS = {
    "openai": ("openai:", "openai"),
    "anthropic": ("anthropic:", "anthropic"),
    "google-genai": ("google:", "google"),
    "boto3": ("bedrock:", "bedrock"),
    "transformers": ("hf:", "hf"),
    "starlette": ("vlmfail serve", "serve"),
    "stable-baselines3": ("learning agents", "sb3"),
    "optuna": ("searcher of Optuna", "optuna"),
    "ribs": ("searcher of pyribs", "ribs"),
    "wandb": ("--log wandb", "wandb"),
    "tensorboard": ("--log tensorboard", "tensorboard"),
    "mujoco": ("pick-up physics", "pickup"),
    "mani-skill": ("pick-up physics in ManiSkill", "maniskill"),
    "vla-eval": ("policies behind vla-eval servers", "vla-eval"),
}
"""Optional packages: what each is for, and the extra that installs it."""

ROAD = ("VLMFail-Driving-v0", ("cone", "near"))
KITCHEN = ("VLMFail-Indoor-v0", ("glass_upright",))
"""(Env id, concepts) of the pictures that are drawn to see whether any can be."""

KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")

LEAST_DISK = 1.0
"""GiB free below which a search may not get far."""


@dataclass(frozen=True, slots=True)
class Check:
    """One finding.

    Attributes:
        name: What was looked at.
        fine: Whether it works.
        text: What was found, and the command that mends it.
        needed: Whether vlmfail cannot work without.
    """

    name: str
    fine: bool
    text: str
    needed: bool = True

    def to_json(self) -> dict[str, Any]:
        """Return the values for ``--json``."""
        return asdict(self)


def diagnose() -> list[Check]:
    """Try everything that a search needs; look for what it may use."""
    from .. import __version__

    checks = [
        Check("vlmfail", True, f"{__version__} on Python {platform.python_version()}"),
        _tried("road pictures", lambda: _draw(ROAD)),
        _tried("kitchen pictures", lambda: _draw(KITCHEN)),
        _tried("built-in model", _ask),
        _tried("cache folder", _write_cache),
        _tried("disk", _disk),
    ]
    for package, (purpose, extra) in EXTRAS.items():
        checks.append(_package(package, purpose, extra))
    for name in KEYS:
        said = "set" if os.environ.get(name) else "not set"
        checks.append(Check(name, bool(os.environ.get(name)), said, needed=False))
    return checks


def try_simpler_env(python: str) -> Check:
    """Start SimplerEnv in an interpreter and set up a scene with each object."""

    def look() -> str:
        from .pickup.objects import objects
        from .pickup.scene import PickUpScene, Pose
        from .pickup.worlds.simpler import SimplerWorld

        world = SimplerWorld((160, 128), simpler_python=python)
        lacking: list[str] = []
        try:
            for one in objects().objects:
                scene = PickUpScene(Pose(one.id, -0.28, 0.20, False, 0.0), f"pick {one.title}")
                try:
                    world.start(scene)
                    world.observe()
                except VLMFailError as error:
                    lacking.append(f"{one.id}: {error}")
        finally:
            world.close()
        if lacking:
            raise EnvironmentFault("; ".join(lacking))
        told = ", ".join(f"{name} {value}" for name, value in world.versions.items())
        return f"all {len(objects().objects)} objects can be set up ({told})"

    return _tried("SimplerEnv", look)


def road_questions() -> list[ProbeQuestion]:
    """Return a road with a person close ahead and a free one: one question, opposite answers.

    For models that read road scenes and nothing else; empty where none can be drawn.
    """
    found: list[ProbeQuestion] = []
    for concepts, about in (
        (["pedestrian", "near"], "a road with a person close ahead"),
        (["light_green"], "a free road with a green light"),
    ):
        try:
            prepared = _prepared(concepts)
        except Exception:  # no pictures here: the check of the renderer says why
            return []
        # The letters too must be the same: else always the first option might be right twice.
        question = found[0].question if found else prepared.question
        right = frozenset(prepared.truth.accepted)
        found.append(ProbeQuestion(prepared.picture, question, right, about))
    return found


def _tried(name: str, look: Callable[[], str]) -> Check:
    try:
        return Check(name, True, look())
    except Exception as error:
        return Check(name, False, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}")


def _prepared(concepts: Sequence[str] = ROAD[1], env: str = ROAD[0]) -> Any:
    from .registry import make_domain
    from .trials import make_renderer, prepare_trial

    domain: Any = make_domain(env)
    candidate = domain.space.from_json(list(concepts))
    prepared = prepare_trial(domain, make_renderer(domain, "embree"), candidate, 0, 0)
    if prepared.picture is None:
        raise RuntimeError(prepared.note)
    return prepared


def _draw(what: tuple[str, Sequence[str]]) -> str:
    env, concepts = what
    start = time.perf_counter()
    picture = _prepared(concepts, env).picture
    first = time.perf_counter() - start
    start = time.perf_counter()
    _prepared(concepts, env)
    again = time.perf_counter() - start
    size = "x".join(map(str, picture.size))
    return f"{env} at {size}: first frame {first:.1f} s, then {again:.2f} s"


def _ask() -> str:
    from ..models.answers import classify
    from ..models.registry import make_model

    prepared = _prepared()
    model = make_model("tiny-vlm")
    reply = model.answer([prepared.picture], prepared.question.prompt, seed=0)
    _, option, note = classify(reply, prepared.question)
    if option is None:
        raise RuntimeError(note)
    return f"tiny-vlm answers {option}"


def _write_cache() -> str:
    folder = cache_folder()
    if folder is None:
        return "off ($VLMFAIL_CACHE is empty, or there is no home): meshes are built anew each time"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder):
        pass
    return str(folder)


def _disk() -> str:
    free = shutil.disk_usage(Path.cwd()).free / 2**30
    if free < LEAST_DISK:
        raise OSError(f"{free:.1f} GiB free here; runs keep every picture: give --out elsewhere")
    return f"{free:.0f} GiB free here"


def _package(package: str, purpose: str, extra: str) -> Check:
    try:
        return Check(f"{purpose}", True, f"{package} {version(package)}", needed=False)
    except PackageNotFoundError:
        text = f"{package} is not installed: pip install 'vlmfail[{extra}]'"
        return Check(f"{purpose}", False, text, needed=False)
