"""Google's Gemini image models: ``generateContent`` whose reply holds a picture."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from ..providers.adapter import Fault, Words
from ..providers.google import OPTIONS, GoogleAdapter
from ..providers.reply_bodies import MOST_PICTURE_BYTES
from ..providers.taming import finish_word
from ..sent_pictures import SentPicture
from ..specs import ModelSpec
from .service import ServicePictures, picture_words
from .shelf import PICTURE, Shelf, shelved
from .specs import PictureSpec, Reader, choice

ASPECTS = ("1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9")
"""Aspect ratios that Google documents for its image models."""

OWN: Mapping[str, Reader] = {"aspect": choice(*ASPECTS), "size": choice("1K", "2K", "4K")}

KEPT = ("response_modalities", "responseModalities")
"""Without it no picture comes: a model that refuses it draws none."""

_IMAGE = frozenset(
    ("image_config", "imageConfig", "aspect_ratio", "aspectRatio", "image_size", "imageSize")
)


def google_pictures(spec: PictureSpec) -> ServicePictures:
    """Return the pictures of a Gemini model.

    Options: ``aspect`` (4:3), ``size`` (the service's), and those of ``google:`` models.

    Raises:
        MissingDependencyError: Without the package ``google-genai``.
        UsageError: For an option that it cannot have.
    """
    spec.refuse_others((*OWN, *OPTIONS))
    own = spec.read(OWN)
    model = replace(spec.model_spec(OWN), send_seed=True)
    return ServicePictures(
        model, partial(GoogleImages, aspect=own.get("aspect", "4:3"), size=own.get("size"))
    )


class GoogleImages(GoogleAdapter):
    """`GoogleAdapter` that asks for a picture."""

    most_bytes = MOST_PICTURE_BYTES

    def __init__(
        self, spec: ModelSpec, shelf: Shelf, *, aspect: str = "4:3", size: str | None = None
    ) -> None:
        """Check SDK and options as the parent does; pictures go to `shelf`."""
        super().__init__(spec)
        self.shelf = shelf
        self._image = {"aspect_ratio": aspect, **({"image_size": size} if size else {})}

    def parameters(self) -> dict[str, Any]:
        """Return what is sent beside model, prompt and seed."""
        return {
            **super().parameters(),
            "response_modalities": ["TEXT", "IMAGE"],
            "image_config": dict(self._image),
        }

    def adapted(self, parameters: Mapping[str, Any], fault: Fault) -> dict[str, Any] | None:
        """Return `parameters` without the refused one; that a picture is wanted always stays."""
        if fault.parameter in KEPT:
            return None
        if fault.parameter in _IMAGE:
            fault = replace(fault, parameter="image_config")
        return super().adapted(parameters, fault)

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
        raw = await super().send(client, prompt, pictures, parameters, seed=seed, timeout=timeout)
        return await asyncio.to_thread(_without_pictures, raw, self.shelf)

    def read(self, raw: Mapping[str, Any]) -> Words:
        """Return the digest of the reply's picture, or why it holds none."""
        said = super().read(raw)
        candidates = raw.get("candidates")
        candidate = candidates[0] if isinstance(candidates, list) and candidates else None
        reason = said.finish_reason
        if isinstance(candidate, dict):
            reason = finish_word(candidate.get("finishReason"))
        return picture_words(raw, said, reason, said.text)


def _without_pictures(raw: dict[str, Any], shelf: Shelf) -> dict[str, Any]:
    """Return a reply with its first picture on the shelf, and without any picture's text."""
    raw = {name: value for name, value in raw.items() if name != PICTURE}
    candidates = raw.get("candidates")
    first = candidates[0] if isinstance(candidates, list) and candidates else None
    content = first.get("content") if isinstance(first, dict) else None
    parts = content.get("parts") if isinstance(content, dict) else None
    if not isinstance(first, dict) or not isinstance(content, dict) or not isinstance(parts, list):
        return raw
    kept, found = [], None
    for part in parts:
        if not isinstance(part, dict):
            kept.append(part)
            continue
        inline = part.get("inlineData")
        if isinstance(inline, dict):
            # Models that think draw drafts in their thoughts; the answer's picture counts.
            if found is None and part.get("thought") is not True:
                found = shelved(inline.get("data"), shelf)
            continue
        kept.append({name: value for name, value in part.items() if name != "thoughtSignature"})
    raw["candidates"] = [{**first, "content": {**content, "parts": kept}}]
    return raw if found is None else {**raw, PICTURE: found}
