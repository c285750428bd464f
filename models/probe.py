"""The roster probe: does a model answer, does it see the picture, how fast, at what cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ..core import (
    VLM,
    Option,
    Outcome,
    Picture,
    Question,
    Reply,
    UnaskedError,
    UsageError,
    VLMFailError,
)
from .answers import classify
from .providers.taming import tamed
from .registry import make_model
from .replies import checked_reply, fault
from .specs import ModelSpec
from .spending import Caps, Ledger, metering

MOST_REQUESTS = 3
"""Requests that one probe may take, retries included."""

LONGEST_SAID = 120
"""Characters shown of a reply."""

SHAPES = ("circle", "triangle", "square", "star")
COLOURS = {"red": (214, 40, 40), "green": (30, 150, 60), "blue": (35, 80, 200), "black": (20,) * 3}


@dataclass(frozen=True, slots=True)
class Probe:
    """What a call to a model, or a few of them, showed.

    Attributes:
        model: The spec.
        answers: Whether a reply came that declares an option.
        sees: Whether the option is the right one, which a blind model names once in sixteen
            times, or, if not, whether it was right about two other pictures that want opposite
            answers to one question; None when it did not answer, or for a model that reads other
            pictures only.
        outcome: The outcome of the first question in the words of a run.
        seconds: Time of the first call, s.
        requests: Requests that reached the wire.
        tokens: Input and output tokens, if the service says.
        dollars: Price, if the model is priced.
        priced: Whether the price table knows it; None for a spec that could not be read.
        note: What went wrong, or what was asked and what came back.
        mistaken: The spec itself is wrong: nothing could be asked.
        asked: The first question, with its right answer.
        said: What came back, on one line.
    """

    model: str
    answers: bool
    sees: bool | None
    outcome: str
    seconds: float
    requests: int = 0
    tokens: int | None = None
    dollars: float | None = None
    priced: bool | None = None
    note: str = ""
    mistaken: bool = False
    asked: str = ""
    said: str = ""

    @property
    def fine(self) -> bool:
        """Whether a search may be pointed at it."""
        return self.answers and self.sees is not False

    def to_json(self) -> dict[str, Any]:
        """Return the values for ``--json``."""
        return {**asdict(self), "fine": self.fine}


@dataclass(frozen=True, slots=True)
class ProbeQuestion:
    """A question whose answer is known.

    Attributes:
        picture: The picture.
        question: The question.
        right: Ids of the right options.
        about: The picture and the question in a few words.
    """

    picture: Picture
    question: Question
    right: frozenset[str]
    about: str


@dataclass(frozen=True, slots=True)
class _Asked:
    """What came back."""

    reply: Reply
    outcome: str
    option: str | None
    note: str
    right: bool

    def told(self, question: Question) -> str:
        """Return the option that was chosen and the reply's own words, bounded."""
        words = tamed(self.reply.text, LONGEST_SAID) or "nothing"
        return (
            words
            if self.option is None
            else f"{_lettered(question, self.option)} (its words: {words})"
        )


def probe_model(
    spec: str | VLM,
    *,
    variant: int = 0,
    further: Callable[[], Sequence[ProbeQuestion]] | None = None,
) -> Probe:
    """Ask a model one cheap question about a picture; the reply cache is left out.

    Args:
        spec: The model.
        variant: Which of the sixteen pictures.
        further: Gives two pictures with one question, its options in one order, and opposite
            answers, for a model that chose a wrong option: one that knows nothing of shapes may
            still see. Who answers both alike is never taken to see.
    """
    start = time.perf_counter()
    name = spec if isinstance(spec, str) else spec.name
    try:
        model = make_model(spec)
        if hasattr(model, "uncached"):
            model = model.uncached()
            own = getattr(model, "spec", None)
            if isinstance(own, ModelSpec):  # nobody wants to wait for a server that is not there
                model.spec = replace(own, attempts=min(own.attempts, MOST_REQUESTS))
    except VLMFailError as error:
        seconds = time.perf_counter() - start
        mistaken = isinstance(error, UsageError)
        return Probe(name, False, None, "error", seconds, note=str(error), mistaken=mistaken)
    picture, question, right = probe_question(variant)
    ledger = Ledger(Caps(max_requests=MOST_REQUESTS))
    first = _ask(model, picture, question, frozenset({right}), variant, ledger)
    seconds = time.perf_counter() - start
    asked = f'"{question.text}" and {len(question.options)} coloured shapes to choose from; right: '
    asked += _lettered(question, right)
    said, sees, replies = first.told(question), None, [first.reply]
    note = str(first.reply.raw.get("error") or first.note or "")
    if first.option is None:
        if first.reply.text and "error" not in first.reply.raw:
            note = f"asked {asked}; no option could be read from its reply ({note}): {said}"
    elif not getattr(model, "reads_scenes_only", False):
        sees = first.right
        if not sees:
            note = f"asked {asked}; it chose {said}"
            found = _further(model, further, ledger)
            replies += [one.reply for _, one in found]
            sees = len(found) > 1 and all(one.right for _, one in found)
            note += "".join(f"; {q.about}: it chose {one.told(q.question)}" for q, one in found)
            if sees:
                note += ": it sees, though not every kind of picture"
    counts = [n for reply in replies for n in _tokens(reply) if n is not None]
    costs = [reply.usage.dollars for reply in replies if reply.usage.dollars is not None]
    known = first.reply.usage.dollars is not None
    return Probe(
        model=name,
        answers=first.option is not None,
        sees=sees,
        outcome=first.outcome,
        seconds=seconds,
        requests=max(sum(reply.usage.requests for reply in replies), ledger.spent["requests"]),
        tokens=sum(counts) if counts else None,
        dollars=sum(costs) if costs else None,
        priced=bool(getattr(model, "priced", known)),
        note=note,
        asked=asked,
        said=said,
    )


def _ask(
    model: VLM,
    picture: Picture,
    question: Question,
    right: frozenset[str],
    seed: int,
    ledger: Ledger,
) -> _Asked:
    try:
        with metering(ledger):
            reply = checked_reply(model.answer([picture], question.prompt, seed=seed))
    except (VLMFailError, UnaskedError) as error:
        reply = Reply("", "error", raw={"error": str(error)})
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        reply = Reply("", "error", raw={"error": fault(error)})
    outcome, option, note = classify(reply, question)
    if option is not None:
        outcome = Outcome.PASS if option in right else Outcome.FAIL
    return _Asked(reply, str(outcome), option, note, option in right)


def _further(
    model: VLM, further: Callable[[], Sequence[ProbeQuestion]] | None, ledger: Ledger
) -> list[tuple[ProbeQuestion, _Asked]]:
    """Return what came back to further questions, up to the first that was not answered right."""
    found: list[tuple[ProbeQuestion, _Asked]] = []
    for one in () if further is None else further():
        answer = _ask(model, one.picture, one.question, one.right, 0, ledger)
        found.append((one, answer))
        if not answer.right:
            break
    return found


def _lettered(question: Question, option: str) -> str:
    return next((f"{n}) {o.text}" for n, o in question.lettered() if o.id == option), option)


def _tokens(reply: Reply) -> tuple[int | None, int | None]:
    return reply.usage.input_tokens, reply.usage.output_tokens


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
