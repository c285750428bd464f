"""The vendors' codes and wordings, and the kinds of fault that they mean.

Gathered from the providers' published error references. Names of codes are in lower case without
punctuation, since vendors spell one code in several ways; wordings are regular expressions over
the text in lower case.
"""

from __future__ import annotations

from .adapter import FaultKind

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

_NAME = r"(?<![\w.])['\"`]?([A-Za-z_][\w.]{0,60}\w)['\"`]?"
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

EXCEPTIONS: dict[str, FaultKind] = {
    # The first name that a class or one of its bases bears; causes are asked before wrappers.
    "LocalProtocolError": "bad_request",
    "UnsupportedProtocol": "not_found",
    "InvalidURL": "not_found",
    "TooManyRedirects": "not_found",
    "ReadTimeoutError": "timeout",
    "TimeoutException": "timeout",
    "APITimeoutError": "timeout",
    "TimeoutError": "timeout",
    "ReplyTooLargeError": "too_large",
    "UnreadableReplyError": "server",
    "DecodingError": "server",
    "RecursionError": "server",
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
    "ProtocolError": "connection",
    "HTTPClientError": "connection",
    "EndpointConnectionError": "connection",
    "APIConnectionError": "connection",
    "ConnectionError": "connection",
    "SSLError": "connection",
    "gaierror": "connection",
}
"""Exceptions of httpx (and its fork), botocore, the SDKs and Python, by name: none is imported."""

UNSENT = frozenset(
    {
        "ConnectTimeout",
        "ConnectTimeoutError",
        "ConnectError",
        "EndpointConnectionError",
        "NewConnectionError",
        "ConnectionRefusedError",
        "gaierror",
        "PoolTimeout",
    }
)
"""Exceptions before there is a connection that a request could go over: all ``connection``."""

PLAIN = frozenset({"ReplyTooLargeError", "UnreadableReplyError"})
"""Exceptions of ours: their own words say it all, whatever an SDK wraps around them."""

UNSAID = frozenset({"LocalProtocolError"})
"""Exceptions whose text quotes headers, and so may quote the key."""
