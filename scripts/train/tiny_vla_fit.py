"""Fitting tiny-vla to demonstrations and writing its ONNX file."""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tiny_vla_episodes import Demonstrations
from tiny_vla_network import MIDDLE, MOVE, SPREAD, TURN, Exported, PolicyNetwork, Told
from tiny_vla_recipe import Recipe
from torch import Tensor
from torch.nn import functional

from vlmfail.envs.pickup.objects import objects
from vlmfail.envs.pickup.space import INSTRUCTIONS
from vlmfail.models.tiny_text import BUCKETS, bag

BEND = 0.05
"""Below this error, in units of an action's scales, the loss is quadratic."""

FIRST_WORDING = 0.5
"""Share of the pictures with the instruction's first wording; the others have any."""


def build(recipe: Recipe) -> PolicyNetwork:
    """Return an untrained network."""
    network = PolicyNetwork(recipe.size, recipe.chunk, recipe.channels, recipe.points)
    return network.to(memory_format=torch.channels_last)


def split(shown: Demonstrations, recipe: Recipe, taken: int | None) -> tuple[Any, Any]:
    """Return (rows trained on, rows left out to look at): whole episodes, so whole scenes.

    Args:
        shown: All demonstrations.
        recipe: Says which are left out.
        taken: Train on the first so many episodes; None: all.
    """
    held = shown.episodes % recipe.validation_every == 0
    used = ~held if taken is None else ~held & (shown.episodes < taken)
    return np.flatnonzero(used), np.flatnonzero(held)


def varied(pictures: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return pictures up to 15 % brighter or darker, with colour channels up to 4 % apart and a
    little noise. Nothing is moved: where a thing is seen says where it is.
    """
    out = pictures.astype(np.float32)
    out *= rng.uniform(0.85, 1.15, (len(out), 1, 1, 1)).astype(np.float32)
    out *= rng.uniform(0.96, 1.04, (len(out), 1, 1, 3)).astype(np.float32)
    return np.clip(np.rint(out), 0, 255).astype(np.uint8)


def texts() -> np.ndarray:
    """Return the bags of all instructions, `objects x wordings x BUCKETS`."""
    return np.stack(
        [[bag(wording.format(object=one.title)) for wording in INSTRUCTIONS]
         for one in objects().objects]
    )  # fmt: skip


def losses(told: Told, batch: Demonstrations) -> tuple[Tensor, Tensor, Tensor]:
    """Return the losses of motions, gripper and what is seen, means over a batch.

    Motions count each and summed up from the chunk's beginning: small errors of one sign add up.
    """
    scale = torch.tensor([MOVE] * 3 + [TURN] * 3)
    wanted = torch.from_numpy(batch.chunks[..., :6]) / scale
    each = functional.smooth_l1_loss(told.motions, wanted, beta=BEND)
    summed = functional.smooth_l1_loss(told.motions.cumsum(1), wanted.cumsum(1), beta=BEND)
    opens = (torch.from_numpy(batch.chunks[..., 6]) > 0).float()
    gripper = functional.binary_cross_entropy_with_logits(told.gripper, opens)
    places = torch.from_numpy(batch.targets).clone()
    places[:, :3] = (places[:, :3] - torch.tensor(MIDDLE)) / torch.tensor(SPREAD)
    seen = functional.smooth_l1_loss(told.targets, places, beta=BEND)
    grasped = torch.from_numpy(batch.grasped).float()
    seen = seen + 0.2 * functional.binary_cross_entropy_with_logits(told.grasped, grasped)
    return each + summed, gripper, seen


def fit(
    recipe: Recipe, shown: Demonstrations, seed: int, taken: int | None = None
) -> tuple[PolicyNetwork, list[dict[str, float]]]:
    """Train a network for the recipe's epochs; return it (the last epoch) and each epoch's figures.

    Args:
        recipe: How it is trained.
        shown: All demonstrations.
        seed: Of the first weights, of the order and of everything drawn on the way.
        taken: See `split`.
    """
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    used, held = split(shown, recipe, taken)
    network = build(recipe)
    optimiser = torch.optim.AdamW(
        network.parameters(), lr=recipe.rate, weight_decay=recipe.weight_decay
    )
    easy = used[shown.grasped[used]]
    others = used[~shown.grasped[used]]
    some = round(recipe.grasped_share * len(easy))
    batches = max((len(others) + some) // recipe.batch, 1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, recipe.rate, total_steps=recipe.epochs * batches, pct_start=0.15
    )
    bags, history = texts(), []
    start = time.monotonic()
    for epoch in range(recipe.epochs):
        network.train()
        sums = np.zeros(3)
        taken_now = np.concatenate([others, rng.permutation(easy)[:some]])
        for rows in np.array_split(rng.permutation(taken_now), batches):
            batch = shown.rows(rows)
            wording = rng.integers(0, len(INSTRUCTIONS), len(rows))
            wording[rng.random(len(rows)) < FIRST_WORDING] = 0
            told = network(
                torch.from_numpy(varied(batch.pictures, rng)),
                torch.from_numpy(bags[batch.objects, wording]),
                torch.from_numpy(batch.states),
            )
            motion, gripper, seen = losses(told, batch)
            optimiser.zero_grad(set_to_none=True)
            (motion + gripper + recipe.seen_weight * seen).backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 2.0)
            optimiser.step()
            schedule.step()
            sums += [motion.item(), gripper.item(), seen.item()]
        figures = validate(network, shown.rows(held), bags)
        figures["loss"], figures["gripper_loss"], figures["seen_loss"] = (sums / batches).tolist()
        history.append({name: round(value, 4) for name, value in figures.items()})
        minutes = (time.monotonic() - start) / 60
        print(
            f"{recipe.version} epoch {epoch + 1}/{recipe.epochs}: {json.dumps(history[-1])}; "
            f"{minutes:.1f} min, {minutes / (epoch + 1) * (recipe.epochs - epoch - 1):.0f} left",
            flush=True,
        )
    return network.eval(), history


@torch.no_grad()
def validate(network: PolicyNetwork, shown: Demonstrations, bags: np.ndarray) -> dict[str, float]:
    """Return, of episodes that were left out: the mean error of where a chunk ends (x, y, z
    together, mm), that of where the target is (mm), and the share of right gripper goals.
    """
    network.eval()
    ends, places, right = [], [], []
    for first in range(0, len(shown.pictures), 256):
        batch = shown.rows(np.arange(first, min(first + 256, len(shown.pictures))))
        told = network(
            torch.from_numpy(batch.pictures),
            torch.from_numpy(bags[batch.objects, 0]),
            torch.from_numpy(batch.states),
        )
        moved = told.motions[..., :3].sum(1).numpy() * MOVE - batch.chunks[..., :3].sum(1)
        ends.append(np.linalg.norm(moved, axis=-1))
        found = told.targets[:, :3].numpy() * np.array(SPREAD) + np.array(MIDDLE)
        places.append(np.linalg.norm(found - batch.targets[:, :3], axis=-1))
        right.append((told.gripper.numpy() > 0) == (batch.chunks[..., 6] > 0))
    return {
        "end_error_mm": 1000 * float(np.mean(np.concatenate(ends))),
        "place_error_mm": 1000 * float(np.mean(np.concatenate(places))),
        "gripper_right": float(np.mean(np.concatenate(right))),
    }


def counts(shown: Demonstrations, used: np.ndarray) -> dict[str, Any]:
    """Return how many episodes and pictures a network was trained on, and episodes an object."""
    _, first = np.unique(shown.episodes[used], return_index=True)
    names = [one.id for one in objects().objects]
    each = Counter(names[number] for number in shown.objects[used][first])
    return {
        "episodes": len(first),
        "pictures": len(used),
        "objects": {name: each[name] for name in names},
    }


def export(recipe: Recipe, network: PolicyNetwork, path: Path, training: dict[str, Any]) -> None:
    """Write the ONNX file and, beside it, what it is; an interrupted one leaves the old files.

    Args:
        recipe: What it was trained by.
        network: The trained network.
        path: Of the ONNX file.
        training: Facts about the training.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part.onnx")
    width, height = recipe.size
    wrapper = Exported(network.eval().to(memory_format=torch.contiguous_format)).eval()
    example = (
        torch.zeros((1, height, width, 3), dtype=torch.uint8),
        torch.zeros((1, BUCKETS)),
        torch.zeros((1, 8)),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            wrapper,
            example,
            str(part),
            input_names=["picture", "words", "state"],
            output_names=["actions"],
            opset_version=17,
            dynamo=False,
        )
    facts = {
        "name": path.stem,
        "version": recipe.version,
        "sha256": hashlib.sha256(part.read_bytes()).hexdigest(),
        "bytes": part.stat().st_size,
        "input": {"width": width, "height": height, "resampling": "hamming"},
        "chunk": recipe.chunk,
        "parameters": sum(parameter.numel() for parameter in network.parameters()),
        "training": training,
    }
    part.with_suffix(".json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    part.replace(path)
    part.with_suffix(".json").replace(path.with_suffix(".json"))
