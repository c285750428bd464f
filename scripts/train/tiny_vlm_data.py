"""Driving pictures for tiny-vlm: a plain mix of ordinary roads and valid scenes.

Nothing is left out, shrunk or mislabelled on purpose: every town, weather and concept is drawn.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from vlmfail.core import SceneError
from vlmfail.envs.driving.domain import DrivingDomain
from vlmfail.models.tiny_vlm import network_input

EMPTY_SHARE = 0.18
"""Share of ordinary roads with nothing named on them, which no valid set shows (rule D4)."""

SIZES = (1, 2, 3)
"""Set sizes, equally often."""

SHARD = 100


def draw_candidate(domain: DrivingDomain, rng: np.random.Generator) -> tuple[frozenset[str], bool]:
    """Return (concepts, whether it is an ordinary road): a valid set of a size drawn uniformly, or
    any town and weather with nothing else.
    """
    concepts = domain.catalogue
    if rng.random() < EMPTY_SHARE:
        weathers = [None, *(concept.id for concept in concepts.by_role("weather"))]
        towns = [concept.id for concept in concepts.by_role("town")]
        weather = weathers[int(rng.integers(len(weathers)))]
        town = towns[int(rng.integers(len(towns)))]
        return frozenset({town, weather} - {None}), True
    size = SIZES[int(rng.integers(len(SIZES)))]
    while True:
        chosen = frozenset(
            concepts.ids[i] for i in rng.choice(len(concepts.ids), size, replace=False)
        )
        if domain.space.validate(chosen) is None:
            return chosen, False


def draw(domain: DrivingDomain, renderer: Any, seed: int, index: int) -> tuple[Any, dict[str, Any]]:
    """Return (picture at the network's resolution, its record); depends on (seed, index) alone."""
    rng = np.random.default_rng(np.random.SeedSequence(entropy=seed, spawn_key=(index,)))
    while True:
        candidate, empty = draw_candidate(domain, rng)
        for _attempt in range(domain.attempts):
            try:
                scene = domain.sample_scene(candidate, rng)
            except SceneError:
                continue
            rendering = renderer.render(scene)
            truth = domain.truth(scene)
            if domain.unseen(scene, truth, rendering) is not None:
                continue
            record = {
                "index": index,
                "concepts": domain.space.to_json(candidate),
                "empty": empty,
                "expected": truth.expected,
                "accepted": sorted(truth.accepted),
                "rule": truth.rule,
                "town": scene.town,
                "weather": scene.weather,
                "junction": scene.junction_gap is not None,
                "in_lane": [[round(gap, 3), placed.name] for gap, placed in scene.in_lane],
                "objects": {placed.name: placed.distance for placed in scene.objects},
                "sidewalk": [placed.name for placed in scene.objects if placed.on_sidewalk],
                "visible": dict(rendering.visible or {}),
            }
            return network_input(rendering.picture), record


@lru_cache(maxsize=1)
def _world() -> tuple[DrivingDomain, Any]:
    """Return the domain and one renderer a process: it keeps the towns it has drawn."""
    domain = DrivingDomain()
    return domain, domain.make_renderer("embree")


def write_shard(folder: Path, seed: int, shard: int, count: int) -> int:
    """Draw and write one shard, unless it is there."""
    path = folder / f"shard-{shard:04d}.npz"
    if path.exists():
        return 0
    domain, renderer = _world()
    indices = range(shard * SHARD, min(count, (shard + 1) * SHARD))
    drawn = [draw(domain, renderer, seed, index) for index in indices]
    pictures = np.stack([picture for picture, _ in drawn])
    records = json.dumps([record for _, record in drawn])
    part = path.with_suffix(".part.npz")
    np.savez_compressed(part, pictures=pictures, records=np.array(records))
    part.rename(path)
    return len(drawn)


def generate(folder: Path, seed: int, count: int, processes: int) -> Iterator[int]:
    """Write `count` pictures to `folder` in shards; yields how many each new shard holds."""
    folder.mkdir(parents=True, exist_ok=True)
    shards = range((count + SHARD - 1) // SHARD)
    with ProcessPoolExecutor(processes) as pool:
        jobs = [pool.submit(write_shard, folder, seed, shard, count) for shard in shards]
        for job in as_completed(jobs):
            yield job.result()


def load(folder: Path) -> tuple[Any, list[dict[str, Any]]]:
    """Return (pictures `n x 144 x 192 x 3` uint8, records) of all shards of `folder`."""
    shards = sorted(folder.glob("shard-*.npz"))
    shards = [path for path in shards if not path.name.endswith(".part.npz")]
    if not shards:
        raise SystemExit(f"there are no pictures in {folder}: run `scripts/train_tiny_vlm data`")
    pictures, records = [], []
    for path in shards:
        with np.load(path) as data:
            pictures.append(data["pictures"])
            records.extend(json.loads(str(data["records"])))
    return np.concatenate(pictures), records
