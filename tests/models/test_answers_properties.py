"""Whatever stands around a declared answer, it parses; without a declaration nothing does."""

from __future__ import annotations

import re
import time
import unicodedata
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from vlmfail.core import Option, Outcome, Question
from vlmfail.models.answers import (
    LENGTHS,
    parse_choice,
    parse_number,
    parse_short_text,
    parse_statements,
    parse_verdict,
    parse_yes_no,
)

from .decorations import HOSTILE, WRAPS, declared, full_width, undeclared

SETTINGS = settings(
    derandomize=True,
    deadline=None,
    max_examples=120,
    suppress_health_check=list(HealthCheck),
    database=None,
)
QUESTION = Question(
    "What should the car do?",
    (
        Option("emergency_stop", "Emergency stop: brake fully"),
        Option("slow_down", "Slow down: brake at half intensity (4 m/s²)"),
        Option("continue", "Continue at the same speed"),
    ),
    "test-1",
)
YES_NO = Question(
    "?", (Option("no", "No"), Option("yes", "Yes"), Option("none", "None of the above")), "1"
)


class Verdict(BaseModel):
    verdict: Literal["pass", "fail"]
    reason: str = ""


PARSERS = {
    "choice": lambda text, reason="stop": parse_choice(text, QUESTION, reason),
    "yes_no": parse_yes_no,
    "number": parse_number,
    "short_text": lambda text, reason="stop": parse_short_text(text, reason, bare=3),
    "statements": lambda text, reason="stop": parse_statements(text, 3, reason),
    "verdict": lambda text, reason="stop": parse_verdict(text, Verdict, reason),
}


def value_of(parsed):
    if hasattr(parsed, "option"):
        return parsed.option
    if hasattr(parsed, "marks"):
        return None if not any(mark is not None for mark in parsed.marks) else parsed.marks
    return parsed.value


@st.composite
def letters(draw):
    index = draw(st.sampled_from(range(3)))
    text = "ABC"[index] if draw(st.booleans()) else "abc"[index]
    text = full_width(text) if draw(st.booleans()) else text
    text = draw(st.sampled_from(["{}", "{}", "({})", "{})", "{}.", "{}:", "option {}"])).format(
        text
    )
    return QUESTION.options[index].id, text


@st.composite
def named(draw):
    option = draw(st.sampled_from(QUESTION.options))
    letter = next(letter for letter, other in QUESTION.lettered() if other is option)
    name = draw(st.sampled_from([option.text, option.text.split(":")[0], option.id]))
    form = draw(
        st.sampled_from(["{name}", "{letter}) {name}", "{letter}. {name}", "({letter}) {name}"])
    )
    return option.id, form.format(name=draw(st.sampled_from([name, name.lower()])), letter=letter)


@st.composite
def yes_or_no(draw):
    value = draw(st.booleans())
    word = draw(st.sampled_from([["no", "false"], ["yes", "true"]][value]))
    word = draw(st.sampled_from([word, word.title(), word.upper(), full_width(word)]))
    return value, word


@st.composite
def numbers(draw):
    value = draw(st.integers(-99_999, 9_999_999) | st.floats(-1e4, 1e4).map(lambda x: round(x, 3)))
    forms = [str(value), f"{value:,}", f"{value:.6e}" if abs(value) < 1e6 else str(value)]
    text = draw(st.sampled_from(forms))
    text = text.replace("-", draw(st.sampled_from(["-", "−"]))) if "e" not in text else text
    return float(value), text + draw(st.sampled_from(["", " m", " cars", "%", " km/h"]))


SAID = "red car stop sign two-way night rain bus Paris C# café zèbre 東京"
WORDS = st.sampled_from(SAID.split())
PHRASES = st.lists(WORDS, min_size=1, max_size=3).map(" ".join).map(lambda text: (text, text))
NOT_IN_A_PHRASE = ("$", "#", "~", "<p>", "_", "__", "✅ ", "👉 ")
LATIN = [pair for pair in WRAPS if pair[0] not in NOT_IN_A_PHRASE]


@SETTINGS
@given(declared(letters()))
def test_any_decoration_around_a_letter_parses(drawn):
    option, text = drawn
    assert parse_choice(text, QUESTION).option == option


@SETTINGS
@given(declared(named()))
def test_any_decoration_around_an_options_name_parses(drawn):
    option, text = drawn
    assert parse_choice(text, QUESTION).option == option


@SETTINGS
@given(declared(yes_or_no()))
def test_any_decoration_around_yes_or_no_parses(drawn):
    value, text = drawn
    assert parse_yes_no(text).value is value


@SETTINGS
@given(declared(yes_or_no().filter(lambda drawn: drawn[1].lower() in ("yes", "no"))))
def test_options_named_yes_and_no_parse(drawn):
    value, text = drawn
    assert parse_choice(text, YES_NO).option == ("yes" if value else "no")


@SETTINGS
@given(declared(numbers()))
def test_any_decoration_around_a_number_parses(drawn):
    value, text = drawn
    parsed = parse_number(text)
    assert parsed.value is not None, parsed
    assert parsed.value.value == pytest.approx(value, rel=1e-6)


@SETTINGS
@given(declared(PHRASES, wraps=LATIN))
def test_any_decoration_around_a_short_text_is_trimmed(drawn):
    value, text = drawn
    assert parse_short_text(text).value == value


@SETTINGS
@given(declared(letters()), declared(letters()))
def test_two_declared_letters_agree_or_are_unparsed(one, two):
    parsed = parse_choice(
        f"{one[1].partition('<think>hm')[0]}\n\n{re.sub('.*</think>', '', two[1])}", QUESTION
    )
    if parsed.option is not None:
        assert parsed.option == one[0] == two[0]


MARKS = [
    ("True", "False"),
    ("true", "false"),
    ("T", "F"),
    ("TRUE", "FALSE"),
    ("Yes", "No"),
    ("✓", "✗"),
]
LABELS = ["{i}. ", "{i}) ", "({i}) ", "S{i}: ", "Statement {i}: ", "[{i}] ", "{i}: ", "{i} - ",
          "**{i}.** ",
          "- {i}. ", "| {i} | ", "#{i}: ", "Claim {i} – ", "{i}、", "{i}．"]  # fmt: skip
TEXTS = ["{mark}", "**{mark}**", "{mark}.", "{mark}, as a car is near",
         "{mark} (no car is seen)",
         "A car is near: {mark}", "The lamp is not red. {mark}",
         "No car is near - **{mark}**",
         "There are 12 cones ({mark})", "It is night | {mark} |",
         "Is the road dry? {mark}"]  # fmt: skip


@st.composite
def lists_of_statements(draw):
    marks = draw(st.lists(st.booleans(), min_size=2, max_size=6))
    true, false = draw(st.sampled_from(MARKS))
    label, body = draw(st.sampled_from(LABELS)), draw(st.sampled_from(TEXTS))
    lines = [
        label.format(i=i) + body.format(mark=true if mark else false)
        for i, mark in enumerate(marks, 1)
    ]
    form = draw(st.sampled_from(["lines", "lines", "shuffled", "spaced", "json", "list"]))
    if form == "shuffled":
        lines = draw(st.permutations(lines))
    said = ("\n\n" if form == "spaced" else "\n").join(lines)
    if form == "json":
        said = (
            "```json\n{"
            + ", ".join(f'"{i}": {str(m).lower()}' for i, m in enumerate(marks, 1))
            + "}\n```"
        )
    if form == "list":
        said = f"[{', '.join(str(mark).lower() for mark in marks)}]"
    return tuple(marks), said


@SETTINGS
@given(
    lists_of_statements(),
    letters(),
    st.sampled_from(["", "The scene:\n", "<think>1. False</think>"]),
)
def test_statements_and_an_answer_live_in_one_reply(drawn, letter, opener):
    marks, said = drawn
    text = f"{opener}{said}\n\nANSWER: {letter[1]}"
    parsed = parse_statements(text, len(marks))
    assert parsed.marks == marks, parsed
    assert parsed.missing == ()
    assert parse_choice(text, QUESTION).option == letter[0]
    assert parse_choice(said, QUESTION).option is None


@SETTINGS
@given(
    st.sampled_from(["pass", "fail"]),
    st.text(max_size=30),
    undeclared(),
    st.sampled_from(
        ["{}", "```json\n{}\n```", "```\n{}\n```", "Verdict: {} as asked.", "[{}]", '{{"r": {}}}']
    ),
    st.sampled_from(["", "\n<|im_end|>", "\nDone.", " {x}", " []"]),
)
def test_a_verdict_parses_out_of_fences_and_prose(verdict, reason, prose, form, end):
    sound = Verdict(verdict=verdict, reason=reason)
    said = form.replace("{{", "{").replace("}}", "}").replace("{}", sound.model_dump_json())
    parsed = parse_verdict(f"{prose}\n{said}{end}", Verdict)
    assert parsed.value is not None, parsed
    assert parsed.value.verdict == verdict
    assert "<think" in reason or parsed.value.reason == reason


@SETTINGS
@given(undeclared(), st.sampled_from(sorted(PARSERS)), st.sampled_from(["stop", *sorted(LENGTHS)]))
def test_prose_without_a_declaration_is_unparsed(text, kind, reason):
    parsed = PARSERS[kind](text, reason)
    assert value_of(parsed) is None
    assert parsed.note
    if reason == "stop":
        assert parsed.outcome is Outcome.UNPARSED


LETTERED = st.text(
    alphabet="ABCabcXx .,:;()[]{}*_$\\\n\t\"'`</>|-=0123456789。：「」（）", max_size=60
)


@SETTINGS
@given(st.text(max_size=60) | LETTERED, st.sampled_from(sorted(PARSERS)))
def test_any_text_without_a_cue_declares_nothing(text, kind):
    lines = unicodedata.normalize("NFKC", text).lower().splitlines()
    spoken = [re.findall(r"[^\W_]+", line) for line in lines]
    if any(len(said) < 3 or any(len(word) > 12 for word in said) for said in spoken if said):
        return  # a letter, a number or a word alone on its line is declared by standing there
    parsed = PARSERS[kind](text)
    if kind in ("choice", "verdict"):
        assert value_of(parsed) is None
    assert (value_of(parsed) is None) == (parsed.outcome is not None)


@SETTINGS
@given(
    st.text(max_size=80)
    | LETTERED
    | undeclared()
    | declared(letters()).map(lambda drawn: drawn[1]),
    st.sampled_from(["stop", "length", "MAX_TOKENS", "", "end_turn", "unheard of"]),
    st.sampled_from(sorted(PARSERS)),
)
def test_every_reply_gives_a_value_or_a_reason(text, reason, kind):
    parsed = PARSERS[kind](text, reason)
    assert (value_of(parsed) is None) == (parsed.outcome is not None)
    if parsed.outcome is not None:
        assert parsed.note
        assert parsed.outcome in (Outcome.UNPARSED, Outcome.TRUNCATED)
        assert parsed.outcome is Outcome.UNPARSED or reason.lower() in LENGTHS


@pytest.mark.parametrize("kind", sorted(PARSERS))
def test_no_text_at_all_is_unparsed(kind):
    for text in (None, "", " \n", "</think>", "<think>"):
        parsed = PARSERS[kind](text)
        assert parsed.outcome is Outcome.UNPARSED
    assert PARSERS[kind]("<think>ANSWER: yes", "length").outcome is Outcome.TRUNCATED


def _seconds(parse, text):
    start = time.process_time()
    parse(text)
    return time.process_time() - start


@pytest.mark.parametrize("kind", sorted(PARSERS))
def test_hostile_text_takes_no_quadratic_time(kind):
    for unit in HOSTILE:
        text = unit * (20_000 // len(unit)) + "x"
        # Three times at most: on a busy machine a turn may take many times as long.
        assert any(_seconds(PARSERS[kind], text) < 0.5 for _ in range(3)), unit


@pytest.mark.parametrize("unit", ["\\boxed{", '{"answer":['])
def test_half_a_megabyte_of_hostile_text_is_read_in_seconds(unit):
    text = "ANSWER:" + unit * (499_000 // len(unit))
    start = time.process_time()
    for parse in PARSERS.values():
        parse(text)
    assert time.process_time() - start < 20


@pytest.mark.parametrize("kind", sorted(PARSERS))
def test_a_runaway_reply_is_unparsed(kind):
    assert PARSERS[kind]("ANSWER: B\n" + "x\n" * 300_000).outcome is Outcome.UNPARSED
