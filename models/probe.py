"""The roster probe: does a model answer, does it see the picture, how fast, at what cost."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..core import VLM, Option, Outcome, Picture, Question, Reply, UnaskedError, VLMFailError
from .answers import classify
from .registry import make_model
from .replies import checked_reply, fault
from .spending import Caps, Ledger, metering

MOST_REQUESTS = 3
"""Requests that one probe may take, retries included."""

SHAPES = ("circle", "triangle", "square", "star")
COLOURS = {"red": (214, 40, 40), "green": (30, 150, 60), "blue": (35, 80, 200), "black": (20,) * 3}


@dataclass(frozen=True, slots=True)
class Probe:
    """What one call to a model showed.

    Attributes:
        model: The spec.
        answers: Whether a reply came that declares an option.
        sees: Whether the option is the right one, which a blind model names once in sixteen
            times; None when it did not answer, or for a model that reads other pictures only.
        outcome: The trial's outcome in the words of a run.
        seconds: Time of the call, s.
        requests: Requests that reached the wire.
        tokens: Input and output tokens, if the service says.
        dollars: Price, if the model is priced.
        priced: Whether the price table knows it.
        note: What went wrong, or what the model said.
    """

    model: str
    answers: bool
    sees: bool | None
    outcome: str
    seconds: float
    requests: int = 0
    tokens: int | None = None
    dollars: float | None = None
    priced: bool = False
    note: str = ""

    @property
    def fine(self) -> bool:
        """Whether a search may be pointed at it."""
        return self.answers and self.sees is not False

    def to_json(self) -> dict[str, Any]:
        """Return the values for ``--json``."""
        return {**asdict(self), "fine": self.fine}


def probe_model(spec: str | VLM, *, variant: int = 0) -> Probe:
    """Ask a model one cheap question about a picture; the reply cache is left out.

    Args:
        spec: The model.
        variant: Which of the sixteen pictures.
    """
    start = time.perf_counter()
    name = spec if isinstance(spec, str) else spec.name
    try:
        model = make_model(spec)
        model = model.uncached() if hasattr(model, "uncached") else model
    except VLMFailError as error:
        return Probe(name, False, None, "error", time.perf_counter() - start, note=str(error))
    picture, question, right = probe_question(variant)
    ledger = Ledger(Caps(max_requests=MOST_REQUESTS))
    try:
        with metering(ledger):
            reply = checked_reply(model.answer([picture], question.prompt, seed=variant))
    except (VLMFailError, UnaskedError) as error:
        reply = Reply("", "error", raw={"error": str(error)})
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        reply = Reply("", "error", raw={"error": fault(error)})
    seconds = time.perf_counter() - start
    outcome, option, note = classify(reply, question)
    sees: bool | None = None
    if option is not None:
        outcome = Outcome.PASS if option == right else Outcome.FAIL
        sees = None if getattr(model, "reads_scenes_only", False) else option == right
    usage = reply.usage
    counts = [count for count in (usage.input_tokens, usage.output_tokens) if count is not None]
    return Probe(
        model=name,
        answers=option is not None,
        sees=sees,
        outcome=str(outcome),
        seconds=seconds,
        requests=max(usage.requests, ledger.spent["requests"]),
        tokens=sum(counts) if counts else None,
        dollars=usage.dollars,
        priced=bool(getattr(model, "priced", usage.dollars is not None)),
        note=str(reply.raw.get("error") or note or ""),
    )


def probe_question(variant: int = 0) -> tuple[Picture, Question, str]:
    """Return a picture of one coloured shape, the question what it is, and the right option."""
    from PIL import Image, ImageDraw

    names = [(colour, shape) for colour in COLOURS for shape in SHAPES]
    order = np.random.default_rng(variant).permutation(len(names))
    colour, shape = names[int(order[variant % len(names)])]
    image = Image.new("RGB", (256, 192), (236, 236, 230))
    draw = ImageDraw.Draw(image)
    box, fill = (68, 36, 188, 156), COLOURS[colour]
    if shape == "circle":
        draw.ellipse(box, fill=fill)
    elif shape == "square":
        draw.rectangle(box, fill=fill)
    else:
        points = 3 if shape == "triangle" else 10
        radii = [66.0] * 3 if shape == "triangle" else [68.0, 28.0] * 5
        turns = np.arange(points) * 2 * np.pi / points - np.pi / 2
        draw.polygon(
            [
                (128 + radius * float(np.cos(turn)), 98 + radius * float(np.sin(turn)))
                for radius, turn in zip(radii, turns, strict=True)
            ],
            fill=fill,
        )
    options = tuple(
        Option(f"{names[i][0]}_{names[i][1]}", f"A {names[i][0]} {names[i][1]}") for i in order
    )
    question = Question("What does the picture show?", options, "probe-1")
    return Picture.from_pixels(np.asarray(image)), question, f"{colour}_{shape}"
