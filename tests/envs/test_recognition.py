"""Recognition statements: asked in the same reply, recorded, deciding nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vlmfail import search
from vlmfail._facade import domain_of
from vlmfail.core import Outcome, Picture, Rendering, Reply, UnknownNameError, UsageError
from vlmfail.envs.driving.catalogue import DATA as DRIVING_DATA
from vlmfail.envs.driving.catalogue import load as load_driving
from vlmfail.envs.driving.domain import DrivingDomain
from vlmfail.envs.indoor.catalogue import catalogue as indoor_catalogue
from vlmfail.envs.indoor.catalogue import load as load_indoor
from vlmfail.envs.recognition import (
    FILE,
    ConceptMarks,
    RecognitionSheet,
    RecognitionStatements,
    marks_of,
)
from vlmfail.envs.registry import make_domain
from vlmfail.envs.trials import ask_model, prepare_trial
from vlmfail.models.registry import make_model
from vlmfail.runs.run import RunData
from vlmfail.runs.store import RunStore
from vlmfail.testing.toy import ToyDomain, ToyRenderer

PLAIN, ASKING = DrivingDomain(), DrivingDomain(recognition=True)


class Flat:
    """A renderer without pictures to draw: says how much of each thing is seen."""

    name = "flat"

    def __init__(self, share: float = 0.8) -> None:
        self.share = share

    def render(self, scene: Any) -> Rendering:
        picture = Picture.from_pixels(np.zeros((6, 8, 3), dtype=np.uint8))
        seen = dict.fromkeys(scene.names, int(1000 * self.share))
        return Rendering(picture, seen, extent=dict.fromkeys(scene.names, 1000))


class Says:
    """A model that replies what it is told to."""

    name = "says"

    def __init__(self, text: Any, finish_reason: str = "stop") -> None:
        self.text, self.finish_reason = text, finish_reason

    def answer(self, images: Sequence[Picture], prompt: str, *, seed: int) -> Reply:
        text = self.text(prompt) if callable(self.text) else self.text
        return Reply(text, finish_reason=self.finish_reason)


def prepared(text: str, domain: Any = ASKING, index: int = 0, seed: int = 0) -> Any:
    return prepare_trial(domain, Flat(), domain.space.parse(text), index, seed)


def letter(prompt: str, title: str) -> str:
    return next(line[0] for line in prompt.splitlines() if line[1:].startswith(f") {title}"))


def perfect(trial: Any, wrong: Sequence[str] = (), unmarked: Sequence[str] = ()) -> str:
    """Mark every statement rightly but those of `wrong`, and none of `unmarked`."""
    lines = []
    for number, statement in enumerate(trial.question.recognition.statements, 1):
        mark = statement.holds != (statement.concept in wrong)
        if statement.concept not in unmarked:
            lines.append(f"S{number}: {'T' if mark else 'F'}")
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("load", "ids"),
    [(load_driving, PLAIN.catalogue.ids), (load_indoor, indoor_catalogue().ids)],
    ids=["driving", "indoor"],
)
def test_each_concept_has_two_different_sentences(load: Any, ids: tuple[str, ...]) -> None:
    sheet = load(RecognitionSheet, FILE)
    assert [pair.concept for pair in sheet.statements] == list(ids)
    sentences = [text for pair in sheet.statements for text in (pair.positive, pair.negative)]
    assert all(text.endswith(".") for text in sentences)
    denied = re.compile(r"\b(?:[Nn]o|not)\b|dry, or|more than|less than")
    assert all(denied.search(pair.negative) for pair in sheet.statements)


def test_indoor_statements_need_no_words_of_the_driving_domain() -> None:
    statements = RecognitionStatements(load_indoor(RecognitionSheet, FILE), indoor_catalogue())
    asked = statements.of({"outlet_covered", "child_running"})
    assert [(s.concept, s.holds, s.thing) for s in asked.statements] == [
        ("child_running", True, "child_running"),
        ("child_running", False, "child_running"),
        ("outlet_covered", True, "outlet_covered"),
        ("outlet_covered", False, "outlet_covered"),
    ]
    everything = statements.of(indoor_catalogue().ids).statements
    assert len({statement.text for statement in everything}) == len(everything) == 64
    assert "kitchen" not in {statement.concept for statement in everything}
    assert not any("{" in statement.text for statement in everything)


def test_driving_sentences_are_filled_in() -> None:
    assert ASKING.recognition is not None
    asked = ASKING.recognition.of(PLAIN.catalogue.ids)
    assert len({statement.text for statement in asked.statements}) == len(asked.statements) == 60
    assert not any("{" in statement.text for statement in asked.statements)
    texts = {(s.concept, s.holds): s.text for s in asked.statements}
    assert "2 to 4 m ahead" in texts["debris_near", True]
    assert "15 to 25 m ahead" in texts["obstruction_far", False]


def test_a_modifiers_sentences_are_about_what_it_moves() -> None:
    assert ASKING.recognition is not None
    asked = ASKING.recognition.of({"pedestrian", "cone", "near", "on_sidewalk"})
    mine = [s for s in asked.statements if s.concept in ("near", "on_sidewalk")]
    assert [s.text for s in mine] == [
        "The traffic cone is on the sidewalk.",
        "The traffic cone is not on the sidewalk.",
        "The traffic cone is at most 4 m ahead of the front bumper.",
        "The traffic cone is more than 4 m ahead of the front bumper.",
    ]
    assert {s.thing for s in mine} == {"cone"}
    assert not ASKING.recognition.of({"near"}).statements
    (weather, _) = ASKING.recognition.of({"weather_wet"}).statements
    assert weather.thing is None


def test_without_recognition_nothing_changes() -> None:
    off, on = prepared("cyclist far", PLAIN), prepared("cyclist far")
    assert off.question.recognition is None
    assert off.question.options == on.question.options, "the options keep their order"
    assert off.scene == on.scene
    assert off.picture == on.picture
    assert replace(on.question, recognition=None).prompt == off.question.prompt
    assert on.question.prompt.endswith(off.question.reply_format)
    assert off.question.text in on.question.prompt
    assert PLAIN.identity() == DrivingDomain(recognition=False).identity()
    assert "recognition" not in PLAIN.identity()
    assert ASKING.identity()["recognition"] == "driving-recognition-1"
    assert ASKING.identity()["sha256"] != PLAIN.identity()["sha256"]
    record = ask_model(PLAIN, Says("1: T\n2: F\nANSWER: A"), off, 0)
    assert "recognition" not in record.scene
    assert marks_of(record) == ()


def test_statements_stand_before_the_question_in_an_order_of_the_trial() -> None:
    trial = prepared("cyclist far weather_wet")
    lines = trial.question.prompt.splitlines()
    numbered = [line for line in lines if re.match(r"S\d+\. ", line)]
    texts = [s.text for s in trial.question.recognition.statements]
    assert numbered == [f"S{i}. {text}" for i, text in enumerate(texts, 1)]
    assert len(numbered) == 6
    assert lines.index(numbered[5]) < lines.index(trial.question.text.splitlines()[0])
    again = prepared("cyclist far weather_wet")
    assert again.question == trial.question
    orders = {
        tuple(
            s.text
            for s in prepared("cyclist far weather_wet", index=i).question.recognition.statements
        )
        for i in range(6)
    }
    assert len(orders) > 3
    assert {frozenset(order) for order in orders} == {frozenset(texts)}


def test_marks_are_recorded_by_concept_with_what_is_seen() -> None:
    trial = prepared("cyclist far weather_wet")
    right = letter(trial.question.prompt, "Slow down")
    said = (
        perfect(trial, wrong=["far"], unmarked=["weather_wet"]) + f"\nA cyclist.\nANSWER: {right}"
    )
    record = ask_model(ASKING, Says(said), trial, 0)
    assert record.trial.outcome is Outcome.PASS
    assert marks_of(record) == (
        ConceptMarks("cyclist", True, True, "cyclist", 0.8, 800),
        ConceptMarks("far", False, False, "cyclist", 0.8, 800),
        ConceptMarks("weather_wet", None, None),
    )
    kept = record.scene["recognition"]
    assert kept["version"] == "driving-recognition-1"
    assert sorted(map(tuple, kept["order"])) == sorted(
        (name, holds) for name in ("cyclist", "far", "weather_wet") for holds in (True, False)
    )
    assert kept["marks"].count(None) == 2
    assert "not marked" in kept["note"]


@pytest.mark.parametrize(
    "line",
    [
        "S{}: {}",
        "S{}. {}",
        "**S{}**: {}",
        "| S{} | {} |",
        "Statement S{}: {}",
        "{}: {}",
        "- S{}: {}.",
    ],
)
@pytest.mark.parametrize("words", [("T", "F"), ("True", "False")])
def test_marks_and_answer_are_told_apart_in_one_reply(line: str, words: tuple[str, str]) -> None:
    trial = prepared("cone near")
    statements = trial.question.recognition.statements
    marks = [line.format(i, words[not s.holds]) for i, s in enumerate(statements, 1)]
    for answer in "ABC":
        for last in (f"A cone is near.\nANSWER: {answer}", f"**{answer}**"):
            record = ask_model(ASKING, Says("\n".join([*marks, "", last])), trial, 0)
            assert record.trial.answer == trial.question.by_letter(answer).id
            assert [(m.positive, m.negative) for m in marks_of(record)] == [(True, True)] * 2


def test_one_of_two_statements_may_be_right() -> None:
    trial = prepared("cone")
    record = ask_model(ASKING, Says("1: T\n2: T\nANSWER: A"), trial, 0)
    (marks,) = marks_of(record)
    assert (marks.positive, marks.negative) == (True, False)


@pytest.mark.parametrize("wrong", [(), ("cone", "near"), None])
def test_the_outcome_never_depends_on_the_marks(wrong: Sequence[str] | None) -> None:
    trial = prepared("cone near")
    marks = "" if wrong is None else perfect(trial, wrong=wrong)
    for title, outcome in (("Emergency", Outcome.PASS), ("Continue", Outcome.FAIL)):
        answer = f"\nANSWER: {letter(trial.question.prompt, title)}"
        record = ask_model(ASKING, Says(marks + answer), trial, 0)
        bare = ask_model(ASKING, Says(answer), trial, 0)
        assert record.trial.outcome is bare.trial.outcome is outcome
        assert record.trial.answer == bare.trial.answer
        assert record.trial.direction == bare.trial.direction
    silent = ask_model(ASKING, Says(marks), trial, 0)
    assert silent.trial.outcome is Outcome.UNPARSED, "marks answer no question"


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [("refusal", Outcome.REFUSED), ("error", Outcome.ERROR), ("length", Outcome.TRUNCATED)],
)
def test_replies_that_say_little(reason: str, outcome: Outcome) -> None:
    trial = prepared("cone near")
    record = ask_model(ASKING, Says("1: T\n2: F\n3", reason), trial, 0)
    assert record.trial.outcome is outcome
    kept = record.scene["recognition"]["marks"]
    assert kept == ([True, False, None, None] if reason == "length" else [None] * 4)


def drawn(domain: Any, text: str) -> tuple[Any, Any]:
    """Return a trial with statements and the same one without."""
    asking = prepared(text, domain)
    return asking, replace(asking, question=replace(asking.question, recognition=None))


@pytest.mark.parametrize("name", ["tiny-vlm", "tiny-vlm-s"])
@pytest.mark.parametrize(
    ("env", "text"),
    [
        ("VLMFail-Driving-v0", "cone near weather_wet"),
        ("VLMFail-Indoor-v0", "toddler_standing outlet_exposed"),
    ],
)
def test_the_built_in_models_mark_every_statement(name: str, env: str, text: str) -> None:
    domain = make_domain(env, recognition=True)
    asking, bare = drawn(domain, text)
    model = make_model(name)
    record, without = ask_model(domain, model, asking, 0), ask_model(domain, model, bare, 0)
    kept = record.scene["recognition"]["marks"]
    assert len(kept) == len(asking.question.recognition.statements) >= 2
    assert None not in kept
    assert record.scene["recognition"]["note"] == ""
    lines = record.trial.reply.splitlines()
    assert lines[: len(kept)] == [f"S{i}: {'T' if m else 'F'}" for i, m in enumerate(kept, 1)]
    assert "\n".join(lines[len(kept) :]) == without.trial.reply, "the answer is as ever"
    assert record.trial.answer == without.trial.answer
    assert "recognition" not in without.scene
    assert ask_model(domain, model, asking, 1).trial.reply == record.trial.reply


def test_a_mark_follows_its_statement_and_not_its_place() -> None:
    trial = prepared("cone near weather_wet")
    statements = trial.question.recognition.statements
    turned = replace(
        trial.question,
        recognition=replace(trial.question.recognition, statements=statements[::-1]),
    )
    one = ask_model(ASKING, make_model("tiny-vlm"), trial, 0)
    other = ask_model(ASKING, make_model("tiny-vlm"), replace(trial, question=turned), 0)
    marks = one.scene["recognition"]["marks"]
    assert len(set(marks)) == 2, "else this would show nothing"
    assert other.scene["recognition"]["marks"] == marks[::-1]
    assert marks_of(one) == marks_of(other)


def test_marks_survive_the_run_store(tmp_path: Path) -> None:
    trial = prepared("cone near")
    record = ask_model(ASKING, Says(perfect(trial) + "\nANSWER: B"), trial, 0)
    store = RunStore.create(tmp_path / "run", {})
    store.add(record, trial.picture)
    kept = store.get(record.trial.key, 0)
    store.close()
    assert kept is not None
    assert kept.scene == record.scene
    assert marks_of(kept) == marks_of(record)
    assert [m.positive and m.negative for m in marks_of(kept)] == [True, True]


def test_a_renderer_that_cannot_tell_leaves_the_share_open() -> None:
    class Blind(Flat):
        def render(self, scene: Any) -> Rendering:
            return replace(super().render(scene), visible=None, extent=None)

    trial = prepare_trial(ASKING, Blind(), frozenset({"cone"}), 0, 0)
    record = ask_model(ASKING, Says("1: T\n2: F"), trial, 0)
    (marks,) = marks_of(record)
    assert marks.thing == "cone"
    assert marks.visible_share is None
    assert marks.visible_pixels is None


def test_a_search_asks_them_and_its_run_remembers(tmp_path: Path) -> None:
    options: dict[str, Any] = {"budget": 2, "trials": 1, "env_args": {"recognition": True}}
    run = search("VLMFail-Driving-v0", "random", out=tmp_path / "run", **options)
    assert run.config["env_args"] == {"recognition": True}
    assert run.config["domain_data"]["recognition"] == "driving-recognition-1"
    records = list(RunData.open(tmp_path / "run").records.values())
    charged = [record for record in records if record.trial.outcome.charged]
    assert len(charged) == 2
    for record in charged:
        asked = sorted(marks.concept for marks in marks_of(record))
        assert asked == sorted(record.trial.key.split("+"))
    assert domain_of(run).recognition is not None  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="true or false"):
        make_domain("VLMFail-Driving-v0", recognition="yes")


def test_a_domain_without_statements_is_asked_as_ever() -> None:
    trial = prepare_trial(ToyDomain(), ToyRenderer(), frozenset({"dog"}), 0, 0)
    assert trial.question is not None
    assert trial.question.recognition is None


def test_slips_in_the_sentences_are_told(tmp_path: Path) -> None:
    data = json.loads((DRIVING_DATA / FILE).read_text())

    def refused(error: type[Exception], match: str) -> None:
        (tmp_path / FILE).write_text(json.dumps(data))
        with pytest.raises(error, match=match):
            DrivingDomain(data=tmp_path, recognition=True)

    missing = data["statements"].pop()
    refused(UsageError, "weather_cloudy has no statements")
    data["statements"] += [missing, missing]
    refused(UsageError, "one pair a concept")
    data["statements"][-1] = {**missing, "concept": "weather_snow"}
    refused(UnknownNameError, "weather_snow")
    data["statements"].pop()
    data["statements"][0]["negative"] = data["statements"][0]["positive"]
    refused(UsageError, "must differ")
    assert DrivingDomain(data=tmp_path).recognition is None, "off, the file is not read"
