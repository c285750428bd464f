"""One trial of a question domain: sample, render, check visibility, ask, judge."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ..core import (
    VLM,
    CapReachedError,
    Domain,
    ModelFault,
    Outcome,
    Picture,
    Question,
    Renderer,
    Rendering,
    Reply,
    SceneError,
    Stream,
    Trial,
    TrialRecord,
    Truth,
    UnaskedError,
    trial_rng,
)
from ..core.seeding import trial_sequence
from ..models.spending import Ledger, metering
from .generated import DescribesScenes, GeneratedRenderer, UndrawnPictureError, draw
from .recognition import RECORD, marks_record

C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class PreparedTrial:
    """A trial that is ready to be put to the model, or an invalid scene.

    Attributes:
        key: The candidate's key.
        index: Trial index.
        picture: The picture, None for an invalid scene.
        question: The question in the shown option order.
        truth: The right answer.
        scene: The scene as JSON values.
        note: Why the scene is invalid.
        capped: Which cap forbade to draw its picture: it is neither asked nor recorded.
        seconds: Time that sampling and rendering took, s.
    """

    key: str
    index: int
    picture: Picture | None = None
    question: Question | None = None
    truth: Truth | None = None
    scene: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    capped: str = ""
    seconds: float = 0.0


def make_renderer(domain: Domain[Any], name: str) -> Renderer:
    """Return a domain's renderer, behind the picture cache where $VLMFAIL_PICTURES asks for it."""
    from ..rendering.picture_cache import remembering

    return remembering(domain.make_renderer(name))


def prepare_trial(
    domain: Domain[C], renderer: Renderer, candidate: C, index: int, run_seed: int
) -> PreparedTrial:
    """Sample and render one trial's scene.

    A scene whose objects cannot be placed or whose deciding object cannot be seen is drawn
    again, `domain.attempts` times at most; then the trial is an invalid scene: counted, never
    put to the model, never a failure. For a generated picture a domain that can do without
    places samples none.
    """
    key = domain.space.key(candidate)
    start = time.perf_counter()
    problem = ""
    describe = None
    if isinstance(domain, DescribesScenes) and isinstance(renderer, GeneratedRenderer):
        describe = domain.describe_scene
    attempts = domain.attempts if describe is None else 1
    for attempt in range(attempts):
        rng = trial_rng(run_seed, key, index, Stream.SCENE, attempt)
        try:
            scene = domain.sample_scene(candidate, rng) if describe is None else describe(candidate)
        except SceneError as error:
            problem = str(error)
            continue
        truth = domain.truth(scene)
        try:
            rendering, generated = draw(renderer, scene, candidate, run_seed=run_seed, trial=index)
        except UndrawnPictureError as error:
            return PreparedTrial(
                key,
                index,
                scene={
                    **_known(domain, candidate),
                    **({"attempts": attempt + 1} if describe is None else {}),
                    "generated": error.record,
                },
                note=str(error),
                seconds=time.perf_counter() - start,
            )
        unseen = domain.unseen(scene, truth, rendering)
        if unseen is not None:
            problem = unseen
            continue
        order = trial_rng(run_seed, key, index, Stream.ORDER)
        record = {
            **scene.record(),
            **(_tried(attempt + 1, rendering) if describe is None else {}),
            "truth_reason": truth.reason,
            **({} if generated is None else {"generated": generated}),
        }
        return PreparedTrial(
            key,
            index,
            rendering.picture,
            _asked(domain, candidate, scene).shuffled(order),
            truth,
            record,
            seconds=time.perf_counter() - start,
        )
    return PreparedTrial(
        key,
        index,
        scene={**_known(domain, candidate), "attempts": attempts},
        note=problem,
        seconds=time.perf_counter() - start,
    )


def _asked(domain: Domain[C], candidate: C, scene: Any) -> Question:
    """Return the domain's question, with its recognition statements where it has them."""
    question = domain.question(scene)
    statements = getattr(domain, "recognition", None)
    if statements is None:
        return question
    return replace(question, recognition=statements.of(candidate))


def _known(domain: Domain[C], candidate: C) -> dict[str, Any]:
    """Return what a domain knows of a candidate whatever its scene, for one that has no picture."""
    if not isinstance(domain, DescribesScenes):
        return {}
    scene = domain.describe_scene(candidate)
    try:
        reason = {"truth_reason": domain.truth(scene).reason}
    except SceneError:  # an invalid set, about which there is nothing to ask
        reason = {}
    return {**scene.record(), **reason}


def _tried(attempts: int, rendering: Rendering) -> dict[str, Any]:
    return {
        "attempts": attempts,
        "visible_pixels": None if rendering.visible is None else dict(rendering.visible),
        "visible_share": _visible_share(rendering),
    }


def _visible_share(rendering: Rendering) -> dict[str, float] | None:
    """Return which share of each object's own pixels is seen, 0 for one out of the frame."""
    if rendering.visible is None or rendering.extent is None:
        return None
    extent = rendering.extent
    return {
        name: round(seen / extent[name], 3) if extent.get(name) else 0.0
        for name, seen in rendering.visible.items()
    }


def ask_model(
    domain: Domain[Any], model: VLM, prepared: PreparedTrial, run_seed: int
) -> TrialRecord:
    """Put a prepared trial to the model and judge the reply.

    A model that raises, exits or returns what is no reply gives the outcome ``error``: an
    infrastructure fault is never a failure of the model. What says that no trial can be judged
    passes: `KeyboardInterrupt`, `ModelFault` (the model cannot be asked at all) and
    `UnaskedError` (a cap, a cancelled request).
    """
    from ..models.answers import classify
    from ..models.replies import checked_reply, fault

    if prepared.picture is None or prepared.question is None or prepared.truth is None:
        trial = Trial(prepared.key, prepared.index, Outcome.INVALID_SCENE, note=prepared.note)
        return TrialRecord(trial, scene=prepared.scene, seconds_render=prepared.seconds)
    question, truth = prepared.question, prepared.truth
    sequence = trial_sequence(run_seed, prepared.key, prepared.index, Stream.MODEL)
    seed = int(sequence.generate_state(1)[0])
    process = os.getpid()
    start = time.perf_counter()
    try:
        reply = checked_reply(model.answer([_copy(prepared.picture)], question.prompt, seed=seed))
    except (KeyboardInterrupt, ModelFault, UnaskedError):
        raise
    except BaseException as error:  # a model that calls sys.exit() must not end the run
        reply = Reply("", finish_reason="error", raw={"error": fault(error)})
    if os.getpid() != process:
        os._exit(1)  # a child that the model forked: one process alone goes on with the run
    seconds = time.perf_counter() - start
    outcome, answer, note = classify(reply, question)
    raw = _plain({**reply.raw, "finish_reason": reply.finish_reason})
    if outcome is Outcome.ERROR and "error" in raw:
        note = str(raw["error"])
    if outcome is None:
        outcome = Outcome.PASS if answer in truth.accepted else Outcome.FAIL
    direction = domain.direction(truth, answer) if answer and outcome is Outcome.FAIL else None
    trial = Trial(
        key=prepared.key,
        index=prepared.index,
        outcome=outcome,
        answer=answer,
        expected=truth.expected,
        accepted=tuple(sorted(truth.accepted)),
        rule=truth.rule,
        direction=direction,
        picture=prepared.picture.sha256,
        reply=reply.text,
        note=note,
    )
    scene = {**prepared.scene, "question_version": question.version}
    if question.recognition is not None:
        silent = outcome in (Outcome.ERROR, Outcome.TIMEOUT, Outcome.REFUSED)
        marked = None if silent else reply
        scene[RECORD] = marks_record(question.recognition, marked, prepared.scene)
    usage = reply.usage
    return TrialRecord(
        trial,
        prompt=question.prompt,
        options=tuple(option.id for option in question.options),
        scene=scene,
        raw=raw,
        requests=usage.requests,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        dollars=usage.dollars,
        seconds_render=prepared.seconds,
        seconds_model=seconds,
    )


def ask_on_ledger(
    domain: Domain[Any], model: VLM, prepared: PreparedTrial, run_seed: int, ledger: Ledger
) -> TrialRecord:
    """`ask_model` within the caps of `ledger`, on which what it costs is counted.

    Raises:
        CapReachedError: When a cap forbids the request; nothing was asked.
    """
    if prepared.picture is None:
        return ask_model(domain, model, prepared, run_seed)
    if getattr(model, "metered", False):
        with metering(ledger):
            return ask_model(domain, model, prepared, run_seed)
    if not ledger.reserve(wait=True):
        raise CapReachedError(ledger.exhausted or "a cap is reached")
    try:
        record = ask_model(domain, model, prepared, run_seed)
    except BaseException:
        ledger.release()
        raise
    ledger.add(record.usage, reserved=1)
    return record


def _copy(picture: Picture) -> Picture:
    """Return a picture for the model to do with as it likes: the record keeps its own."""
    shown = Picture(picture.png)
    shown.__dict__["sha256"] = picture.sha256
    if "pixels" in vars(picture):
        shown.__dict__["pixels"] = picture.pixels
    return shown


def _plain(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    from ..runs.store import to_plain

    try:
        plain: Mapping[str, Any] = to_plain(raw)
    except Exception as error:  # circular, or with values that break when they are read
        return {"unkept": type(error).__name__, "finish_reason": raw["finish_reason"]}
    return plain


def run_trial(
    domain: Domain[C], renderer: Renderer, model: VLM, candidate: C, index: int, *, run_seed: int
) -> tuple[TrialRecord, Picture | None]:
    """Run one trial from scene to outcome; return its record and picture."""
    prepared = prepare_trial(domain, renderer, candidate, index, run_seed)
    return ask_model(domain, model, prepared, run_seed), prepared.picture
