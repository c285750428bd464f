"""Fitting tiny-vlm and writing its ONNX file."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tiny_vlm_network import Exported, TinyNetwork
from tiny_vlm_wording import Asked, action_question, statement_question
from torch import Tensor

from vlmfail.envs.driving.domain import DrivingDomain
from vlmfail.models.tiny_text import BUCKETS, bag
from vlmfail.models.tiny_vlm import INPUT_SIZE

EPOCHS = 6
BATCH = 64
RATE = 2e-3
STATEMENTS = 3
STATEMENT_WEIGHT = 0.3
VALIDATION_EVERY = 15


def shifted(pictures: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return pictures moved sideways by up to 4 pixels, up to 12 % brighter or darker, and with
    their colour channels up to 4 % apart. Distances and left and right stay what they are.
    """
    out = np.empty(pictures.shape, dtype=np.float32)
    for i, picture in enumerate(pictures):
        by = int(rng.integers(-4, 5))
        columns = np.clip(np.arange(picture.shape[1]) + by, 0, picture.shape[1] - 1)
        out[i] = picture[:, columns]
    out *= rng.uniform(0.88, 1.12, (len(out), 1, 1, 1)).astype(np.float32)
    out *= rng.uniform(0.96, 1.04, (len(out), 1, 1, 3)).astype(np.float32)
    return np.clip(np.rint(out), 0, 255).astype(np.uint8)


def tensors(asked: Sequence[Asked]) -> tuple[Tensor, Tensor, Tensor]:
    """Return questions `b x V`, options `b x k x V`, right `b x k` of equally long questions."""
    questions = np.stack([bag(item.question) for item in asked])
    options = np.stack([[bag(option) for option in item.options] for item in asked])
    right = np.array([item.right for item in asked])
    return torch.from_numpy(questions), torch.from_numpy(options), torch.from_numpy(right)


def losses(network: TinyNetwork, features: Tensor, asked: Sequence[Asked]) -> Tensor:
    """Return -log of the probability of the accepted options, `b`."""
    questions, options, right = tensors(asked)
    chances = torch.log_softmax(network.scores(features, questions, options), dim=-1)
    return -torch.logsumexp(chances.masked_fill(~right, -torch.inf), dim=-1)


def balance(records: Sequence[dict[str, Any]]) -> np.ndarray:
    """Return a weight per record, mean 1: each expected action counts alike in the sum."""
    counts = Counter(record["expected"] for record in records)
    weights = np.array([1.0 / counts[record["expected"]] for record in records])
    return (weights / weights.mean()).astype(np.float32)


def fit(
    pictures: np.ndarray, records: list[dict[str, Any]], seed: int, epochs: int = EPOCHS
) -> TinyNetwork:
    """Train a network for a fixed number of epochs; the last one is kept."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    domain = DrivingDomain()
    real, catalogue = domain.prompt.question(), domain.catalogue
    everything = np.arange(len(records))
    held = everything[everything % VALIDATION_EVERY == 0]
    used = everything[everything % VALIDATION_EVERY != 0]
    weights = balance(records)
    network = TinyNetwork().to(memory_format=torch.channels_last)
    optimiser = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=0.02)
    steps = epochs * (len(used) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, RATE, total_steps=max(steps, 1), pct_start=0.15
    )
    for epoch in range(epochs):
        network.train()
        order = rng.permutation(used)
        sums = np.zeros(2)
        for start in range(0, len(order) - BATCH + 1, BATCH):
            rows = order[start : start + BATCH]
            chosen = [records[row] for row in rows]
            features = network.features(torch.from_numpy(shifted(pictures[rows], rng)))
            actions = [action_question(record, real, rng) for record in chosen]
            facts = [
                statement_question(record, catalogue, rng)
                for record in chosen
                for _ in range(STATEMENTS)
            ]
            action = losses(network, features, actions)
            fact = losses(network, features.repeat_interleave(STATEMENTS, dim=0), facts).mean()
            loss = (action * torch.from_numpy(weights[rows])).mean() + STATEMENT_WEIGHT * fact
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 2.0)
            optimiser.step()
            schedule.step()
            sums += [action.mean().item(), fact.item()]
        done = sums / max(len(order) // BATCH, 1)
        right = accuracy(network, pictures[held], [records[i] for i in held])
        print(
            f"epoch {epoch + 1}/{epochs}: loss {done[0]:.3f}, statements {done[1]:.3f}, "
            f"validation accuracy {right:.3f}",
            flush=True,
        )
    return network.eval()


@torch.no_grad()
def accuracy(network: TinyNetwork, pictures: np.ndarray, records: list[dict[str, Any]]) -> float:
    """Return the share of accepted answers to the real question, balanced over actions."""
    network.eval()
    real = DrivingDomain().prompt.question()
    hits: dict[str, list[bool]] = {}
    for start in range(0, len(records), BATCH):
        chosen = records[start : start + BATCH]
        asked = [
            Asked(
                real.text,
                tuple(option.text for option in real.options),
                tuple(option.id in record["accepted"] for option in real.options),
            )
            for record in chosen
        ]
        questions, options, right = tensors(asked)
        features = network.features(torch.from_numpy(pictures[start : start + BATCH]))
        best = network.scores(features, questions, options).argmax(dim=-1)
        for record, row, answer in zip(chosen, right, best, strict=True):
            hits.setdefault(record["expected"], []).append(bool(row[answer]))
    return float(np.mean([np.mean(hits[action]) for action in sorted(hits)]))


def export(network: TinyNetwork, path: Path, facts: dict[str, Any]) -> None:
    """Write the ONNX file and, beside it, what it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    width, height = INPUT_SIZE
    wrapper = Exported(network.eval().to(memory_format=torch.contiguous_format)).eval()
    example = (
        torch.zeros((1, height, width, 3), dtype=torch.uint8),
        torch.zeros((1, BUCKETS)),
        torch.zeros((3, BUCKETS)),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            wrapper,
            example,
            str(path),
            input_names=["picture", "question", "options"],
            output_names=["probabilities"],
            dynamic_axes={"options": {0: "k"}, "probabilities": {0: "k"}},
            opset_version=17,
            dynamo=False,
        )
    facts = {
        "version": "tiny-vlm-1",
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "bytes": path.stat().st_size,
        "input": {"width": width, "height": height, "resampling": "hamming"},
        "parameters": sum(parameter.numel() for parameter in network.parameters()),
        **facts,
    }
    path.with_suffix(".json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
