"""Amazon Bedrock's Converse API: models of several makers in one format."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from ...core import ModelFault, Usage, UsageError
from ..sent_pictures import BEDROCK_LIMITS, SentPicture
from ..specs import ModelSpec
from .adapter import Fault, Words
from .bedrock_calls import bound, in_thread
from .claude import NAMES, claude_adapted, claude_parameters
from .endpoint import connect_timeout
from .faults import classify, connection_fault, error_text, retry_after
from .keys import present_keys
from .packages import need_package
from .reply_bodies import parsed, wrong_shape
from .taming import finish_word
from .tokens import count, whole_input

OPTIONS = (
    "thinking",
    "max_tokens",
    "temperature",
    "top_p",
    "timeout",
    "attempts",
    "patience",
    "max_side",
    "region",
    "extra_body",
)

SECRETS = (
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_ACCESS_KEY_ID",
)

OWN_HOSTS = (".amazonaws.com", ".amazonaws.com.cn", ".api.aws")
"""Hosts that get signed requests; any other address is sent unsigned ones."""

REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "guardrail_intervened": "content_filter",
    "content_filtered": "content_filter",
}
"""Stop reasons under our names; others keep their own."""

SAMPLING = {"max_tokens": "maxTokens", "temperature": "temperature", "top_p": "topP"}
"""Parameters that all models take, and Converse's names of them (``inferenceConfig``)."""

ALSO = {"maxTokens": "max_tokens", "topP": "top_p", "topp": "top_p", "reasoning_effort": ""}
"""Further names by which an error may speak of a parameter; the empty one is its own."""


class BedrockAdapter:
    """``Converse`` over boto3 (`Adapter`); each request blocks a thread of its own."""

    provider = "bedrock"
    limits = BEDROCK_LIMITS

    def __init__(self, spec: ModelSpec) -> None:
        """Check the SDK and the options.

        Raises:
            MissingDependencyError: Without the package ``boto3``.
            UsageError: For an option that it does not have, thinking that the model cannot do, or
                no region.
        """
        need_package("boto3", "boto3", "bedrock", spec)
        spec.check_options(OPTIONS)
        self.spec = spec
        self._flat()
        self.region = spec.region or _configured_region()
        if self.region is None and spec.base_url is None:
            raise UsageError(
                f"model {spec.shown}: which AWS region? Add ?region=us-east-1, or export "
                "AWS_REGION=us-east-1"
            )
        self.base_url = spec.base_url or f"https://bedrock-runtime.{self.region}.amazonaws.com"

    def _flat(self) -> dict[str, Any]:
        """Return the parameters on one level; thinking as the model's maker names it."""
        spec = self.spec
        if "claude" in spec.model.lower():
            values = claude_parameters(spec)
            if spec.max_tokens is None and spec.thinking is None:
                del values["max_tokens"]  # Converse demands none
        else:
            sampling = {
                "max_tokens": spec.max_tokens,
                "temperature": spec.temperature,
                "top_p": spec.top_p,
            }
            values = {name: value for name, value in sampling.items() if value is not None}
            values |= _thinking(spec)
        return {**values, **spec.extra_body}

    def parameters(self) -> dict[str, Any]:
        """Return ``inferenceConfig`` and ``additionalModelRequestFields`` as they are sent.

        ``extra_body`` is part of the latter.
        """
        return _nested(self._flat())

    def adapted(self, parameters: Mapping[str, Any], fault: Fault) -> dict[str, Any] | None:
        """Return `parameters` without, or with another form of, the refused one."""
        flat = _flattened(parameters)
        name = fault.parameter
        if name is not None and name not in flat and name != "effort":
            return None
        if "claude" in self.spec.model.lower():
            changed = claude_adapted(flat, name, fault.text)
        elif name is None or name == "max_tokens":
            changed = None  # a reply without a limit is not what was asked for
        else:
            changed = {key: value for key, value in flat.items() if key != name}
        return None if changed is None or changed == flat else _nested(changed)

    def secrets(self) -> tuple[str, ...]:
        """Return the present values of AWS's variables."""
        return present_keys(SECRETS)

    def connect(self, *, connections: int) -> Any:
        """Return a boto3 client of ``bedrock-runtime``; AWS's own chain finds the credentials.

        Another host than AWS's is sent unsigned requests.

        Raises:
            ModelFault: When there are no credentials.
        """
        import boto3
        from botocore import UNSIGNED
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError

        there = urlsplit(self.base_url)
        signed = there.scheme == "https" and (there.hostname or "").endswith(OWN_HOSTS)
        config = Config(
            retries={"total_max_attempts": 1},
            max_pool_connections=connections,
            read_timeout=self.spec.timeout,
            connect_timeout=connect_timeout(self.spec.timeout),
            **({} if signed else {"signature_version": UNSIGNED}),
        )
        try:
            session = boto3.Session(region_name=self.region or "us-east-1")
            token = present_keys(SECRETS[:1])
            if signed and not token and session.get_credentials() is None:
                raise ModelFault(
                    f"the model {self.spec.shown} needs AWS credentials, and neither "
                    "AWS_ACCESS_KEY_ID nor AWS_BEARER_TOKEN_BEDROCK nor a profile is set: "
                    "export AWS_BEARER_TOKEN_BEDROCK=... (or run: aws configure)"
                )
            client = session.client(
                "bedrock-runtime", endpoint_url=self.base_url, config=config, use_ssl=True
            )
        except BotoCoreError as error:
            raise ModelFault(
                f"the model {self.spec.shown}: AWS's configuration cannot be used "
                f"({type(error).__name__}: {error}); run: aws configure"
            ) from error
        bound(client)
        client.meta.events.register("before-parse.bedrock-runtime.Converse", _keep_body)
        return client

    async def send(
        self,
        client: Any,
        prompt: str,
        pictures: tuple[SentPicture, ...],
        parameters: Mapping[str, Any],
        *,
        seed: int,
        timeout: float,
    ) -> dict[str, Any]:
        """Send one request: the pictures first, then the prompt. The API takes no seed."""
        parts: list[dict[str, Any]] = [
            {
                "image": {
                    "format": picture.media_type.partition("/")[2],
                    "source": {"bytes": picture.data},
                }
            }
            for picture in pictures
        ]
        parts.append({"text": prompt})
        fields = {name: dict(value) for name, value in parameters.items()}

        def call() -> dict[str, Any]:
            response: dict[str, Any] = client.converse(
                modelId=self.spec.model, messages=[{"role": "user", "content": parts}], **fields
            )
            return response

        response = await in_thread(call, connect_timeout(timeout))
        return parsed(response.get(_BODY))

    def fault(self, error: BaseException) -> Fault:
        """Classify an exception of botocore."""
        from botocore.exceptions import ClientError

        if not isinstance(error, ClientError):
            return connection_fault(error)
        about = error.response.get("ResponseMetadata", {})
        fault = classify(
            about.get("HTTPStatusCode"),
            {"error": dict(error.response.get("Error", {}))},
            retry_after=retry_after(about.get("HTTPHeaders")),
            parameters=(*NAMES, *ALSO),
        )
        name = ALSO.get(fault.parameter or "") or fault.parameter
        return fault if name == fault.parameter else replace(fault, parameter=name)

    def read(self, raw: Mapping[str, Any]) -> Words:
        """Return what a response says, whatever its shape."""
        usage, cached, written = _usage(raw.get("usage"))
        reason = finish_word(raw.get("stopReason"))
        output = raw.get("output")
        message = output.get("message") if isinstance(output, dict) else None
        content = message.get("content") if isinstance(message, dict) else None
        if not isinstance(content, list):
            if REASONS.get(reason) != "content_filter":
                known = raw.get("error") or raw.get("__type") or raw.get("message")
                text = "the response holds no message: " + error_text(dict(raw))[:200]
                fault = classify(None, dict(raw)) if known else Fault("server", text)
                return Words(usage=usage, cached_tokens=cached, fault=fault)
            content = []
        said: list[str] = []
        thought: list[str] = []
        for block in content:
            if not isinstance(block, dict):
                continue
            if isinstance(block.get("text"), str):
                said.append(block["text"])
            reasoning = block.get("reasoningContent")
            shown = reasoning.get("reasoningText") if isinstance(reasoning, dict) else None
            if isinstance(shown, dict) and isinstance(shown.get("text"), str):
                thought.append(shown["text"])
        filtered = REASONS.get(reason) == "content_filter"
        if not said and not filtered and wrong_shape(content):
            text = "the message's content has an unknown form: " + error_text(dict(raw))[:200]
            return Words(usage=usage, cached_tokens=cached, fault=Fault("server", text))
        return Words(
            text="".join(said),
            finish_reason=REASONS.get(reason, reason),
            usage=usage,
            cached_tokens=cached,
            cache_write_tokens=written,
            thinking="".join(thought),
        )

    async def close(self, client: Any) -> None:
        """Close the connections."""
        client.close()


_BODY = "vlmfail body"


def _keep_body(
    response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **rest: Any
) -> None:
    """Keep a good response's body as it came; of an error's give boto3 what it can read.

    It drops what its own model does not know, stumbles over what has another type, and then the
    status is lost.
    """
    body = response_dict.get("body") or b""
    if response_dict.get("status_code", 500) < 300:
        customized_response_dict[_BODY] = body
        response_dict["body"] = b"{}"
        return
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        said = body[:8000].decode("utf-8", "replace")
    known = said.items() if isinstance(said, dict) else ()
    fields = {name: text for name, text in known if isinstance(text, str)}
    if not {"message", "Message"} & fields.keys():
        fields["message"] = error_text(said)
    response_dict["body"] = json.dumps(fields).encode()


def _configured_region() -> str | None:
    """Return the region of AWS's own variables or of the profile."""
    import botocore.session
    from botocore.exceptions import BotoCoreError

    named = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if named:
        return named
    try:
        region = botocore.session.Session().get_config_variable("region")
    except BotoCoreError:
        return None
    return str(region) if region else None


def _thinking(spec: ModelSpec) -> dict[str, Any]:
    """Return the thinking of models other than Claude, where it is known how to ask for it."""
    wanted, model = spec.thinking, spec.model.lower()
    if wanted is None:
        return {}
    if isinstance(wanted, str) and "nova-2" in model:
        if wanted == "none":
            return {"reasoningConfig": {"type": "disabled"}}
        effort = "low" if wanted == "minimal" else wanted
        return {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": effort}}
    if wanted in ("minimal", "low", "medium", "high") and "gpt-oss" in model:
        return {"reasoning_effort": "low" if wanted == "minimal" else wanted}
    raise UsageError(
        f"model {spec.shown}: thinking={wanted} is known for Claude, Nova 2 (levels) and gpt-oss "
        "(low, medium, high); give another model's own fields with extra_body={...}"
    )


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    common = {SAMPLING[name]: value for name, value in flat.items() if name in SAMPLING}
    own = {name: value for name, value in flat.items() if name not in SAMPLING}
    result = {"inferenceConfig": common, "additionalModelRequestFields": own}
    return {name: value for name, value in result.items() if value}


def _flattened(parameters: Mapping[str, Any]) -> dict[str, Any]:
    names = {theirs: ours for ours, theirs in SAMPLING.items()}
    common = parameters.get("inferenceConfig", {})
    own = parameters.get("additionalModelRequestFields", {})
    return {**{names[name]: value for name, value in common.items()}, **own}


def _usage(usage: Any) -> tuple[Usage, int | None, int | None]:
    """Return (usage, cached, written): the API counts both beside ``inputTokens``."""
    if not isinstance(usage, dict):
        return Usage(), None, None
    cached = count(usage.get("cacheReadInputTokens"))
    written = count(usage.get("cacheWriteInputTokens"))
    whole = whole_input(count(usage.get("inputTokens")), cached, written)
    return Usage(0, whole, count(usage.get("outputTokens"))), cached, written
