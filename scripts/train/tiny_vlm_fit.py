"""Fitting one of the networks and writing its ONNX file."""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tiny_vlm_networks
import torch
from tiny_vlm_domains import DOMAINS
from tiny_vlm_networks import Exported, TinyNetwork
from tiny_vlm_recipe import VALIDATION_EVERY, Recipe
from tiny_vlm_wording import (
    Asked,
    Kind,
    action_question,
    chosen_question,
    kind,
    real_question,
    statement_question,
)
from torch import Tensor

from vlmfail.models.tiny_text import BUCKETS, bag

BATCH = 64
STATEMENTS = 3
STATEMENT_WEIGHT = 0.3
LOOKED_AT = 1000
BESIDE = ("tiny_vlm_recipe", "tiny_vlm_report", "tiny_vlm_sets")
"""Modules whose text decides nothing of a training: what they say comes as values."""


def build(recipe: Recipe) -> TinyNetwork:
    """Return an untrained network."""
    network: TinyNetwork = getattr(tiny_vlm_networks, recipe.network)(recipe.size, **recipe.options)
    return network.to(memory_format=torch.channels_last)


def varied(pictures: np.ndarray, shift: int, rng: np.random.Generator) -> np.ndarray:
    """Return pictures moved sideways by up to `shift` pixels, up to 12 % brighter or darker, and
    with their colour channels up to 4 % apart. Distances and left and right stay what they are.
    """
    count, _, width, _ = pictures.shape
    by = rng.integers(-shift, shift + 1, (count, 1))
    columns = np.clip(np.arange(width) + by, 0, width - 1)
    out = np.take_along_axis(pictures, columns[:, None, :, None], axis=2).astype(np.float32)
    out *= rng.uniform(0.88, 1.12, (count, 1, 1, 1)).astype(np.float32)
    out *= rng.uniform(0.96, 1.04, (count, 1, 1, 3)).astype(np.float32)
    return np.clip(np.rint(out), 0, 255).astype(np.uint8)


def losses(network: TinyNetwork, features: Tensor, asked: Sequence[Sequence[Asked]]) -> Tensor:
    """Return -log of the probability of the accepted options, `b x q`; `asked` is `b x q`."""
    chances = torch.log_softmax(scores(network, features, asked), dim=-1)
    right = torch.tensor([[item.right for item in row] for row in asked])
    return -torch.logsumexp(chances.masked_fill(~right, -torch.inf), dim=-1)


def scores(network: TinyNetwork, features: Tensor, asked: Sequence[Sequence[Asked]]) -> Tensor:
    """Return logits `b x q x k` of questions with `k` options each."""
    questions = np.stack([np.stack([bag(item.question) for item in row]) for row in asked])
    options = np.stack(
        [np.stack([[bag(text) for text in item.options] for item in row]) for row in asked]
    )
    return network.scores(features, torch.from_numpy(questions), torch.from_numpy(options))


def balance(records: Sequence[dict[str, Any]]) -> dict[Kind, float]:
    """Return a weight by kind of question: each kind counts alike in the sum, the mean is 1.

    Questions count as often as `chosen_question` draws them.
    """
    counts: Counter[Kind] = Counter()
    for record in records:
        others = record.get("others") or []
        counts[kind(record)] += 0.5 if others else 1.0  # type: ignore[assignment]
        for other in others:
            counts[kind(other)] += 0.5 / len(others)  # type: ignore[assignment]
    mean = len(counts) / sum(counts.values())
    return {key: 1.0 / (count * mean) for key, count in counts.items()}


def split(count: int, taken: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return (rows trained on, rows left out to look at).

    Args:
        count: Pictures that there are.
        taken: Train on the first so many and look at the others, at a thousand at most spread
            over them; None, or no others: every tenth is left out.
    """
    rows = np.arange(count)
    if taken is not None and taken < count:
        return rows[:taken], rows[taken :: max(1, (count - taken) // LOOKED_AT)][:LOOKED_AT]
    held = rows % VALIDATION_EVERY == 0
    return rows[~held], rows[held]


def tried(count: int, curve: Sequence[int]) -> list[int | None]:
    """Return what a recipe may take of a set of `count` pictures, by a curve that ends with all but
    every tenth of them where it goes as far as that.
    """
    fewer: list[int | None] = [taken for taken in curve if taken < count]
    return [*fewer, None] if max(curve) >= count else fewer


def fit(
    recipe: Recipe, pictures: np.ndarray, records: list[dict[str, Any]], seed: int
) -> tuple[TinyNetwork, list[dict[str, float]]]:
    """Train a network for the recipe's epochs; return it (the last epoch) and each epoch's figures.

    Args:
        recipe: What to train and how long.
        pictures: `n x height x width x 3` uint8, at the recipe's size.
        records: One a picture.
        seed: Of the first weights, of the order and of everything drawn on the way.
    """
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    wordings = {name: domain.wording for name, domain in DOMAINS.items()}
    used, held = split(len(records), recipe.taken)
    weights = balance(records)
    network = build(recipe)
    optimiser = torch.optim.AdamW(
        network.parameters(), lr=recipe.rate, weight_decay=recipe.weight_decay
    )
    batches = max(len(used) // BATCH, 1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, recipe.rate, total_steps=recipe.epochs * batches, pct_start=0.15
    )
    history: list[dict[str, float]] = []
    start = time.monotonic()
    for epoch in range(recipe.epochs):
        network.train()
        sums = np.zeros(2)
        for rows in np.array_split(rng.permutation(used), batches):
            chosen = [records[row] for row in rows]
            put = [chosen_question(item, rng) for item in chosen]
            weight = torch.tensor([weights[kind(item)] for item in put])
            shown = varied(pictures[rows], recipe.shift, rng)
            features = network.features(torch.from_numpy(shown))
            actions = [
                [action_question(asked, wordings[item["domain"]], rng)]
                for asked, item in zip(put, chosen, strict=True)
            ]
            facts = [
                [statement_question(item, wordings[item["domain"]], rng) for _ in range(STATEMENTS)]
                for item in chosen
            ]
            action = losses(network, features, actions)[:, 0]
            fact = losses(network, features, facts).mean()
            loss = (action * weight).mean() + STATEMENT_WEIGHT * fact
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 2.0)
            optimiser.step()
            schedule.step()
            sums += [action.mean().item(), fact.item()]
        figures = validate(network, pictures[held], [records[row] for row in held])
        figures["loss"], figures["statement_loss"] = (sums / batches).tolist()
        history.append({name: round(value, 4) for name, value in figures.items()})
        minutes = (time.monotonic() - start) / 60
        print(
            f"{recipe.version} epoch {epoch + 1}/{recipe.epochs}: loss {figures['loss']:.3f}, "
            f"statements {figures['statement_loss']:.3f}, validation {figures['accuracy']:.3f}, "
            f"balanced {figures['balanced_accuracy']:.3f}; {minutes:.1f} min, "
            f"{minutes / (epoch + 1) * (recipe.epochs - epoch - 1):.0f} left",
            flush=True,
        )
    return network.eval(), history


@dataclass(frozen=True)
class Fit:
    """A trained network.

    Attributes:
        network: As it was after the last epoch.
        history: Figures of each epoch.
        minutes: What the training took.
    """

    network: TinyNetwork
    history: list[dict[str, float]]
    minutes: float


def kept(
    folder: Path, recipe: Recipe, pictures: np.ndarray, records: list[dict[str, Any]], seed: int
) -> Fit:
    """Return what `fit` gives, from `folder` where the same was trained before.

    The last of the curve's fits is the recipe's own. The same: recipe, seed, pictures with their
    records, torch and the code of the training.
    """
    facts = {
        "recipe": asdict(recipe),
        "seed": seed,
        "pictures": hashlib.sha256(np.ascontiguousarray(pictures)).hexdigest(),
        "records": hashlib.sha256(json.dumps(records).encode()).hexdigest(),
        "torch": torch.__version__,
        "code": [
            hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(Path(__file__).parent.glob("tiny_vlm_*.py"))
            if path.stem not in BESIDE
        ],
    }
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    path = folder / f"fit-{digest[:16]}.pt"
    if path.is_file():
        found = torch.load(path, weights_only=True)
        network = build(recipe)
        network.load_state_dict(found["weights"])
        return Fit(network.eval(), found["history"], found["minutes"])
    start = time.monotonic()
    network, history = fit(recipe, pictures, records, seed)
    minutes = round((time.monotonic() - start) / 60, 1)
    part = path.with_suffix(".part")
    torch.save({"weights": network.state_dict(), "history": history, "minutes": minutes}, part)
    part.rename(path)
    return Fit(network, history, minutes)


@torch.no_grad()
def validate(
    network: TinyNetwork, pictures: np.ndarray, records: list[dict[str, Any]]
) -> dict[str, float]:
    """Return the share of accepted answers to the real question: plain, and balanced, the mean over
    the kinds of question.
    """
    network.eval()
    hits: dict[Kind, list[bool]] = {}
    for first in range(0, len(records), BATCH):
        chosen = records[first : first + BATCH]
        asked = [[real_question(record)] for record in chosen]
        features = network.features(torch.from_numpy(pictures[first : first + BATCH]))
        best = scores(network, features, asked)[:, 0].argmax(dim=-1).tolist()
        for record, row, answer in zip(chosen, asked, best, strict=True):
            hits.setdefault(kind(record), []).append(row[0].right[answer])
    every = [hit for each in sorted(hits) for hit in hits[each]]
    return {
        "accuracy": float(np.mean(every)),
        "balanced_accuracy": float(np.mean([np.mean(hits[each]) for each in sorted(hits)])),
    }


def asks(records: Sequence[dict[str, Any]]) -> list[str]:
    """Return the questions that a network is trained on, in all their words."""
    texts: dict[str, None] = {}
    for record in records:
        for item in (record, *(record.get("others") or ())):
            wording = item.get("asks") or DOMAINS[record["domain"]].wording.asks
            texts.update(dict.fromkeys((item["question"], *wording)))
    return sorted(texts)


def shown(domain: str, records: Sequence[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Return in how many pictures each concept is, and of how many each kind of question is the
    own one, the rarest first: what a network was hardly shown belongs into its card.
    """
    catalogue = DOMAINS[domain]().domain.catalogue
    concepts: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for record in records:
        concepts.update(record["concepts"])
        kinds[", ".join(part for part in kind(record) if part)] += 1
    counts = {name: concepts[name] for name in catalogue.ids if name not in catalogue.implied}
    return {
        name: dict(sorted(of.items(), key=lambda item: (item[1], item[0])))
        for name, of in (("concepts", counts), ("kinds", dict(kinds)))
    }


def export(
    name: str,
    recipe: Recipe,
    network: TinyNetwork,
    path: Path,
    training: dict[str, Any],
    questions: Sequence[str] = (),
) -> None:
    """Write the ONNX file and, beside it, what it is; an interrupted one leaves the old files.

    Args:
        name: Of the network.
        recipe: What it was trained by.
        network: The trained network.
        path: Of the ONNX file.
        training: Facts about the training.
        questions: Texts that it was trained on (`asks`): by them a model of several networks
            chooses.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part.onnx")
    width, height = recipe.size
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
            str(part),
            input_names=["picture", "question", "options"],
            output_names=["probabilities"],
            dynamic_axes={"options": {0: "k"}, "probabilities": {0: "k"}},
            opset_version=17,
            dynamo=False,
        )
    facts = {
        "name": name,
        "version": recipe.version,
        "sha256": hashlib.sha256(part.read_bytes()).hexdigest(),
        "bytes": part.stat().st_size,
        "input": {"width": width, "height": height, "resampling": "hamming"},
        "network": recipe.network,
        "parameters": sum(parameter.numel() for parameter in network.parameters()),
        "training": training,
        "asks": list(questions),
    }
    part.with_suffix(".json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    part.replace(path)
    part.with_suffix(".json").replace(path.with_suffix(".json"))
