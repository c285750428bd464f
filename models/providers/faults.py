"""From a provider's error to what it means for a run: status, code and body, never one alone.

The tables are ours, gathered from the providers' published error references; the names of codes
are compared without case and punctuation, since vendors spell one code in several ways.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any

from .adapter import Fault, FaultKind

LONGEST_TEXT = 2000
"""Characters kept of a provider's words."""

FILTER_CODES = (
    "contentfilter",  # OpenAI, Azure, Moonshot
    "contentpolicy",  # OpenAI, OpenRouter
    "responsibleaipolicy",  # Azure, the inner error
    "moderation",  # OpenAI's image models, several compatible servers
    "datainspectionfailed",  # DashScope
    "sensitivecontent",  # Volcengine: Input/OutputText/ImageSensitiveContentDetected
    "prohibitedcontent",  # Google
    "contentblocked",
    "promptblocked",
    "contentviolation",
    "safety",
    "guardrail",  # Bedrock
)

FILTER_WORDS = (
    r"blocked by (?:our |the )?content[ _-]filter",  # Anthropic, Bedrock
    r"content management policy",  # Azure
    r"content[ _-](?:policy|safety) (?:violation|polic)",
    r"flagged as potentially violating",  # OpenAI
    r"input was flagged",  # OpenRouter
    r"violat\w+ (?:our |the )?(?:usage|content|safety) (?:polic|guideline)",  # OpenAI, xAI
    r"rejected (?:by|as a result of) (?:our |the )?safety system",  # OpenAI
    r"inappropriate content",  # DashScope
    r"content exists risk",  # DeepSeek
    r"considered high risk",  # Moonshot
    r"(?:unsafe|sensitive) content|sensitive (?:information|words)|敏感内容",  # Zhipu, Volcengine
)

RATE_CODES = ("throttl", "ratelimit", "toomanyrequests", "ratequota")

QUOTA_CODES = (
    "insufficientquota",  # OpenAI
    "exceededcurrentquota",  # Moonshot
    "billing",  # OpenAI (two codes), Anthropic
    "insufficientbalance",
    "insufficientcredit",
    "creditbalance",
    "paymentrequired",
    "arrearage",  # DashScope
    "freetieronly",  # DashScope
    "overdue",  # Volcengine
    "servicequotaexceeded",  # Bedrock
    "quotaexhausted",
)

QUOTA_WORDS = (
    r"credit balance is too low",  # Anthropic
    r"reached your specified (?:\w+ )?api usage limits?",  # Anthropic
    r"exceeded your current quota",  # OpenAI without its code
    r"(?:insufficient|not enough|out of|requires more) (?:account )?(?:balance|credits?|funds?)",
    r"\bno (?:credits?|funds)\b",
    r"billing (?:hard )?limit|billing is not|payment (?:is )?required|in arrears|overdue",
    r"(?:monthly|total|spend(?:ing)?) (?:spend(?:ing)? )?limit",
    r"key limit exceeded",  # OpenRouter
    r"\bper[ -]day\b|\bdaily (?:request |token |usage )?(?:quota|limit)",
)

OVERLOAD_CODES = ("overload", "unavailable", "modelnotready", "capacity", "serverbusy")
OVERLOAD_WORDS = (r"\boverloaded\b|at capacity|server is busy|is (?:currently )?loading",)

AUTH_CODES = (
    "invalidapikey",
    "apikeyinvalid",
    "incorrectapikey",
    "authentication",
    "unauthorized",
    "unauthenticated",
    "permission",
    "accessdenied",
    "forbidden",
    "unrecognizedclient",  # Bedrock: no such key
    "invalidsignature",
    "expiredtoken",
    "invalidclienttoken",
    "optinrequired",
)
AUTH_WORDS = (
    r"api[ _-]key (?:is )?(?:not valid|invalid|expired|missing)",
    r"(?:invalid|incorrect|missing) (?:x-)?api[ _-]key",
    r"location is not supported",  # Google
)

MISSING_CODES = ("modelnotfound", "modelnotexist", "notfound", "nosuchmodel", "deploymentnotfound")
MISSING_WORDS = (
    r"model [^.]{0,120}(?:does not exist|not exist\b|was not found|is not found)",
    r"not a valid model",  # OpenRouter
    r"model identifier is invalid",  # Bedrock
    r"is not found for api version",  # Google
    r"on-demand throughput is ?n.t supported",  # Bedrock: only inference profiles can be asked
)

LAST_CODES: dict[str, FaultKind] = {
    "timeout": "server",
    "deadlineexceeded": "server",
    "internal": "server",
    "servererror": "server",
    "apierror": "server",
    "resourceexhausted": "rate_limit",
    "badgateway": "server",
    "toolarge": "bad_request",
    "invalid": "bad_request",
    "badrequest": "bad_request",
    "validation": "bad_request",
    "failedprecondition": "bad_request",
}
"""Codes that tell a kind only when the status tells none: an error inside a response with 200."""

STATUSES: dict[int, FaultKind] = {
    301: "not_found",  # redirects are not followed: the address is another one
    302: "not_found",
    307: "not_found",
    308: "not_found",
    401: "auth",
    402: "quota",
    403: "auth",
    404: "not_found",
    405: "not_found",
    407: "auth",
    408: "server",
    409: "server",
    410: "not_found",
    424: "server",
    425: "overload",
    429: "rate_limit",
    499: "server",
    503: "overload",
    529: "overload",
}

REFUSED_CODES = ("unsupported", "unknownparameter", "unknownfield", "extraforbidden")

_NAME = r"['\"`]?([A-Za-z_][\w.]*\w)['\"`]?"
REFUSED_WORDS = (
    rf"{_NAME}: extra inputs are not permitted",
    rf"(?:unsupported|unknown|unrecognized|unexpected|invalid) "
    rf"(?:request )?(?:parameter|argument|field|name|keyword argument|value)s?"
    rf"(?: supplied| found)?(?: for)?:? {_NAME}",
    rf"{_NAME} does not support",
    rf"{_NAME}:? (?:is|are) (?:not supported|unsupported|deprecated|not permitted|not allowed)",
    rf"does not support (?:the )?(?:parameter )?{_NAME}",
    rf"{_NAME} (?:may|can|must) only be (?:set|used)",
)
"""How a refused parameter is named when no field of the error names it."""

BOTH = r"temperature['\"`]? and ['\"`]?top_?p['\"`]? cannot both"

CONTENT = frozenset({"messages", "model", "input", "contents", "content", "prompt", "image_url"})
"""Fields of a request that are no parameters: an error about them is this request's."""

NOT_A_NAME = frozenset(
    {"model", "models", "it", "this", "that", "content", "image", "images", "which", "input", "for"}
)

_AGAIN = re.compile(
    r"(?:try again|retry)(?:ing)? (?:in|after) "
    r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?) ?(ms|milliseconds|s|seconds?|minutes?)\b)?",
    re.IGNORECASE,
)
_UNITS = {"ms": 1e-3, "milliseconds": 1e-3, "minute": 60.0, "minutes": 60.0}


def retry_after(headers: Mapping[str, str] | None) -> float | None:
    """Return how many seconds the provider asks to wait; None when it does not say.

    Reads ``retry-after-ms`` and ``retry-after`` (seconds or an HTTP date, counted from the
    response's own ``date``, so that a wrong clock here does no harm). The ``x-ratelimit-reset-*``
    headers are left alone: they tell when a limit is *whole* again, not when the next request may
    come.
    """
    if headers is None:
        return None
    known = {str(name).lower(): str(value).strip() for name, value in headers.items()}
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        seconds = _number(known.get(name))
        if seconds is not None:
            return max(0.0, seconds * unit)
    until = _date(known.get("retry-after"))
    if until is None:
        return None
    now = _date(known.get("date"))
    return max(0.0, until - (time.time() if now is None else now))


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
        retry_after = _asked(body, text)
    code = next((code for code in codes if not code.isdecimal()), None)
    return Fault(
        kind,
        text,
        status=status,
        code=code[:200] if code else None,
        retry_after=retry_after,
        parameter=parameter,
        body=body if not isinstance(body, str) else body[:LONGEST_TEXT],
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
        text = json.dumps(text, default=str) if text is not None else ""
    if text.lstrip()[:1] == "<":  # a proxy's page
        text = re.sub(r"<(script|style)\b.*?</\1>|<[^>]*>", " ", text[:20_000], flags=re.S | re.I)
    return " ".join(text[: 2 * LONGEST_TEXT].split())[:LONGEST_TEXT] or "no words"


def _parsed(body: Any) -> Any:
    if isinstance(body, (bytes, bytearray)):
        body = bytes(body).decode("utf-8", "replace")
    if isinstance(body, str) and body.lstrip()[:1] in ("{", "["):
        try:
            body = json.loads(body)
        except ValueError:
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


def _asked(body: Any, text: str) -> float | None:
    """Return the wait that a body asks for: Google's RetryInfo, or "try again in 20s"."""
    error = _error(body)
    if isinstance(error, dict):
        for detail in _dicts(error.get("details")):
            delay = detail.get("retryDelay")
            seconds = _number(delay.removesuffix("s")) if isinstance(delay, str) else None
            if seconds is not None:
                return max(0.0, seconds)
    found = _AGAIN.search(text)
    if found is None or not any(found.groups()):
        return None
    hours, minutes, amount, unit = found.groups()
    last = float(amount or 0) * _UNITS.get((unit or "s").lower(), 1.0)
    return 3600.0 * int(hours or 0) + 60.0 * int(minutes or 0) + last


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _date(text: str | None) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp() if text else None
    except (ValueError, TypeError, OverflowError):
        return None


EXCEPTIONS: dict[str, FaultKind] = {
    # The first name that a class or one of its bases bears; causes are asked before wrappers.
    "ConnectTimeout": "connection",
    "ConnectTimeoutError": "connection",
    "PoolTimeout": "connection",
    "LocalProtocolError": "bad_request",
    "UnsupportedProtocol": "not_found",
    "InvalidURL": "not_found",
    "TooManyRedirects": "not_found",
    "ReadTimeoutError": "timeout",
    "TimeoutException": "timeout",
    "APITimeoutError": "timeout",
    "TimeoutError": "timeout",
    "DecodingError": "server",
    "JSONDecodeError": "server",
    "UnicodeDecodeError": "server",
    "ResponseParserError": "server",
    "UnknownApiResponseError": "server",
    "APIResponseValidationError": "server",
    "NoCredentialsError": "auth",
    "PartialCredentialsError": "auth",
    "CredentialRetrievalError": "auth",
    "CredentialsError": "auth",
    "TokenRetrievalError": "auth",
    "SSOError": "auth",
    "ProfileNotFound": "auth",
    "ParamValidationError": "bad_request",
    "TransportError": "connection",
    "HTTPClientError": "connection",
    "EndpointConnectionError": "connection",
    "APIConnectionError": "connection",
    "ConnectionError": "connection",
    "SSLError": "connection",
    "gaierror": "connection",
}
"""Exceptions of httpx (and its fork), botocore, the SDKs and Python, by name: none is imported."""

UNSAID = frozenset({"LocalProtocolError"})
"""Exceptions whose text quotes headers, and so may quote the key."""


def connection_fault(error: BaseException) -> Fault:
    """Classify an exception that came instead of an answer.

    A server that cannot be reached is ``connection`` also when reaching it took too long; a reply
    that does not come is ``timeout``; one that cannot be read is ``server``.
    """
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in chain and len(chain) < 10:
        chain.append(cause)
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    for link in reversed(chain):
        names = [base.__name__ for base in type(link).__mro__]
        for name in names:
            if name in EXCEPTIONS:
                return Fault(EXCEPTIONS[name], _exception_text(error, link, names))
    return Fault("unknown", _exception_text(error, error, []))


def _exception_text(error: BaseException, cause: BaseException, names: Sequence[str]) -> str:
    if UNSAID.intersection(names):
        return f"{type(cause).__name__}: a header holds characters that it must not hold"
    parts = []
    for link in (error,) if cause is error else (error, cause):
        try:
            said = " ".join(str(link).split())
        except Exception:
            said = ""
        parts.append(f"{type(link).__name__}: {said}" if said else type(link).__name__)
    return " <- ".join(parts)[:LONGEST_TEXT]
