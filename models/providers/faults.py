"""From a provider's error to what it means for a run: status, code and body, never one alone.

`fault_tables` holds what the vendors say, `connection_faults` what the SDKs raise instead of an
answer, `waits` how long a provider asks to wait.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .adapter import Fault, FaultKind
from .connection_faults import connection_fault
from .fault_tables import (
    AUTH_CODES,
    AUTH_WORDS,
    BOTH,
    CONTENT,
    FILTER_CODES,
    FILTER_WORDS,
    LAST_CODES,
    LONGEST_TEXT,
    MISSING_CODES,
    MISSING_WORDS,
    NOT_A_NAME,
    OVERLOAD_CODES,
    OVERLOAD_WORDS,
    QUOTA_CODES,
    QUOTA_WORDS,
    RATE_CODES,
    REFUSED_WORDS,
    STATUSES,
)
from .waits import asked_wait, retry_after

__all__ = ["classify", "connection_fault", "error_text", "refused_parameter", "retry_after"]

NO_TEXT = "an error that is no text"

_MARKUP = re.compile(r"<(script|style)\b.*?(?:</\1>|\Z)|<[^<>]*>", re.DOTALL | re.IGNORECASE)


def classify(
    status: int | None,
    body: Any,
    *,
    retry_after: float | None = None,
    parameters: Iterable[str] = (),
) -> Fault:
    """Return what an answer in error means.

    Args:
        status: HTTP status; None (or 200) for an error object inside a good response, whose own
            code then counts.
        body: The response's body: JSON values or text, with or without the outer ``error``.
        retry_after: Seconds from the headers; the body is asked when there is none.
        parameters: Names that the request sent, to be looked for in the provider's words when no
            field names the refused one.
    """
    body = _parsed(body)
    text = error_text(body)
    codes = list(_codes(body))
    if status is None or status < 300:
        numbers = [int(code) for code in codes if code.isdecimal() and 400 <= int(code) < 600]
        status = numbers[0] if numbers else None
    words = [re.sub(r"[^a-z0-9]", "", code.lower()) for code in codes]
    said = text.lower()
    kind = _kind(status, words, said, body)
    parameter = None
    if kind == "bad_request" and status in (None, 400, 422):
        parameter = refused_parameter(body, text, words, tuple(parameters))
        if parameter is not None:
            kind = "unsupported"
    if retry_after is None and kind in ("rate_limit", "overload"):
        retry_after = asked_wait(_error(body), text)
    code = next((code for code in codes if not code.isdecimal()), None)
    return Fault(
        kind,
        text,
        status=status,
        code=code[:200] if code else None,
        retry_after=retry_after,
        parameter=parameter,
    )


def _kind(status: int | None, codes: Sequence[str], said: str, body: Any) -> FaultKind:
    client = status is None or 400 <= status < 500
    if _has(codes, FILTER_CODES):
        return "filtered"
    if client and status not in (401, 404, 413, 429) and _says(said, FILTER_WORDS):
        return "filtered"
    limited = _google_quota(body)
    if limited is not None:
        return limited
    # A throttling code may hold the word quota; a daily one is over for today all the same.
    if _has(codes, QUOTA_CODES) and not _has(codes, ("throttl", "ratequota")):
        return "quota"
    if client and status not in (401, 404, 413, 422) and _says(said, QUOTA_WORDS):
        return "quota"
    if status != 404 and _has(codes, RATE_CODES):
        return "rate_limit"
    if (status is None or status >= 429) and (
        _has(codes, OVERLOAD_CODES) or _says(said, OVERLOAD_WORDS)
    ):
        return "overload"
    if client and status not in (429, 413):
        if _has(codes, MISSING_CODES) or (
            status in (None, 400, 403, 422) and _says(said, MISSING_WORDS)
        ):
            return "not_found"
        if _has(codes, AUTH_CODES) or (status in (None, 400) and _says(said, AUTH_WORDS)):
            return "auth"
    if status is None:
        return next((kind for word, kind in LAST_CODES.items() if _has(codes, (word,))), "unknown")
    if status in STATUSES:
        return STATUSES[status]
    if 400 <= status < 500:
        return "bad_request"
    return "server" if status >= 500 else "unknown"


def _google_quota(body: Any) -> FaultKind | None:
    """Tell Google's quotas a day from those a minute: their words and codes are the same."""
    error = _error(body)
    if not isinstance(error, dict) or error.get("status") != "RESOURCE_EXHAUSTED":
        return None
    ids = [
        str(violation.get("quotaId") or violation.get("quotaMetric") or "")
        for detail in _dicts(error.get("details"))
        for violation in _dicts(detail.get("violations"))
    ]
    day = any("perday" in name.lower() for name in ids)
    # A free tier that does not hold the model at all has a limit of zero.
    never = re.search(r"limit: 0\b", str(error.get("message")))
    paid = re.search(
        r"credits? (?:are|is) depleted|spend(?:ing)? cap", str(error.get("message")), re.IGNORECASE
    )
    return "quota" if day or never or paid else "rate_limit"


def refused_parameter(
    body: Any, text: str, codes: Sequence[str] = (), parameters: Sequence[str] = ()
) -> str | None:
    """Return the request's parameter that an error complains of, or None.

    Args:
        body: The error as JSON values.
        text: The provider's words.
        codes: Its codes in lower case without punctuation.
        parameters: Names that were sent; the first of them that the words mention is the one.
    """
    if re.search(BOTH, text, re.IGNORECASE):
        return next((name for name in parameters if name in ("top_p", "topP")), "top_p")
    named = _named_field(body)
    if named is not None:
        root = re.split(r"[.\[]", named)[0]
        if root in CONTENT:
            return None
        whole = [name for name in parameters if name in re.split(r"[.\[\]]+", named)]
        return whole[0] if whole else named
    places = {
        name: found.start()
        for name in parameters
        if (found := re.search(rf"(?<![A-Za-z]){re.escape(name)}(?![A-Za-z])", text, re.I))
    }
    if places:
        return min(places, key=lambda name: (places[name], -len(name)))
    for pattern in REFUSED_WORDS:
        found = re.search(pattern, text, re.IGNORECASE)
        if found and found[1].lower() not in NOT_A_NAME and found[1].split(".")[0] not in CONTENT:
            return found[1]
    return None


def _named_field(body: Any) -> str | None:
    """Return what a field of the error names: OpenAI's ``param``, pydantic's ``loc``, Google's."""
    error = _error(body)
    if not isinstance(error, dict):
        return None
    param = error.get("param")
    if isinstance(param, str) and param:
        return param
    for item in _dicts(error.get("detail")):
        place = item.get("loc")
        if isinstance(place, list) and place:
            names = [str(part) for part in place if part != "body"]
            return ".".join(names) or None
    for detail in _dicts(error.get("details")):
        for violation in _dicts(detail.get("fieldViolations")):
            if isinstance(violation.get("field"), str) and violation["field"]:
                return str(violation["field"])
    return None


def error_text(body: Any) -> str:
    """Return a provider's words from an error body of any shape, on one line."""
    error = _error(body)
    text: Any = error
    if isinstance(error, dict):
        for name in ("message", "Message", "detail", "msg", "error_msg", "error", "title"):
            value = error.get(name)
            if value:
                text = value
                break
        upstream = error.get("metadata")
        if isinstance(upstream, dict) and upstream.get("raw"):
            text = f"{text}: {upstream['raw']}"  # a router's error around its provider's
    if not isinstance(text, str):
        text = _dumped(text) if text is not None else ""
    if text.lstrip()[:1] == "<":  # a proxy's page
        text = _MARKUP.sub(" ", text[:8000])
    text = " ".join(text[: 2 * LONGEST_TEXT].split())[:LONGEST_TEXT]
    return NO_TEXT if _garbled(text) else text or "no words"


def _garbled(text: str) -> bool:
    """Return whether it was made of bytes that are no text, as compressed ones are not."""
    odd = sum(c == "\ufffd" or unicodedata.category(c) == "Cc" for c in text)
    return 5 * odd > len(text)


def _dumped(value: Any) -> str:
    try:
        return json.dumps(value, default=str)
    except (ValueError, RecursionError):
        return "an error of a form that cannot be told"


def _parsed(body: Any) -> Any:
    if isinstance(body, (bytes, bytearray)):
        body = bytes(body).decode("utf-8", "replace")
    if isinstance(body, str) and body.lstrip()[:1] in ("{", "["):
        try:
            body = json.loads(body)
        except (ValueError, RecursionError):
            return body
    if isinstance(body, list) and len(body) == 1:
        return body[0]
    return body


def _error(body: Any) -> Any:
    """Return the error itself: the inner object when there is one."""
    if isinstance(body, dict):
        for name in ("error", "Error"):
            inner = body.get(name)
            if isinstance(inner, dict) and inner:
                return inner
    return body


def _codes(body: Any) -> Iterator[str]:
    """Yield every code of an error, the most specific ones first."""
    error = _error(body)
    if not isinstance(error, dict):
        return
    inner = error.get("innererror") or error.get("inner_error")
    details = error.get("details")
    places: list[Any] = [inner, details, error, *_dicts(details)]
    if body is not error:
        places.append(body)
    for place in places:
        if isinstance(place, dict):
            for name in ("error_code", "code", "Code", "type", "status", "reason", "error"):
                value = place.get(name)
                if isinstance(value, int) and not isinstance(value, bool):
                    yield str(value)
                elif isinstance(value, str) and 0 < len(value) <= 200 and " " not in value:
                    yield value


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _has(codes: Iterable[str], known: Sequence[str]) -> bool:
    return any(part in code for code in codes for part in known)


def _says(text: str, patterns: Sequence[str]) -> bool:
    return any(re.search(pattern, text) for pattern in patterns)
