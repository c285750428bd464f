"""Held-out figures of tiny-vlm for its model card, measured through the packaged model."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from tiny_vlm_wording import statement_question

from vlmfail.core import Picture, wilson_interval
from vlmfail.envs.driving.domain import DrivingDomain
from vlmfail.models.tiny_vlm import TinyVLM

BINS = 10


def measure(model: TinyVLM, pictures: np.ndarray, records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures as JSON values: every share with its n and Wilson 95 % interval."""
    domain = DrivingDomain()
    question = domain.prompt.question()
    ids = [option.id for option in question.options]
    texts = [option.text for option in question.options]
    rng = np.random.default_rng(0)
    answers, sure, facts, seconds = [], [], [], []
    for pixels, record in zip(pictures, records, strict=True):
        picture = Picture.from_pixels(pixels)
        start = time.perf_counter()
        chances = model.probabilities(picture, question.text, texts)
        seconds.append(time.perf_counter() - start)
        answers.append(ids[int(np.argmax(chances))])
        sure.append(float(chances.max()))
        asked = statement_question(record, domain.catalogue, rng)
        said = model.probabilities(picture, asked.question, asked.options)
        facts.append(asked.right[int(np.argmax(said))])
    right = np.array([a in r["accepted"] for a, r in zip(answers, records, strict=True)])

    def shares(of: Callable[[dict[str, Any]], Iterable[str]]) -> dict[str, Any]:
        groups: dict[str, list[int]] = {}
        for i, record in enumerate(records):
            for name in of(record):
                groups.setdefault(name, []).append(i)
        return {name: share(right[groups[name]]) for name in sorted(groups)}

    def size(record: dict[str, Any]) -> str:
        return "ordinary road" if record["empty"] else f"{len(record['concepts'])} concepts"

    by_action = shares(lambda record: [record["expected"]])
    return {
        "n": len(records),
        "accuracy": share(right),
        "balanced_accuracy": round(float(np.mean([v["share"] for v in by_action.values()])), 3),
        "by_expected_action": by_action,
        "by_rule": shares(lambda record: [record["rule"]]),
        "by_size": shares(lambda record: [size(record)]),
        "by_weather": shares(lambda record: [record["weather"] or "none named"]),
        "by_town": shares(lambda record: [record["town"]]),
        "by_nearest_in_lane": shares(lambda record: [bucket(record)]),
        "by_concept": shares(lambda record: [] if record["empty"] else record["concepts"]),
        "confusion": confusion(answers, records),
        "expected_calibration_error": calibration_error(np.array(sure), right),
        "statements": share(np.array(facts)),
        "median_milliseconds": round(1000 * float(np.median(seconds)), 1),
    }


def share(right: np.ndarray) -> dict[str, Any]:
    """Return share, n and Wilson 95 % interval."""
    hits, n = int(right.sum()), len(right)
    low, high = wilson_interval(hits, n)
    return {"share": round(hits / n, 3), "n": n, "interval": [round(low, 3), round(high, 3)]}


def bucket(record: dict[str, Any]) -> str:
    """Return where the nearest thing in the lane is."""
    if not record["in_lane"]:
        return "lane free"
    gap = record["in_lane"][0][0]
    for limit, name in ((4.0, "2-4 m"), (5.6, "4-5.6 m"), (20.0, "5.6-20 m")):
        if gap < limit:
            return name
    return "20-25 m"


def confusion(answers: list[str], records: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Return counts by expected action and answer."""
    out: dict[str, dict[str, int]] = {}
    for answer, record in zip(answers, records, strict=True):
        row = out.setdefault(record["expected"], {})
        row[answer] = row.get(answer, 0) + 1
    return {expected: dict(sorted(out[expected].items())) for expected in sorted(out)}


def calibration_error(sure: np.ndarray, right: np.ndarray) -> float:
    """Return the expected calibration error of the answer's probability over ten equal bins."""
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    gaps = [
        (bins == b).mean() * abs(sure[bins == b].mean() - right[bins == b].mean())
        for b in range(BINS)
        if (bins == b).any()
    ]
    return round(float(sum(gaps)), 3)


TABLES = {
    "by_expected_action": "Expected action",
    "by_rule": "Deciding rule",
    "by_size": "Scene",
    "by_nearest_in_lane": "Nearest thing in the lane",
    "by_weather": "Weather",
    "by_town": "Town",
    "by_concept": "Concept in the set",
}


def markdown(figures: dict[str, Any]) -> str:
    """Return the figures as the tables of the model card."""
    whole = figures["accuracy"]
    lines = [
        "| what | value |",
        "|---|---|",
        f"| pictures | {figures['n']} |",
        f"| accuracy | {_cell(whole)} |",
        f"| balanced accuracy (mean over expected actions) | {figures['balanced_accuracy']:.3f} |",
        f"| expected calibration error (10 bins) | {figures['expected_calibration_error']:.3f} |",
        f"| true/false statements | {_cell(figures['statements'])} |",
        "",
        "| expected \\ answered | emergency_stop | slow_down | continue |",
        "|---|---|---|---|",
    ]
    for expected, row in figures["confusion"].items():
        counts = " | ".join(
            str(row.get(action, 0)) for action in ("emergency_stop", "slow_down", "continue")
        )
        lines.append(f"| {expected} | {counts} |")
    for key, name in TABLES.items():
        lines += ["", f"| {name} | accuracy | 95 % interval | n |", "|---|---|---|---|"]
        for group, value in figures[key].items():
            low, high = value["interval"]
            lines.append(
                f"| {group} | {value['share']:.3f} | {low:.2f} to {high:.2f} | {value['n']} |"
            )
    return "\n".join(lines)


def _cell(value: dict[str, Any]) -> str:
    low, high = value["interval"]
    return f"{value['share']:.3f} ({low:.2f} to {high:.2f})"
