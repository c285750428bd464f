from __future__ import annotations

import itertools
import json
import socket
import time
from email.utils import formatdate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vlmfail.models.providers.faults import classify, connection_fault, retry_after


def openai(message, type_="invalid_request_error", param=None, code=None, **more):
    error = {"message": message, "type": type_, "param": param, "code": code, **more}
    return {"error": error}


def google(status, message, *details):
    return {"error": {"status": status, "message": message, "details": list(details)}}


CASES = [
    # (status, body, kind)
    (400, openai("filtered", code="content_filter"), "filtered"),
    (400, openai("no", code="content_policy_violation"), "filtered"),
    (400, openai("no", innererror={"code": "ResponsibleAIPolicyViolation"}), "filtered"),
    (400, openai("no", code="data_inspection_failed"), "filtered"),
    (400, {"code": "DataInspectionFailed", "message": "Output data"}, "filtered"),
    (400, openai("no", code="InputImageSensitiveContentDetected"), "filtered"),
    (400, openai("Content Exists Risk"), "filtered"),
    (400, openai("was considered high risk"), "filtered"),
    (403, openai("Your input was flagged", metadata={"reasons": ["violence"]}), "filtered"),
    (403, {"code": "denied by rule", "error": "Content violates usage guidelines."}, "filtered"),
    (400, openai("Your request was rejected by the safety system."), "filtered"),
    (400, openai("Invalid prompt: flagged as potentially violating our policy"), "filtered"),
    (400, openai("Invalid prompt: bad schema", code="invalid_prompt"), "bad_request"),
    (None, openai("no", code="content_filter"), "filtered"),
    # a service that has trouble with its filter is no refusal
    (500, openai("the sensitive content service failed"), "server"),
    (429, openai("Rate limit reached, per min", code="rate_limit_exceeded"), "rate_limit"),
    (429, openai("slow", "rate_limit_error"), "rate_limit"),
    (429, "<html>Too Many Requests</html>", "rate_limit"),
    (429, {}, "rate_limit"),
    (403, {"code": "Throttling.RateQuota", "message": "too fast"}, "rate_limit"),
    (400, {"code": "Throttling.AllocationQuota", "message": "too fast"}, "rate_limit"),
    (429, openai("exceeded your current quota", code="insufficient_quota"), "quota"),
    (429, openai("exceeded your current quota, check your plan"), "quota"),
    (429, openai("no", "exceeded_current_quota_error"), "quota"),
    (429, openai("Rate limit exceeded: free-models-per-day"), "quota"),
    (429, openai("tokens per day (TPD): Limit 100000", code="rate_limit_exceeded"), "quota"),
    (400, openai("Your credit balance is too low"), "quota"),
    (400, openai("You have reached your specified API usage limits."), "quota"),
    (402, openai("Insufficient Balance"), "quota"),
    (402, {"type": "error", "error": {"type": "billing_error", "message": "pay"}}, "quota"),
    (403, openai("Key limit exceeded (monthly limit)"), "quota"),
    (400, {"code": "Arrearage", "message": "Access denied"}, "quota"),
    (400, openai("not active", code="billing_not_active"), "quota"),
    (429, google("RESOURCE_EXHAUSTED", "You exceeded your current quota"), "rate_limit"),
    (429, google("RESOURCE_EXHAUSTED", "Quota exceeded, limit: 0, model: x"), "quota"),
    (529, {"error": {"type": "overloaded_error", "message": "Overloaded"}}, "overload"),
    (503, "no healthy upstream", "overload"),
    (500, openai("The model is overloaded"), "overload"),
    (429, openai("busy", "engine_overloaded_error"), "overload"),
    (500, openai("oops", "server_error"), "server"),
    (502, "<html><title>Bad Gateway</title></html>", "server"),
    (504, None, "server"),
    (408, None, "server"),
    (401, openai("Incorrect API key", code="invalid_api_key"), "auth"),
    (403, openai("no"), "auth"),
    (400, google("INVALID_ARGUMENT", "API key not valid.", {"reason": "API_KEY_INVALID"}), "auth"),
    (404, openai("The model does not exist", code="model_not_found"), "not_found"),
    (403, openai("no access to model x", code="model_not_found"), "not_found"),
    (400, openai("foo/bar is not a valid model ID"), "not_found"),
    (404, "404 page not found", "not_found"),
    (405, None, "not_found"),
    (307, "", "not_found"),
    (413, {"error": {"type": "request_too_large", "message": "Request exceeds"}}, "bad_request"),
    (400, openai("too long", param="messages", code="context_length_exceeded"), "bad_request"),
    (400, openai("bad image", param="messages[0].content[1].image_url"), "bad_request"),
    (400, openai("prompt is too long: 2 tokens > 1 maximum"), "bad_request"),
    (422, {"detail": [{"loc": ["body", "messages"], "msg": "Field required"}]}, "bad_request"),
    # inside a response with status 200
    (200, {"error": {"code": 429, "message": "Provider returned error"}}, "rate_limit"),
    (200, {"error": {"code": "502", "message": "x"}}, "server"),
    (None, {"error": {"type": "overloaded_error", "message": "x"}}, "overload"),
    (None, {"object": "error", "message": "x", "code": 400}, "bad_request"),
    (None, openai("x", "server_error"), "server"),
    (None, openai("x", "invalid_request_error"), "bad_request"),
    (None, {"error": "boom"}, "unknown"),
]


@pytest.mark.parametrize(("status", "body", "kind"), CASES)
def test_kinds(status, body, kind):
    fault = classify(status, body)
    assert fault.kind == kind, fault
    if isinstance(body, dict) and body:
        as_text = classify(status, json.dumps(body))
        assert as_text == fault
        # SDKs hand over the inner object alone
        if isinstance(body.get("error"), dict) and status is not None:
            assert classify(status, body["error"]).kind == kind


def test_googles_quota_a_day_is_told_from_that_a_minute():
    def limited(period):
        name = f"GenerateRequests{period}PerProjectPerModel-FreeTier"
        return google(
            "RESOURCE_EXHAUSTED",
            "You exceeded your current quota, please check your plan and billing details.",
            {"violations": [{"quotaId": name}]},
            {"retryDelay": "17.5s"},
        )

    assert classify(429, limited("PerDay")).kind == "quota"
    minute = classify(429, limited("PerMinute"))
    assert (minute.kind, minute.retry_after) == ("rate_limit", 17.5)


REFUSED = [
    (openai("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'."), "max_tokens"),
    (openai("no", param="temperature", code="unsupported_value"), "temperature"),
    (openai("no", param="reasoning.effort"), "reasoning.effort"),
    (openai("Unrecognized request argument supplied: reasoning_effort"), "reasoning_effort"),
    (openai("Unknown parameter: 'detail'."), "detail"),
    (openai("'top_p' is not supported with this model"), "top_p"),
    (openai("temperature: Extra inputs are not permitted"), "temperature"),
    (openai("`temperature` and `top_p` cannot both be specified for this model."), "top_p"),
    (openai("This model does not support the parameter `seed`."), "seed"),
    ({"detail": [{"type": "extra_forbidden", "loc": ["body", "top_k"], "msg": "Extra"}]}, "top_k"),
    (google("INVALID_ARGUMENT", "x", {"fieldViolations": [{"field": "a.top_p"}]}), "a.top_p"),
]


@pytest.mark.parametrize(("body", "name"), REFUSED)
def test_the_refused_parameter_is_named(body, name):
    fault = classify(400, body)
    assert (fault.kind, fault.parameter) == ("unsupported", name)


def test_sent_names_are_found_in_the_words():
    names = ("max_tokens", "thinking", "temperature")
    said = "`temperature` may only be set to 1 when thinking is enabled"
    assert classify(400, openai(said), parameters=names).parameter == "temperature"
    nested = "thinking.budget_tokens: Input should be greater than or equal to 1024"
    assert classify(400, openai(nested), parameters=names).parameter == "thinking"
    other = openai("rethinkings of temperatures")
    assert classify(400, other, parameters=names).kind == "bad_request"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"x-ratelimit-reset-requests": "6m0s"}, None),
        ({}, None),
        (None, None),
        ({"retry-after": formatdate(1000, usegmt=True), "date": formatdate(970, usegmt=True)}, 30),
        ({"retry-after": formatdate(1000, usegmt=True)}, 0.0),
    ],
)
def test_retry_after(headers, seconds):
    assert retry_after(headers) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Please try again in 3.89s. Visit", 3.89),
        ("Please try again in 350ms.", 0.35),
        ("Please try again in 6m0s.", 360.0),
        ("Please try again in 1h2m3s.", 3723.0),
        ("Please retry after 6 seconds.", 6.0),
        ("Please retry in 17.2s.", 17.2),
        ("Please try again in a while", None),
        ("Please try again later", None),
    ],
)
def test_the_wait_in_the_words(text, seconds):
    assert classify(429, openai(text)).retry_after == pytest.approx(seconds)
    assert classify(429, openai(text), retry_after=1.0).retry_after == 1.0


MANY = "9" * 400

ODD_WAITS = [
    "1e400", "-1e400", MANY, f"{MANY}.{MANY}", "-5", "-0", "nan", "-nan", "inf", "Infinity",
    "\u0661\u0662", "1_0", "0x10", "", " ", "1e", "+", ".", "5, 10", "\x00", "1" * 100_000,
    "Fri, 31 Dec 99999 23:59:59 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "1 Jan 0001 00:00:00",
    "Mon, 01 Jan 0001 00:00:00 +2359", "Fri, 99 Foo 2020 99:99:99 GMT", "Fri, 31 Dec 2020",
    f"{MANY} Jan {MANY} 00:00:00 GMT", "Thu, 01 Jan 1970 00:00:00 +999999999",
]  # fmt: skip


@pytest.mark.parametrize("said", ODD_WAITS, ids=lambda said: said[:12])
@pytest.mark.parametrize("name", ["retry-after", "retry-after-ms", "date"])
def test_no_header_asks_for_a_wait_that_cannot_be(name, said):
    seconds = retry_after({"retry-after": "Thu, 01 Jan 1970 00:00:10 GMT", name: said})
    assert seconds is None or 0 <= seconds < 4e7


@pytest.mark.parametrize("said", [*ODD_WAITS, f"{MANY}h", f"1h{MANY}m", f"{MANY}h{MANY}m1s"])
@pytest.mark.parametrize("unit", ["", "s", "ms", " seconds", "h", "m", "m1s"])
def test_no_words_ask_for_a_wait_that_cannot_be(said, unit):
    fault = classify(429, openai(f"Please try again in {said}{unit}"))
    assert fault.retry_after is None or 0 <= fault.retry_after < 4e7
    delay = google("RESOURCE_EXHAUSTED", "slow", {"retryDelay": said + unit})
    fault = classify(429, delay)
    assert fault.retry_after is None or 0 <= fault.retry_after < 4e7


@given(st.text(max_size=40) | st.from_regex(r"[0-9hms. e+-]{1,40}"))
@settings(max_examples=200, deadline=None)
def test_no_wait_ever_raises(said):
    retry_after({"retry-after": said, "date": said})
    classify(429, openai(f"try again in {said}"))
    classify(429, google("RESOURCE_EXHAUSTED", "slow", {"retryDelay": said}))


@pytest.mark.parametrize("piece", ["x", "<", "<script>", "a.b ", "'", "model ", "try again in 1"])
def test_no_words_take_long(piece):
    start = time.process_time()
    classify(400, piece * 200_000, parameters=("max_tokens",))
    assert time.process_time() - start < 1.0


def test_long_words_are_cut():
    fault = classify(400, "x" * 1_000_000)
    assert len(fault.text) <= 2000
    assert classify(500, "<p>" * 100_000 + "Bad" + "</p>").kind == "server"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "code", "type", "message", "param", "details", "detail"])
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(status=st.none() | st.integers(100, 599), body=json_values | st.binary(max_size=30))
def test_no_body_is_too_odd(status, body):
    fault = classify(status, body, parameters=("max_tokens",))
    assert fault.text


def raised(*errors):
    """Return the first error as it is raised from the second, and so on."""
    for error, cause in itertools.pairwise(errors):
        error.__cause__ = cause
    return errors[0]


def test_exceptions():
    botocore = pytest.importorskip("botocore.exceptions")
    httpx = pytest.importorskip("httpx2")

    class APIConnectionError(Exception):
        """As the SDKs of OpenAI and Anthropic name it."""

    class APITimeoutError(APIConnectionError):
        pass

    kinds = {
        "connection": [
            httpx.ConnectError("refused"),
            httpx.ConnectTimeout("slow"),
            httpx.RemoteProtocolError("closed"),
            ConnectionResetError(),
            socket.gaierror("no such host"),
            botocore.EndpointConnectionError(endpoint_url="http://127.0.0.1:9"),
            botocore.ConnectTimeoutError(endpoint_url="http://127.0.0.1:9"),
            botocore.ConnectionClosedError(endpoint_url="http://127.0.0.1:9"),
            raised(APITimeoutError("timed out"), httpx.ConnectTimeout("slow")),
            raised(APIConnectionError("no"), httpx.ReadError("reset")),
        ],
        "timeout": [
            httpx.ReadTimeout("slow"),
            TimeoutError(),
            botocore.ReadTimeoutError(endpoint_url="http://127.0.0.1:9"),
            APITimeoutError("timed out"),
        ],
        "server": [json.JSONDecodeError("no", "<html>", 0)],
        "auth": [botocore.NoCredentialsError()],
        "unknown": [ValueError("what"), Exception()],
    }
    for kind, errors in kinds.items():
        for error in errors:
            assert connection_fault(error).kind == kind, error


def test_an_exception_that_quotes_headers_is_not_quoted():
    httpx = pytest.importorskip("httpx2")
    fault = connection_fault(httpx.LocalProtocolError("Illegal header value b'sk-planted-key'"))
    assert "planted" not in fault.text
