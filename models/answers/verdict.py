"""A judge's verdict: one JSON object out of fences and prose, checked against a schema."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from ...core import Outcome
from .embedded_json import embedded, is_sound
from .weighing import CONTRADICTION, Parsed, Said

if TYPE_CHECKING:
    from pydantic import BaseModel

M = TypeVar("M", bound="BaseModel")


def parse_verdict(
    text: str | None,
    schema: type[M],
    finish_reason: str = "stop",
    *,
    decides: Collection[str] | None = None,
) -> Parsed[M]:
    """Return the last complete JSON object in `text` that `schema` accepts.

    Keys are taken as spelled and types strictly ("true" is no boolean); NaN, infinities and a key
    said twice with two values are no JSON. A comma before a closing bracket is forgiven. Objects
    that lack a required key, or that the schema refuses (an echo of the wanted format), do not
    count beside one that it accepts; two accepted ones that differ contradict each other. Ours.

    Args:
        text: The judge's reply.
        schema: A pydantic model of the verdict.
        finish_reason: Why the reply ended; a cut reply without a complete object is ``truncated``.
        decides: Fields in which two objects must not differ; by default all. A judge that says
            its reason twice in other words can be read with ``decides={"verdict"}``.
    """
    from pydantic import ValidationError

    said = Said.of(text, finish_reason)
    if said.runaway:
        return Parsed(None, Outcome.UNPARSED, said.runaway)
    fields = schema.model_fields
    required = {
        str(field.validation_alias or field.alias or name)
        for name, field in fields.items()
        if field.is_required()
    }
    verdicts: list[M] = []
    refused = ""
    for value, _, _ in embedded(said.text):
        for item in _objects(value):
            if not required <= item.keys() or not item:
                continue
            if not is_sound(item):
                refused = "an object holds what is no JSON"
                continue
            try:
                verdicts.append(schema.model_validate_json(json.dumps(item), strict=True))
            except ValidationError as error:
                refused = _first_fault(error)
            except Exception as error:  # a validator of the schema's own
                refused = f"the schema failed: {type(error).__name__}"
    if not verdicts:
        silent: Parsed[M] = said.silence()
        if silent.outcome is Outcome.TRUNCATED or not said.text:
            return silent
        return Parsed(None, Outcome.UNPARSED, refused or "no complete object with the wanted keys")
    keys = fields.keys() if decides is None else decides
    if any(getattr(v, key) != getattr(verdicts[-1], key) for v in verdicts for key in keys):
        return Parsed(None, Outcome.UNPARSED, CONTRADICTION)
    return Parsed(verdicts[-1])


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects in a decoded value in the order in which they are written."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            yield item
            stack.extend(reversed(list(item.values())))
        elif isinstance(item, list):
            stack.extend(reversed(item))


def _first_fault(error: Any) -> str:
    fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(str(part) for part in fault["loc"])[:100]
    return f"the verdict's {place or 'object'}: {fault['msg'][:200]}"
