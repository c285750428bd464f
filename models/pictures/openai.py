"""OpenAI's image models, and servers with the same format: ``images.generate``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from ...core import Usage
from ..providers.adapter import Fault, Words
from ..providers.faults import classify
from ..providers.openai import OpenAIAdapter
from ..providers.reply_bodies import MOST_PICTURE_BYTES, parsed
from ..providers.tokens import count
from ..sent_pictures import SentPicture
from ..specs import ModelSpec
from .service import ServicePictures, picture_words
from .shelf import PICTURE, Shelf, shelved
from .specs import PictureSpec, Reader, choice, side_lengths

OWN: Mapping[str, Reader] = {
    "size": side_lengths(64, 8192),
    "quality": choice("auto", "low", "medium", "high", "standard", "hd"),
}

OPTIONS = ("timeout", "attempts", "patience", "key_env", "send_seed", "extra_body")

ALWAYS_BASE64 = ("gpt-image", "chatgpt-image")
"""Beginnings of models that always reply with base64 text and refuse to be asked for it."""


def openai_pictures(spec: PictureSpec) -> ServicePictures:
    """Return the pictures of an OpenAI model or a compatible server's.

    Options: ``size`` (1536x1024 of OpenAI's newer models, else 1024x1024), ``quality`` (medium of
    OpenAI's newer models, else the service's) and `OPTIONS`. OpenAI takes no seed;
    ``send_seed=true`` sends it to a server that does.

    Raises:
        MissingDependencyError: Without the package ``openai``.
        UsageError: For an option that it cannot have.
    """
    spec.refuse_others((*OWN, *OPTIONS))
    own = spec.read(OWN)
    model = spec.model_spec(OWN)
    newer = model.model.startswith(ALWAYS_BASE64)
    width, height = own.get("size", (1536, 1024) if newer else (1024, 1024))
    quality = own.get("quality", "medium" if newer else None)
    return ServicePictures(model, partial(OpenAIImages, size=f"{width}x{height}", quality=quality))


class OpenAIImages(OpenAIAdapter):
    """`OpenAIAdapter` that asks for a picture."""

    most_bytes = MOST_PICTURE_BYTES

    def __init__(
        self, spec: ModelSpec, shelf: Shelf, *, size: str = "1024x1024", quality: str | None = None
    ) -> None:
        """Check the SDK; pictures go to `shelf`."""
        super().__init__(spec)
        self.shelf = shelf
        self._size = size
        self._quality = quality

    def parameters(self) -> dict[str, Any]:
        """Return what is sent beside model, prompt and seed."""
        newer = self.spec.model.startswith(ALWAYS_BASE64)
        values = {
            "n": 1,
            "size": self._size,
            "quality": self._quality,
            # Lossless where it can be chosen.
            "output_format": "png" if newer else None,
            "response_format": None if newer else "b64_json",
            "extra_body": dict(self.spec.extra_body) or None,
        }
        return {name: value for name, value in values.items() if value is not None}

    def adapted(self, parameters: Mapping[str, Any], fault: Fault) -> dict[str, Any] | None:
        """Return `parameters` without the refused one."""
        name = fault.parameter
        if name is None or name not in parameters:
            return None
        return {key: value for key, value in parameters.items() if key != name}

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
        """Send one request and put its picture on the shelf."""
        fields = dict(parameters)
        extra = dict(fields.pop("extra_body", {}))
        if "seed" in fields:  # no parameter of the SDK's
            extra["seed"] = fields.pop("seed")
        with client.lease() as one:
            response = await one.images.with_raw_response.generate(
                model=self.spec.model,
                prompt=prompt,
                **fields,
                extra_body=extra or None,
                timeout=timeout + 5,
            )
        raw = parsed(response.http_response.content)
        return await asyncio.to_thread(_without_pictures, raw, self.shelf)

    def read(self, raw: Mapping[str, Any]) -> Words:
        """Return the digest of the reply's picture, or why it holds none."""
        usage = raw.get("usage")
        counts = usage if isinstance(usage, dict) else {}
        words = Words(
            usage=Usage(0, count(counts.get("input_tokens")), count(counts.get("output_tokens")))
        )
        if raw.get("error"):
            return Words(usage=words.usage, fault=classify(None, {"error": raw["error"]}))
        if PICTURE not in raw:
            rest = json.dumps(raw, default=str)[:200]
            text = f"the response holds no picture as base64 text: {rest}"
            return Words(usage=words.usage, fault=Fault("server", text))
        return picture_words(raw, words, "stop", "")


def _without_pictures(raw: dict[str, Any], shelf: Shelf) -> dict[str, Any]:
    """Return a reply with its first picture on the shelf, and without any picture's text."""
    raw = {name: value for name, value in raw.items() if name != PICTURE}
    data = raw.get("data")
    first = data[0] if isinstance(data, list) and data else None
    if not isinstance(first, dict):
        return raw
    # A link is not followed: what a server names may lie anywhere.
    rest = {name: value for name, value in first.items() if name not in ("b64_json", "url")}
    if isinstance(first.get("url"), str):
        rest["url"] = first["url"][:200]
    raw["data"] = [rest]
    if first.get("b64_json") is not None:
        raw[PICTURE] = shelved(first["b64_json"], shelf)
    return raw
