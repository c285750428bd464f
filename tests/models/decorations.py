"""What models put around an answer, and what they say without declaring one, as strategies."""

from __future__ import annotations

import json

from hypothesis import strategies as st

WRAPS = [
    ("**", "**"), ("*", "*"), ("***", "***"), ("__", "__"), ("_", "_"), ("`", "`"), ("$", "$"),
    ("$$", "$$"), ("(", ")"), ("[", "]"), ("{", "}"), ('"', '"'), ("'", "'"), ("“", "”"),
    ("‘", "’"), ("「", "」"), ("『", "』"), ("【", "】"), ("《", "》"), ("«", "»"), ("„", "“"),
    ("（", "）"), ("<b>", "</b>"), ("<strong>", "</strong>"), ("<p>", "</p>"),
    ('<span style="color: red">', "</span>"), ("\\text{", "}"), ("\\textbf{", "}"),
    ("\\mathrm{", "}"), ("\\(", "\\)"), ("\\[", "\\]"), ("\\boxed{", "}"),
    ("$\\boxed{\\text{", "}}$"), (" ", " "), ("\u200b", "\u200b"), ("\u00a0", "\u3000"),
    ("✅ ", ""), ("👉 ", " 👈"), ("\x1b[1m", "\x1b[0m"),
]  # fmt: skip
CUES = [
    "ANSWER: {}", "ANSWER : {}", "ANSWER:{}", "**ANSWER:** {}", "**Answer**: {}", "__ANSWER: {}__",
    "Answer is {}", "The answer is: {}", "So the correct answer is {}", "Final answer: {}",
    "### Final Answer\n\nANSWER: {}", "> ANSWER: {}", "- ANSWER: {}", "ANSWER = {}",
    "ANSWER → {}", "Answer -> {}", "ANSWER - {}", "ANSWER：{}", "ＡＮＳＷＥＲ：{}", "ANSWER:\n{}",
    "ANSWER:\n\n{}", "<answer>{}</answer>", "<answer>\n{}\n</answer>",
    "<final_answer>{}</final_answer>",
    "\\boxed{{{}}}", "$$\\boxed{{{}}}$$", "\\boxed{{\\text{{{}}}}}",
    "<|begin_of_box|>{}<|end_of_box|>", "<p>ANSWER: {}</p>", "reason<br>ANSWER: {}",
]  # fmt: skip
OPENERS = [
    "", "The road is wet. ", "A car is near, and B or C may follow.\n", "B or C?\n\n",
    "Option A looks slow; I am not sure about it.\n", "It could be 7, or 12, yes or no.\n",
    "<think>ANSWER: C, or ANSWER: no, or ANSWER: 99</think>", "ANSWER: B, no</think>\n",
    "◁think▷the answer is A◁/think▷", "[THINK]The answer is 99[/THINK]",
    "<thinking>A</thinking>\n\n",
    "1. True\n2. False\n3. True\n\n", "| a | b |\n|---|---|\n| yes | 3 |\n\n", "“Look!” he said.\n",
    'Asked for: "ANSWER: X".\n', "答案如下：\n", "# Reason\n\n* one\n* two\n\n",
]  # fmt: skip
ENDINGS = [
    "", ".", "!", " .", "。", "\n", "\n\n", "\n\nThat is the safest.", "</s>", "<|im_end|>",
    "<end_of_turn>", "\n```", ", because the lane is blocked", ", as the road is wet.",
    "\n\n(Confidence: 90%)", "\nLet me know if you need more.", "\r\n", "\n---\n",
    "\n<think>hm, B?",
]  # fmt: skip
REPLACED = ["upper", "lower", "title", "as_is"]


def full_width(text: str) -> str:
    """Return `text` in full-width letters and digits."""
    return "".join(chr(ord(c) + 0xFEE0) if c.isascii() and c.isalnum() else c for c in text)


@st.composite
def declared(draw, answers, *, wraps=WRAPS, bare_json=False):
    """Draw (what is declared, a reply that declares it); `answers` draws (value, its text)."""
    value, text = draw(answers)
    for left, right in draw(st.lists(st.sampled_from(wraps), max_size=2)):
        text = f"{left}{text}{right}"
    cue = draw(st.sampled_from([*CUES, "json", "fenced", "reasoned"]))
    if cue in ("json", "fenced", "reasoned"):
        said = {"answer": text}
        if cue == "reasoned":
            said = {"reason": "A car is near: 3 m, yes", **said, "confidence": 0.5}
        reply = json.dumps(
            said, ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 2]))
        )
        reply = f"```json\n{reply}\n```" if cue == "fenced" else reply
    else:
        case = draw(st.sampled_from(REPLACED))
        before, after = cue.split("{}") if "{{" not in cue else (cue.format("\0")).split("\0")
        if "boxed" not in cue and "|" not in cue and case != "as_is":
            before = getattr(before, case)()
        reply = f"{before}{text}{after}"
    return value, draw(st.sampled_from(OPENERS)) + reply + draw(st.sampled_from(ENDINGS))


SENTENCES = [
    "Option {a} would be too much.", "{a} and {b} are both possible.", "One could {n} or {m}.",
    "A car is near.", "The answer depends on the light.", "The answer is not {a}.",
    "It might be that the answer is {a}.", "If the light is red, the answer is {a}.",
    "The wrong answer is {a}.", "Perhaps {a}, perhaps {b}.", "Is it {a}?",
    "I am torn between {a} and {b}.", 'One replies with "ANSWER: X".', "What is the answer?",
    "The answer to that is hard to see.", "({a}) is what a hasty driver does.",
    "{a}) {n} is hardly needed.", "The answer is {a} if the lamp is red.", "See plan {a}-{b}.",
    "I do not think that the answer is {a}.", "Someone could say the answer is {a}.",
    "No one knows.", "Yes men abound.", "No car stands there.", "There are 3 cars and 12 cones.",
    "The sign says {a}.", "5 m ahead it is dark.", "hmm", "Answer: ?",
    "\\boxed{{}}", "<answer></answer>", '{{"answer": ""}}', '{{"answer": null}}', "ANSWER: ...\n",
    "The answer could be {a}", "To {n} is no bad idea.", "My first answer was {a}.",
    "It is 3:45 pm.", "The answer is {a}? I wonder.", "A.B. Miller wrote {n}.",
]  # fmt: skip
LETTERS = st.sampled_from(["A", "B", "C", "a", "b", "yes", "no", "3", "seven"])
NAMES = st.sampled_from(["slow down", "continue", "emergency stop"])


@st.composite
def undeclared(draw):
    """Draw prose that mentions options, letters, numbers, yes and no, and declares nothing."""
    sentences = draw(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=5))
    names = {"a": draw(LETTERS), "b": draw(LETTERS), "n": draw(NAMES), "m": draw(NAMES)}
    return draw(st.sampled_from([" ", "\n", "\n\n"])).join(
        sentence.format(**names) for sentence in ["Well then.", *sentences, "That is all."]
    )


HOSTILE = [
    "ANSWER:", ".\n", "I choose ", "the answer is ", "<think>", "</think>", "<answer>", "\n", "((",
    "ANSWER: A\n", "_a", "__", "\\boxed{", '{"a":', '{"a":"', "[", '[1,{"answer":', "1. True ",
    "S1", "1,", "1/", "1 ", "```", "$", "\\text{", "| ", "not ", "* ", ", or B", "wait no ",
    "ANSWER 1\t", "yes ", " \n", "<b ", "é", "true,", "1: ", "answer: to the ", "if ", "b",
]  # fmt: skip
