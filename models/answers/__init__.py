"""From a model's words to what it declared; never a guess.

One module a kind of answer: `choice`, `yes_no`, `number`, `short_text`, `statements`, `verdict`.
All share what a declaration looks like (`cues`), what decorates it (`marks`), what is thinking
and no answer (`thinking`), and how several declarations are weighed (`weighing`): an explicit one
beats a choice in prose, which beats what stands alone on a line; a mention declares nothing;
declarations that contradict each other declare nothing either.
"""

from __future__ import annotations

from .choice import ParsedAnswer, classify, parse_choice
from .number import Number, parse_number
from .short_text import parse_short_text
from .statements import ParsedStatements, parse_statements
from .thinking import strip_thinking
from .verdict import parse_verdict
from .weighing import LENGTHS, LONGEST_REPLY, REFUSALS, Parsed
from .yes_no import parse_yes_no

__all__ = [
    "LENGTHS",
    "LONGEST_REPLY",
    "REFUSALS",
    "Number",
    "Parsed",
    "ParsedAnswer",
    "ParsedStatements",
    "classify",
    "parse_choice",
    "parse_number",
    "parse_short_text",
    "parse_statements",
    "parse_verdict",
    "parse_yes_no",
    "strip_thinking",
]
