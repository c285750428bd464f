"""Held-out figures of a built-in model and its model card, measured through the packaged model."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from tiny_vlm_domains import DOMAINS
from tiny_vlm_recipe import CURVE, ENOUGH, HELD_OUT, RECIPES, SETS, VALIDATION_EVERY
from tiny_vlm_wording import kind, real_question, statement_question

from vlmfail.core import Picture, wilson_interval
from vlmfail.models.tiny_vlm import TinyVLM

BINS = 10
CARDS = Path(__file__).parent / "cards"
FULL_SIZE = (512, 384)


def measure(model: TinyVLM, pictures: np.ndarray, records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures as JSON values: every share with its n and Wilson 95 % interval.

    They are of the question that a search would ask; where pictures have others, too, these are
    measured apart (``others``), and ``constants`` says what one answer to all would reach.
    """
    rng = np.random.default_rng(0)
    wordings = {name: domain.wording for name, domain in DOMAINS.items()}
    answers, sure, facts = [], [], []
    others: list[tuple[dict[str, Any], bool]] = []
    for pixels, record in zip(pictures, records, strict=True):
        picture = Picture.from_pixels(pixels)
        real = real_question(record)
        chances = model.probabilities(picture, real.question, real.options)
        answers.append(record["options"][int(np.argmax(chances))][0])
        sure.append(float(chances.max()))
        asked = statement_question(record, wordings[record["domain"]], rng)
        said = model.probabilities(picture, asked.question, asked.options)
        facts.append(asked.right[int(np.argmax(said))])
        for other in record.get("others") or ():
            put = real_question(other)
            said = model.probabilities(picture, put.question, put.options)
            others.append((other, put.right[int(np.argmax(said))]))
    right = np.array([a in r["accepted"] for a, r in zip(answers, records, strict=True)])

    def shares(of: Callable[[dict[str, Any]], Iterable[str]]) -> dict[str, Any]:
        return shares_by([of(record) for record in records], right)

    tables = list(dict.fromkeys(name for record in records for name in record["groups"]))
    expected = wordings[records[0]["domain"]].expected
    figures = {
        "pictures": len(records),
        "accuracy": share(right),
        "balanced_accuracy": balanced(records, right),
        "best_constant": best_constant(records),
        "confusion": confusion(answers, records),
        "calibration": calibration(np.array(sure), right),
        "statements": share(np.array(facts)),
        "tables": {
            expected: shares(lambda record: [record["expected"]]),
            **{
                name: shares(lambda record, name=name: record["groups"].get(name, []))
                for name in tables
            },
        },
    }
    if others:
        asked_too = [item for item, _ in others]
        hits = np.array([hit for _, hit in others])
        figures["constants"] = constants(records)
        figures["scene_constants"] = scene_constants(records)
        figures["others"] = {
            "questions": len(others),
            "accuracy": share(hits),
            "balanced_accuracy": balanced(asked_too, hits),
            "constants": constants(asked_too),
            "families": shares_by([[item["family"]] for item in asked_too], hits),
            "kinds": shares_by([[", ".join(kind(item))] for item in asked_too], hits),
        }
    return figures


def shares_by(names: Sequence[Iterable[str]], right: np.ndarray) -> dict[str, Any]:
    """Return the share of right answers by group; question `i` belongs to the groups `names[i]`."""
    groups: dict[str, list[int]] = {}
    for i, mine in enumerate(names):
        for name in mine:
            groups.setdefault(name, []).append(i)
    return {name: share(right[groups[name]]) for name in sorted(groups, key=_natural)}


def balanced(questions: Sequence[Mapping[str, Any]], right: np.ndarray) -> float:
    """Return the mean over the kinds of question of the share of right answers."""
    kinds = shares_by([[", ".join(kind(question))] for question in questions], right)
    return round(float(np.mean([value["share"] for value in kinds.values()])), 3)


def scene_constants(records: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Return, by the kind of scene, the accuracy of always giving each option."""
    scenes: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        for scene in record["groups"].get("Scene", []):
            scenes.setdefault(scene, []).append(record)
    return {scene: _always(scenes[scene]) for scene in sorted(scenes, key=_natural)}


def constants(questions: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Return, by hazard family, the accuracy of always giving each option."""
    families: dict[str, list[Mapping[str, Any]]] = {}
    for question in questions:
        families.setdefault(question["family"], []).append(question)
    return {family: _always(asked) for family, asked in sorted(families.items())}


def _always(questions: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    return {
        option: round(float(np.mean([option in item["accepted"] for item in questions])), 3)
        for option, _ in questions[0]["options"]
    }


def share(right: np.ndarray) -> dict[str, Any]:
    """Return share, n and Wilson 95 % interval."""
    hits, n = int(right.sum()), len(right)
    low, high = wilson_interval(hits, n)
    return {"share": round(hits / n, 3), "n": n, "interval": [round(low, 3), round(high, 3)]}


def best_constant(records: list[dict[str, Any]]) -> float:
    """Return the accuracy of the one option that is right most often."""
    counts = Counter(option for record in records for option in record["accepted"])
    return round(max(counts.values()) / len(records), 3)


def confusion(answers: list[str], records: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Return counts by expected option and answer, options in the question's order."""
    counts = Counter(
        (record["expected"], answer) for record, answer in zip(records, answers, strict=True)
    )
    ids = list(dict.fromkeys(option for record in records for option, _ in record["options"]))
    return {expected: {answer: counts[expected, answer] for answer in ids} for expected in ids}


def calibration(sure: np.ndarray, right: np.ndarray) -> dict[str, Any]:
    """Return the reliability of the answer's probability in ten equal bins, and the expected
    calibration error: the mean gap between probability and accuracy, weighted by pictures.
    """
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    rows, error = [], 0.0
    for number in range(BINS):
        inside = bins == number
        row: dict[str, Any] = {"from": number / BINS, "to": (number + 1) / BINS}
        row["n"] = int(inside.sum())
        if row["n"]:
            row["probability"] = round(float(sure[inside].mean()), 3)
            row["accuracy"] = round(float(right[inside].mean()), 3)
            error += float(inside.mean() * abs(sure[inside].mean() - right[inside].mean()))
        rows.append(row)
    return {"error": round(error, 3), "bins": rows}


def speed(model: TinyVLM, prompt: str, repeats: int = 300) -> dict[str, Any]:
    """Return milliseconds an answer to a full picture takes, scaling included, on one thread.

    CPU time is what it costs, wall time depends on what else the machine does.
    """
    rng = np.random.default_rng(0)
    shape = (FULL_SIZE[1], FULL_SIZE[0], 3)
    pictures = [Picture.from_pixels(rng.integers(0, 256, shape, dtype=np.uint8)) for _ in range(10)]
    spent: dict[str, list[float]] = {"wall": [], "cpu": []}
    clocks = {"wall": time.perf_counter, "cpu": time.thread_time}
    for i in range(repeats + 20):
        start = {name: clock() for name, clock in clocks.items()}
        model.answer([pictures[i % len(pictures)]], prompt, seed=0)
        for name, clock in clocks.items():
            spent[name].append(1000 * (clock() - start[name]))
    return {
        "answers": repeats,
        **{
            f"{name}_p{percent}_ms": round(float(np.percentile(values[20:], percent)), 2)
            for name, values in spent.items()
            for percent in (50, 95)
        },
    }


def card(name: str, facts: Mapping[str, Any], figures: Mapping[str, Any]) -> str:
    """Return the model card of `name` in Markdown.

    Args:
        name: Of a recipe.
        facts: What the file beside the weights says.
        figures: Figures by held-out set (`measure`), and ``speed``; ``pixels`` and ``curve`` where
            the domain's template speaks of them.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(CARDS),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    recipe = RECIPES[name]
    text = environment.get_template(f"{name}.md.jinja").render(
        name=name,
        facts=facts,
        figures=figures,
        test=figures[HELD_OUT[recipe.domain][0]],
        search=figures[HELD_OUT[recipe.domain][1]],
        held_out=HELD_OUT[recipe.domain],
        enough=ENOUGH,
        curve=CURVE[recipe.domain],
        recipe=asdict(recipe),
        trained_on=recipe.pictures,
        sets={key: asdict(value) for key, value in SETS.items()},
        validation_every=VALIDATION_EVERY,
        width=recipe.size[0],
        height=recipe.size[1],
    )
    return re.sub(r"\n{3,}", "\n\n", text)


def _natural(name: str) -> tuple[bool, float, str]:
    number = re.match(r"\d+(\.\d+)?", name)
    return (number is None, float(number[0]) if number else 0.0, name)
