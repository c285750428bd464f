from __future__ import annotations

import itertools
import string

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vlmfail.core import Option, Outcome, Question, Reply
from vlmfail.models.answers import classify, parse_choice, strip_thinking

QUESTION = Question(
    "What should the car do?",
    (
        Option("emergency_stop", "Emergency stop: brake fully"),
        Option("slow_down", "Slow down: brake at half intensity (4 m/s²)"),
        Option("continue", "Continue at the same speed"),
    ),
    "test-1",
)
IDS = [option.id for option in QUESTION.options]
DECLARATIONS = [
    "ANSWER: {}",
    "ANSWER: ${}$",
    "**ANSWER: {}**",
    "**ANSWER:** {}",
    "__Answer__: {}",
    "ANSWER: **{}**",
    "Answer: ({}).",
    "answer is {}",
    "The answer is: {}.",
    "So the correct answer is ({})",
    "Final answer: `{}`",
    "# Final Answer\nANSWER: {}",
    "ANSWER:\n{}",
    "ANSWER: \\boxed{{{}}}",
    "\\boxed{{{}}}",
    "\\boxed{{\\text{{{}}}}}",
    "$\\boxed{{\\textbf{{({})}}}}$",
    '{{"answer": "{}"}}',
    '```json\n{{"reason": "A car is near", "answer": "{}"}}\n```',
    '{{"answer": "{}", "reason": "B is what a careful driver does"}}',
    "<answer>{}</answer>",
    "<answer> ({}) </answer>",
    "ANSWER = {}",
    "ANSWER： {}",
    "ANSWER: option {}",
    "ANSWER: {}, because the road is blocked",
    "ANSWER {}",
    "Answer -> {}",
    '"ANSWER: {}"',
    "({}).",
    "**{}**",
    "{}",
    "{})",
    "Option {}",
    "The lane is blocked.\n\n{}",
    "The best action is {}.",
]


@pytest.mark.parametrize("template", DECLARATIONS)
@pytest.mark.parametrize("case", [str.upper, str.lower])
def test_every_decoration_of_every_letter_in_both_cases_parses(template, case):
    for letter, option in QUESTION.lettered():
        parsed = parse_choice(template.format(case(letter)), QUESTION)
        assert parsed.option == option.id, (template, letter, parsed)
        assert parsed.outcome is None


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("A car is near, so the answer is C", "continue"),
        ("A car is near.\nB and C are too slow.\nANSWER: A", "emergency_stop"),
        ("Option A would be too much. ANSWER: B", "slow_down"),
        ("B) slow down", "slow_down"),
        ("(B) Slow down: brake at half intensity (4 m/s²)", "slow_down"),
        ("slow down", "slow_down"),
        ("ANSWER: slow_down", "slow_down"),
        ("ANSWER: Slow down", "slow_down"),
        ("ANSWER: Emergency stop: brake fully.", "emergency_stop"),
        ("ANSWER: continue at the same speed", "continue"),
        ("ANSWER: A emergency stop", "emergency_stop"),
        ("ANSWER: B) slow down since A car stands far ahead", "slow_down"),
        ("The best action here is to slow down.\nANSWER: B", "slow_down"),
        ("The best action here is to slow down.\nANSWER: C", "continue"),
        ('The format is "ANSWER: X".\nANSWER: C', "continue"),
        ("ANSWER: B\n\nThe answer is B.", "slow_down"),
        ("I would choose option (C).", "continue"),
        ("The answer is clear.\n\nB", "slow_down"),
        ("B is the correct answer.", "slow_down"),
        ("<think>The answer is A. No: B?</think>ANSWER: C", "continue"),
        ("the answer is A, but wait</think>\nANSWER: C", "continue"),
        ("ANSWER: C\n<think>or is the answer A", "continue"),
        ("ANSWER: slow down because I cannot see the light", "slow_down"),
    ],
)
def test_a_declared_answer_beats_what_is_mentioned(text, option):
    assert parse_choice(text, QUESTION).option == option


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hmm",
        "hmm, A or B",
        "None of the above",
        "ANSWER: None of the above",
        "I don't know",
        "ANSWER: I don't know",
        "I cannot tell from this picture.",
        "ANSWER: A\nANSWER: B",
        "The answer is A. Wait, the answer is B.",
        "ANSWER: A or B",
        "ANSWER: A/B",
        "ANSWER: slow down or continue",
        "ANSWER: B) emergency stop",
        "ANSWER: D",
        "ANSWER: not B",
        "The answer is not B.",
        "ANSWER: X",
        "ANSWER:",
        "A car is near",
        "ANSWER: a hard one",
        "ANSWER: A car is near",
        "A) Emergency stop\nB) Slow down\nC) Continue",
        "A) Emergency stop is not needed.",
        "One could slow down or continue.",
        "Is the light red? C is for red.",
        "\\boxed{A} or \\boxed{B}",
        '{"answer": "A"} {"answer": "C"}',
        "The answer could be B",
        "ABC",
        "?",
        "<think>ANSWER: B</think>",
        "ANSWER: B) slow down. ANSWER: none of the above",
    ],
)
def test_nothing_is_ever_guessed(text):
    parsed = parse_choice(text, QUESTION)
    assert parsed.option is None
    assert parsed.outcome is Outcome.UNPARSED
    assert parsed.note


@pytest.mark.parametrize(
    "text",
    [
        "It is not true that B is the correct answer.",
        "I don't think the answer is B.",
        "I would never say that the best action is B",
        "No one would claim the answer is B",
        "ANSWER: A.B",
        "ANSWER: B.c",
    ],
)
def test_a_denied_or_doubled_answer_is_no_answer(text):
    assert parse_choice(text, QUESTION).option is None


def test_a_negation_in_another_clause_denies_nothing():
    text = "The lane is not free, so the answer is B. Do not hesitate."
    assert parse_choice(text, QUESTION).option == "slow_down"


def test_none_of_the_above_is_an_answer_where_it_is_an_option():
    question = Question(
        "?",
        (Option("yes", "Yes"), Option("no", "No"), Option("none", "None of the above", last=True)),
        "test-1",
    )
    assert parse_choice("ANSWER: none of the above", question).option == "none"
    assert parse_choice("None of the above.", question).option == "none"
    assert parse_choice("ANSWER: no.", question).option == "no"
    assert parse_choice("ANSWER: no idea", question).option is None


def test_letters_follow_the_shown_order():
    shown = QUESTION.shuffled(np.random.default_rng(3))
    assert shown.options != QUESTION.options
    for letter, option in shown.lettered():
        assert parse_choice(f"ANSWER: {letter}", shown).option == option.id


def test_a_name_that_two_options_share_names_neither():
    question = Question("?", (Option("a", "Stop: now"), Option("b", "Stop: soon")), "test-1")
    assert parse_choice("ANSWER: stop", question).option is None
    assert parse_choice("ANSWER: stop: soon", question).option == "b"


@pytest.mark.parametrize(
    ("text", "reason", "outcome", "option"),
    [
        ("<think>It is A", "length", Outcome.TRUNCATED, None),
        ("The cone is near and", "length", Outcome.TRUNCATED, None),
        ("The cone is near.\nA", "length", Outcome.TRUNCATED, None),
        ("The cone is near", "MAX_TOKENS", Outcome.TRUNCATED, None),
        ("", "length", Outcome.TRUNCATED, None),
        ("ANSWER: B\nMoreover", "length", None, "slow_down"),
        ("ANSWER: B", "refusal", Outcome.REFUSED, None),
        ("", "content_filter", Outcome.REFUSED, None),
        ("", "SAFETY", Outcome.REFUSED, None),
        ("boom", "error", Outcome.ERROR, None),
        ("", "timeout", Outcome.TIMEOUT, None),
        ("ANSWER: B", "stop", None, "slow_down"),
        ("ANSWER: B", "end_turn", None, "slow_down"),
        ("<think>It is A", "stop", Outcome.UNPARSED, None),
    ],
)
def test_finish_reasons_give_outcomes(text, reason, outcome, option):
    got, chosen, note = classify(Reply(text, reason), QUESTION)
    assert (got, chosen) == (outcome, option)
    assert bool(note) == (outcome is not None)


def test_thinking_is_stripped():
    assert strip_thinking("<think>a</think> b") == ("b", False)
    assert strip_thinking("a</think>b") == ("b", False)
    assert strip_thinking("b <think>a") == ("b", True)


OPENERS = ["", "The road is wet.\n", "A car is near. ", "B or C?\n\n", "<think>ANSWER: C</think>"]
MARKS = ["", "*", "**", "_", "$", "`", '"', "'"]
BRACKETS = [("", ""), ("(", ")"), ("[", "]"), ("", ")"), ("", "."), ("\\boxed{", "}"), ("{", "}")]


@given(
    st.sampled_from(OPENERS),
    st.sampled_from(["ANSWER:", "Answer is", "the answer is:", "**Final answer:**", "answer ="]),
    st.sampled_from(MARKS),
    st.sampled_from(BRACKETS),
    st.sampled_from(list(itertools.product(range(3), (str.upper, str.lower)))),
    st.sampled_from(["", ".", " .", "\n", "!", "\n\nThat is the safest.", ", as the lane is free"]),
)
def test_any_decoration_around_a_declared_letter_parses(
    opener, declares, mark, bracket, choice, end
):
    index, case = choice
    letter = case("ABC"[index])
    text = f"{opener}{declares} {mark}{bracket[0]}{letter}{bracket[1]}{mark}{end}"
    assert parse_choice(text, QUESTION).option == IDS[index], text


MENTIONS = [
    "A",
    "B",
    "C",
    "slow down",
    "continue",
    "emergency stop",
    "option A",
    "hmm",
    "the",
    "car",
]


@given(st.lists(st.sampled_from(MENTIONS), min_size=2, max_size=8))
def test_mentions_without_a_declaration_are_unparsed(said):
    text = "Perhaps " + " ".join(said) + " it seems"
    assert parse_choice(text, QUESTION).outcome is Outcome.UNPARSED


@given(st.text(alphabet=string.printable + "éß（）：", max_size=80))
def test_any_text_gives_an_option_or_a_reason(text):
    parsed = parse_choice(text, QUESTION)
    assert (parsed.option in IDS) != (parsed.outcome is Outcome.UNPARSED)


@pytest.mark.parametrize(
    "text",
    ["ANSWER: B\0", "ANSWER:\u200b B", "\u200fANSWER:\u200f B\u200e", "\x1b[31mANSWER: B\x1b[0m",
     "ANSWER: B \udcff", "ANSWER: B\ufffd"],
    ids=ascii,
)  # fmt: skip
def test_characters_that_are_not_seen_hide_no_answer(text):
    assert parse_choice(text, QUESTION).option == QUESTION.by_letter("B").id


def test_a_reply_beyond_all_length_is_unparsed():
    parsed = parse_choice("ANSWER: B\n" + "x\n" * 300_000, QUESTION)
    assert parsed.outcome is Outcome.UNPARSED
    assert parse_choice(f"<think>{'x' * 600_000}</think>ANSWER: B", QUESTION).option is not None
