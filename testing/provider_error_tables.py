"""What each provider says when it refuses: one table a provider, kind of error to reply.

Texts are the short ones that public reports quote, since clients must tell errors of one status
apart by them; identifiers in them are made up. ``MODEL`` stands for the model asked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from .provider_steps import Provider, ServedRequest

Body: TypeAlias = dict[str, Any]
Make: TypeAlias = Callable[[ServedRequest], Body]
Entry: TypeAlias = tuple[int, Make]

ERROR_TYPE = "x-amzn-errortype"
"""Key of a Bedrock body that is sent as this header instead."""

RPC = "type.googleapis.com/google.rpc."
"""Prefix of the types of Google's error details."""


def openai_error(
    message: str,
    type_: str | None = "invalid_request_error",
    *,
    param: str | None = None,
    code: Any = None,
    **more: Any,
) -> Body:
    """Return OpenAI's error object."""
    return {"error": {"message": message, "type": type_, "param": param, "code": code, **more}}


def anthropic_error(type_: str, message: str) -> Body:
    """Return Anthropic's error object, as yet without the request's id."""
    return {"type": "error", "error": {"type": type_, "message": message}}


def google_error(code: int, status: str, message: str, *details: Body) -> Body:
    """Return Google's error object; `details` have an ``@type`` each, without its prefix."""
    error: Body = {"code": code, "message": message, "status": status}
    if details:
        error["details"] = [{**detail, "@type": RPC + detail["@type"]} for detail in details]
    return {"error": error}


def bedrock_error(code: str, message: str) -> Body:
    """Return Bedrock's error with its code under `ERROR_TYPE`."""
    return {"message": message, ERROR_TYPE: code}


def received_key(request: ServedRequest) -> str:
    """Return the key that a request came with, for errors that repeat it."""
    for name in ("x-api-key", "x-goog-api-key"):
        if name in request.headers:
            return request.headers[name]
    return request.headers.get("authorization", "").removeprefix("Bearer ")


def _fixed(body: Body) -> Make:
    # Bodies are altered after they are made (waits, ids), so each error has its own.
    text = json.dumps(body)
    return lambda request: json.loads(text.replace("MODEL", json.dumps(request.model)[1:-1]))


def _openai(
    http: int, message: str, type_: str | None = "invalid_request_error", **more: Any
) -> Entry:
    return http, _fixed(openai_error(message, type_, **more))


def _anthropic(status: int, type_: str, message: str) -> Entry:
    return status, _fixed(anthropic_error(type_, message))


def _google(code: int, status: str, message: str, *details: Body) -> Entry:
    return code, _fixed(google_error(code, status, message, *details))


def _bedrock(status: int, code: str, message: str) -> Entry:
    return status, _fixed(bedrock_error(code, message))


def _google_quota(period: str, value: str, *more: Body) -> Entry:
    violation = {
        "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
        "quotaId": f"GenerateRequests{period}PerProjectPerModel-FreeTier",
        "quotaDimensions": {"model": "MODEL", "location": "global"},
        "quotaValue": value,
    }
    return _google(
        429,
        "RESOURCE_EXHAUSTED",
        "You exceeded your current quota, please check your plan and billing details. For more "
        "information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.",
        {"@type": "QuotaFailure", "violations": [violation]},
        {"@type": "Help", "links": [{"url": "https://ai.google.dev/gemini-api/docs/rate-limits"}]},
        *more,
    )


_AZURE_SAFE = {"filtered": False, "severity": "safe"}

_OPENAI: dict[str, Entry] = {
    "bad_request": _openai(
        400,
        "Invalid type for 'messages[0].content': expected a string, but got null instead.",
        param="messages[0].content",
        code="invalid_type",
    ),
    "auth": _openai(
        401,
        "Incorrect API key provided: sk-te**********************************mple. You can "
        "find your API key at https://platform.openai.com/account/api-keys.",
        code="invalid_api_key",
    ),
    "auth_echo": (
        401,
        lambda request: openai_error(
            f"Incorrect API key provided: {received_key(request)}.", code="invalid_api_key"
        ),
    ),
    "forbidden": _openai(
        403,
        "Country, region, or territory not supported",
        "request_forbidden",
        code="unsupported_country_region_territory",
    ),
    "not_found": _openai(
        404,
        "The model `MODEL` does not exist or you do not have access to it.",
        code="model_not_found",
    ),
    "rate_limit": _openai(
        429,
        "Rate limit reached for MODEL in organization org-example on tokens per min (TPM): "
        "Limit 30000, Used 28039, Requested 3906. Please try again in 3.89s. Visit "
        "https://platform.openai.com/account/rate-limits to learn more.",
        "tokens",
        code="rate_limit_exceeded",
    ),
    "quota": _openai(
        429,
        "You exceeded your current quota, please check your plan and billing details. For "
        "more information on this error, read the docs: "
        "https://platform.openai.com/docs/guides/error-codes/api-errors.",
        "insufficient_quota",
        code="insufficient_quota",
    ),
    "server": _openai(
        500,
        "The server had an error while processing your request. Sorry about that!",
        "server_error",
    ),
    "unavailable": _openai(
        503,
        "The server is currently overloaded with other requests. Sorry about that! You can "
        "retry your request.",
        "server_error",
    ),
    "too_long": _openai(
        400,
        "This model's maximum context length is 128000 tokens. However, your messages "
        "resulted in 130012 tokens. Please reduce the length of the messages.",
        param="messages",
        code="context_length_exceeded",
    ),
    "unsupported_max_tokens": _openai(
        400,
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
        "'max_completion_tokens' instead.",
        param="max_tokens",
        code="unsupported_parameter",
    ),
    "unsupported_temperature": _openai(
        400,
        "Unsupported value: 'temperature' does not support 0 with this model. Only the "
        "default (1) value is supported.",
        param="temperature",
        code="unsupported_value",
    ),
    "unsupported_thinking": _openai(
        400,
        "Unsupported parameter: 'reasoning_effort' is not supported with this model.",
        param="reasoning_effort",
        code="unsupported_parameter",
    ),
    "filtered": _openai(
        400,
        "Invalid prompt: your prompt was flagged as potentially violating our usage "
        "policy. Please try again with a different prompt: "
        "https://platform.openai.com/docs/guides/reasoning#advice-on-prompting",
        code="invalid_prompt",
    ),
    "filtered_azure": _openai(
        400,
        "The response was filtered due to the prompt triggering Azure OpenAI's content "
        "management policy. Please modify your prompt and retry.",
        None,
        param="prompt",
        code="content_filter",
        status=400,
        innererror={
            "code": "ResponsibleAIPolicyViolation",
            "content_filter_result": {
                "hate": _AZURE_SAFE,
                "jailbreak": {"filtered": False, "detected": False},
                "self_harm": _AZURE_SAFE,
                "sexual": _AZURE_SAFE,
                "violence": {"filtered": True, "severity": "medium"},
            },
        },
    ),
    "filtered_dashscope": (
        400,
        _fixed(
            {
                **openai_error(
                    "<400> InternalError.Algo.DataInspectionFailed: Input text data may contain "
                    "inappropriate content.",
                    "data_inspection_failed",
                    code="data_inspection_failed",
                ),
                "id": "chatcmpl-example",
                "request_id": "example",
            }
        ),
    ),
    "filtered_deepseek": (
        400,
        _fixed(openai_error("Content Exists Risk", code="invalid_request_error")),
    ),
    "filtered_moonshot": _openai(
        400,
        "The request was rejected because it was considered high risk",
        "content_filter",
        param="prompt",
        code=400,
    ),
    "filtered_zhipu": (
        400,
        _fixed(
            {
                "error": {
                    "code": "1301",
                    "message": "系统检测到输入或生成内容可能包含不安全或敏感内容，"
                    "请您避免输入易产生敏感内容的提示语，感谢您的配合。",
                }
            }
        ),
    ),
    "filtered_xai": (
        403,
        _fixed(
            {
                "code": "The caller does not have permission to execute the specified operation",
                "error": "Content violates usage guidelines. Model: MODEL, "
                "Failed check: SAFETY_CHECK_TYPE_BIO",
            }
        ),
    ),
    "upstream_rate_limit": (
        429,
        _fixed(
            {
                "error": {
                    "message": "Provider returned error",
                    "code": 429,
                    "metadata": {
                        "raw": "MODEL is temporarily rate-limited upstream. Please retry shortly.",
                        "provider_name": "Example",
                    },
                }
            }
        ),
    ),
}

_ANTHROPIC: dict[str, Entry] = {
    "bad_request": _anthropic(
        400, "invalid_request_error", "messages: at least one message is required"
    ),
    "auth": _anthropic(401, "authentication_error", "invalid x-api-key"),
    "auth_echo": (
        401,
        lambda request: anthropic_error(
            "authentication_error", f"invalid x-api-key: {received_key(request)}"
        ),
    ),
    "forbidden": _anthropic(
        403, "permission_error", "Your API key does not have permission to use the specified model."
    ),
    "not_found": _anthropic(404, "not_found_error", "model: MODEL"),
    "too_large": _anthropic(413, "request_too_large", "Request exceeds the maximum size"),
    "too_long": _anthropic(
        400, "invalid_request_error", "prompt is too long: 210012 tokens > 200000 maximum"
    ),
    "rate_limit": _anthropic(
        429,
        "rate_limit_error",
        "This request would exceed the rate limit for your organization of 30,000 input tokens "
        "per minute. For details, refer to: https://docs.claude.com/en/api/rate-limits.",
    ),
    "quota": _anthropic(
        400,
        "invalid_request_error",
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & "
        "Billing to upgrade or purchase credits.",
    ),
    "server": _anthropic(500, "api_error", "Internal server error"),
    "unavailable": _anthropic(503, "api_error", "Service temporarily unavailable"),
    "gateway_timeout": _anthropic(504, "timeout_error", "Request timed out"),
    "overload": _anthropic(529, "overloaded_error", "Overloaded"),
    "filtered": _anthropic(
        400, "invalid_request_error", "Output blocked by content filtering policy"
    ),
    "unsupported_temperature": _anthropic(
        400,
        "invalid_request_error",
        "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.",
    ),
    "deprecated_temperature": _anthropic(
        400, "invalid_request_error", "`temperature` is deprecated for this model."
    ),
    "unsupported_thinking": _anthropic(
        400, "invalid_request_error", "adaptive thinking is not supported on this model"
    ),
}

_GOOGLE: dict[str, Entry] = {
    "bad_request": _google(
        400,
        "INVALID_ARGUMENT",
        "* GenerateContentRequest.contents: contents is not specified\n",
    ),
    "auth": _google(
        400,
        "INVALID_ARGUMENT",
        "API key not valid. Please pass a valid API key.",
        {"@type": "ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"},
    ),
    "auth_echo": (
        400,
        lambda request: google_error(
            400, "INVALID_ARGUMENT", f"API key not valid: {received_key(request)}"
        ),
    ),
    "unauthenticated": _google(
        401,
        "UNAUTHENTICATED",
        "Request had invalid authentication credentials. Expected OAuth 2 access token, login "
        "cookie or other valid authentication credential.",
    ),
    "forbidden": _google(403, "PERMISSION_DENIED", "The caller does not have permission"),
    "not_found": _google(
        404,
        "NOT_FOUND",
        "models/MODEL is not found for API version v1beta, or is not supported for "
        "generateContent. Call ListModels to see the list of available models.",
    ),
    "too_large": _google(
        400, "INVALID_ARGUMENT", "Request payload size exceeds the limit: 20971520 bytes."
    ),
    "rate_limit": _google_quota("PerMinute", "10"),
    "exhausted": _google(
        429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."
    ),
    "quota": _google_quota("PerDay", "250", {"@type": "RetryInfo", "retryDelay": "41s"}),
    "server": _google(
        500, "INTERNAL", "An internal error has occurred. Please retry or report the problem."
    ),
    "unavailable": _google(503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    "gateway_timeout": _google(
        504, "DEADLINE_EXCEEDED", "Deadline expired before operation could complete."
    ),
    "unsupported_temperature": _google(
        400,
        "INVALID_ARGUMENT",
        "Unable to submit request because it has a temperature value of 3 but the supported range "
        "is from 0 (inclusive) to 2.0001 (exclusive). Update the value and try again.",
    ),
    "unsupported_thinking": _google(
        400, "INVALID_ARGUMENT", "Thinking level is not supported for this model."
    ),
    "thinking_required": _google(
        400, "INVALID_ARGUMENT", "Budget 0 is invalid. This model only works in thinking mode."
    ),
}

_SAYS = "The model returned the following errors: "

_BEDROCK: dict[str, Entry] = {
    "bad_request": _bedrock(
        400,
        "ValidationException",
        "A conversation must start with a user message. Try again with a conversation that "
        "starts with a user message.",
    ),
    "auth": _bedrock(
        403, "UnrecognizedClientException", "The security token included in the request is invalid."
    ),
    "auth_echo": (
        403,
        lambda request: bedrock_error(
            "UnrecognizedClientException", f"Invalid credentials: {received_key(request)}"
        ),
    ),
    "expired": _bedrock(
        403, "ExpiredTokenException", "The security token included in the request is expired"
    ),
    "forbidden": _bedrock(
        403,
        "AccessDeniedException",
        "You don't have access to the model with the specified model ID.",
    ),
    "not_found": _bedrock(
        404,
        "ResourceNotFoundException",
        "Could not resolve the foundation model from the provided model identifier.",
    ),
    "wrong_model": _bedrock(
        400, "ValidationException", "The provided model identifier is invalid."
    ),
    "too_long": _bedrock(400, "ValidationException", "Input is too long for requested model."),
    "model_timeout": _bedrock(
        408, "ModelTimeoutException", "Model has timed out in processing the request."
    ),
    "model_error": _bedrock(
        424, "ModelErrorException", "The request failed due to an error in the model."
    ),
    "rate_limit": _bedrock(
        429, "ThrottlingException", "Too many requests, please wait before trying again."
    ),
    "daily_limit": _bedrock(
        429, "ThrottlingException", "Too many tokens per day, please wait before trying again."
    ),
    "not_ready": _bedrock(
        429,
        "ModelNotReadyException",
        "Model is not ready for inference. Wait and try your request again.",
    ),
    "quota": _bedrock(
        400,
        "ServiceQuotaExceededException",
        "Your request exceeds the service quota for your account.",
    ),
    "server": _bedrock(
        500,
        "InternalServerException",
        "The system encountered an unexpected error during processing. Try your request again.",
    ),
    "unavailable": _bedrock(
        503, "ServiceUnavailableException", "Bedrock is unable to process your request."
    ),
    "filtered": _bedrock(
        400, "ValidationException", _SAYS + "Output blocked by content filtering policy"
    ),
    "unsupported_temperature": _bedrock(
        400, "ValidationException", "This model doesn't support the temperature field."
    ),
    "deprecated_temperature": _bedrock(
        400, "ValidationException", _SAYS + "`temperature` is deprecated for this model."
    ),
    "unsupported_thinking": _bedrock(
        400, "ValidationException", _SAYS + "adaptive thinking is not supported on this model"
    ),
}

ERRORS: Mapping[Provider, Mapping[str, Entry]] = {
    "openai": _OPENAI,
    "anthropic": _ANTHROPIC,
    "google": _GOOGLE,
    "bedrock": _BEDROCK,
}

_COMMON = {400: "bad_request", 401: "auth", 403: "forbidden", 404: "not_found"}
_COMMON |= {429: "rate_limit", 500: "server", 503: "unavailable"}

KIND_OF_STATUS: Mapping[Provider, Mapping[int, str]] = {
    "openai": _COMMON,
    "anthropic": _COMMON | {413: "too_large", 504: "gateway_timeout", 529: "overload"},
    "google": _COMMON | {401: "unauthenticated", 504: "gateway_timeout"},
    "bedrock": _COMMON | {408: "model_timeout", 424: "model_error"},
}
"""What a bare status means at each provider; others come from the gateway in front of it."""
