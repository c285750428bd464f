"""Sets of pictures on disk: shards with pictures at the networks' resolutions and their records."""

from __future__ import annotations

import functools
import hashlib
import json
import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from tiny_vlm_domains import DOMAINS
from tiny_vlm_recipe import RESOLUTIONS, PictureSet

import vlmfail
from vlmfail.models.tiny_vlm import network_input
from vlmfail.runs.executors import ProcessExecutor

SHARD = 50
"""Pictures a shard: what an interruption costs at most, in each process."""

Job = tuple[str, PictureSet, int]
"""(Folder, what is drawn, number of the shard.)"""

Drawn = tuple[dict[str, np.ndarray], dict[str, Any]]
"""(Picture by resolution, its record.)"""


def draw(domain: Any, pictures: PictureSet, index: int) -> Drawn:
    """Draw one picture; it depends on the set's seed and `index` alone."""
    rng = np.random.default_rng(np.random.SeedSequence(entropy=pictures.seed, spawn_key=(index,)))
    how = {"even": True} if pictures.even else {}
    picture, record = domain.draw(pictures.sizes, rng, **how)
    sizes = RESOLUTIONS[pictures.domain]
    scaled = {key(size): network_input(picture, size) for size in sizes}
    return scaled, {"index": index, "domain": pictures.domain, **record}


def key(size: tuple[int, int]) -> str:
    """Return the name under which a shard keeps pictures of (width, height)."""
    return f"{size[0]}x{size[1]}"


def build(stop: Any) -> Callable[[Job], int]:
    """Return the work of a process: draw and write one shard unless it is there."""
    domains = functools.cache(lambda name: DOMAINS[name]())

    def work(job: Job) -> int:
        folder, pictures, number = job
        path = Path(folder) / f"shard-{number:04d}.npz"
        if path.exists():
            return 0
        drawn = []
        for index in range(number * SHARD, min(pictures.count, (number + 1) * SHARD)):
            if stop is not None and stop.is_set():
                return 0
            drawn.append(draw(domains(pictures.domain), pictures, index))
        arrays = {name: np.stack([scaled[name] for scaled, _ in drawn]) for name in drawn[0][0]}
        records = np.array(json.dumps([record for _, record in drawn]))
        part = path.with_name(f".{path.name}.part.npz")
        np.savez_compressed(part, records=records, code=np.array(code_digest()), **arrays)
        part.rename(path)
        return len(drawn)

    return work


def prepare(folder: Path, pictures: PictureSet) -> list[Job]:
    """Return the shards of a set that are missing in `folder`.

    Raises:
        SystemExit: When `folder` holds pictures of another set.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {name: value for name, value in asdict(pictures).items() if value is not False}
    described = {**drawn, **DOMAINS[pictures.domain]().identity(), "shard": SHARD}
    described = json.loads(json.dumps(described, sort_keys=True))
    facts = folder / "set.json"
    if facts.exists() and json.loads(facts.read_text(encoding="utf-8")) != described:
        raise SystemExit(
            f"{folder} holds another set of pictures: delete it or choose another --out"
        )
    facts.write_text(json.dumps(described, indent=1) + "\n", encoding="utf-8")
    numbers = range((pictures.count + SHARD - 1) // SHARD)
    jobs = [(str(folder), pictures, number) for number in numbers]
    return [job for job in jobs if not (folder / f"shard-{job[2]:04d}.npz").exists()]


def generate(out: Path, sets: dict[str, PictureSet], processes: int) -> None:
    """Draw what is missing of `sets` in folders of `out`, with progress.

    Interrupted, it keeps whole shards, and goes on from there when called again.
    """
    jobs = [job for name, pictures in sets.items() for job in prepare(out / name, pictures)]
    total = sum(min(SHARD, job[1].count - job[2] * SHARD) for job in jobs)
    print(f"{total} of {sum(item.count for item in sets.values())} pictures to draw", flush=True)
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
                f"{Path(jobs[number][0]).name} shard {jobs[number][2]}: {done}/{total} pictures, "
                f"{rate:.2f} a second, {left:.0f} min left",
                flush=True,
            )
    except KeyboardInterrupt:
        print("stopping; the same command goes on from here", flush=True)
        raise
    finally:
        stop.set()
        executor.close()


def load(folder: Path, size: tuple[int, int]) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """Return (pictures `n x height x width x 3` uint8, records) of all shards of `folder`."""
    shards = sorted(folder.glob("shard-*.npz"))
    if not shards:
        raise SystemExit(f"there are no pictures in {folder}: run `scripts/train_tiny_vlm data`")
    pictures: list[np.ndarray] = []
    records: list[dict[str, Any]] = []
    codes = set()
    for path in shards:
        with np.load(path) as data:
            if key(size) not in data:
                raise SystemExit(f"{path} holds no pictures of {key(size)}: delete {folder}")
            pictures.append(data[key(size)])
            records.extend(json.loads(str(data["records"])))
            codes.add(str(data["code"]))
    wanted = json.loads((folder / "set.json").read_text(encoding="utf-8"))["count"]
    if len(records) != wanted:
        raise SystemExit(
            f"{folder} holds {len(records)} of {wanted} pictures: run `scripts/train_tiny_vlm data`"
        )
    if len(codes) > 1:
        raise SystemExit(
            f"{folder} was drawn by {len(codes)} versions of the renderer or domain: delete it and "
            "run `scripts/train_tiny_vlm data`"
        )
    return np.concatenate(pictures), records


def load_all(
    out: Path, names: Sequence[str], size: tuple[int, int]
) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """Return what `load` does of several sets in `out` that one state of the code drew, mixed."""
    if len({picture_code(out / name) for name in names}) > 1:
        raise SystemExit(f"{', '.join(names)} were drawn by different code: draw them again")
    loaded = [load(out / name, size) for name in names]
    if len(loaded) == 1:
        return loaded[0]
    order = mixed_order([len(records) for _, records in loaded])
    records = [record for _, each in loaded for record in each]
    return np.concatenate([pictures for pictures, _ in loaded])[order], [records[i] for i in order]


def mixed_order(counts: Sequence[int]) -> list[int]:
    """Return an order of sets laid end to end in which the first so many, however many, hold the
    same share of each set.
    """
    places = [((i + 0.5) / count, part) for part, count in enumerate(counts) for i in range(count)]
    return sorted(range(len(places)), key=places.__getitem__)


def picture_code(folder: Path) -> str:
    """Return the digest of the code that drew the pictures of `folder`."""
    first = min(folder.glob("shard-*.npz"), default=None)
    if first is None:
        raise SystemExit(f"there are no pictures in {folder}: run `scripts/train_tiny_vlm data`")
    with np.load(first) as data:
        return str(data["code"])


@functools.cache
def code_digest() -> str:
    """Return a digest of the code that pictures depend on."""
    root = Path(vlmfail.__file__).parent
    rooms: Sequence[str] = ("rendering", "envs")
    files: Iterator[Path] = (
        path for room in rooms for path in sorted((root / room).rglob("*")) if path.is_file()
    )
    digest = hashlib.sha256()
    for path in files:
        if path.suffix in (".py", ".json"):
            digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()
