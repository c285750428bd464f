"""From a spec to a model, one function a prefix; each imports its SDK only when it is called."""

from __future__ import annotations

from ...core import VLM
from ..specs import ModelSpec


def openai(spec: ModelSpec) -> VLM:
    """OpenAI's API, or any server with its format: openai:MODEL[@http://HOST/v1]."""
    from .api import ApiVLM
    from .openai import OpenAIAdapter

    return ApiVLM(spec, OpenAIAdapter)


def anthropic(spec: ModelSpec) -> VLM:
    """Anthropic's API: anthropic:MODEL."""
    from .anthropic import AnthropicAdapter
    from .api import ApiVLM

    return ApiVLM(spec, AnthropicAdapter)


def google(spec: ModelSpec) -> VLM:
    """Google's Gemini API: google:MODEL."""
    from .api import ApiVLM
    from .google import GoogleAdapter

    return ApiVLM(spec, GoogleAdapter)


def bedrock(spec: ModelSpec) -> VLM:
    """Amazon Bedrock's Converse API: bedrock:MODEL?region=REGION."""
    from .api import ApiVLM
    from .bedrock import BedrockAdapter

    return ApiVLM(spec, BedrockAdapter)


def hugging_face(spec: ModelSpec) -> VLM:
    """Local weights with transformers: hf:PATH_OR_ID."""
    from ..hugging_face import HuggingFaceVLM

    return HuggingFaceVLM(spec)
