"""Demonstrations on disk: shards with what a policy sees and what the expert does there."""

from __future__ import annotations

import functools
import hashlib
import json
import multiprocessing
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from tiny_vla_expert import OPEN, Teacher, closing_of
from tiny_vla_recipe import EpisodeSet, Noise, Recipe, SceneSet

import vlmfail
from vlmfail.core import SceneError
from vlmfail.envs.pickup.arm import BASE_POSITION
from vlmfail.envs.pickup.objects import objects
from vlmfail.envs.pickup.scene import PickUpScene, Pose
from vlmfail.envs.pickup.space import X_RANGE, Y_RANGE, check_scene, pickup_space, scene_of
from vlmfail.envs.pickup.worlds.mujoco_world import MujocoWorld
from vlmfail.runs.executors import ProcessExecutor

SHARD = 20
"""Episodes a shard: what an interruption costs at most, in each process."""

TRIES = 20
"""A scene that cannot be set up is drawn again, so often at most."""

HELD = 0.13
"""An episode ends with a picture of the target held so high, m."""

ARRAYS = ("pictures", "states", "chunks", "targets", "grasped", "objects", "episodes")

CODE = (
    "rendering/**/*.py",
    "envs/vector_*.py",
    "envs/pickup/*.json",
    *(f"envs/pickup/{name}.py" for name in ("arm", "objects", "pictures", "scene", "space")),
    "envs/pickup/assets/*.py",
    *(f"envs/pickup/worlds/{name}.py" for name in ("mujoco_*", "placing", "turns", "world")),
    "models/policies/scripted.py",
)
"""Files of the package that episodes and their pictures depend on."""

Job = tuple[str, Recipe, int]
"""(Folder, recipe, number of the shard.)"""


@dataclass(frozen=True)
class Demonstrations:
    """Labelled pictures, `n` of them.

    Attributes:
        pictures: `n x height x width x 3` uint8.
        states: `n x 8` float32, as `worlds.world.Observation` tells.
        chunks: `n x chunk x 7` float32: the expert's actions.
        targets: `n x 5` float32: the target in the base's frame (x, y, z, m) and the direction in
            which fingers close on it (cosine and sine of twice its angle).
        grasped: `n` bool.
        objects: `n` int: which object is meant, by its place in the table of objects.
        episodes: `n` int: index of the episode.
    """

    pictures: np.ndarray
    states: np.ndarray
    chunks: np.ndarray
    targets: np.ndarray
    grasped: np.ndarray
    objects: np.ndarray
    episodes: np.ndarray

    def rows(self, chosen: np.ndarray) -> Demonstrations:
        """Return some of them."""
        return Demonstrations(**{name: getattr(self, name)[chosen] for name in ARRAYS})


def generator(seed: int, index: int) -> np.random.Generator:
    """Return the generator of an episode or scene: nothing but `seed` and `index` matters."""
    return np.random.default_rng(np.random.SeedSequence(entropy=seed, spawn_key=(index,)))


def drawn_scene(rng: np.random.Generator, distractors: int, name: str | None = None) -> PickUpScene:
    """Draw a scene of ``VLMFail-PickUp-v0``, uniformly.

    Args:
        rng: What it is drawn with.
        distractors: Other objects that lie in the target area, each another one.
        name: Id of the target; None: any.
    """
    space = pickup_space(names=None if name is None else [name])
    scene = scene_of(space, space.sample(rng))
    others = [one.id for one in objects().objects if one.id != scene.target.object]
    chosen = rng.permutation(others)[:distractors]
    poses = tuple(
        Pose(
            str(other),
            float(rng.uniform(*X_RANGE)),
            float(rng.uniform(*Y_RANGE)),
            standing=False,
            yaw=float(rng.uniform(-np.pi, np.pi)),
        )
        for other in chosen
    )
    scene = replace(scene, distractors=poses)
    check_scene(scene)
    return scene


def started(
    world: MujocoWorld, rng: np.random.Generator, distractors: int, name: str | None = None
) -> PickUpScene:
    """Set up the first scene that can be; arguments are those of `drawn_scene`."""
    for _ in range(TRIES):
        try:
            scene = drawn_scene(rng, distractors, name)
            world.start(scene)
        except SceneError:
            continue
        return scene
    raise SystemExit(f"none of {TRIES} scenes could be set up")


def scenes(wanted: SceneSet) -> list[PickUpScene]:
    """Return scenes to measure on, the objects in turn; those that cannot be set up are left out
    for others.
    """
    world, names = MujocoWorld(None), [one.id for one in objects().objects]
    found = []
    for index in range(wanted.each * len(names)):
        rng = generator(wanted.seed, index)
        found.append(started(world, rng, wanted.distractors, names[index % len(names)]))
    return found


def demonstrate(world: MujocoWorld, recipe: Recipe, index: int) -> dict[str, np.ndarray]:
    """Return the labelled pictures of one episode, by the names of `Demonstrations`."""
    wanted = recipe.train
    rng = generator(wanted.seed, index)
    count = int(rng.choice(len(wanted.distractors), p=wanted.distractors))
    noisy = rng.random() < wanted.noisy
    scene = started(world, rng, count)
    state = world.start(scene)
    teacher = Teacher(recipe.chunk)
    rows: dict[str, list[Any]] = {name: [] for name in ARRAYS}
    target = [one.id for one in objects().objects].index(scene.target.object)
    while len(rows["chunks"]) < wanted.most:
        seen = world.observe()
        chunk = teacher.act({"world": state})
        rows["pictures"].append(seen["image"])
        rows["states"].append(seen["state"])
        rows["chunks"].append(chunk)
        rows["targets"].append([*in_base(state.object), *closing_of(state)])
        rows["grasped"].append(state.grasped)
        rows["objects"].append(target)
        rows["episodes"].append(index)
        if state.grasped and state.raised > HELD:
            break
        for action in executed(chunk, rng, wanted, recipe.noise if noisy else None):
            state = world.step(action)
    return {name: np.array(values) for name, values in rows.items()}


def executed(
    chunk: np.ndarray, rng: np.random.Generator, wanted: EpisodeSet, noise: Noise | None
) -> np.ndarray:
    """Return what is carried out of a chunk: all or its beginning, disturbed or not.

    A grasp is never broken off: a picture of half-closed fingers does not tell what they are at.
    """
    actions = chunk.copy()
    if noise is not None and rng.random() < noise.share:
        offset = np.zeros(6)
        offset[:2] = rng.normal(0.0, noise.aside, 2)
        offset[2] = rng.normal(0.0, noise.height)
        offset[5] = rng.normal(0.0, noise.turn)
        actions[:, :6] += offset / len(actions)
        actions[:, :3] += rng.normal(0.0, noise.step, (len(actions), 3))
    changes = len(np.unique(chunk[:, 6])) > 1 or chunk[0, 6] != OPEN
    if not changes and rng.random() < wanted.interrupted:
        return actions[: int(rng.integers(1, len(actions)))]
    return actions


def in_base(place: tuple[float, float, float]) -> tuple[float, float, float]:
    """Return a place of the scene's frame in that of the robot's base, m."""
    x, y, z = BASE_POSITION
    return x - place[0], y - place[1], place[2] - z


def build(stop: Any) -> Callable[[Job], int]:
    """Return the work of a process: demonstrate and write one shard unless it is there."""
    worlds: dict[tuple[int, int], MujocoWorld] = {}

    def work(job: Job) -> int:
        folder, recipe, number = job
        path = Path(folder) / f"shard-{number:04d}.npz"
        if path.exists():
            return 0
        if recipe.size not in worlds:
            worlds[recipe.size] = MujocoWorld(recipe.size)
        shown = []
        for index in range(number * SHARD, min(recipe.train.count, (number + 1) * SHARD)):
            if stop is not None and stop.is_set():
                return 0
            shown.append(demonstrate(worlds[recipe.size], recipe, index))
        arrays = {name: np.concatenate([one[name] for one in shown]) for name in ARRAYS}
        part = path.with_name(f".{path.name}.part.npz")
        np.savez_compressed(part, code=np.array(code_digest()), **arrays)
        part.rename(path)
        return len(shown)

    return work


def prepare(folder: Path, recipe: Recipe) -> list[Job]:
    """Return the shards that are missing in `folder`; it may hold fewer episodes of the same set.

    Raises:
        SystemExit: When `folder` holds other demonstrations.
    """
    folder.mkdir(parents=True, exist_ok=True)
    described = {
        "set": asdict(recipe.train),
        "noise": asdict(recipe.noise),
        "size": recipe.size,
        "chunk": recipe.chunk,
        "shard": SHARD,
    }
    described = json.loads(json.dumps(described, sort_keys=True))
    facts = folder / "set.json"
    if facts.exists():
        found = json.loads(facts.read_text(encoding="utf-8"))
        fewer = {**found, "set": {**found["set"], "count": recipe.train.count}}
        if fewer != described or found["set"]["count"] > recipe.train.count:
            raise SystemExit(
                f"{folder} holds other demonstrations: delete it or choose another --out"
            )
    facts.write_text(json.dumps(described, indent=1) + "\n", encoding="utf-8")
    numbers = range((recipe.train.count + SHARD - 1) // SHARD)
    jobs = [(str(folder), recipe, number) for number in numbers]
    return [job for job in jobs if not (folder / f"shard-{job[2]:04d}.npz").exists()]


def generate(folder: Path, recipe: Recipe, processes: int) -> None:
    """Demonstrate what is missing, with progress.

    Interrupted, it keeps whole shards, and goes on from there when called again.
    """
    jobs = prepare(folder, recipe)
    total = sum(min(SHARD, recipe.train.count - number * SHARD) for _, _, number in jobs)
    print(f"{total} of {recipe.train.count} episodes to demonstrate", flush=True)
    if not jobs:
        return
    stop = multiprocessing.get_context("spawn").Event()
    executor: ProcessExecutor[Job, int] = ProcessExecutor(functools.partial(build, stop), processes)
    start, done = time.monotonic(), 0
    try:
        for number, new in executor.run(jobs):
            done += new
            rate = done / (time.monotonic() - start)
            left = (total - done) / rate / 60 if rate else float("inf")
            print(
                f"shard {jobs[number][2]}: {done}/{total} episodes, {rate:.2f} a second, "
                f"{left:.0f} min left",
                flush=True,
            )
    except KeyboardInterrupt:
        print("stopping; the same command goes on from here", flush=True)
        raise
    finally:
        stop.set()
        executor.close()


def load(folder: Path) -> tuple[Demonstrations, str]:
    """Return the demonstrations of `folder` and the digest of the code that they depend on."""
    shards = sorted(folder.glob("shard-*.npz"))
    if not shards:
        raise SystemExit(f"there are no episodes in {folder}: run `scripts/train_tiny_vla data`")
    parts: dict[str, list[np.ndarray]] = {name: [] for name in ARRAYS}
    codes = set()
    for path in shards:
        with np.load(path) as data:
            for name in ARRAYS:
                parts[name].append(data[name])
            codes.add(str(data["code"]))
    found = Demonstrations(**{name: np.concatenate(arrays) for name, arrays in parts.items()})
    wanted = json.loads((folder / "set.json").read_text(encoding="utf-8"))["set"]["count"]
    count = len(np.unique(found.episodes))
    if count != wanted:
        raise SystemExit(
            f"{folder} holds {count} of {wanted} episodes: run `scripts/train_tiny_vla data`"
        )
    if len(codes) > 1:
        raise SystemExit(
            f"{folder} was made by {len(codes)} versions of the world: delete it and run "
            "`scripts/train_tiny_vla data`"
        )
    return found, codes.pop()


@functools.cache
def code_digest() -> str:
    """Return a digest of the code that episodes and their pictures depend on."""
    root = Path(vlmfail.__file__).parent
    files = [path for pattern in CODE for path in sorted(root.glob(pattern))]
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    for path in (Path(__file__), Path(__file__).with_name("tiny_vla_expert.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
